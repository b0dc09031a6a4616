"""Costs of scores: log-likelihood-ratio cost, detection cost at the best threshold, calibration of probabilities.

Cllr is that of Brummer and du Preez (2006), with natural logarithms in the scores and bits in the result: 0 is perfect,
1 is what a system gets that always says nothing (a ratio of 1). Its minimum is over all monotone transformations of the
scores, that is, over the convex hull of the ROC curve, which is isotonic regression in another form. The detection cost
is NIST's: miss and false alarm with their costs and the prior of a target, over the better of accepting everything and
nothing.

At a minimum the first-order change of a cost is that of the cost with its minimiser held fixed (the envelope theorem);
so these have a linear form too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.curves.roc import convex_hull
from harness.stats.curves.scores import ScoredCases, counts_of, require_both
from harness.stats.curves.summaries import ScoredCell
from harness.stats.replication.statistic import (
    SmoothFormula,
    TotalsStatistic,
    WeightsStatistic,
    statistic_of_cells,
)

__all__ = [
    "DetectionPrior",
    "bin_numbers",
    "calibrated",
    "calibration_error",
    "log_cost",
    "minimum_detection_cost",
    "minimum_log_cost",
    "reliability",
    "squared_error",
]

_BITS = 2 * np.log(2)
# Of a reliability diagram, as most of the literature has it.
BINS = 15


@dataclass(frozen=True, slots=True)
class DetectionPrior:
    """What a miss and a false alarm cost, and how likely a target is."""

    miss: float = 1.0
    false_alarm: float = 1.0
    prior: float = 0.5

    def __post_init__(self) -> None:
        if not (0 < self.miss < np.inf and 0 < self.false_alarm < np.inf and 0 < self.prior < 1):
            raise ValueError(
                f"costs {self.miss:g} and {self.false_alarm:g}, prior {self.prior:g}: expected costs above 0 and a "
                "prior between 0 and 1"
            )

    @property
    def weights(self) -> tuple[float, float]:
        """What the false negative rate and the false positive rate count, normalised."""
        of_miss, of_alarm = self.miss * self.prior, self.false_alarm * (1 - self.prior)
        least = min(of_miss, of_alarm)
        return of_miss / least, of_alarm / least


def log_cost(cells: Sequence[ScoredCell]) -> TotalsStatistic:
    """Cllr of scores that are log-likelihood ratios; infinite scores on the wrong side cost infinitely much."""
    columns = []
    for cases, inside in cells:
        cost = _log_costs(cases.better, cases.positive)
        columns += [_part(cost, cases.positive, inside), _part(None, cases.positive, inside)]
        columns += [_part(cost, ~cases.positive, inside), _part(None, ~cases.positive, inside)]
    return SmoothFormula(
        np.stack(columns, axis=1),
        bounds=(0.0, np.inf),
        fragile=True,
        formula=lambda t: (t[..., 0] / t[..., 1] + t[..., 2] / t[..., 3]) / 2,
        parts=4,
    )


def _log_costs(llr: FloatArray, positive: BoolArray) -> FloatArray:
    """What each case adds, in bits: log2(1 + exp(-llr)) for a target, log2(1 + exp(llr)) for another."""
    return np.asarray(np.logaddexp(0.0, np.where(positive, -llr, llr)) / np.log(2))


def _part(cost: FloatArray | None, of: BoolArray, inside: BoolArray | None) -> FloatArray:
    counted = of if inside is None else of & inside
    if cost is None:
        return counted.astype(np.float64)
    return np.where(counted, cost, 0.0)


def calibrated(cases: ScoredCases) -> FloatArray:
    """The log-likelihood ratio that isotonic regression gives each case: the slope of the hull where it lies."""
    counts = counts_of(cases)
    hull = convex_hull(counts)
    sign = 1.0 if counts.larger_is_better else -1.0
    edges = sign * counts.threshold[hull.vertices[1:]]
    # The segment whose threshold is the first at or below the score; edges fall.
    segment = np.minimum(np.searchsorted(-edges, -cases.better, side="left"), hull.slope.size - 1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(hull.slope[segment]))


def minimum_log_cost(cells: Sequence[ScoredCell]) -> WeightsStatistic:
    """Cllr after the best monotone transformation of the scores: what discrimination alone costs."""

    def value(cases: ScoredCases, weights: FloatArray) -> float:
        weighted = replace(cases, weights=weights)
        if not (weights @ cases.positive > 0 and weights @ ~cases.positive > 0):
            return float("nan")
        cost = _log_costs(calibrated(weighted), cases.positive)
        return sum(_mean(cost[of], weights[of]) for of in (cases.positive, ~cases.positive)) / 2

    def slopes(cases: ScoredCases, weights: FloatArray) -> FloatArray:
        weighted = replace(cases, weights=weights)
        return _class_slopes(_log_costs(calibrated(weighted), cases.positive), weighted, (0.5, 0.5))

    return _statistic(cells, value, slopes, "minimum Cllr")


def minimum_detection_cost(cells: Sequence[ScoredCell], of: DetectionPrior) -> WeightsStatistic:
    """The detection cost at the threshold where it is least."""
    on_miss, on_alarm = of.weights

    def best(cases: ScoredCases, weights: FloatArray) -> tuple[float, float]:
        counts = counts_of(replace(cases, weights=weights))
        cost = on_miss * counts.fnr + on_alarm * counts.fpr
        index = int(np.argmin(cost))
        return float(cost[index]), float((1 if counts.larger_is_better else -1) * counts.threshold[index])

    def value(cases: ScoredCases, weights: FloatArray) -> float:
        if not (weights @ cases.positive > 0 and weights @ ~cases.positive > 0):
            return float("nan")
        return best(cases, weights)[0]

    def slopes(cases: ScoredCases, weights: FloatArray) -> FloatArray:
        accepted = cases.better >= best(cases, weights)[1]
        wrong = np.where(cases.positive, ~accepted, accepted).astype(np.float64)
        return _class_slopes(wrong, replace(cases, weights=weights), (on_miss, on_alarm))

    return _statistic(cells, value, slopes, "minimum detection cost")


def _mean(values: FloatArray, weights: FloatArray) -> float:
    """The weighted mean; cases of weight 0 do not count, even if infinite."""
    counted = weights > 0
    return float(values[counted] @ weights[counted] / weights[counted].sum())


def _class_slopes(cost: FloatArray, cases: ScoredCases, shares: tuple[float, float]) -> FloatArray:
    """What each case adds per unit of weight to the shares of the two class means, to first order."""
    slopes = np.zeros(cost.size)
    for of, share in zip((cases.positive, ~cases.positive), shares, strict=True):
        weight = cases.weight[of]
        mean = _mean(cost[of], weight)
        slopes[of] = share * np.where(weight > 0, cost[of] - mean, 0.0) / weight.sum()
    return slopes


def _statistic(
    cells: Sequence[ScoredCell],
    value: Callable[[ScoredCases, FloatArray], float],
    slopes: Callable[[ScoredCases, FloatArray], FloatArray],
    words: str,
) -> WeightsStatistic:
    for cases, _ in cells:
        require_both(cases)
    # The best threshold of a sample jumps when a case is left out.
    return statistic_of_cells(cells, value, slopes, smooth=False, classes=cells[0][0].positive, words=words)


def _require_probabilities(cases: ScoredCases) -> None:
    outside = ~((cases.better >= 0) & (cases.better <= 1))
    if outside.any() or not cases.larger_is_better:
        value = cases.better[int(outside.argmax())]
        raise ValueError(f"score {value:g} is not a probability; calibration needs scores from 0 to 1")


def squared_error(cells: Sequence[ScoredCell]) -> SmoothFormula:
    """Brier's score (1950): the mean squared distance of a probability from what happened."""
    columns = []
    for cases, inside in cells:
        _require_probabilities(cases)
        every = np.ones(cases.positive.size, dtype=np.bool_)
        columns += [_part((cases.better - cases.positive) ** 2, every, inside), _part(None, every, inside)]
    return SmoothFormula(
        np.stack(columns, axis=1), (0.0, 1.0), fragile=True, formula=lambda t: t[..., 0] / t[..., 1], parts=2
    )


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityBins:
    """Probabilities in bins of equal width: the mean of each, how often it happened, and the weight."""

    probability: FloatArray
    frequency: FloatArray
    weight: FloatArray


