"""Convex hull of a ROC curve: what can be reached by choosing at random between two thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.stats.curves.auc import area
from harness.stats.curves.cases import FloatArray, IntArray
from harness.stats.curves.counts import Counts
from harness.stats.curves.equal_error import equal_error_rates

__all__ = ["Hull", "convex_hull"]


@dataclass(frozen=True, slots=True, eq=False)
class Hull:
    """Vertices of the hull, and which points of the curve they are; area and equal error rate of the hull.

    `slope` is that of the segment after each vertex: the likelihood ratio at which the next threshold pays.
    """

    vertices: IntArray
    threshold: FloatArray
    fpr: FloatArray
    tpr: FloatArray
    slope: FloatArray
    auc: float
    eer: float


def convex_hull(counts: Counts) -> Hull:
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
    """Andrew's monotone chain (1979); counts are whole numbers as a rule, and then the turns are exact."""
    kept = _drop_dented(x, y)
    px, py = x[kept].tolist(), y[kept].tolist()
    chain: list[int] = []
    for i in range(kept.size):
        while len(chain) > 1 and _turn(px, py, chain[-2], chain[-1], i) >= 0:
            chain.pop()
        chain.append(i)
    return kept[chain]


def _drop_dented(x: FloatArray, y: FloatArray) -> IntArray:
    """Leave out points on or below the chord of their neighbours, all at once, as long as that takes many.

    None of them can be a vertex, and it leaves few of a million for the loop.
    """
    kept = np.arange(x.size)
    while kept.size > 2:
        a, b, c = kept[:-2], kept[1:-1], kept[2:]
        dented = (x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a]) >= 0
        kept = kept[np.concatenate(([True], ~dented, [True]))]
        if np.count_nonzero(dented) < 0.05 * dented.size:
            break
    return kept


def _turn(x: list[float], y: list[float], a: int, b: int, c: int) -> float:
    return (x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a])
