"""Convex hull of a ROC curve, and where two ROC curves cross."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from harness.stats.arrays import FloatArray, IntArray
from harness.stats.curves.area import area
from harness.stats.curves.points import equal_error_rates
from harness.stats.curves.scores import ThresholdCounts

__all__ = ["Crossing", "Hull", "convex_hull", "crossings"]


@dataclass(frozen=True, slots=True, eq=False)
class Hull:
    """Vertices of the hull as places of the curve, and the hull's area and equal error rate.

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
    places = _drop_dented(x, y)
    px, py = x[places].tolist(), y[places].tolist()
    chain: list[int] = []
    for i in range(places.size):
        while len(chain) > 1 and _turn(px, py, chain[-2], chain[-1], i) >= 0:
            chain.pop()
        chain.append(i)
    return places[chain]


def _drop_dented(x: FloatArray, y: FloatArray) -> IntArray:
    """Drop points on or below the chord of their neighbours, all at once, for as long as that drops many.

    None of them can be a vertex, and few of a million are left for the loop.
    """
    places = np.arange(x.size)
    while places.size > 2:
        a, b, c = places[:-2], places[1:-1], places[2:]
        dented = (x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a]) >= 0
        places = places[np.concatenate(([True], ~dented, [True]))]
        if np.count_nonzero(dented) < 0.05 * dented.size:
            break
    return places


def _turn(x: list[float], y: list[float], a: int, b: int, c: int) -> float:
    return (x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a])


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
    return [
        _crossing(a, b, along, gap, height_a, left)
        for left, right in pairwise(signed.tolist())
        if gap[left] * gap[right] < 0
    ]


def _height(counts: ThresholdCounts, along: FloatArray) -> FloatArray:
    return np.interp(along, counts.tpr + counts.fpr, counts.tpr - counts.fpr)


def _crossing(
    a: ThresholdCounts, b: ThresholdCounts, along: FloatArray, gap: FloatArray, height: FloatArray, left: int
) -> Crossing:
    share = gap[left] / (gap[left] - gap[left + 1])
    place = float(along[left] + share * (along[left + 1] - along[left]))
    high = float(height[left] + share * (height[left + 1] - height[left]))
    return Crossing(
        fpr=(place - high) / 2,
        tpr=(place + high) / 2,
        threshold_a=_threshold(a, place),
        threshold_b=_threshold(b, place),
        above_before="a" if gap[left] > 0 else "b",
    )


def _threshold(counts: ThresholdCounts, place: float) -> float:
    i = int(np.searchsorted(counts.tpr + counts.fpr, place, side="right")) - 1
    return float(counts.threshold[max(i, 0)])
