"""Scores of cases, the weighted counts at every threshold, from one sort, and how the scores are distributed.

A case is accepted if its score is at least the threshold (for distances: at most). Scores may be infinite: minus
infinity (plus, for distances) is accepted by no finite threshold, plus infinity by all of them. They are ordinary ties
at the ends of the order, which amounts to extending a curve that stops short of (1, 1) by a straight line; `closed` and
`opened` say if that was done.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import BoolArray, FloatArray, IntArray

__all__ = [
    "ClassHistogram",
    "ClassSize",
    "Order",
    "ScoreHistogram",
    "ScoredCases",
    "ThresholdCounts",
    "as_weights",
    "counts_of",
    "make_scored_cases",
    "require_both",
    "require_same_cases",
    "score_histogram",
    "threshold_counts",
]

_Number = TypeVar("_Number", bound=np.generic)
# Of a histogram of the scores.
BINS = 40
# If the scores reach this many times as far as their middle 98 %, only that part is shown.
FAR = 4.0


@dataclass(frozen=True, slots=True)
class ClassSize:
    """How many cases a class has: their number, their weight, and Kish's effective number under those weights."""

    cases: int
    weight: float
    effective: float


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """The one sort: cases from best to worst score, and where each group of tied scores ends."""

    cases: IntArray
    ends: IntArray
    better: FloatArray

    def at_ends(self, along: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
        """The values at which groups of ties end; without ties all of them, without a copy."""
        return along if self.ends.size == along.size else along[self.ends]

    @classmethod
    def of(cls, better: FloatArray) -> Order:
        """Sort scores; larger is better."""
        cases = np.argsort(better)[::-1]
        ranked = better[cases]
        changes = np.flatnonzero(ranked[1:] != ranked[:-1])
        ends = np.append(changes, ranked.size - 1)
        return cls(cases, ends, ranked if ends.size == ranked.size else ranked[ends])


@dataclass(slots=True, eq=False)
class _KnownOrder:
    """The sort of the scores that were sorted last, so that it is done once."""

    better: FloatArray | None = None
    order: Order | None = None

    def of(self, better: FloatArray) -> Order:
        """The sort of these scores, from before if they are the same array."""
        if self.order is None or self.better is not better:
            self.better, self.order = better, Order.of(better)
        return self.order


@dataclass(frozen=True, slots=True, eq=False)
class ScoredCases:
    """Scores, negated if needed so that larger is better, and each case's class and weight: see `make_scored_cases`."""

    better: FloatArray
    positive: BoolArray
    weights: FloatArray | None
    larger_is_better: bool
    # The sort; cases with the same scores and other weights share it.
    known_order: _KnownOrder = field(default_factory=_KnownOrder, repr=False)

    @property
    def order(self) -> Order:
        """The cases from best to worst score."""
        return self.known_order.of(self.better)

    @property
    def weight(self) -> FloatArray:
        """The weight of each case, 1 if none were given."""
        return np.ones(self.better.size) if self.weights is None else self.weights

    def counting(self) -> ScoredCases:
        """The cases with a weight above 0: the others do not count."""
        if self.weights is None or self.weights.all():
            return self
        keep = self.weights > 0
        return ScoredCases(self.better[keep], self.positive[keep], self.weights[keep], self.larger_is_better)

    def size(self, of: BoolArray) -> ClassSize:
        """Number, weight and effective number of some of the cases."""
        n = int(np.count_nonzero(of))
        if self.weights is None:
            return ClassSize(n, float(n), float(n))
        w = self.weights * of
        total, squares = float(w.sum()), float(w @ w)
        return ClassSize(n, total, total * total / squares if squares > 0 else 0.0)

    def threshold(self, better: FloatArray) -> FloatArray:
        """Thresholds in the original direction; adding 0 turns the -0.0 of a negated distance into 0."""
        return better if self.larger_is_better else -better + 0.0


def make_scored_cases(
    scores: npt.ArrayLike,
    positive: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    larger_is_better: bool = True,
) -> ScoredCases:
    """Check scores, classes and weights; raises a ValueError if no curve can be made of them."""
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 1:
        raise ValueError(f"scores have {s.ndim} dimensions: expected one score per case")
    if np.isnan(s).any():
        index = int(np.isnan(s).argmax())
        raise ValueError(f"score {index} is not a number: give an error -inf (positive case) or inf (negative case)")
    p = np.asarray(positive)
    if p.shape != s.shape:
        raise ValueError(f"positive has shape {p.shape} for {s.size} scores: expected one value per score")
    if p.dtype != np.bool_:
        wrong = (p != 0) & (p != 1)
        if wrong.any():
            index = int(wrong.argmax())
            raise ValueError(f"positive {index} is {p[index]!r}: expected true or false, 1 or 0")
    better = s if larger_is_better else -s
    return ScoredCases(better, p.astype(np.bool_, copy=False), as_weights(weights, s.size), larger_is_better)


def require_both(cases: ScoredCases) -> None:
    """Raise a ValueError unless there are a positive and a negative case that count."""
    counting = True if cases.weights is None else cases.weights > 0
    for name, of in (("positive", cases.positive), ("negative", ~cases.positive)):
        if not (of & counting).any():
            raise ValueError(f"no {name} case (with a weight above 0): a curve needs positive and negative cases")


def require_same_cases(*columns: ScoredCases) -> None:
    """Raise a ValueError unless all have the same cases, with the same classes and weights."""
    first = columns[0]
    for other in columns[1:]:
        if not (np.array_equal(first.positive, other.positive) and np.array_equal(first.weight, other.weight)):
            raise ValueError("scores of different cases: a paired comparison needs the same classes and weights")


def as_weights(weights: npt.ArrayLike | None, n: int) -> FloatArray | None:
    """Weights as an array, one per score, none below 0."""
    if weights is None:
        return None
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (n,):
        raise ValueError(f"weights have shape {w.shape} for {n} scores: expected one weight per score")
    wrong = ~(np.isfinite(w) & (w >= 0))
    if wrong.any():
        index = int(wrong.argmax())
        raise ValueError(f"weight {index} is {float(w[index])!r}: expected a finite number of 0 or more")
    return w


@dataclass(frozen=True, eq=False)
class ThresholdCounts:
    """Accepted positives and negatives at every threshold, from the strictest to the laxest.

    The first point accepts nothing; each further one is a distinct score; the last accepts all.
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
        """Share of positives among the accepted cases, by weight; 1 if nothing is accepted."""
        accepted = self.tp + self.fp
        return np.divide(self.tp, accepted, out=np.ones_like(accepted), where=accepted > 0)


def threshold_counts(
    scores: npt.ArrayLike,
    positive: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    larger_is_better: bool = True,
) -> ThresholdCounts:
    """Counts at every distinct score; cases of weight 0 neither count nor give a threshold."""
    return counts_of(make_scored_cases(scores, positive, weights=weights, larger_is_better=larger_is_better))


def counts_of(cases: ScoredCases) -> ThresholdCounts:
    """`threshold_counts` of cases that have been checked."""
    cases = cases.counting()
    require_both(cases)
    order = cases.order
    hit = cases.positive[order.cases]
    if cases.weights is None:
        tp = order.at_ends(np.cumsum(hit)).astype(np.float64)
        fp = (order.ends + 1 - tp).astype(np.float64)
    else:
        ranked = cases.weights[order.cases]
        hits = ranked * hit
        tp, fp = order.at_ends(np.cumsum(hits)), order.at_ends(np.cumsum(ranked - hits))
    return ThresholdCounts(
        threshold=cases.threshold(_prepend(np.inf, order.better)),
        tp=_prepend(0.0, tp),
        fp=_prepend(0.0, fp),
        positives=cases.size(cases.positive),
        negatives=cases.size(~cases.positive),
        larger_is_better=cases.larger_is_better,
        opened=bool(order.better[0] == np.inf),
        closed=bool(order.better[-1] == -np.inf),
    )


def _prepend(first: float, values: FloatArray) -> FloatArray:
    out = np.empty(values.size + 1)
    out[0] = first
    out[1:] = values
    return out


@dataclass(frozen=True, slots=True, eq=False)
class ClassHistogram:
    """The shares of a class in the bins, further out, and without a finite score, such as refusals and errors."""

    shares: FloatArray
    further: float
    infinite: float


@dataclass(frozen=True, slots=True, eq=False)
class ScoreHistogram:
    """The share of each class in bins of the score."""

    edges: FloatArray
    positive: ClassHistogram
    negative: ClassHistogram


def score_histogram(counts: ThresholdCounts, bins: int = BINS) -> ScoreHistogram:
    """Bins of equal width; all scores that are equal, or whole numbers of a small range, have bins of their own."""
    scores = counts.threshold[1:]
    weights = [np.diff(of) / of[-1] for of in (counts.tp, counts.fp)]
    known = np.isfinite(scores)
    edges = _edges(scores[known], (weights[0] + weights[1])[known], bins)
    inside = known & (scores >= edges[0]) & (scores <= edges[-1])
    positive, negative = (
        ClassHistogram(
            np.histogram(scores[inside], edges, weights=of[inside])[0],
            further=float(of[known & ~inside].sum()),
            infinite=float(of[~known].sum()),
        )
        for of in weights
    )
    return ScoreHistogram(edges, positive, negative)


def _edges(scores: FloatArray, weights: FloatArray, bins: int) -> FloatArray:
    if not scores.size:
        return np.array([0.0, 1.0])
    low, high = float(scores.min()), float(scores.max())
    if low == high:
        return np.array([low - 0.5, low + 0.5])
    order = np.argsort(scores)
    along = np.cumsum(weights[order])
    near = scores[order][np.searchsorted(along, np.array([0.01, 0.99]) * along[-1])]
    middle = float(near[1] - near[0])
    if middle > 0 and high - low > FAR * middle:
        low, high = max(low, float(near[0]) - middle / 2), min(high, float(near[1]) + middle / 2)
    if high - low <= bins and np.array_equal(scores, np.round(scores)):
        return np.arange(np.floor(low) - 0.5, np.ceil(high) + 1.0)
    return np.linspace(low, high, bins + 1)
