"""Judge a transcript again: from the cases of its test, the answers in its records and the parameters in its header.

A file that says TP is no proof of it. `hate check`, `hate publish` and `hate serve` call `audit` before they believe
one. It finds whatever the harness would not have written; whether an answer was really given it cannot know.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from harness.errors import TranscriptError
from harness.files.caches import MemoryCache
from harness.files.mistakes import MAX_SHOWN, Mistakes, made_of_all
from harness.model import Case, Counts, ErrorRule, Outcome, Trial
from harness.params import Param, Value
from harness.script.cases import CaseSet
from harness.site.catalogue import Catalogue, SiteTest, find_version
from harness.site.header_facts import header_design, header_test, stopping_extent, units_in_order
from harness.site.judged import NOT_HERE
from harness.site.local_tests import NO_DATA, cases_here, find_cases, part_of
from harness.site.publish_candidates import Candidate, TestCandidate, TranscriptCandidate
from harness.tasks import find_task
from harness.tasks.answers import shown
from harness.tasks.judge import Judge
from harness.tasks.task import AnswerError
from harness.transcript.format import End, Header, TestInfo, extent
from harness.transcript.read import open_transcript

# What a record says about its case, and what it says about the answer.
_OF_CASE = ("positive", "expect", "truth", "stratum", "psu", "columns")
_OF_ANSWER = ("actual", "score", "rank", "best_wrong", "values", "boxes")


@dataclass(frozen=True)
class Audit:
    """What became of a transcript when it was judged again."""

    # The file, as messages call it.
    name: str
    header: Header
    # The counts of its records.
    counts: Counts
    # Whether it has an end line.
    complete: bool
    # Why its outcomes could not be judged by the test; empty if they were.
    self_reported: str
    mistakes: Mistakes

    def raise_if_any(self) -> None:
        """A TranscriptError with the first 20 contradictions, each with its line, and how many more there are."""
        if self.mistakes.count:
            more = self.mistakes.count - len(self.mistakes.shown)
            raise TranscriptError("\n  ".join([*self.mistakes.shown, *([f"and {more:,} more"] if more else [])]))


# Sees the records of a transcript while it is judged, so that nobody has to read it once more.
Watch = Callable[[list[Trial]], None]


def audit(path: Path, cases: CaseSet | None, *, name: str = "", watch: Watch | None = None) -> Audit:
    """Judge every record again; `name` is what messages call the file.

    `cases` is the test, all of it or the part that the header names; None if it is not here. Then a record is held
    against its own claim, and the run is self-reported. A file that cannot be read at all is a TranscriptError.
    """
    with open_transcript(path, name=name or None) as reader:
        mistakes = Mistakes(reader.name)
        checker = _ByClaims(reader.header, mistakes) if cases is None else _ByTest(reader.header, cases, mistakes)
        tally = dict.fromkeys((*Outcome, "ER"), 0)
        line = 1
        for block in reader.blocks():
            if watch is not None:
                watch(block)
            for trial in block:
                line += 1
                tally[trial.outcome] += 1
                tally["ER"] += bool(trial.error)
                checker.add(trial, line)
    counts = Counts(**tally)
    if reader.end is not None:
        checker.finish(line + 1)
        for text in _end_mistakes(reader.end, counts):
            _add_mistake(mistakes, text, line + 1)
    return Audit(reader.name, reader.header, counts, reader.end is not None, checker.self_reported, mistakes)


class _ByTest:
    """Holds each record against its case."""

    def __init__(self, header: Header, cases: CaseSet, mistakes: Mistakes) -> None:
        task, params = cases.script.task, decision_params(header, cases.script.params)
        if cases.script.expansion is not None and cases.script.expansion.name == header.originals_of:
            cases = cases.originals()
        self._header, self._test = header, cases
        # The cases of a run that could stop early; None for any other.
        self._seen: set[str] | None = set() if "stop_when" in header.part else None
        self._mistakes = mistakes
        self._cases = _CasesInOrder(cases, header)
        self._answers = cases.records_answers
        for text in header_mistakes(header, cases):
            _add_mistake(mistakes, text, 1)
        # Without parameters nothing can be decided; the header's mistakes say so.
        self._judge = None if params is None else cases.judge(params)
        self.self_reported = "" if self._answers else f"a record of a {task.name} test has no answer to judge again"

    def add(self, trial: Trial, line: int) -> None:
        case = self._cases.take(trial)
        if self._seen is not None:
            self._seen.add(trial.id)
        if case is None:
            # Why it is none is looked up in the whole test, so not for millions of records.
            known = self._mistakes.count < MAX_SHOWN
            _add_mistake(self._mistakes, self._cases.refusal(trial) if known else "", line)
        elif self._judge is not None:
            for text in _record_mistakes(self._judge, case, trial, judged=self._answers):
                _add_mistake(self._mistakes, f"case {_quoted(trial.id)}{text}", line)

    def finish(self, line: int) -> None:
        """Check that no case was left out."""
        if self._seen is not None:
            if text := stopped_mistake(self._test, self._header, self._seen):
                _add_mistake(self._mistakes, text, line)
            return
        missing, first = self._cases.missing()
        if missing:
            what = "1 case has" if missing == 1 else f"{missing:,} cases have"
            _add_mistake(self._mistakes, f"{what} no record, such as {_quoted(first)}", line)


class _ByClaims:
    """Holds each record against what it says about its case itself."""

    def __init__(self, header: Header, mistakes: Mistakes) -> None:
        self.self_reported = NOT_HERE
        self._mistakes = mistakes
        self._judge = self_judge(header)
        self._seen: set[tuple[str, int]] = set()

    def add(self, trial: Trial, line: int) -> None:
        key = (trial.id, trial.repeat or 1)
        if key in self._seen:
            _add_mistake(self._mistakes, f"case {_quoted(trial.id)} appears twice", line)
        self._seen.add(key)
        case = _claimed_case(trial)
        # Records of other tools need not have an answer.
        answered = trial.actual is not msgspec.UNSET or trial.score is not msgspec.UNSET
        if self._judge is not None and (answered or trial.error):
            texts = _record_mistakes(self._judge, case, trial, of_case=())
        else:
            texts = _sign_mistakes(case, trial)
        for text in texts:
            _add_mistake(self._mistakes, f"case {_quoted(trial.id)}{text}", line)

    def finish(self, line: int) -> None:
        """How many cases there should be is not known."""


def _add_mistake(mistakes: Mistakes, text: str, line: int) -> None:
    mistakes.add(text, location=f"{mistakes.about}:{line}")


def _claimed_case(trial: Trial) -> Case:
    positive = trial.positive if isinstance(trial.positive, bool) else trial.outcome.positive
    return Case(trial.id, "", trial.expect or "", positive, trial.truth or "")


class _CasesInOrder:
    """Finds the case of each record. Records are in case order, so only what is out of order is kept in memory."""

    def __init__(self, cases: CaseSet, header: Header) -> None:
        self._all = cases
        # Numbers that no run can have are the header's mistakes; here they must only do no harm.
        self._limit = header.limit if isinstance(header.limit, int) and 0 < header.limit < len(cases) else None
        self._repeat = min(max(header.repeat, 1), MAX_REPEATS) if isinstance(header.repeat, int) else 1
        self._rest = iter(self)
        # Cases that were passed over, each with a bit for every answer that it still lacks.
        self._open: dict[str, tuple[Case, int]] = {}

    def __iter__(self) -> Iterator[Case]:
        return islice(self._all, self._limit)

    def take(self, trial: Trial) -> Case | None:
        """The case that a record belongs to; None if it has no such case, or has it already."""
        turn = trial.repeat if isinstance(trial.repeat, int) else 1
        if turn > self._repeat:
            return None
        case, lacking = self._open.get(trial.id) or self._read_until(trial.id)
        bit = 1 << (turn - 1)
        if case is None or not lacking & bit:
            return None
        if lacking ^ bit:
            self._open[trial.id] = case, lacking ^ bit
        elif self._open:
            self._open.pop(trial.id, None)
        return case

    def _read_until(self, case_id: str) -> tuple[Case | None, int]:
        everything = (1 << self._repeat) - 1
        for case in self._rest:
            if case.id == case_id:
                return case, everything
            self._open[case.id] = case, everything
        return None, 0

    def refusal(self, trial: Trial) -> str:
        """Why a record has no case."""
        turn = trial.repeat if isinstance(trial.repeat, int) else 1
        if all(case.id != trial.id for case in self):
            part = f"; the run has only the first {self._limit:,}" if self._limit is not None else ""
            return f"the test has no case {_quoted(trial.id)}{part}"
        if turn > self._repeat:
            return f"case {_quoted(trial.id)}: answer {turn:,} in a run with {self._repeat:,} a case"
        return f"case {_quoted(trial.id)} appears twice"

    def missing(self) -> tuple[int, str]:
        """How many cases lack a record, and the first of them."""
        left: Iterable[str] = chain(self._open, (case.id for case in self._rest))
        first = next(iter(left), "")
        return (1 + sum(1 for _ in left), first) if first else (0, "")


def _record_mistakes(
    judge: Judge, case: Case, trial: Trial, *, judged: bool = True, of_case: Sequence[str] = _OF_CASE
) -> Iterator[str]:
    """What a record says other than its case and its answer, to follow the case's name; nearly always nothing."""
    try:
        expected = judge.again(case, trial, judged=judged)
    except AnswerError as error:
        yield f": {error}"
        return
    if expected == trial:
        return
    if judged:
        yield from _difference(expected, trial, _OF_ANSWER, "its answer gives")
    yield from _difference(expected, trial, of_case, "the test has")
    # Whether a case is positive may follow from its truth, which `expected` knows.
    yield from _outcome_mistakes(expected, trial) if judged else _sign_mistakes(_claimed_case(expected), trial)


