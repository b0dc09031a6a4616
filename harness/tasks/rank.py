"""Task `rank`: identification, a probe against a gallery.

The rank is 1 + the number of wrong identities that score at least as well as the best right image, so ties count
against the algorithm. If a probe is in the gallery too, it is not compared with itself.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, cast

import msgspec
from msgspec import UNSET

from harness.model import REFUSAL, Answer, Case, Trial
from harness.params import Param, ParamType, Value
from harness.tasks.answers import fields, label, number, shown
from harness.tasks.task import (
    Accepts,
    AnswerError,
    CurveRule,
    DecisionLimits,
    ExampleScript,
    RecordColumns,
    RecordedAnswer,
    Task,
    TaskRules,
    answered,
)


class Gallery:
    """Gallery images in the order of their table; `expect` names the person that each shows."""

    def __init__(self, entries: Iterable[Case]) -> None:
        self.entries = tuple(entries)
        # Indices of images by id, and numbers of people by name, in order of appearance.
        self.index = {entry.id: number for number, entry in enumerate(self.entries)}
        self.people: dict[str, int] = {}
        self.codes = [self.people.setdefault(entry.expect, len(self.people)) for entry in self.entries]
        self.names = list(self.people)
        self._images = [0] * len(self.people)
        for code in self.codes:
            self._images[code] += 1
        self._by_input = {_key(entry.input): number for number, entry in enumerate(self.entries) if entry.input != ""}

    def __len__(self) -> int:
        return len(self.entries)

    def twin(self, case: Case) -> int:
        """The index of the probe's own image, which it is not compared with; -1 if it is not in the gallery."""
        return self._by_input.get(_key(case.input), -1)

    def person_of(self, case: Case) -> int:
        """The number of the person that a probe shows; -1 if the gallery has no other image of that person."""
        code = self.people.get(case.real_class, -1)
        if code >= 0 and self._images[code] == 1:
            twin = self.twin(case)
            if twin >= 0 and self.codes[twin] == code:
                return -1
        return code


def _key(value: Any) -> Any:
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted")


KEYS = frozenset({"scores", "ranking"})
Passes = Callable[[float], bool]
SHAPES = "scores by gallery id or identity, scores in the gallery's order, or a ranked list of identities"


