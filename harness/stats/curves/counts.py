"""Weighted counts at every threshold, in one sort: what all curves are made of.

A case is accepted when its score is at least the threshold (for distances: at most). Scores may be infinite: one of
minus infinity (plus, for distances) is accepted by no finite threshold, one of plus infinity by all of them. They are
ordinary ties at the ends of the order, which is the same as closing a curve that stops short of (1, 1) by a straight
line; `closed` and `opened` say that it was done.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from harness.stats.curves.cases import Cases, ClassSize, FloatArray, Order, make_cases, require_both

__all__ = ["Counts", "counts_of", "threshold_counts"]


@dataclass(frozen=True, eq=False)
class Counts:
    """Accepted positives and negatives at every threshold, from the strictest to the laxest.

    The first point accepts nothing; each further one is the score of a case, ties together, the last accepts all.
    `opened`: some scores are accepted by every finite threshold, so the first segment is a convention.
    `closed`: some are accepted by none, so the last segment is the straight line to (1, 1).
    """

    threshold: FloatArray
    tp: FloatArray
    fp: FloatArray
    positives: ClassSize
    negatives: ClassSize
    larger_is_better: bool
    opened: bool
    closed: bool

    @cached_property
    def tpr(self) -> FloatArray:
        """True-positive rate: recall, sensitivity."""
        return np.asarray(self.tp / self.tp[-1])

    @cached_property
    def fpr(self) -> FloatArray:
        """False-positive rate: false-match rate, 1 - specificity."""
        return np.asarray(self.fp / self.fp[-1])

    @cached_property
    def fnr(self) -> FloatArray:
        """False-negative rate: false-non-match rate, misses."""
        return np.asarray((self.tp[-1] - self.tp) / self.tp[-1])

    @cached_property
    def precision(self) -> FloatArray:
        """Share of positives among the accepted, by weight; 1 where nothing is accepted."""
        accepted = self.tp + self.fp
        return np.divide(self.tp, accepted, out=np.ones_like(accepted), where=accepted > 0)


def threshold_counts(
    scores: npt.ArrayLike,
    positive: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    larger_is_better: bool = True,
) -> Counts:
    """Counts at every distinct score; cases of weight 0 have no say, nor a threshold of their own."""
    return counts_of(make_cases(scores, positive, weights=weights, larger_is_better=larger_is_better))


def counts_of(cases: Cases) -> Counts:
    """`threshold_counts` of cases that are checked already."""
    cases = cases.counting()
    require_both(cases)
    order = Order.of(cases.better)
    tp, fp = _cumulate(cases, order)
    return Counts(
        threshold=cases.threshold(_after(np.inf, order.better)),
        tp=_after(0.0, tp),
        fp=_after(0.0, fp),
        positives=cases.size(cases.positive),
        negatives=cases.size(~cases.positive),
        larger_is_better=cases.larger_is_better,
        opened=bool(order.better[0] == np.inf),
        closed=bool(order.better[-1] == -np.inf),
    )


def _cumulate(cases: Cases, order: Order) -> tuple[FloatArray, FloatArray]:
    hit = cases.positive[order.cases]
    if cases.weights is None:
        tp = order.at_ends(np.cumsum(hit))
        return tp.astype(np.float64), (order.ends + 1 - tp).astype(np.float64)
    ranked = cases.weights[order.cases]
    hits = ranked * hit
    return order.at_ends(np.cumsum(hits)), order.at_ends(np.cumsum(ranked - hits))


def _after(first: float, values: FloatArray) -> FloatArray:
    out = np.empty(values.size + 1)
    out[0] = first
    out[1:] = values
    return out
