"""Points of a curve: for tables and plots, at the equal error rate, and at operating points.

ROC, DET and precision-recall are views of the same counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray, IntArray
from harness.stats.curves.scores import ThresholdCounts

__all__ = [
    "DetectionCost",
    "EqualError",
    "OperatingPoint",
    "Points",
    "at_threshold",
    "average_precision",
    "corners",
    "detection_cost",
    "equal_error",
    "equal_error_rates",
    "fmr_at_fnmr",
    "fnmr_at_fmr",
    "points",
    "thinned",
]


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Columns of equal length, from the strictest threshold to the laxest.

    ROC: tpr over fpr. DET: fnr over fpr. Precision-recall: precision over tpr.
    """

    threshold: FloatArray
    tpr: FloatArray
    fpr: FloatArray
    fnr: FloatArray
    precision: FloatArray


def points(counts: ThresholdCounts, at: npt.ArrayLike | None = None) -> Points:
    """All points, or those at some places of the curve (from `corners` or `thinned`)."""
    pick = slice(None) if at is None else np.asarray(at, dtype=np.intp)
    columns = (counts.threshold, counts.tpr, counts.fpr, counts.fnr, counts.precision)
    return Points(*(column[pick] for column in columns))


def corners(counts: ThresholdCounts) -> IntArray:
    """Places where the ROC curve bends: all others lie on straight lines between them."""
    rise, run = np.diff(counts.tp), np.diff(counts.fp)
    bends = rise[1:] * run[:-1] != rise[:-1] * run[1:]
    return np.flatnonzero(np.concatenate(([True], bends, [True])))


def thinned(counts: ThresholdCounts, limit: int, whole: int | None = None) -> IntArray:
    """At most `limit` places, spread evenly along the ROC curve, or along its first `whole` points, with both ends."""
    if limit < 2:
        raise ValueError(f"limit {limit!r}: a curve needs two points or more")
    along = (counts.tpr + counts.fpr)[:whole]
    if along.size <= limit:
        return np.arange(along.size)
    places = np.searchsorted(along, np.linspace(0, along[-1], limit))
    return np.unique(np.minimum(places, along.size - 1))


def average_precision(counts: ThresholdCounts) -> float:
    """Precision averaged over recall, as a step function.

    Straight lines between precision-recall points would show precisions that no threshold gives (Davis and Goadrich
    2006).
    """
    return float(np.diff(counts.tpr) @ counts.precision[1:])


@dataclass(frozen=True, slots=True)
class EqualError:
    """The rate and its threshold, interpolated like the rate between two finite thresholds."""

    rate: float
    threshold: float
    attained: bool
    """Whether a threshold has exactly this rate of both errors; if not, the rate lies between two thresholds."""


def equal_error(counts: ThresholdCounts) -> EqualError:
    """Equal error rate by linear interpolation where fnr - fpr changes sign."""
    # Both errors move in opposite directions, so the excess falls at every point, from 1 to -1.
    excess = counts.fnr - counts.fpr
    after = int(np.searchsorted(-excess, 0.0))
    before = after - 1
    share = float(excess[before] / (excess[before] - excess[after]))
    rate = counts.fpr[before] + share * (counts.fpr[after] - counts.fpr[before])
    threshold = _between(counts.threshold, before, after, share)
    return EqualError(float(rate), threshold, bool(excess[after] == 0))


def equal_error_rates(tpr: FloatArray, fpr: FloatArray) -> FloatArray:
    """Equal error rates of many curves, one per row, along the last axis; each from (0, 0) to (1, 1)."""
    excess = 1 - tpr - fpr
    after = np.expand_dims(np.argmax(excess <= 0, axis=-1), -1)
    high, low = np.take_along_axis(excess, after - 1, -1), np.take_along_axis(excess, after, -1)
    share = high / (high - low)
    left, right = np.take_along_axis(fpr, after - 1, -1), np.take_along_axis(fpr, after, -1)
    return np.asarray((left + share * (right - left))[..., 0])


def _between(threshold: FloatArray, before: int, after: int, share: float) -> float:
    strict, lax = float(threshold[before]), float(threshold[after])
    if np.isfinite(strict) and np.isfinite(lax):
        return strict + share * (lax - strict)
    return lax if np.isfinite(lax) else strict


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """A threshold and its error rates: false matches (fpr) and false non-matches (fnr).

    `attained`: a finite threshold has these rates. False for interpolated points, and for the ends of a curve that
    no finite threshold reaches.
    """

    threshold: float
    fmr: float
    fnmr: float
    attained: bool