def _difference(expected: Trial, trial: Trial, names: Iterable[str], truth: str) -> Iterator[str]:
    for name in names:
        there, right = _plain(getattr(trial, name)), _plain(getattr(expected, name))
        if name == "values":
            # A record may have more numbers than the task computes; nothing follows from those.
            there = _plain({key: value for key, value in (there or {}).items() if key in (right or {})})
        # What tables of other kinds hold, such as dates, is text in a record.
        if there != right and there != msgspec.json.decode(msgspec.json.encode(right)):
            yield f": {name} {_shown(there)}, but {truth} {_shown(right)}"


def _outcome_mistakes(expected: Trial, trial: Trial) -> Iterator[str]:
    if trial.outcome is expected.outcome:
        return
    if trial.error:
        yield f": outcome {trial.outcome}, but an error counts as {expected.outcome} here"
    else:
        claim = f"to the {'true' if expected.positive else 'false'} claim {_shown(_plain(expected.expect))}"
        yield f": outcome {trial.outcome}, but the answer {_shown(_plain(trial.actual))} {claim} is {expected.outcome}"


def _sign_mistakes(case: Case, trial: Trial) -> Iterator[str]:
    if trial.outcome.positive != case.positive:
        yield f" is {'positive' if case.positive else 'negative'}, its outcome cannot be {trial.outcome}"


