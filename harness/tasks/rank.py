"""Task `rank`: identification, a probe against a gallery.

The rank is 1 + the number of wrong identities that score at least as well as the best right image, so that ties count
against the algorithm. A probe is not compared with itself, where it is in the gallery too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import cast

from msgspec import UNSET

from harness.model import REFUSAL, Answer, Case
from harness.params import Param, ParamType, Value
from harness.tasks.answers import fields, label, number, shown
from harness.tasks.gallery import Gallery
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

KEYS = frozenset({"scores", "ranking"})
Passes = Callable[[float], bool]
SHAPES = "scores by gallery id or identity, scores in the gallery's order, or a ranked list of identities"


class RankTask(Task):
    """A probe is accepted when the right one is among the first `rank`, and passes the threshold if there is one.

    A negative case, of someone not enrolled, is accepted when anyone in the gallery passes the threshold.
    """

    name = "rank"
    summary = "find a probe's identity in a gallery"
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
        "rank": Param("rank", ParamType.INT, 1, True, "among how many first candidates the right one must be"),
        "threshold": Param("threshold", ParamType.FLOAT, 0.0, True, "the score from which a candidate is accepted"),
    }
    # A test is open-set when it declares a threshold.
    optional = frozenset({"threshold"})

    def answer(self, raw: object, case: Case, rules: TaskRules) -> Answer:
        """Scores by gallery id or identity, scores in the gallery's order, a ranked list of identities, or None."""
        if raw is None or isinstance(raw, Answer):  # the harness's own matrices are ranked already
            return REFUSAL if raw is None else raw
        gallery = _gallery(rules)
        known = fields(raw, KEYS)
        given = raw if known is None else known.get("scores", known.get("ranking"))
        listed = isinstance(given, Sequence) and not isinstance(given, str)
        if known is not None and "ranking" in known and not listed:
            raise AnswerError(f"ranking {shown(given)} is not a list of identities")
        if isinstance(given, Mapping):
            return _from_scores(_by_name(given, gallery, case, rules), case, gallery, rules)
        if not listed:
            raise AnswerError(f"{shown(raw)} is not an answer of a rank test: {SHAPES}")
        items = cast("Sequence[object]", given)
        if (known is not None and "ranking" in known) or (known is None and items and isinstance(items[0], str)):
            return _from_ranking(items, case, gallery)
        return _from_scores(_in_order(items, gallery, case, rules), case, gallery, rules)

    def acceptance(self, rules: TaskRules, params: Mapping[str, Value]) -> Accepts:
        """Within the rank, and at the threshold or better; an answer without a score passes every threshold."""
        most, passes = int(params["rank"]), _passing(rules, params)

        def accepts(case: Case, answer: Answer) -> bool:
            if answer.actual is None or (case.positive and (answer.rank is None or answer.rank > most)):
                return False
            return answer.score is None or passes(answer.score)

        return accepts

    def limits(self, rules: TaskRules, params: Mapping[str, Value]) -> DecisionLimits:
        """In an open-set test the score, where the rank is good enough; else the rank."""
        return _thresholds(rules, int(params["rank"])) if "threshold" in params else _RANKS

    def case_mistake(self, case: Case, rules: TaskRules) -> str | None:
        """A probe is positive when its person is in the gallery, in another image than the probe itself."""
        gallery = _gallery(rules)
        if case.positive and gallery.own(case) < 0:
            others = " besides this very image" if case.real_class in gallery.who else ""
            return f"'{case.real_class}' is not in the gallery{others}; set positive = false for such a probe"
        if not case.positive and case.expect in gallery.who:
            return f"'{case.expect}' is in the gallery; set positive = true for such a probe"
        return None

    def script_mistakes(self, params: Mapping[str, Param], *, has_gallery: bool) -> Iterator[tuple[str, str]]:
        """A gallery must be there, and a rank is a place in a list."""
        rank = params.get("rank")
        if rank is not None and (rank.type is not ParamType.INT or int(rank.default) < 1):
            yield "params.rank", 'a place in a list; say type = "int", and a default from 1 up'
        if not has_gallery:
            example = '[gallery] table = "gallery.csv"'
            yield "gallery", f"missing; a rank test compares probes with a gallery: {example}"

    def curve(self, columns: RecordColumns, rules: TaskRules, params: Mapping[str, Value]) -> CurveRule:
        """Scores of probes that were found at a good enough rank; others have no score to be looked at."""
        found = answered(columns) & (~columns.positive | (columns.rank <= float(params.get("rank", 1))))
        return CurveRule(rules.larger_is_better, counts=found, needed=found)


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


