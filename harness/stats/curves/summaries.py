"""Summaries of a curve as statistics of a sample: area, equal error rate, average precision, an error rate at a limit.

Each is a function of the case weights, evaluated in every replicate from one sort. Most also have a linear form: what
each case adds to first order, by DeLong's placements for the area, as in Obuchowski (1997) for clusters, here with
strata and weights. It costs one sort, whatever the number of units.

The deviations of the cases of a class have the weighted mean 0. If their weights change, the summary changes by the
sum over both classes of the weighted means of the deviations, up to second order. Average precision also depends on how
much both classes weigh, so that only the sum of both means is 0.

Curves may also be over what the cases consist of, such as pixels. The elements of a case are not independent, so every
error comes from the cases, or from their units: a replicate gives all elements of a case the weight of their case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.curves.roc import area, convex_hull, equal_error, equal_error_rates, placements
from harness.stats.curves.scores import Order, ScoredCases, counts_of, require_both, require_same_cases
from harness.stats.estimate import Estimate
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample, make_sample
from harness.stats.replication.statistic import WeightsStatistic, statistic_of_cells

__all__ = [
    "AREA",
    "AVERAGE_PRECISION",
    "EQUAL_ERROR",
    "FOUND_PRECISION",
    "SUMMARIES",
    "CurveSummary",
    "ElementCell",
    "Influence",
    "LinearSummary",
    "ScoredCell",
    "ScoredElements",
    "element_sample",
    "element_statistic",
    "fnr_at_fpr",
    "influence",
    "summary_difference",
    "summary_estimate",
    "summary_of_weights",
    "summary_slopes",
    "summary_statistic",
    "with_weights_of",
]


class LinearSummary(StrEnum):
    """The summaries that have a linear form."""

    AUC = "auc"
    EER = "eer"
    AP = "average_precision"
    # Without the last point, where no threshold is.
    AP_FOUND = "average_precision_found"


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """A summary, and each case's deviation."""

    estimate: float
    deviations: FloatArray


def influence(of: LinearSummary | str, cases: ScoredCases, order: Order | None = None) -> Influence:
    """The influence of a summary given by name; `order` is the sort of the cases, if that has been done already."""
    if of not in list(LinearSummary):
        raise ValueError(f"summary {of!r}: expected one of {', '.join(LinearSummary)}")
    if of in (LinearSummary.AP, LinearSummary.AP_FOUND):
        return _of_average_precision(cases, order, found_only=of == LinearSummary.AP_FOUND)
    if of == LinearSummary.EER:
        return _of_equal_error(cases)
    placed = placements(cases, order)
    return Influence(placed.auc, placed.values - placed.auc)


def _of_equal_error(cases: ScoredCases) -> Influence:
    """Error rates at the equal-error threshold.

    If both move, the equal error rate moves by their mean, weighted by the score densities there:
    l x fpr + (1 - l) x fnr, l = slope / (1 + slope). The slope is that of the convex hull.
    """
    counts = counts_of(cases)
    eer = equal_error(counts).rate
    hull = convex_hull(counts)
    slope = float(hull.slope[int(np.argmax(hull.tpr + hull.fpr >= 1)) - 1])
    weight = slope / (1 + slope) if np.isfinite(slope) else 1.0
    # Whether a case is accepted at the equal-error threshold (0 or 1), or a fraction between two thresholds.
    excess = counts.fnr - counts.fpr
    after = int(np.searchsorted(-excess, 0.0))
    share = excess[after - 1] / (excess[after - 1] - excess[after])
    edge = (1.0 if counts.larger_is_better else -1.0) * counts.threshold[after]
    accepted = np.where(cases.better > edge, 1.0, np.where(cases.better == edge, share, 0.0))
    return Influence(eer, np.where(cases.positive, (1 - weight) * (1 - accepted - eer), weight * (accepted - eer)))


def _of_average_precision(cases: ScoredCases, order: Order | None, *, found_only: bool) -> Influence:
    """The derivative of A = sum over groups g of tied scores of t_g P_g / N, with P_g = T_g / (T_g + F_g).

    t_g is the weight of the positives in a group, T_g and F_g that of all positives and negatives down to it, N that of
    all positives. For a positive and a negative of group k,

        N dA/dw = P_k - A + sum over g >= k of t_g (1 - P_g) / (T_g + F_g),
        N dA/dw = - sum over g >= k of t_g P_g / (T_g + F_g).
    """
    order = order or cases.order
    w, hit = cases.weight[order.cases], cases.positive[order.cases]
    tp, fp = (np.cumsum(np.where(of, w, 0.0))[order.ends] for of in (hit, ~hit))
    precision = np.divide(tp, tp + fp, out=np.zeros_like(tp), where=tp + fp > 0)
    gained = np.diff(tp, prepend=0.0)
    if found_only:
        gained[-1] = precision[-1] = 0.0
    value = float(gained @ precision) / tp[-1]
    share = np.divide(gained, tp + fp, out=np.zeros_like(tp), where=tp + fp > 0)
    gain, loss = (np.cumsum((share * part)[::-1])[::-1] for part in (1 - precision, precision))
    group = np.repeat(np.arange(order.ends.size), np.diff(order.ends, prepend=-1))
    slopes = np.empty(w.size)
    slopes[order.cases] = np.where(hit, (precision - value + gain)[group], -loss[group]) / tp[-1]
    return Influence(value, slopes * np.where(cases.positive, tp[-1], fp[-1]))


