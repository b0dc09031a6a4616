"""The scores of a transcript as a curve uses them: what a wrong label, a refusal and an error do to a score."""

from dataclasses import dataclass

import numpy as np

from harness.errors import TranscriptError
from harness.model import ErrorRule
from harness.stats.arrays import BoolArray, FloatArray
from harness.transcript.columns import Columns


@dataclass(frozen=True, eq=False)
class CurveScores:
    """One score per record; infinite if no threshold, or every threshold, accepts it."""

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


def curve_scores(columns: Columns, source: str) -> CurveScores:
    """The scores of a transcript; a TranscriptError if no curve can be made of them.

    The task says which scores count; no threshold accepts any other. An error is a failure at every threshold, or a
    refusal if the test says so.
    """
    test = columns.header.test
    rule = test.find_task(source).curve(columns, test.rules, columns.header.params)
    _require_scores(columns, rule.needed, source)
    never, always = (-np.inf, np.inf) if rule.larger_is_better else (np.inf, -np.inf)
    scores = np.where(rule.counts, columns.score, never)
    if test.errors != ErrorRule.REFUSE:
        scores[(columns.error.codes >= 0) & ~columns.positive] = always
    _require_both(columns, source)
    return CurveScores(scores, columns.positive, rule.larger_is_better)


def _require_scores(columns: Columns, needed: BoolArray, source: str) -> None:
    """An answer without a score passes every threshold: no curve can be made of it."""
    lacking = needed & np.isnan(columns.score)
    count = int(np.count_nonzero(lacking))
    if count:
        first = columns.ids[int(lacking.argmax())]
        more = f" and {count - 1:,} more" if count > 1 else ""
        remedy = "a curve needs one: let the interface answer (label, score)"
        raise TranscriptError(f"{source}: no score in the answer to case '{first}'{more}; {remedy}")


def _require_both(columns: Columns, source: str) -> None:
    positives = int(np.count_nonzero(columns.positive))
    for count, kind in ((positives, "positive"), (columns.positive.size - positives, "negative")):
        if not count:
            raise TranscriptError(f"{source}: no {kind} case; a curve needs positive and negative cases")