@dataclass(frozen=True, slots=True)
class DetectionCost:
    """Expected cost of a decision, and its ratio to the cost of accepting all or nothing, whichever is cheaper."""

    cost: float
    normalised: float
    point: OperatingPoint
    prior: float
    cost_miss: float
    cost_false_alarm: float


def fnmr_at_fmr(counts: ThresholdCounts, fmr: float, *, interpolate: bool = False) -> OperatingPoint:
    """Smallest false-non-match rate at a threshold whose false-match rate is at most `fmr` (ISO/IEC 19795-1).

    With `interpolate`, the point of the curve at exactly `fmr`, by linear interpolation; the upper end of a vertical
    segment.
    """
    _check_rate("fmr", fmr)
    last = int(np.searchsorted(counts.fpr, fmr, side="right")) - 1
    if not interpolate or last + 1 == counts.fpr.size or counts.fpr[last] == fmr:
        return _point(counts, last)
    share = (fmr - counts.fpr[last]) / (counts.fpr[last + 1] - counts.fpr[last])
    fnmr = counts.fnr[last] + share * (counts.fnr[last + 1] - counts.fnr[last])
    return OperatingPoint(_point(counts, last).threshold, fmr, float(fnmr), attained=False)


def fmr_at_fnmr(counts: ThresholdCounts, fnmr: float, *, interpolate: bool = False) -> OperatingPoint:
    """Smallest false-match rate at a threshold whose false-non-match rate is at most `fnmr`."""
    _check_rate("fnmr", fnmr)
    # fnr falls along the curve: the first point at or below `fnmr` is the strictest threshold that qualifies.
    first = int(np.searchsorted(-counts.fnr, -fnmr, side="left"))
    if not interpolate or first == 0 or counts.fnr[first] == fnmr:
        return _point(counts, first)
    share = (counts.fnr[first - 1] - fnmr) / (counts.fnr[first - 1] - counts.fnr[first])
    fmr = counts.fpr[first - 1] + share * (counts.fpr[first] - counts.fpr[first - 1])
    return OperatingPoint(_point(counts, first).threshold, float(fmr), fnmr, attained=False)


def at_threshold(counts: ThresholdCounts, threshold: float) -> OperatingPoint:
    """Error rates when scores of at least the threshold are accepted (for distances: at most)."""
    if np.isnan(threshold):
        raise ValueError("threshold is not a number: expected a number, or infinity")
    sign = 1.0 if counts.larger_is_better else -1.0
    # A score of plus infinity passes every threshold, even an infinite one; only the first point accepts nothing.
    place = int(np.searchsorted(-sign * counts.threshold[1:], -sign * threshold, side="right"))
    point = _point(counts, place)
    return OperatingPoint(threshold, point.fmr, point.fnmr, attained=bool(np.isfinite(threshold)))


def detection_cost(
    counts: ThresholdCounts, *, prior: float, cost_miss: float = 1.0, cost_false_alarm: float = 1.0
) -> DetectionCost:
    """Smallest detection cost over all thresholds: C_miss prior fnr + C_fa (1 - prior) fpr (NIST's minDCF).

    `prior` is the probability of a positive in use, not its share in the test.
    """
    if not 0 < prior < 1:
        raise ValueError(f"prior {prior!r}: expected a probability between 0 and 1")
    if not (0 < cost_miss < np.inf and 0 < cost_false_alarm < np.inf):
        raise ValueError(f"costs {cost_miss!r} and {cost_false_alarm!r}: expected finite numbers above 0")
    miss, alarm = cost_miss * prior, cost_false_alarm * (1 - prior)
    costs = miss * counts.fnr + alarm * counts.fpr
    best = int(costs.argmin())
    cost = float(costs[best])
    return DetectionCost(cost, cost / min(miss, alarm), _point(counts, best), prior, cost_miss, cost_false_alarm)


def _check_rate(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} {value!r}: expected a rate between 0 and 1")


def _point(counts: ThresholdCounts, i: int) -> OperatingPoint:
    reached = not (counts.opened and i == 0) and not (counts.closed and i == counts.threshold.size - 1)
    return OperatingPoint(float(counts.threshold[i]), float(counts.fpr[i]), float(counts.fnr[i]), attained=reached)