def bin_numbers(cases: ScoredCases, bins: int = BINS) -> IntArray:
    """The bin of every case: probabilities from 0 to 1 in bins of equal width."""
    _require_probabilities(cases)
    return np.asarray(np.minimum((cases.better * bins).astype(np.int64), bins - 1))


def reliability(cases: ScoredCases, bins: int = BINS) -> ReliabilityBins:
    """The bins of a reliability diagram that are not empty."""
    bin_of_case = bin_numbers(cases, bins)
    weight, said, happened = (
        np.asarray(np.bincount(bin_of_case, weights=cases.weight * values, minlength=bins), dtype=np.float64)
        for values in (np.ones(bin_of_case.size), cases.better, cases.positive.astype(np.float64))
    )
    full = weight > 0
    return ReliabilityBins(said[full] / weight[full], happened[full] / weight[full], weight[full])


def calibration_error(cells: Sequence[ScoredCell], bins: int = BINS) -> WeightsStatistic:
    """The expected calibration error (Naeini and others 2015): how far bins are from the diagonal, on average.

    It cannot be below 0, so chance alone makes it larger than it is.
    """
    for cases, _ in cells:
        _require_probabilities(cases)

    def value(cases: ScoredCases, weights: FloatArray) -> float:
        if not weights.sum() > 0:
            return float("nan")
        diagram = reliability(replace(cases, weights=weights), bins)
        return float(np.abs(diagram.probability - diagram.frequency) @ diagram.weight / diagram.weight.sum())

    return statistic_of_cells(cells, value, smooth=False, words="calibration error")
