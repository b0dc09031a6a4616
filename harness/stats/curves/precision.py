"""A band of the precision along a curve: the share of positives among the accepted, at some of its thresholds.

At each threshold precision is a share whose denominator is random too, so that its error is that of a ratio.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.stats.arrays import FloatArray, IntArray
from harness.stats.curves.scores import ScoredCases, ThresholdCounts
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample
from harness.stats.replication.statistic import shares

__all__ = ["PrecisionBand", "precision_band"]

# As many places as a picture shows, but no more than that many cases times places.
PLACES = 40
_MAX_WORK = 1 << 24
_BLOCK = 8


@dataclass(frozen=True, slots=True, eq=False)
class PrecisionBand:
    """Limits of the precision at some thresholds, by rising recall."""

    threshold: FloatArray
    recall: FloatArray
    precision: FloatArray
    low: FloatArray
    high: FloatArray


def precision_band(
    cases: ScoredCases, counts: ThresholdCounts, sample: Sample, replication: Replication | None = None
) -> PrecisionBand:
    """The band at places that are spread evenly over the recall; ends that no threshold reaches are left out."""
    at = _places(counts, cases.better.size)
    sign = 1.0 if counts.larger_is_better else -1.0
    limits = []
    for start in range(0, at.size, _BLOCK):
        accepted = [cases.better >= sign * edge for edge in counts.threshold[at[start : start + _BLOCK]]]
        statistic = shares([one & cases.positive for one in accepted], accepted)
        limits.append(make_estimates(sample, statistic, replication).limits)
    low, high = (np.concatenate([getattr(one, side) for one in limits] or [np.empty(0)]) for side in ("low", "high"))
    return PrecisionBand(counts.threshold[at], counts.tpr[at], counts.precision[at], low, high)


def _places(counts: ThresholdCounts, cases: int) -> IntArray:
    first, last = 1 + counts.opened, counts.tpr.size - counts.closed
    most = max(4, min(PLACES, _MAX_WORK // max(cases, 1)))
    recall = counts.tpr[first:last]
    if recall.size <= most:
        return np.arange(first, last)
    wanted = np.linspace(recall[0], recall[-1], most)
    return np.unique(np.minimum(first + np.searchsorted(recall, wanted), last - 1))
