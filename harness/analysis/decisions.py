"""Decide again on recorded answers: any number of thresholds (or tolerances) costs one run of the program.

Without numpy, whose import alone takes as long as a few thousand cases."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from harness.errors import TranscriptError
from harness.model import Answer, Counts, ErrorKind, ErrorRule, Outcome, Trial
from harness.params import Value
from harness.tasks.task import DecisionLimits, Task
from harness.transcript.format import Header
from harness.transcript.read import open_transcript
from harness.transcript.write import TranscriptWriter

# Calling `outcome.positive` a hundred thousand times would be noticeably slow.
_TP, _FN = Outcome.TP, Outcome.FN


class _AnswerRecord(Struct, frozen=True, gc=False):
    """The fields of a record that decide its outcome; the others are not decoded."""

    outcome: Outcome
    expect: str | UnsetType = UNSET
    actual: Any = UNSET
    score: float | UnsetType | None = UNSET
    rank: int | UnsetType | None = UNSET
    error: ErrorKind | UnsetType | None = UNSET
    pixels: Any = UNSET
    boxes: Any = UNSET


@dataclass(frozen=True)
class AnswerLimits:
    """The recorded answers of a run, in its order, as limits: the strictest value at which each is still accepted."""

    # The parameter that the limits are of.
    param: str
    limit: Sequence[float]
    # 1 or 0 for each.
    positive: Sequence[int]
    errors: int
    # Whether values up to the limit accept (a threshold), or values from it on (a tolerance).
    falling: bool

    def counts(self, values: Sequence[Value]) -> list[Counts]:
        """The counts at many values: a search in sorted limits for each."""
        positives, negatives = self._sorted
        counts = []
        for value in map(float, values):
            tp, fp = self._accepted(positives, value), self._accepted(negatives, value)
            counts.append(Counts(TP=tp, FN=len(positives) - tp, FP=fp, TN=len(negatives) - fp, ER=self.errors))
        return counts

    @cached_property
    def _sorted(self) -> tuple[list[float], list[float]]:
        pairs = list(zip(self.limit, self.positive, strict=True))
        return sorted([limit for limit, of in pairs if of]), sorted([limit for limit, of in pairs if not of])

    def _accepted(self, limits: list[float], value: float) -> int:
        return len(limits) - bisect_left(limits, value) if self.falling else bisect_right(limits, value)


def read_answers(path: Path, decided: Mapping[str, Value] | None = None) -> AnswerLimits:
    """The answers of a transcript that this harness wrote; `decided` are decision parameters that do not vary."""
    limits, positives = array("d"), array("b")
    errors = 0
    with open_transcript(path, record=_AnswerRecord) as reader:
        header = replace(reader.header, params={**reader.header.params, **(decided or {})})
        how, limit = limits_of(header), limit_function(header)
        for block in reader.blocks():
            for trial in block:
                positive = trial.outcome is _TP or trial.outcome is _FN
                positives.append(positive)
                limits.append(limit(trial, positive))
                errors += bool(trial.error)
    if reader.end is None:
        raise TranscriptError(f"{path}: incomplete; finish it with --resume first")
    return AnswerLimits(how.param, limits, positives, errors, how.falling)


def pool_answers(parts: Sequence[AnswerLimits]) -> AnswerLimits:
    """The answers of several runs that are parts of one."""
    if len(parts) == 1:
        return parts[0]
    return AnswerLimits(
        param=parts[0].param,
        limit=array("d", [limit for part in parts for limit in part.limit]),
        positive=array("b", [positive for part in parts for positive in part.positive]),
        errors=sum(part.errors for part in parts),
        falling=parts[0].falling,
    )


@dataclass(frozen=True, eq=False)
class Setting:
    """A value for every parameter, and the answers that these values decide on.

    The transcripts are one, or several that are parts of one; `answers` are theirs, pooled.
    """

    params: Mapping[str, Value]
    transcripts: tuple[Path, ...]
    answers: AnswerLimits

    @property
    def counts(self) -> Counts:
        """What the answers come to."""
        return self.answers.counts([self.params[self.answers.param]])[0]


def limits_of(header: Header) -> DecisionLimits:
    """How the answers of a transcript are decided on."""
    return header.test.find_task().limits(header.test.rules, header.params)


def limit_function(header: Header) -> Callable[[Any, bool], float]:
    """The limit of any record of a transcript, errors included: a failure at every value, or a refusal."""
    limits, refuse = limits_of(header), header.test.errors == ErrorRule.REFUSE.value
    of, always, never = limits.of, limits.always, limits.never

    def limit(trial: Any, positive: bool) -> float:
        if trial.error:
            return never if positive or refuse else always
        return of(trial, positive)

    return limit


def write_decided(sources: Sequence[Path], target: Path, header: Header) -> None:
    """Write the records of one run, or of several parts of one, with the outcomes that the header's parameters give."""
    # One that is there already stays until the new one is whole.
    if target.exists():
        writer = TranscriptWriter.create_beside(target, header, ".new")
    else:
        writer = TranscriptWriter.create(target, header)
    try:
        for index, trial in enumerate(_decide_again(sources, header)):
            writer.append(index, trial)
        writer.finish()
    finally:
        writer.close()


def _decide_again(sources: Sequence[Path], header: Header) -> Iterator[Trial]:
    limits, limit = limits_of(header), limit_function(header)
    value, settle = float(header.params[limits.param]), _settle(header)
    for source in sources:
        with open_transcript(source) as reader:
            for trial in (trial for block in reader.blocks() for trial in block):
                positive = trial.outcome.positive
                last = limit(trial, positive)
                outcome = Outcome.of(positive=positive, accepted=last >= value if limits.falling else last <= value)
                yield settle(trial if outcome is trial.outcome else replace(trial, outcome=outcome))


def _settle(header: Header) -> Callable[[Trial], Trial]:
    """How a record changes with the decision parameters, apart from its outcome."""
    task, rules = header.test.find_task(), header.test.rules
    if type(task).settle is Task.settle:
        return lambda trial: trial

    def settle(trial: Trial) -> Trial:
        if trial.error or trial.score is UNSET or trial.score is None:
            return trial
        pixels = None if isinstance(trial.pixels, UnsetType) else trial.pixels
        answer = task.settle(Answer(trial.actual, trial.score, pixels=pixels), rules, header.params)
        return replace(trial, score=answer.score, pixels=UNSET if answer.pixels is None else answer.pixels)

    return settle
