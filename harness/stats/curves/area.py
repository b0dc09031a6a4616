"""Area under a ROC curve, whole or partial, and what each case adds to it (DeLong's placements).

Placements are those of DeLong, DeLong and Clarke-Pearson (1988), from one sort as in Sun and Xu (2014): O(n log n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray
from harness.stats.curves.scores import Order, ScoredCases, ThresholdCounts, require_both

__all__ = ["PartialArea", "Placements", "area", "auc", "partial_auc", "placements"]


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
