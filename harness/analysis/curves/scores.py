"""The scores of a transcript as a curve takes them: what a wrong label, a refusal and an error do to a score."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.errors import TranscriptError
from harness.model import ErrorRule
from harness.transcript.columns import Columns

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
TASKS = ("label", "score", "rank", "value")


@dataclass(frozen=True, eq=False)
class Scored:
    """One score a record; infinite where no threshold, or every one, accepts it."""

    scores: FloatArray
    positive: BoolArray
    larger_is_better: bool

    @property
    def never(self) -> BoolArray:
        """Records that no finite threshold accepts."""
        return np.asarray(self.scores == (-np.inf if self.larger_is_better else np.inf))

    @property
    def always(self) -> BoolArray:
        """Records that every finite threshold accepts."""
        return np.asarray(self.scores == (np.inf if self.larger_is_better else -np.inf))


def curve_scores(columns: Columns, source: str) -> Scored:
    """The scores of a transcript; a TranscriptError where it has none that a curve could be made of.

    In a label test a score counts when the label is the claimed one, or the case is negative and claims nothing; else
    no threshold accepts it. An error is a failure at every threshold, or a refusal where the test says so.
    """
    larger = _larger_is_better(columns, source)
    error = columns.error.codes >= 0
    given = ~error & ((columns.actual.codes >= 0) | ~np.isnan(columns.score))
    claimed = _claimed(columns)
    # Whom a rank test did not find has no score to be looked at.
    _require_scores(columns, given & claimed if columns.header.test.task == "rank" else given, source)
    counts = given & claimed
    never, always = (-np.inf, np.inf) if larger else (np.inf, -np.inf)
    scores = np.where(counts, columns.score, never)
    if columns.header.test.errors != ErrorRule.REFUSE:
        scores[error & ~columns.positive] = always
    _require_both(columns, source)
    return Scored(scores, columns.positive, larger)


def _larger_is_better(columns: Columns, source: str) -> bool:
    test = columns.header.test
    if test.task not in TASKS:
        raise TranscriptError(f"{source}: {test.name} is a {test.task} test; curves over a threshold need a score test")
    # The recorded score of a value test is its error, which the tolerance bounds from above.
    return test.task == "label" or (test.task in ("score", "rank") and test.larger_is_better is not False)


def _require_scores(columns: Columns, given: BoolArray, source: str) -> None:
    """An answer without a score passes every threshold: no curve can be made of it."""
    lacking = given & np.isnan(columns.score)
    count = int(np.count_nonzero(lacking))
    if count:
        first = columns.ids[int(lacking.argmax())]
        more = f" and {count - 1:,} more" if count > 1 else ""
        remedy = "a curve needs one: let the interface answer (label, score)"
        raise TranscriptError(f"{source}: no score in the answer to case '{first}'{more}; {remedy}")


def _claimed(columns: Columns) -> BoolArray:
    """Whether the label is the claimed one, or the right one's rank good enough; other tests have only the score."""
    everything = np.ones(columns.score.size, dtype=np.bool_)
    if columns.header.test.task == "rank":
        return np.asarray(~columns.positive | (columns.rank <= columns.header.params.get("rank", 1)))
    if columns.header.test.task != "label" or (columns.actual.codes < 0).all():
        return everything
    code = {label: number for number, label in enumerate(columns.expect.labels) if label}
    # One more for records without an answer, whose code is -1: the last place.
    table = np.array([*(code.get(label, -2) for label in columns.actual.labels), -2], dtype=np.int64)
    nothing = np.array([*(not label for label in columns.expect.labels), True])[columns.expect.codes]
    same = table[columns.actual.codes] == columns.expect.codes
    return np.asarray(same | (nothing & ~columns.positive))


def _require_both(columns: Columns, source: str) -> None:
    positives = int(np.count_nonzero(columns.positive))
    for count, kind in ((positives, "positive"), (columns.positive.size - positives, "negative")):
        if not count:
            raise TranscriptError(f"{source}: no {kind} case; a curve needs positive and negative cases")