class RankTask(Task):
    """A probe is accepted if the right person is among the first `rank`, and passes the threshold if there is one.

    A negative case, of someone not enrolled, is accepted if anyone in the gallery passes the threshold.
    """

    name = "rank"
    summary = "find a probe's identity in a gallery"
    keys = KEYS
    checks_cases = True
    uses_gallery = True
    script_keys = frozenset({"larger_is_better"})
    measures = ("rank1", "rank5")
    example = ExampleScript(
        test="larger_is_better = true    # scores are similarities; false for distances\n",
        sections="""\
[gallery]
table = "gallery.csv"
""",
        tables={
            "cases.csv": "id,input,expect\nprobe-1,an image,Ann\nprobe-2,another image,Bob\n",
            "gallery.csv": "id,input,expect\ngallery-1,an image of Ann,Ann\ngallery-2,an image of Bob,Bob\n",
        },
    )
    decisions = {
        "rank": Param("rank", ParamType.INT, 1, True, "the right one must be among this many best candidates"),
        "threshold": Param("threshold", ParamType.FLOAT, 0.0, True, "the score at which a candidate is accepted"),
    }
    # A test is open-set when it declares a threshold.
    optional = frozenset({"threshold"})

    def answer(self, raw: object, case: Case, rules: TaskRules) -> Answer:
        """Scores by gallery id or identity, scores in the gallery's order, a ranked list of identities, or None."""
        if raw is None or isinstance(raw, Answer):  # matrices of the harness are already ranked
            return REFUSAL if raw is None else raw
        gallery = _gallery(rules)
        known = fields(raw, KEYS)
        value = raw if known is None else known.get("scores", known.get("ranking"))
        is_list = isinstance(value, Sequence) and not isinstance(value, str)
        if known is not None and "ranking" in known and not is_list:
            raise AnswerError(f"ranking {shown(value)} is not a list of identities")
        if isinstance(value, Mapping):
            return _from_scores(_by_name(value, gallery, case, rules), case, gallery, rules)
        if not is_list:
            raise AnswerError(f"{shown(raw)} is not an answer of a rank test: {SHAPES}")
        items = cast("Sequence[object]", value)
        if (known is not None and "ranking" in known) or (known is None and items and isinstance(items[0], str)):
            return _from_ranking(items, case, gallery)
        return _from_scores(_in_order(items, gallery, case, rules), case, gallery, rules)

    def recorded_answer(self, trial: Trial, case: Case, rules: TaskRules) -> Answer:
        """The first candidate, the rank of the right one and both scores; the rest of the list is not recorded."""
        kept: list[Any] = [trial.actual, trial.score, trial.rank, trial.best_wrong]
        answer = Answer(*(None if value is UNSET else value for value in kept))
        if rules.gallery is not None and (text := _contradiction(answer, case, rules.gallery, rules)):
            raise AnswerError(text)
        return answer

    def acceptance(self, rules: TaskRules, params: Mapping[str, Value]) -> Accepts:
        """Within the rank, and at the threshold or better; an answer without a score passes every threshold."""
        most, passes = int(params["rank"]), _passing(rules, params)

        def accepts(case: Case, answer: Answer) -> bool:
            if answer.actual is None or (case.positive and (answer.rank is None or answer.rank > most)):
                return False
            return answer.score is None or passes(answer.score)

        return accepts

    def limits(self, rules: TaskRules, params: Mapping[str, Value]) -> DecisionLimits:
        """In an open-set test the score, if the rank is good enough; otherwise the rank."""
        if "threshold" not in params:
            return DecisionLimits("rank", False, _rank_limit)
        most, larger = int(params["rank"]), rules.larger_is_better
        never, always = (-inf, inf) if larger else (inf, -inf)

        def of(trial: RecordedAnswer, positive: bool) -> float:
            if _is_missing(trial.actual) or (positive and (_is_missing(trial.rank) or trial.rank > most)):
                return never
            return always if _is_missing(trial.score) else float(trial.score)

        return DecisionLimits("threshold", larger, of)

    def case_mistake(self, case: Case, rules: TaskRules) -> str | None:
        """A probe is positive if the gallery has another image of the person."""
        gallery = _gallery(rules)
        if case.positive and gallery.person_of(case) < 0:
            others = ", except for this image itself" if case.real_class in gallery.people else ""
            return f"'{case.real_class}' is not in the gallery{others}; set positive = false for such a probe"
        if not case.positive and case.expect in gallery.people:
            return f"'{case.expect}' is in the gallery; set positive = true for such a probe"
        return None

    def script_mistakes(self, params: Mapping[str, Param], *, has_gallery: bool) -> Iterator[tuple[str, str]]:
        """There must be a gallery, and a rank is a place in a list."""
        rank = params.get("rank")
        if rank is not None and (rank.type is not ParamType.INT or int(rank.default) < 1):
            yield "params.rank", 'a rank is a place in a list; give it type = "int" and a default of 1 or more'
        if not has_gallery:
            example = '[gallery] table = "gallery.csv"'
            yield "gallery", f"missing; a rank test compares probes with a gallery: {example}"

    def curve(self, columns: RecordColumns, rules: TaskRules, params: Mapping[str, Value]) -> CurveRule:
        """Scores of probes found at a good enough rank; the scores of others do not count."""
        counted = answered(columns) & (~columns.positive | (columns.rank <= float(params.get("rank", 1))))
        return CurveRule(rules.larger_is_better, counts=counted, needed=counted)


def _gallery(rules: TaskRules) -> Gallery:
    if rules.gallery is None:
        raise AnswerError("this test has no gallery")
    return rules.gallery


def _passing(rules: TaskRules, params: Mapping[str, Value]) -> Passes:
    if "threshold" not in params:
        return lambda score: True
    threshold = float(params["threshold"])
    if rules.larger_is_better:
        return lambda score: score >= threshold
    return lambda score: score <= threshold


def _by_name(scores: Mapping[object, object], gallery: Gallery, case: Case, rules: TaskRules) -> dict[int, float]:
    """The best score of each person, larger is better, from scores of images or of people."""
    images, people, twin = gallery.index, gallery.people, gallery.twin(case)
    sign = 1.0 if rules.larger_is_better else -1.0
    named = [(label(name), sign * number(score, f"score of {shown(name)}")) for name, score in scores.items()]
    if all(name in images for name, _ in named):
        return _best(((images[name], score) for name, score in named), gallery, twin)
    unknown = next((name for name, _ in named if name not in people), None)
    if unknown is not None:
        raise AnswerError(f"{shown(unknown)} is neither an id nor an identity in the gallery")
    return {people[name]: score for name, score in named}