# The scores of a run, and which of the cases count; None if all do.
ScoredCell = tuple[ScoredCases, BoolArray | None]


@dataclass(frozen=True, slots=True)
class CurveSummary:
    """A number that summarises a curve, from the weights of the positives and negatives accepted, from none to all.

    `smooth`: it changes little if one case is left out. The point where a curve meets a line is not smooth, just like a
    median, and the delete-one jackknife is wrong for it: by 35 % for equal error rates of 100 subjects. `linear`: the
    name of its linear form, if there is one. `optimistic`: it is too large on average if cases are few.
    """

    name: str
    words: str
    of_totals: Callable[[FloatArray, FloatArray], float]
    smooth: bool
    linear: LinearSummary | None = None
    optimistic: bool = False


def _of_rates(formula: Callable[[FloatArray, FloatArray], FloatArray | float]) -> Callable[..., float]:
    """A formula that takes true- and false-positive rates."""
    return lambda tp, fp: float(formula(tp / tp[-1], fp / fp[-1]))


def _precision_over_recall(tp: FloatArray, fp: FloatArray) -> float:
    """Precision averaged over recall, as a step function; NaN-free where nothing is accepted yet."""
    accepted = tp[1:] + fp[1:]
    precision = np.divide(tp[1:], accepted, out=np.zeros(accepted.size), where=accepted > 0)
    return float(np.diff(tp) @ precision) / float(tp[-1])


def _precision_of_found(tp: FloatArray, fp: FloatArray) -> float:
    """The same over what has been found: the last point has what no threshold finds."""
    return _precision_over_recall(tp[:-1], fp[:-1]) * float(tp[-2] / tp[-1]) if tp[-2] > 0 else 0.0


AREA = CurveSummary("auc", "area under the ROC curve", _of_rates(area), True, LinearSummary.AUC)
EQUAL_ERROR = CurveSummary("eer", "equal error rate", _of_rates(equal_error_rates), False, LinearSummary.EER)
AVERAGE_PRECISION = CurveSummary(
    "average_precision", "average precision", _precision_over_recall, True, LinearSummary.AP, optimistic=True
)
# For objects: negatives cannot be counted, and objects that were not found are the last point.
FOUND_PRECISION = CurveSummary(
    "average_precision_found", "average precision", _precision_of_found, True, LinearSummary.AP_FOUND, optimistic=True
)
SUMMARIES = {summary.name: summary for summary in (AREA, EQUAL_ERROR, AVERAGE_PRECISION)}


def fnr_at_fpr(limit: float) -> CurveSummary:
    """False-negative rate at the laxest threshold whose false-positive rate is within a limit."""
    if not 0 <= limit <= 1:
        raise ValueError(f"limit {limit!r}: expected a rate between 0 and 1")

    def of_rates(tpr: FloatArray, fpr: FloatArray) -> float:
        # Rates of a replicate are sums of weights: a limit met exactly may be missed by a rounding error.
        return float(1 - tpr[np.searchsorted(fpr, limit + 1e-12, side="right") - 1])

    words = f"false negative rate at fpr {limit:g}"
    return CurveSummary(f"fnr at fpr {limit:g}", words, _of_rates(of_rates), smooth=False)


def summary_statistic(summary: CurveSummary, cells: Sequence[ScoredCell]) -> WeightsStatistic:
    """A summary of the curves of some cells as a function of the case weights; each sort is done once."""
    return _statistic(summary, [((cases, None), inside) for cases, inside in cells], cells[0][0].positive)


