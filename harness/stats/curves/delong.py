"""DeLong's interval and paired test for areas under ROC curves, in O(n log n), for independent cases.

DeLong, DeLong and Clarke-Pearson (1988), with placements from one sort as in Sun and Xu (2014). The cases must be
independent: where they come in clusters or strata, use replication (`replicated`); where a score depends on two
subjects, `two_way`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from harness.stats.curves.cases import Cases, FloatArray, Order, require_both, require_same_cases
from harness.stats.rates import Interval, normal_quantile, wilson

__all__ = ["Areas", "AucInterval", "DelongTest", "Placements", "auc_interval", "delong", "delong_test", "placements"]

_TARGET = "new independent cases"


@dataclass(frozen=True, slots=True, eq=False)
class Placements:
    """For each positive the share of negatives below it, for each negative the share of positives above it.

    Ties count half; shares are by weight. The weighted mean over either class is the area.
    """

    auc: float
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Areas:
    """Areas of several score columns on the same cases, with their covariance matrix."""

    auc: FloatArray
    covariance: FloatArray
    effective: float
    """Effective number of cases in the smaller class."""


@dataclass(frozen=True, slots=True)
class AucInterval:
    """An area with its interval. `bounded`: the variance is 0, so the interval is Wilson's with the smaller class."""

    auc: float
    se: float
    interval: Interval
    bounded: bool
    confidence: float
    method: Literal["delong"] = "delong"
    target: str = _TARGET


@dataclass(frozen=True, slots=True)
class DelongTest:
    """Two areas on the same cases: difference a - b, its interval, and a two-sided test of no difference."""

    auc_a: float
    auc_b: float
    difference: float
    se: float
    z: float
    p_value: float
    interval: Interval
    confidence: float
    method: Literal["delong"] = "delong"
    target: str = _TARGET


def auc_interval(cases: Cases, *, confidence: float = 0.95) -> AucInterval:
    """DeLong's interval, clipped to [0, 1].

    A variance of 0 (classes that do not overlap, scores all equal) is no certainty. There the variance of any area is
    at most A(1 - A) over the size of the smaller class (Birnbaum and Klose 1957), so Wilson's interval is taken.
    """
    areas = delong([cases])
    a, se = float(areas.auc[0]), float(np.sqrt(areas.covariance[0, 0]))
    if se == 0:
        return AucInterval(a, se, _bound(a, areas.effective, confidence), True, confidence)
    half = normal_quantile(confidence) * se
    return AucInterval(a, se, Interval(max(0.0, a - half), min(1.0, a + half)), False, confidence)


def delong_test(a: Cases, b: Cases, *, confidence: float = 0.95) -> DelongTest:
    """DeLong's paired test. No difference without variance gives z = 0 and p = 1."""
    areas = delong([a, b])
    auc_a, auc_b = (float(v) for v in areas.auc)
    gap = auc_a - auc_b
    se = _difference_se(areas.covariance)
    if se == 0 and gap != 0:
        se = _bounding_se(auc_a, auc_b, areas.effective)
    z = gap / se if se > 0 else 0.0
    half = normal_quantile(confidence) * se
    limits = Interval(max(-1.0, gap - half), min(1.0, gap + half))
    return DelongTest(auc_a, auc_b, gap, se, z, _two_sided(z), limits, confidence)


def delong(columns: Sequence[Cases]) -> Areas:
    """Areas of several columns of scores on the same cases, and their covariance matrix, for any contrast of them."""
    require_same_cases(*columns)
    columns = [cases.counting() for cases in columns]
    first = columns[0]
    sizes = [first.size(first.positive), first.size(~first.positive)]
    for name, size in zip(("positive", "negative"), sizes, strict=True):
        if size.cases < 2:
            raise ValueError(f"{size.cases} {name} cases: DeLong's variance needs two or more of each class")
    placed = [placements(cases) for cases in columns]
    areas = np.array([p.auc for p in placed])
    covariance = _class_covariance(first, np.stack([p.values for p in placed]) - areas[:, None])
    return Areas(areas, covariance, min(s.effective for s in sizes))


def placements(cases: Cases) -> Placements:
    """Placement of every case in the other class, from one sort."""
    require_both(cases)
    order = Order.of(cases.better)
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


def _class_covariance(cases: Cases, deviations: FloatArray) -> FloatArray:
    """Sum over the classes of the covariance of a weighted mean; with equal weights, sample covariance over n."""
    w = cases.weight
    total = np.zeros((deviations.shape[0], deviations.shape[0]))
    for of in (cases.positive, ~cases.positive):
        n, shares = int(np.count_nonzero(of)), w[of] / w[of].sum()
        scaled = deviations[:, of] * shares
        total += n / (n - 1) * (scaled @ scaled.T)
    return total


def _difference_se(covariance: FloatArray) -> float:
    """Standard error of the first less the second; rounding may leave a hair where both order the cases alike."""
    scale = float(covariance[0, 0] + covariance[1, 1])
    variance = scale - 2 * float(covariance[0, 1])
    return float(np.sqrt(variance)) if variance > 1e-14 * scale else 0.0


def _bound(a: float, n: float, confidence: float) -> Interval:
    return wilson(min(max(a, 0.0), 1.0) * n, n, confidence=confidence)


def _bounding_se(a: float, b: float, n: float) -> float:
    """Standard error of a difference by Birnbaum's bound, two successes and two failures added to each area."""
    smoothed = [(v * n + 2) / (n + 4) for v in (a, b)]
    return float(np.sqrt(sum(v * (1 - v) for v in smoothed) / (n + 4)))


def _two_sided(z: float) -> float:
    from scipy.special import ndtr

    return float(2 * ndtr(-abs(z)))
