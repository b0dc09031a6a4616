"""Statistics of a weighted sample: functions of totals, which take the short way, and any function of weights."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.replication.arrays import FloatArray
from harness.stats.replication.replicates import Replicates
from harness.stats.replication.sample import Sample, unit_sums

Bounds = tuple[float, float]
UNBOUNDED: Bounds = (-np.inf, np.inf)


@dataclass(frozen=True, eq=False)
class OfTotals(ABC):
    """A smooth function of weighted totals of case columns (cases, m).

    `fragile` says that part of a sample may not have it (a true positive rate where positives are few).
    """

    columns: FloatArray
    bounds: Bounds = UNBOUNDED
    fragile: bool = False

    @abstractmethod
    def combine(self, totals: FloatArray) -> FloatArray:
        """Totals (..., m) to the statistic (...)."""

    @abstractmethod
    def gradient(self, totals: FloatArray) -> FloatArray:
        """The derivatives (m,) of the statistic at totals (m,)."""


class Total(OfTotals):
    """The weighted total of one column."""

    def combine(self, totals: FloatArray) -> FloatArray:
        """The total itself."""
        return totals[..., 0]

    def gradient(self, totals: FloatArray) -> FloatArray:
        """One."""
        return np.ones_like(totals)


class Ratio(OfTotals):
    """The ratio of two totals; a rate is one, with the sum of weights below."""

    def combine(self, totals: FloatArray) -> FloatArray:
        """Not a number where the denominator is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(totals[..., 0] / totals[..., 1])

    def gradient(self, totals: FloatArray) -> FloatArray:
        """Of x / y."""
        return np.asarray(np.array([1.0, -totals[0] / totals[1]]) / totals[1])


class Difference(OfTotals):
    """The difference of two rates on the same cases; columns: A better by, B better by, and one."""

    def combine(self, totals: FloatArray) -> FloatArray:
        """Of A and B."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((totals[..., 0] - totals[..., 1]) / totals[..., 2])

    def gradient(self, totals: FloatArray) -> FloatArray:
        """Of (x - y) / z."""
        return np.asarray(np.array([1.0, -1.0, (totals[1] - totals[0]) / totals[2]]) / totals[2])


@dataclass(frozen=True, eq=False)
class OfWeights:
    """Any function of the case weights (cases,), evaluated once a replicate."""

    function: Callable[[FloatArray], float]
    bounds: Bounds = UNBOUNDED


Statistic = OfTotals | OfWeights


def rate(successes: npt.ArrayLike, *, within: npt.ArrayLike | None = None) -> Ratio:
    """The weighted rate of success, among the cases that `within` says (all of them by default)."""
    values = _values(successes, "successes", (0.0, 1.0))
    if within is None:
        return Ratio(np.stack([values, np.ones_like(values)], axis=1), bounds=(0.0, 1.0))
    inside = _values(within, "within", (0.0, 1.0))
    _same_length(values, inside)
    return Ratio(np.stack([values * inside, inside], axis=1), bounds=(0.0, 1.0), fragile=True)


def difference(successes_a: npt.ArrayLike, successes_b: npt.ArrayLike) -> Difference:
    """The weighted rate of A less that of B, on the same cases."""
    a, b = _values(successes_a, "successes_a", (0.0, 1.0)), _values(successes_b, "successes_b", (0.0, 1.0))
    _same_length(a, b)
    gap = a - b
    columns = np.stack([np.maximum(gap, 0), np.maximum(-gap, 0), np.ones_like(gap)], axis=1)
    return Difference(columns, bounds=(-1.0, 1.0))


def ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike, *, bounds: Bounds = UNBOUNDED) -> Ratio:
    """The ratio of two weighted totals."""
    above, below = _values(numerator, "numerator"), _values(denominator, "denominator")
    _same_length(above, below)
    return Ratio(np.stack([above, below], axis=1), bounds=bounds, fragile=True)


def total(values: npt.ArrayLike, *, bounds: Bounds = UNBOUNDED) -> Total:
    """A weighted total."""
    return Total(_values(values, "values")[:, None], bounds=bounds)


def full_estimate(sample: Sample, statistic: Statistic) -> float:
    """The statistic of the whole sample."""
    if isinstance(statistic, OfWeights):
        value = float(statistic.function(sample.weights))
    else:
        value = float(statistic.combine(full_totals(sample, statistic)))
    if not np.isfinite(value):
        raise ValueError(f"the whole sample's estimate is {value}: no case with weight counts in its denominator")
    return value


def full_totals(sample: Sample, statistic: OfTotals) -> FloatArray:
    """The weighted totals (m,) of the statistic's columns."""
    if len(statistic.columns) != sample.cases:
        raise ValueError(f"the statistic has {len(statistic.columns)} cases and the sample {sample.cases}")
    return np.asarray(sample.weights @ statistic.columns)


def replicate_estimates(replicates: Replicates, sample: Sample, statistic: Statistic) -> FloatArray:
    """The statistic (k,) of every replicate."""
    if isinstance(statistic, OfWeights):
        estimates = np.array(
            [
                statistic.function(factors[sample.unit_of_case] * sample.weights)
                for block in replicates.weights()
                for factors in block
            ]
        )
    else:
        estimates = statistic.combine(replicates.totals(unit_sums(sample, statistic.columns)))
    missing = np.flatnonzero(~np.isfinite(estimates))
    if missing.size:
        raise ValueError(
            f"replicate {missing[0]} of {replicates.count} has no estimate ({estimates[missing[0]]}): part of this "
            "sample is too little for the statistic; use fay=0.5, or the jackknife"
        )
    return estimates


def influences(sample: Sample, statistic: OfTotals) -> FloatArray:
    """What each unit (units,) adds to the statistic to first order: weighted sums of its linearised cases."""
    return unit_sums(sample, case_scores(sample, statistic))


def case_scores(sample: Sample, statistic: OfTotals) -> FloatArray:
    """The linearised value (cases,) of each case, weight left out."""
    return np.asarray(statistic.columns @ statistic.gradient(full_totals(sample, statistic)))


def _values(values: npt.ArrayLike, what: str, bounds: Bounds = UNBOUNDED) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{what}: {array.ndim} dimensions; give one value for each case")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= bounds[0]) & (array <= bounds[1])))
    if bad.size:
        limits = "" if bounds == UNBOUNDED else f" from {bounds[0]:g} to {bounds[1]:g}"
        raise ValueError(f"{what}: case {bad[0]} has {array[bad[0]]}; give finite values{limits}")
    return array


def _same_length(first: FloatArray, second: FloatArray) -> None:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} values: give both for the same cases")