def _in_order(scores: Sequence[object], gallery: Gallery, case: Case, rules: TaskRules) -> dict[int, float]:
    if scores and len(scores) != len(gallery):
        hint = 'write a ranked list of numeric names as {"ranking": [...]}'
        raise AnswerError(f"{len(scores):,} scores for a gallery of {len(gallery):,} images; {hint}")
    sign = 1.0 if rules.larger_is_better else -1.0
    # An image without a score was not enrolled.
    scored = ((index, sign * number(score, "score")) for index, score in enumerate(scores) if score is not None)
    return _best(scored, gallery, gallery.twin(case))


def _best(scored: Iterable[tuple[int, float]], gallery: Gallery, twin: int) -> dict[int, float]:
    """A person with several images has the score of the best one."""
    best: dict[int, float] = {}
    codes = gallery.codes
    for index, score in scored:
        if index != twin:
            who = codes[index]
            if score > best.get(who, -inf):
                best[who] = score
    return best


def _from_scores(best: dict[int, float], case: Case, gallery: Gallery, rules: TaskRules) -> Answer:
    if not best:
        return REFUSAL
    person = gallery.person_of(case) if case.positive else -1
    right = best.pop(person, None)
    wrong, first = max(((score, -who) for who, score in best.items()), default=(None, 0))
    rank = None if right is None else 1 + sum(score >= right for score in best.values())
    top = gallery.names[person if rank == 1 else -first]
    sign = 1.0 if rules.larger_is_better else -1.0
    decisive = right if case.positive else wrong
    score, best_wrong = (None if value is None else sign * value + 0.0 for value in (decisive, wrong))
    return Answer(top, score, rank, best_wrong)


def _from_ranking(ranking: Sequence[object], case: Case, gallery: Gallery) -> Answer:
    """Each person is placed at their first image; the list may end before the right one."""
    names = [label(name) for name in ranking]
    images = gallery.index if all(name in gallery.index for name in names) else None
    twin = gallery.twin(case)
    order: dict[int, None] = {}
    for name in names:
        if images is not None:
            if images[name] != twin:
                order.setdefault(gallery.codes[images[name]])
        elif name in gallery.people:
            order.setdefault(gallery.people[name])
        else:
            raise AnswerError(f"{shown(name)} is neither an id nor an identity in the gallery")
    people = list(order)
    if not people:
        return REFUSAL
    person = gallery.person_of(case) if case.positive else -1
    return Answer(gallery.names[people[0]], None, people.index(person) + 1 if person in order else None)


def _contradiction(answer: Answer, case: Case, gallery: Gallery, rules: TaskRules) -> str | None:
    """Why no list of candidates gives this record; None if one does."""
    first, rank, score, wrong = answer.actual, answer.rank, answer.score, answer.best_wrong
    if first is None:
        return None if rank is None and score is None else "a rank or a score without an answer"
    if not isinstance(first, str) or first not in gallery.people:
        return f"{shown(first)} is not an identity in the gallery"
    person = gallery.person_of(case) if case.positive else -1
    is_right = person >= 0 and gallery.people[first] == person
    if rank is not None and (person < 0 or rank > len(gallery.people)):
        return f"rank {rank:,} is not possible"
    if is_right != (rank == 1):
        return f"the first candidate is {shown(first)}, so the rank of the right one cannot be {rank}"
    if rank is None or score is None or wrong is None:
        return None
    leads = score > wrong if rules.larger_is_better else score < wrong
    return None if leads == (rank == 1) else f"rank {rank:,} contradicts score {score:g} and best_wrong {wrong:g}"


def _rank_limit(trial: RecordedAnswer, positive: bool) -> float:
    """Without a threshold, a probe of someone not enrolled always finds someone."""
    if not positive:
        return inf if _is_missing(trial.actual) else -inf
    return inf if _is_missing(trial.rank) else float(trial.rank)


def _is_missing(value: object) -> bool:
    return value is UNSET or value is None


RANK = RankTask()
