"""What each case adds to a summary of a curve, to first order: the way to its variance under any design.

The deviations of the cases of a class have the weighted mean 0. If their weights change, the summary changes by the
sum over both classes of the weighted means of the deviations, up to second order.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from harness.stats.curves.cases import Cases, FloatArray, Order
from harness.stats.curves.counts import Counts, counts_of
from harness.stats.curves.delong import placements
from harness.stats.curves.equal_error import equal_error
from harness.stats.curves.hull import convex_hull

__all__ = ["Influence", "Of", "influence"]


class Of(StrEnum):
    """The summaries that have a linear form: the area under the curve, and the equal error rate."""

    AUC = "auc"
    EER = "eer"


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """A summary, and each case's deviation."""

    estimate: float
    deviations: FloatArray


def influence(of: Of | str, cases: Cases, order: Order | None = None) -> Influence:
    """Of a summary by name; `order` is the sort of the cases where it is at hand already."""
    if of not in list(Of):
        raise ValueError(f"summary {of!r}: expected one of {', '.join(Of)}")
    return _of_area(cases, order) if of == Of.AUC else _of_equal_error(cases)


def _of_area(cases: Cases, order: Order | None) -> Influence:
    """DeLong's placements."""
    placed = placements(cases, order)
    return Influence(placed.auc, placed.values - placed.auc)


def _of_equal_error(cases: Cases) -> Influence:
    """Error rates at the equal-error threshold.

    When both of them are moved, the equal error rate moves by their mean, weighted by the score densities there:
    l x fpr + (1 - l) x fnr, l = slope / (1 + slope). The slope is that of the convex hull.
    """
    counts = counts_of(cases)
    eer = equal_error(counts).rate
    lean, accepted = _lean(counts), _accepted_at_eer(cases, counts)
    return Influence(eer, np.where(cases.positive, (1 - lean) * (1 - accepted - eer), lean * (accepted - eer)))


def _lean(counts: Counts) -> float:
    hull = convex_hull(counts)
    after = int(np.argmax(hull.tpr + hull.fpr >= 1))
    slope = float(hull.slope[after - 1])
    return slope / (1 + slope) if np.isfinite(slope) else 1.0


def _accepted_at_eer(cases: Cases, counts: Counts) -> FloatArray:
    """Whether a case is accepted at the equal-error threshold; between two thresholds, by how much."""
    excess = counts.fnr - counts.fpr
    after = int(np.searchsorted(-excess, 0.0))
    share = excess[after - 1] / (excess[after - 1] - excess[after])
    sign = 1.0 if counts.larger_is_better else -1.0
    edge = sign * counts.threshold[after]
    return np.where(cases.better > edge, 1.0, np.where(cases.better == edge, share, 0.0))
