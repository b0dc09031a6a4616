"""The ROC curve and its views (DET, precision-recall): points, operating points, area, convex hull, crossings.

DeLong's placements are those of DeLong, DeLong and Clarke-Pearson (1988), from one sort as in Sun and Xu (2014):
O(n log n).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray, IntArray
from harness.stats.curves.scores import Order, ScoredCases, ThresholdCounts, require_both

__all__ = [
    "Crossing",
    "DetectionCost",
    "EqualError",
    "Hull",
    "OperatingPoint",
    "PartialArea",
    "Placements",
    "Points",
    "area",
    "at_threshold",
    "auc",
    "average_precision",
    "convex_hull",
    "corners",
    "crossings",
    "detection_cost",
    "equal_error",
    "equal_error_rates",
    "partial_auc",
    "placements",
    "point_at_fnr",
    "point_at_fpr",
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
    """All points, or those at some points of the curve (from `corners` or `thinned`)."""
    pick = slice(None) if at is None else np.asarray(at, dtype=np.intp)
    columns = (counts.threshold, counts.tpr, counts.fpr, counts.fnr, counts.precision)
    return Points(*(column[pick] for column in columns))


def corners(counts: ThresholdCounts) -> IntArray:
    """Places where the ROC curve bends: all others lie on straight lines between them."""
    rise, run = np.diff(counts.tp), np.diff(counts.fp)
    bends = rise[1:] * run[:-1] != rise[:-1] * run[1:]
    return np.flatnonzero(np.concatenate(([True], bends, [True])))


def thinned(counts: ThresholdCounts, limit: int, whole: int | None = None) -> IntArray:
    """At most `limit` points, spread evenly along the ROC curve, or along its first `whole` points, with both ends."""
    if limit < 2:
        raise ValueError(f"limit {limit!r}: a curve needs two points or more")
    along = (counts.tpr + counts.fpr)[:whole]
    if along.size <= limit:
        return np.arange(along.size)
    indices = np.searchsorted(along, np.linspace(0, along[-1], limit))
    return np.unique(np.minimum(indices, along.size - 1))


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
    strict, lax = float(counts.threshold[before]), float(counts.threshold[after])
    if np.isfinite(strict) and np.isfinite(lax):
        threshold = strict + share * (lax - strict)
    else:
        threshold = lax if np.isfinite(lax) else strict
    return EqualError(float(rate), threshold, bool(excess[after] == 0))


def equal_error_rates(tpr: FloatArray, fpr: FloatArray) -> FloatArray:
    """Equal error rates of many curves, one per row, along the last axis; each from (0, 0) to (1, 1)."""
    excess = 1 - tpr - fpr
    after = np.expand_dims(np.argmax(excess <= 0, axis=-1), -1)
    high, low = np.take_along_axis(excess, after - 1, -1), np.take_along_axis(excess, after, -1)
    share = high / (high - low)
    left, right = np.take_along_axis(fpr, after - 1, -1), np.take_along_axis(fpr, after, -1)
    return np.asarray((left + share * (right - left))[..., 0])


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """A threshold and its error rates: false matches (fpr) and false non-matches (fnr).

    `attained`: a finite threshold has these rates. False for interpolated points, and for the ends of a curve that
    no finite threshold reaches.
    """

    threshold: float
    fpr: float
    fnr: float
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


def point_at_fpr(counts: ThresholdCounts, fpr: float, *, interpolate: bool = False) -> OperatingPoint:
    """Smallest false-non-match rate at a threshold whose false-match rate is at most `fpr` (ISO/IEC 19795-1).

    With `interpolate`, the point of the curve at exactly `fpr`, by linear interpolation; the upper end of a vertical
    segment.
    """
    _check_rate("fmr", fpr)
    last = int(np.searchsorted(counts.fpr, fpr, side="right")) - 1
    if not interpolate or last + 1 == counts.fpr.size or counts.fpr[last] == fpr:
        return _point(counts, last)
    share = (fpr - counts.fpr[last]) / (counts.fpr[last + 1] - counts.fpr[last])
    fnr = counts.fnr[last] + share * (counts.fnr[last + 1] - counts.fnr[last])
    return OperatingPoint(_point(counts, last).threshold, fpr, float(fnr), attained=False)


def point_at_fnr(counts: ThresholdCounts, fnr: float, *, interpolate: bool = False) -> OperatingPoint:
    """Smallest false-match rate at a threshold whose false-non-match rate is at most `fnr`."""
    _check_rate("fnmr", fnr)
    # fnr falls along the curve: the first point at or below `fnr` is the strictest threshold that qualifies.
    first = int(np.searchsorted(-counts.fnr, -fnr, side="left"))
    if not interpolate or first == 0 or counts.fnr[first] == fnr:
        return _point(counts, first)
    share = (counts.fnr[first - 1] - fnr) / (counts.fnr[first - 1] - counts.fnr[first])
    fpr = counts.fpr[first - 1] + share * (counts.fpr[first] - counts.fpr[first - 1])
    return OperatingPoint(_point(counts, first).threshold, float(fpr), fnr, attained=False)


def at_threshold(counts: ThresholdCounts, threshold: float) -> OperatingPoint:
    """Error rates when scores of at least the threshold are accepted (for distances: at most)."""
    if np.isnan(threshold):
        raise ValueError("threshold is not a number: expected a number, or infinity")
    sign = 1.0 if counts.larger_is_better else -1.0
    # A score of plus infinity passes every threshold, even an infinite one; only the first point accepts nothing.
    index = int(np.searchsorted(-sign * counts.threshold[1:], -sign * threshold, side="right"))
    point = _point(counts, index)
    return OperatingPoint(threshold, point.fpr, point.fnr, attained=bool(np.isfinite(threshold)))


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


def auc(counts: ThresholdCounts) -> float:
    """Probability that a positive case scores above a negative one, ties counting half (Mann and Whitney's U / mn)."""
    return float(area(counts.tp, counts.fp)) / float(counts.tp[-1] * counts.fp[-1])


def area(tp: FloatArray, fp: FloatArray) -> FloatArray:
    """Area by trapezoids under counts or rates along the last axis; a sloped segment is a group of ties."""
    return np.asarray(((tp[..., 1:] + tp[..., :-1]) * np.diff(fp)).sum(axis=-1) / 2)


@dataclass(frozen=True, slots=True)
class PartialArea:
    """Area over part of an axis. `corrected` is McClish's (1989): 0.5 for a worthless test, 1 for a perfect one."""

    area: float
    corrected: float
    low: float
    high: float
    over: Literal["fpr", "tpr"]


def partial_auc(
    counts: ThresholdCounts, low: float, high: float, *, over: Literal["fpr", "tpr"] = "fpr"
) -> PartialArea:
    """Area between two false-positive rates (under the curve) or two true-positive rates (to its right).

    pROC's `partial.auc` of specificities [1, s] is `over="fpr"` from 0 to 1 - s. Below the diagonal the corrected
    value is under 0.5, where pROC gives NA.
    """
    if not 0 <= low < high <= 1:
        raise ValueError(f"part {low!r} to {high!r} of the {over}: expected 0 <= low < high <= 1")
    if over == "fpr":
        value = _clipped_area(counts.fpr, counts.tpr, low, high)
    else:
        # Mirrored at the anti-diagonal, the area right of the curve is an area under a curve again.
        value = _clipped_area(counts.tpr, 1 - counts.fpr, low, high)
    worthless = (high**2 - low**2) / 2 if over == "fpr" else (high - low) - (high**2 - low**2) / 2
    corrected = (1 + (value - worthless) / (high - low - worthless)) / 2
    return PartialArea(value, corrected, low, high, over)


def _clipped_area(x: FloatArray, y: FloatArray, low: float, high: float) -> float:
    x0, x1 = x[:-1], x[1:]
    rises = x1 > x0
    x0, x1, y0, y1 = x0[rises], x1[rises], y[:-1][rises], y[1:][rises]
    a, b = np.clip(x0, low, high), np.clip(x1, low, high)
    slope = (y1 - y0) / (x1 - x0)
    return float(((b - a) * (y0 + slope * ((a + b) / 2 - x0))).sum())


@dataclass(frozen=True, slots=True, eq=False)
class Placements:
    """For each positive, the share of negatives below it; for each negative, the share of positives above it.

    Ties count half; shares are by weight. The weighted mean over either class is the area.
    """

    auc: float
    values: FloatArray


def placements(cases: ScoredCases, order: Order | None = None) -> Placements:
    """Placement of every case in the other class, from one sort; `order` if that has been done already."""
    require_both(cases)
    order = order or cases.order
    w = cases.weight
    ranked, hit = w[order.cases], cases.positive[order.cases]
    above = _midway(np.where(hit, ranked, 0.0), order.ends)
    false_above = _midway(np.where(hit, 0.0, ranked), order.ends)
    positives, negatives = float(w[cases.positive].sum()), float(w[~cases.positive].sum())
    group = np.repeat(np.arange(order.ends.size), np.diff(order.ends, prepend=-1))
    values = np.empty(w.size)
    values[order.cases] = np.where(hit, 1 - false_above[group] / negatives, above[group] / positives)
    auc = float(w[cases.positive] @ values[cases.positive]) / positives
    return Placements(auc, values)


def _midway(weights: FloatArray, ends: npt.NDArray[np.intp]) -> FloatArray:
    """Weight above each group of ties, plus half of the group's own."""
    totals = np.cumsum(weights)[ends]
    return (totals + np.concatenate(([0.0], totals[:-1]))) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Hull:
    """Vertices of the hull as points of the curve, and the hull's area and equal error rate.

    `slope` is that of the segment after each vertex: the likelihood ratio at which the next threshold pays off.
    """

    vertices: IntArray
    threshold: FloatArray
    fpr: FloatArray
    tpr: FloatArray
    slope: FloatArray
    auc: float
    eer: float


def convex_hull(counts: ThresholdCounts) -> Hull:
    """Upper convex hull of the ROC curve (Provost and Fawcett 2001), collinear points left out."""
    vertices = _upper_hull(counts.fp, counts.tp)
    fpr, tpr = counts.fpr[vertices], counts.tpr[vertices]
    run = np.diff(fpr)
    slope = np.divide(np.diff(tpr), run, out=np.full(run.size, np.inf), where=run > 0)
    return Hull(
        vertices=vertices,
        threshold=counts.threshold[vertices],
        fpr=fpr,
        tpr=tpr,
        slope=slope,
        auc=float(area(tpr, fpr)),
        eer=float(equal_error_rates(tpr, fpr)),
    )


def _upper_hull(x: FloatArray, y: FloatArray) -> IntArray:
    """Andrew's monotone chain (1979); counts are usually whole numbers, and then the turns are exact."""
    kept = _drop_dented(x, y)
    px, py = x[kept].tolist(), y[kept].tolist()
    chain: list[int] = []
    for i in range(kept.size):
        while len(chain) > 1:
            a, b = chain[-2:]
            if not (px[b] - px[a]) * (py[i] - py[a]) - (py[b] - py[a]) * (px[i] - px[a]) >= 0:
                break
            chain.pop()
        chain.append(i)
    return kept[chain]


def _drop_dented(x: FloatArray, y: FloatArray) -> IntArray:
    """Drop points on or below the chord of their neighbours, all at once, for as long as that drops many.

    None of them can be a vertex, and few of a million are left for the loop.
    """
    kept = np.arange(x.size)
    while kept.size > 2:
        a, b, c = kept[:-2], kept[1:-1], kept[2:]
        dented = (x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a]) >= 0
        kept = kept[np.concatenate(([True], ~dented, [True]))]
        if np.count_nonzero(dented) < 0.05 * dented.size:
            break
    return kept


