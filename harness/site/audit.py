"""Judge a transcript again: from the cases of its test, the answers in its records and the parameters in its header.

A file that says TP is no proof of it. `hate check`, `hate publish` and `hate serve` call `audit` before they believe
one. It finds whatever the harness would not have written; whether an answer was really given it cannot know.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from harness.errors import TranscriptError
from harness.files.mistakes import MAX_SHOWN, Mistakes
from harness.model import Case, Counts, Outcome, Trial
from harness.script.cases import CaseSet
from harness.site.audit_header import MAX_REPEATS, decision_params, header_mistakes, self_judge, stopped_mistake
from harness.site.judged import NOT_HERE
from harness.tasks.answers import shown
from harness.tasks.judge import Judge
from harness.tasks.task import AnswerError
from harness.transcript.format import End, Header
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
        checked = _ByClaims(reader.header, mistakes) if cases is None else _ByTest(reader.header, cases, mistakes)
        tally = dict.fromkeys((*Outcome, "ER"), 0)
        line = 1
        for block in reader.blocks():
            if watch is not None:
                watch(block)
            for trial in block:
                line += 1
                tally[trial.outcome] += 1
                tally["ER"] += bool(trial.error)
                checked.add(trial, line)
    counts = Counts(**tally)
    if reader.end is not None:
        checked.finish(line + 1)
        for text in _end_mistakes(reader.end, counts):
            mistakes.add(text, place=f"{reader.name}:{line + 1}")
    return Audit(reader.name, reader.header, counts, reader.end is not None, checked.self_reported, mistakes)


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
            mistakes.add(text, place=self._place(1))
        # Without parameters nothing can be decided; the header's mistakes say so.
        self._judge = None if params is None else cases.judge(params)
        self.self_reported = "" if self._answers else f"a record of a {task.name} test has no answer to judge again"

    def add(self, trial: Trial, line: int) -> None:
        """Check a record."""
        case = self._cases.take(trial)
        if self._seen is not None:
            self._seen.add(trial.id)
        if case is None:
            # Why it is none is looked up in the whole test, so not for millions of records.
            known = self._mistakes.count < MAX_SHOWN
            self._mistakes.add(self._cases.refusal(trial) if known else "", place=self._place(line))
        elif self._judge is not None:
            for text in _record_mistakes(self._judge, case, trial, judged=self._answers):
                self._mistakes.add(f"case {_quoted(trial.id)}{text}", place=self._place(line))

    def _place(self, line: int) -> str:
        return f"{self._mistakes.about}:{line}"

    def finish(self, line: int) -> None:
        """Check that no case was left out."""
        if self._seen is not None:
            if text := stopped_mistake(self._test, self._header, self._seen):
                self._mistakes.add(text, place=self._place(line))
            return
        missing, first = self._cases.missing()
        if missing:
            what = "1 case has" if missing == 1 else f"{missing:,} cases have"
            self._mistakes.add(f"{what} no record, such as {_quoted(first)}", place=self._place(line))


class _ByClaims:
    """Holds each record against what it says about its case itself."""

    def __init__(self, header: Header, mistakes: Mistakes) -> None:
        self.self_reported = NOT_HERE
        self._mistakes = mistakes
        self._judge = self_judge(header)
        self._seen: set[tuple[str, int]] = set()

    def add(self, trial: Trial, line: int) -> None:
        """Check a record."""
        key = (trial.id, trial.repeat or 1)
        if key in self._seen:
            self._mistakes.add(f"case {_quoted(trial.id)} appears twice", place=self._place(line))
        self._seen.add(key)
        case = _claimed_case(trial)
        # Records of other tools need not have an answer.
        answered = trial.actual is not msgspec.UNSET or trial.score is not msgspec.UNSET
        if self._judge is not None and (answered or trial.error):
            found = list(_answer_mistakes(self._judge, case, trial))
        else:
            found = list(_sign_mistakes(case, trial))
        for text in found:
            self._mistakes.add(f"case {_quoted(trial.id)}{text}", place=self._place(line))

    def _place(self, line: int) -> str:
        return f"{self._mistakes.about}:{line}"

    def finish(self, line: int) -> None:
        """How many cases there should be is not known."""


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


def _record_mistakes(judge: Judge, case: Case, trial: Trial, *, judged: bool) -> Iterator[str]:
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
    yield from _difference(expected, trial, _OF_CASE, "the test has")
    # Whether a case is positive may follow from its truth, which `expected` knows.
    yield from _outcome_mistakes(expected, trial) if judged else _sign_mistakes(_claimed_case(expected), trial)


def _answer_mistakes(judge: Judge, case: Case, trial: Trial) -> Iterator[str]:
    try:
        expected = judge.again(case, trial)
    except AnswerError as error:
        yield f": {error}"
        return
    yield from _difference(expected, trial, _OF_ANSWER, "its answer gives")
    yield from _outcome_mistakes(expected, trial)


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
    said, found = (msgspec.to_builtins(each) for each in (end.counts, counts))
    if said != found or end.tests != counts.tests:
        yield f"the last line says {_numbers(end.tests, said)}, the records are {_numbers(counts.tests, found)}"


def _numbers(tests: int, counts: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in {"tests": tests, **counts}.items())


def _plain(value: Any) -> Any:
    """A value of a record; nothing is the same in whatever way it is written."""
    return None if value is msgspec.UNSET or value in ("", {}) else value


def _shown(value: Any) -> str:
    return "nothing" if value is None else shown(value)


def _quoted(case_id: str) -> str:
    return f"'{case_id[:100]}'"
