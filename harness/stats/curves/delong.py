"""DeLong's placements: what each case adds to the area under a ROC curve, in O(n log n).

DeLong, DeLong and Clarke-Pearson (1988), with placements from one sort as in Sun and Xu (2014).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.curves.cases import Cases, FloatArray, Order, require_both

__all__ = ["Placements", "placements"]


@dataclass(frozen=True, slots=True, eq=False)
class Placements:
    """For each positive the share of negatives below it, for each negative the share of positives above it.

    Ties count half; shares are by weight. The weighted mean over either class is the area.
    """

    auc: float
    values: FloatArray


def placements(cases: Cases, order: Order | None = None) -> Placements:
    """Placement of every case in the other class, from one sort, which may be at hand already."""
    require_both(cases)
    order = order or Order.of(cases.better)
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
    """Weight above each group of ties, and half of the group's own."""
    totals = np.cumsum(weights)[ends]
    return (totals + np.concatenate(([0.0], totals[:-1]))) / 2
