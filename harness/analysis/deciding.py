"""Decide anew on recorded answers: any number of thresholds (or tolerances) costs one run of the program."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Struct, UnsetType

from harness.errors import TranscriptError
from harness.model import Counts, ErrorKind, ErrorRule, Outcome
from harness.params import Value
from harness.tasks import TASKS
from harness.tasks.task import Limits, Recorded, Rules
from harness.transcript.format import Header
from harness.transcript.read import open_transcript

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


class _Lean(Struct, frozen=True, gc=False):
    """What of a record is decided by; the rest is not even decoded."""

    outcome: Outcome
    expect: str | UnsetType = UNSET
    actual: Any = UNSET
    score: float | UnsetType | None = UNSET
    error: ErrorKind | UnsetType | None = UNSET


@dataclass(frozen=True)
class Answers:
    """The recorded answers of a run, in its order, as limits: the strictest value at which each is still accepted."""

    limit: FloatArray
    positive: BoolArray
    errors: int
    # How many have no score: every threshold passes them, and no curve can be made of them.
    unscored: int
    # Whether values up to the limit accept (a threshold), or values from it on (a tolerance).
    falling: bool

    def accepted(self, value: Value) -> BoolArray:
        """Which answers are accepted at one value."""
        return np.asarray(self.limit >= float(value) if self.falling else self.limit <= float(value))

    def counts(self, values: Sequence[Value]) -> list[Counts]:
        """The counts at many values: a search in sorted limits for each."""
        at = np.array([float(value) for value in values], dtype=np.float64)
        tp, fp = (self._accepted(limits, at).tolist() for limits in self._sorted)
        positives, negatives = (len(limits) for limits in self._sorted)
        return [
            Counts(TP=good, FN=positives - good, FP=bad, TN=negatives - bad, ER=self.errors)
            for good, bad in zip(tp, fp, strict=True)
        ]

    @cached_property
    def _sorted(self) -> tuple[FloatArray, FloatArray]:
        return np.sort(self.limit[self.positive]), np.sort(self.limit[~self.positive])

    def _accepted(self, limits: FloatArray, at: FloatArray) -> npt.NDArray[np.intp]:
        if self.falling:
            return np.asarray(len(limits) - np.searchsorted(limits, at, side="left"))
        return np.searchsorted(limits, at, side="right")


def read_answers(path: Path) -> Answers:
    """The answers of a transcript that this harness wrote."""
    limits: list[FloatArray] = [np.empty(0)]
    positive: list[BoolArray] = [np.empty(0, np.bool_)]
    errors = unscored = 0
    with open_transcript(path, record=_Lean) as reader:
        falling, limit = limits_of(reader.header).falling, deciding(reader.header)
        for block in reader.blocks():
            limits.append(np.fromiter(map(limit, block), np.float64, len(block)))
            positive.append(np.fromiter((trial.outcome.positive for trial in block), np.bool_, len(block)))
            errors += sum(1 for trial in block if trial.error)
            unscored += sum(map(_lacks_score, block))
    if reader.end is None:
        raise TranscriptError(f"{path}: incomplete; finish it with --resume first")
    return Answers(np.concatenate(limits), np.concatenate(positive), errors, unscored, falling)


def _lacks_score(trial: Recorded) -> bool:
    """An answer that is no refusal, without a score."""
    return (trial.score is UNSET or trial.score is None) and not (trial.actual is UNSET or trial.actual is None)


def pooled(parts: Sequence[Answers]) -> Answers:
    """The answers of several runs that are parts of one."""
    return Answers(
        limit=np.concatenate([part.limit for part in parts]),
        positive=np.concatenate([part.positive for part in parts]),
        errors=sum(part.errors for part in parts),
        unscored=sum(part.unscored for part in parts),
        falling=parts[0].falling,
    )


def limits_of(header: Header) -> Limits:
    """How the answers of a transcript are decided on."""
    test = header.test
    if test.task not in TASKS:
        raise TranscriptError(f"{test.name}: task '{test.task}' is not known here; known: {', '.join(TASKS)}")
    larger = True if test.larger_is_better is UNSET else test.larger_is_better
    relative = False if test.relative_tolerance is UNSET else test.relative_tolerance
    return TASKS[test.task].limits(Rules(larger_is_better=larger, relative_tolerance=relative))


def deciding(header: Header) -> Callable[[Any], float]:
    """The limit of any record of a transcript, errors included: a failure at every value, or a refusal."""
    limits, refuse = limits_of(header), header.test.errors == ErrorRule.REFUSE.value
    of, always, never = limits.of, limits.always, limits.never

    def limit(trial: Any) -> float:
        positive = trial.outcome.positive
        if trial.error:
            return never if positive or refuse else always
        return of(trial, positive)

    return limit