def _end_mistakes(end: End, counts: Counts) -> Iterator[str]:
    if not end.sha256:
        yield "the last line has no sha256; let hate write the transcript"
    claimed, counted = (msgspec.to_builtins(each) for each in (end.counts, counts))
    if claimed != counted or end.tests != counts.tests:
        yield f"the last line says {_numbers(end.tests, claimed)}, the records are {_numbers(counts.tests, counted)}"


def _numbers(tests: int, counts: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in {"tests": tests, **counts}.items())


def _plain(value: Any) -> Any:
    """A value of a record; nothing is the same in whatever way it is written."""
    return None if value is msgspec.UNSET or value in ("", {}) else value


def _shown(value: Any) -> str:
    return "nothing" if value is None else shown(value)


def _quoted(case_id: str) -> str:
    return f"'{case_id[:100]}'"


# As many answers to a case as `--repeat` allows.
MAX_REPEATS = 10_000


def header_mistakes(header: Header, cases: CaseSet) -> Iterator[str]:
    """What a header says other than its test."""
    there, here = (msgspec.to_builtins(info) for info in (header.test, header_test(cases)))
    for key in dict.fromkeys([*here, *there]):
        # A header need not say how many there are.
        if there.get(key) != here.get(key) and not (key in ("cases", "gallery") and there.get(key) is None):
            yield f"test: {key} {_shown(there.get(key))}, but the test has {_shown(here.get(key))}"
    design = header_design(cases)
    for key in dict.fromkeys([*design, *header.design]):
        if header.design.get(key) != msgspec.to_builtins(design.get(key)):
            yield f"design: {key} {_shown(header.design.get(key))}, but the test has {_shown(design.get(key))}"
    yield from _extent_mistakes(header, cases)
    for name, value in _decisions(header, cases.script.params).items():
        if not _is_number(value):
            yield f"params: {name} {_shown(value)} is not a number, so nothing can be decided"


def _extent_mistakes(header: Header, cases: CaseSet) -> Iterator[str]:
    for key, highest in (("limit", sys.maxsize), ("repeat", MAX_REPEATS)):
        value = getattr(header, key)
        if value is not UNSET and not 1 <= value <= highest:
            yield f"{key} {shown(value)} is not a number from 1 to {highest:,}"
    part: dict[str, Any] = extent(len(cases), header.limit, header.train) | cases.versions_extent
    if "stop_when" in header.part:
        sizes = [len(unit) for unit in units_in_order(cases, _order_seed(header)).values()]
        part = stopping_extent(header.part["stop_when"], header.part.get("seed"), sizes)
    if header.extent is not UNSET and header.extent != part:
        yield f"extent {_shown(header.extent)}, but limit and train make it {_shown(part)}"


