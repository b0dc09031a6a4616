"""How the scores of both classes are distributed, from the counts at all thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.stats.arrays import FloatArray
from harness.stats.curves.scores import ThresholdCounts

__all__ = ["ClassHistogram", "ScoreHistogram", "score_histogram"]

BINS = 40
# If the scores reach this many times as far as their middle 98 %, only that part is shown.
FAR = 4.0


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
    return ScoreHistogram(edges, *(_of_class(scores, of, edges) for of in weights))


def _of_class(scores: FloatArray, weights: FloatArray, edges: FloatArray) -> ClassHistogram:
    known = np.isfinite(scores)
    inside = known & (scores >= edges[0]) & (scores <= edges[-1])
    shares = np.histogram(scores[inside], edges, weights=weights[inside])[0]
    return ClassHistogram(shares, float(weights[known & ~inside].sum()), float(weights[~known].sum()))


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
