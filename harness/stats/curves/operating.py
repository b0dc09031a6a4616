"""Operating points: one error rate at a given value of the other, the rates at a given threshold, detection cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.stats.curves.counts import Counts

__all__ = ["DetectionCost", "OperatingPoint", "at_threshold", "detection_cost", "fmr_at_fnmr", "fnmr_at_fmr"]


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
    """Expected cost of a decision, and the same over that of the better of accepting all and accepting nothing."""

    cost: float
    normalised: float
    point: OperatingPoint
    prior: float
    cost_miss: float
    cost_false_alarm: float


def fnmr_at_fmr(counts: Counts, fmr: float, *, interpolate: bool = False) -> OperatingPoint:
    """Smallest false-non-match rate at a threshold whose false-match rate is at most `fmr` (ISO/IEC 19795-1).

    With `interpolate`, the point of the curve's straight segments at exactly `fmr`, upper end of a vertical one.
    """
    _check_rate("fmr", fmr)
    last = int(np.searchsorted(counts.fpr, fmr, side="right")) - 1
    if not interpolate or last + 1 == counts.fpr.size or counts.fpr[last] == fmr:
        return _point(counts, last)
    share = (fmr - counts.fpr[last]) / (counts.fpr[last + 1] - counts.fpr[last])
    fnmr = counts.fnr[last] + share * (counts.fnr[last + 1] - counts.fnr[last])
    return OperatingPoint(_point(counts, last).threshold, fmr, float(fnmr), attained=False)


def fmr_at_fnmr(counts: Counts, fnmr: float, *, interpolate: bool = False) -> OperatingPoint:
    """Smallest false-match rate at a threshold whose false-non-match rate is at most `fnmr`."""
    _check_rate("fnmr", fnmr)
    # fnr falls along the curve: the first point at or below is the strictest threshold that will do.
    first = int(np.searchsorted(-counts.fnr, -fnmr, side="left"))
    if not interpolate or first == 0 or counts.fnr[first] == fnmr:
        return _point(counts, first)
    share = (counts.fnr[first - 1] - fnmr) / (counts.fnr[first - 1] - counts.fnr[first])
    fmr = counts.fpr[first - 1] + share * (counts.fpr[first] - counts.fpr[first - 1])
    return OperatingPoint(_point(counts, first).threshold, float(fmr), fnmr, attained=False)


def at_threshold(counts: Counts, threshold: float) -> OperatingPoint:
    """Error rates when scores of at least the threshold (distances of at most it) are accepted."""
    if np.isnan(threshold):
        raise ValueError("threshold is not a number: expected a number, or infinity")
    sign = 1.0 if counts.larger_is_better else -1.0
    # A score of plus infinity passes every threshold, the infinite one too; only the first point accepts nothing.
    place = int(np.searchsorted(-sign * counts.threshold[1:], -sign * threshold, side="right"))
    found = _point(counts, place)
    return OperatingPoint(threshold, found.fmr, found.fnmr, attained=bool(np.isfinite(threshold)))


def detection_cost(
    counts: Counts, *, prior: float, cost_miss: float = 1.0, cost_false_alarm: float = 1.0
) -> DetectionCost:
    """Smallest detection cost over all thresholds: C_miss prior fnr + C_fa (1 - prior) fpr (NIST's minDCF).

    `prior` is the chance of a positive in use, not its share in the test.
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


def _point(counts: Counts, i: int) -> OperatingPoint:
    reached = not (counts.opened and i == 0) and not (counts.closed and i == counts.threshold.size - 1)
    return OperatingPoint(float(counts.threshold[i]), float(counts.fpr[i]), float(counts.fnr[i]), attained=reached)