@dataclass(frozen=True, slots=True)
class Crossing:
    """A point that both curves share, and the curve that is higher at smaller false-positive rates.

    The thresholds are the last ones at or before the point; between thresholds a curve is a straight line.
    """

    fpr: float
    tpr: float
    threshold_a: float
    threshold_b: float
    above_before: Literal["a", "b"]


def crossings(a: ThresholdCounts, b: ThresholdCounts) -> list[Crossing]:
    """All crossings of two curves, from left to right; points where they only touch do not count.

    If the curves coincide for a stretch before they separate, the crossing is where that stretch begins.
    """
    # tpr + fpr grows along every curve, on vertical and horizontal stretches too, so tpr - fpr is a function of it.
    along = np.union1d(a.tpr + a.fpr, b.tpr + b.fpr)
    height_a, height_b = _height(a, along), _height(b, along)
    gap = height_a - height_b
    gap[np.abs(gap) < 1e-12] = 0.0
    signed = np.flatnonzero(gap)
    crossed = []
    for left, right in pairwise(signed.tolist()):
        if not gap[left] * gap[right] < 0:
            continue
        share = gap[left] / (gap[left] - gap[left + 1])
        position = float(along[left] + share * (along[left + 1] - along[left]))
        height = float(height_a[left] + share * (height_a[left + 1] - height_a[left]))
        crossed.append(
            Crossing(
                fpr=(position - height) / 2,
                tpr=(position + height) / 2,
                threshold_a=_threshold(a, position),
                threshold_b=_threshold(b, position),
                above_before="a" if gap[left] > 0 else "b",
            )
        )
    return crossed


def _height(counts: ThresholdCounts, along: FloatArray) -> FloatArray:
    return np.interp(along, counts.tpr + counts.fpr, counts.tpr - counts.fpr)


def _threshold(counts: ThresholdCounts, position: float) -> float:
    i = int(np.searchsorted(counts.tpr + counts.fpr, position, side="right")) - 1
    return float(counts.threshold[max(i, 0)])