def _statistic(
    summary: CurveSummary,
    cells: Sequence[tuple[tuple[ScoredCases, ScoredElements | None], BoolArray | None]],
    classes: BoolArray | None = None,
) -> WeightsStatistic:
    """Of the scores of each cell, and the elements that have them if they are not those of the cases."""
    parts = [
        ((summary_of_weights(summary, scored, scored.order), scored, of), inside) for (scored, of), inside in cells
    ]

    def spread(weights: FloatArray, of: ScoredElements | None) -> FloatArray:
        return weights if of is None else np.asarray(weights[of.case] * of.weight)

    def value(part: _Part, weights: FloatArray) -> float:
        curve, _, of = part
        return curve(spread(weights, of))

    def slopes(part: _Part, weights: FloatArray) -> FloatArray:
        _, scored, of = part
        found = summary_slopes(summary, scored, scored.order, spread(weights, of))
        # What a case adds is the sum over its elements.
        return found if of is None else np.bincount(of.case, found * of.weight, weights.size).astype(np.float64)

    return statistic_of_cells(
        parts,
        value,
        None if summary.linear is None else slopes,
        smooth=summary.smooth,
        classes=classes,
        optimistic=summary.optimistic,
        words=summary.words,
    )


def summary_estimate(
    summary: CurveSummary, cases: ScoredCases, sample: Sample | None = None, replication: Replication | None = None
) -> Estimate:
    """A summary of one curve, with the sample's weights, strata and units; independent cases without a sample."""
    sample = _independent(cases) if sample is None else sample
    weighted = with_weights_of(cases, sample)
    return make_estimates(sample, summary_statistic(summary, [(weighted, None)]), replication).estimate(0)


def summary_difference(
    summary: CurveSummary,
    a: ScoredCases,
    b: ScoredCases,
    sample: Sample | None = None,
    replication: Replication | None = None,
) -> Estimate:
    """The difference a - b of a summary on the same cases, with its interval and p-value."""
    require_same_cases(a, b)
    sample = _independent(a) if sample is None else sample
    cells: list[ScoredCell] = [(with_weights_of(cases, sample), None) for cases in (a, b)]
    return make_estimates(sample, summary_statistic(summary, cells), replication).difference(0, 1)


def with_weights_of(cases: ScoredCases, sample: Sample) -> ScoredCases:
    """The cases with the sample's weights, which must agree with their own."""
    if cases.better.size != sample.cases:
        raise ValueError(f"{cases.better.size} scores for a sample of {sample.cases} cases: expected one per case")
    if cases.weights is not None and not np.array_equal(cases.weights, sample.weights):
        raise ValueError("the weights of the cases differ from the sample's: give weights to the sample only")
    return replace(cases, weights=sample.weights)


def _independent(cases: ScoredCases) -> Sample:
    return make_sample(cases.better.size, weights=cases.weights)


def summary_of_weights(summary: CurveSummary, cases: ScoredCases, order: Order) -> Callable[[FloatArray], float]:
    """A summary as a function of the weights of the cases, whose sort is `order`; NaN if a class has no weight."""
    require_both(cases)
    hit = cases.positive[order.cases]

    def of_weights(weights: FloatArray) -> float:
        w = weights[order.cases]
        tp = np.cumsum(np.where(hit, w, 0.0))[order.ends]
        fp = np.cumsum(np.where(hit, 0.0, w))[order.ends]
        if not (tp[-1] > 0 and fp[-1] > 0):
            return float("nan")
        start = np.zeros(1)
        return summary.of_totals(np.concatenate((start, tp)), np.concatenate((start, fp)))

    return of_weights


def summary_slopes(summary: CurveSummary, cases: ScoredCases, order: Order, weights: FloatArray) -> FloatArray:
    """What each case adds per unit of weight to a summary, to first order."""
    deviations = influence(summary.linear or "", replace(cases, weights=weights), order).deviations
    totals = np.where(cases.positive, weights @ cases.positive, weights @ ~cases.positive)
    return np.asarray(deviations / totals)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredElements:
    """Elements with a score, a class and a weight, and the case that each belongs to."""

    scored: ScoredCases
    case: IntArray

    @property
    def weight(self) -> FloatArray:
        """How much each element counts within its case."""
        return self.scored.weight


# The elements of a run, and which of the cases count; None if all do.
ElementCell = tuple[ScoredElements, BoolArray | None]
# A curve as a function of the weights of its scores, these scores, and the elements that have them if not the cases.
_Part = tuple[Callable[[FloatArray], float], ScoredCases, ScoredElements | None]


def element_sample(sample: Sample, elements: ScoredElements) -> Sample:
    """The elements as a sample: each in the unit of its case, with the weight of its case times its own."""
    return replace(
        sample,
        weights=sample.weights[elements.case] * elements.weight,
        unit_of_case=sample.unit_of_case[elements.case],
        clustered=True,
    )


def element_statistic(summary: CurveSummary, cells: Sequence[ElementCell]) -> WeightsStatistic:
    """A summary of the curves of some cells as a function of the weights of the cases; each sort is done once."""
    return _statistic(summary, [((elements.scored, elements), inside) for elements, inside in cells])