def _order_seed(header: Header) -> int:
    """The seed of the random order; one that is not a number is a mistake elsewhere."""
    seed = header.part.get("seed")
    return seed if isinstance(seed, int) else 0


def stopped_mistake(cases: CaseSet, header: Header, seen: set[str]) -> str | None:
    """What is wrong with the cases of a run that stopped early: they must be those of the first units."""
    units = [{case.id for _, case in unit} for unit in units_in_order(cases, _order_seed(header)).values()]
    count = sum(not seen.isdisjoint(ids) for ids in units)
    wanted = set().union(*units[:count])
    if wanted == seen:
        return None
    return (
        f"the records are not those of the first {count:,} units in the random order of seed {header.part.get('seed')}"
    )


def decision_params(header: Header, declared: Mapping[str, Param]) -> dict[str, Value] | None:
    """The parameters that outcomes were decided with, by default those of the test; None if one is no number."""
    decisions = _decisions(header, declared)
    return {**header.params, **decisions} if all(map(_is_number, decisions.values())) else None


def _decisions(header: Header, declared: Mapping[str, Param]) -> dict[str, Any]:
    return {name: header.params.get(name, param.default) for name, param in declared.items() if param.decision}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def self_judge(header: Header) -> Judge | None:
    """A judge that knows only the header; None if another tool marked the answers, or they are not recorded."""
    task = find_task(header.test.task)
    if task is None or not (task.records_answers and task.records_expect) or header.is_imported:
        return None
    declared = {name: p for name, p in task.decisions.items() if name not in task.optional or name in header.params}
    params = decision_params(header, declared)
    if params is None:
        return None
    errors = header.test.errors
    rule = ErrorRule(errors) if errors in set(ErrorRule) else ErrorRule.FAILURE
    return Judge(task, header.test.rules, params, errors=rule)


MAX_TESTS = 4


# The cases of the published tests that were asked for last; only tables of galleries are in memory.
_known: MemoryCache[CaseSet] = MemoryCache(MAX_TESTS)


def published_cases(test: SiteTest) -> CaseSet | None:
    """The cases of a published test; None if they are not here."""
    known = _known.get(test.version.release.sha256)
    # Someone may have cleared the cache.
    if known is None or not known.script.path.exists():
        known = cases_here(test.script())
        if known is not None:
            _known.put(test.version.release.sha256, known)
    return known


def judge_candidates(site: Catalogue, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, with every transcript judged; a HateError says what contradicts its test."""

    def judged(candidate: Candidate) -> Candidate:
        if isinstance(candidate, TranscriptCandidate) and not candidate.judged:
            return judge(site, candidate, offered=candidates)
        return candidate

    return made_of_all(candidates, judged, cannot="published")


def judge(
    site: Catalogue, candidate: TranscriptCandidate, *, offered: Sequence[Candidate] = (), watch: Watch | None = None
) -> TranscriptCandidate:
    """A transcript that was judged again, by the cases of its test if they are here; `watch` sees its records.

    One whose test is neither published nor offered is left as it is.
    """
    test = candidate.header.test
    identity = (test.name, test.version, test.digest)
    tests = [each for each in offered if isinstance(each, TestCandidate)]
    releases = {
        (each.release.name, each.release.version, each.release.digest): each.case_set for each in reversed(tests)
    }
    cases = releases.get(identity)
    published = _published_test(site, test) if cases is None else None
    if published is not None:
        cases = published_cases(published)
    result = audit(candidate.path, None if cases is None else part_of(cases, test), watch=watch)
    if result.counts != candidate.counts:
        raise TranscriptError(
            f"{candidate.path}: its last line says {candidate.counts}, its records are {result.counts}"
        )
    if cases is None and published is None:
        # It will be refused for that, whatever else is wrong with it.
        return candidate
    result.raise_if_any()
    if cases is None:
        # Its strata and weights are its own word too, so the ranking holds them against the other runs.
        return replace(candidate, judged=True, self_reported=NO_DATA)
    # With numpy, which takes long to import.
    from harness.analysis.standing import standing_of

    standing = standing_of(candidate.path)
    return replace(candidate, judged=True, self_reported=result.self_reported, standing=standing)


def _published_test(site: Catalogue, test: TestInfo) -> SiteTest | None:
    index = site.test(test.name)
    version = None if index is None or not test.version else find_version(index, test.version)
    if index is None or version is None or version.digest != test.digest:
        return None
    return SiteTest(site, index, version)


def audit_file(path: Path) -> Audit:
    """Judge a transcript by its test, if that is beside it, in the libraries or at a configured site."""
    with open_transcript(path) as reader:
        header = reader.header
    cases, why = find_cases(path, header)
    result = audit(path, cases)
    return replace(result, self_reported=why) if cases is None else result