def _by_name(given: Mapping[object, object], gallery: Gallery, case: Case, rules: TaskRules) -> dict[int, float]:
    """The best score of each person, larger being better, from scores of images or of people."""
    images, people, twin = gallery.place, gallery.who, gallery.twin(case)
    sign = 1.0 if rules.larger_is_better else -1.0
    named = [(label(name), sign * number(score, f"score of {shown(name)}")) for name, score in given.items()]
    if all(name in images for name, _ in named):
        return _best(((images[name], score) for name, score in named), gallery, twin)
    stranger = next((name for name, _ in named if name not in people), None)
    if stranger is not None:
        raise AnswerError(f"{shown(stranger)} is neither an id nor an identity of the gallery")
    return {people[name]: score for name, score in named}


def _in_order(given: Sequence[object], gallery: Gallery, case: Case, rules: TaskRules) -> dict[int, float]:
    if given and len(given) != len(gallery):
        hint = 'a ranked list of names that are numbers is {"ranking": [...]}'
        raise AnswerError(f"{len(given):,} scores for a gallery of {len(gallery):,} images; {hint}")
    sign = 1.0 if rules.larger_is_better else -1.0
    # An image without a score was not enrolled.
    scored = ((place, sign * number(score, "score")) for place, score in enumerate(given) if score is not None)
    return _best(scored, gallery, gallery.twin(case))


def _best(scored: Iterable[tuple[int, float]], gallery: Gallery, twin: int) -> dict[int, float]:
    """A person with several images has the score of the best one."""
    best: dict[int, float] = {}
    codes = gallery.codes
    for place, score in scored:
        if place != twin:
            who = codes[place]
            if score > best.get(who, -inf):
                best[who] = score
    return best


def _from_scores(best: dict[int, float], case: Case, gallery: Gallery, rules: TaskRules) -> Answer:
    if not best:
        return REFUSAL
    own = gallery.own(case) if case.positive else -1
    right = best.pop(own, None)
    wrong, first = max(((score, -who) for who, score in best.items()), default=(None, 0))
    rank = None if right is None else 1 + sum(score >= right for score in best.values())
    top = gallery.names[own if rank == 1 else -first]
    sign = 1.0 if rules.larger_is_better else -1.0
    worded = [None if score is None else sign * score + 0.0 for score in (right if case.positive else wrong, wrong)]
    return Answer(top, worded[0], rank, worded[1])


def _from_ranking(given: Sequence[object], case: Case, gallery: Gallery) -> Answer:
    """Each person stands where the first image does; a list may end before the right one comes."""
    names = [label(name) for name in given]
    images = gallery.place if all(name in gallery.place for name in names) else None
    twin = gallery.twin(case)
    order: dict[int, None] = {}
    for name in names:
        if images is not None:
            if images[name] != twin:
                order.setdefault(gallery.codes[images[name]])
        elif name in gallery.who:
            order.setdefault(gallery.who[name])
        else:
            raise AnswerError(f"{shown(name)} is neither an id nor an identity of the gallery")
    people = list(order)
    if not people:
        return REFUSAL
    own = gallery.own(case) if case.positive else -1
    return Answer(gallery.names[people[0]], None, people.index(own) + 1 if own in order else None)


def _thresholds(rules: TaskRules, most: int) -> DecisionLimits:
    larger = rules.larger_is_better
    never, always = (-inf, inf) if larger else (inf, -inf)

    def of(trial: RecordedAnswer, positive: bool) -> float:
        if _nothing(trial.actual) or (positive and (_nothing(trial.rank) or trial.rank > most)):
            return never
        return always if _nothing(trial.score) else float(trial.score)

    return DecisionLimits("threshold", larger, of)


def _rank_limit(trial: RecordedAnswer, positive: bool) -> float:
    """Without a threshold, a probe of someone not enrolled always finds somebody."""
    if not positive:
        return inf if _nothing(trial.actual) else -inf
    return inf if _nothing(trial.rank) else float(trial.rank)


def _nothing(value: object) -> bool:
    return value is UNSET or value is None


_RANKS = DecisionLimits("rank", False, _rank_limit)
RANK = RankTask()
