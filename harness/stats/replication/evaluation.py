"""Statistics evaluated: for the whole sample, for its units, and for every replicate."""

from weakref import WeakKeyDictionary

import numpy as np

from harness.stats.arrays import FloatArray
from harness.stats.replication.kinds import kind_unit_sums, kind_weights
from harness.stats.replication.replicates import Replicates
from harness.stats.replication.sample import Sample, unit_sums
from harness.stats.replication.statistic import Statistic, TotalsStatistic, WeightsStatistic

# For the sample that was asked for last: the members of a statistic, and what the units add to its totals.
_full_values: WeakKeyDictionary[WeightsStatistic, tuple[Sample, FloatArray]] = WeakKeyDictionary()
_unit_totals: WeakKeyDictionary[TotalsStatistic, tuple[Sample, FloatArray]] = WeakKeyDictionary()


def full_values(sample: Sample, statistic: Statistic) -> FloatArray:
    """The members (m,) for the whole sample; NaN if one has no value."""
    if not isinstance(statistic, WeightsStatistic):
        return np.atleast_1d(statistic.combine(full_totals(sample, statistic)))
    kept = _full_values.get(statistic)
    if kept is None or kept[0] is not sample:
        kept = _full_values[statistic] = (sample, statistic.members(sample.weights))
    return kept[1].copy()


def require_values(values: FloatArray) -> FloatArray:
    """The members; raises a ValueError if one has no value."""
    missing = values[~np.isfinite(values)]
    if missing.size:
        raise ValueError(f"the whole sample's estimate is {missing[0]}: no case with weight is in its denominator")
    return values


def full_totals(sample: Sample, statistic: TotalsStatistic) -> FloatArray:
    """The weighted totals (c,) of the statistic's columns."""
    if statistic.cases != sample.cases:
        raise ValueError(f"the statistic has {statistic.cases} cases, but the sample has {sample.cases}")
    return np.asarray(row_weights(statistic, sample.weights) @ statistic.columns)


def row_weights(statistic: Statistic, weights: FloatArray) -> FloatArray:
    """The weights of the statistic's rows, from those of the cases: the same, unless its rows are kinds of cases."""
    if isinstance(statistic, WeightsStatistic) or statistic.kinds is None:
        return weights
    return kind_weights(statistic.kinds, weights, len(statistic.columns))


def sums_by_unit(sample: Sample, statistic: Statistic, columns: FloatArray) -> FloatArray:
    """Weighted sums (units, c) over the cases of each unit, of columns (cases, c) or (kinds, c)."""
    if isinstance(statistic, WeightsStatistic) or statistic.kinds is None:
        return unit_sums(sample, columns)
    return kind_unit_sums(sample, statistic.kinds, columns)


def unit_totals(sample: Sample, statistic: TotalsStatistic) -> FloatArray:
    """What each unit adds to the totals (units, c); it is kept, since errors, limits and tests all need it."""
    kept = _unit_totals.get(statistic)
    if kept is None or kept[0] is not sample:
        kept = _unit_totals[statistic] = (sample, sums_by_unit(sample, statistic, statistic.columns))
    return kept[1]


def replicate_values(replicates: Replicates, sample: Sample, statistic: Statistic) -> FloatArray:
    """The members (k, m) of every replicate; NaN if one has no value."""
    if isinstance(statistic, WeightsStatistic):
        rows = [
            statistic.members(factors[sample.unit_of_case] * sample.weights)
            for block in replicates.weights()
            for factors in block
        ]
        return np.array(rows)
    return statistic.combine(replicates.totals(unit_totals(sample, statistic)))


def replicate_estimates(replicates: Replicates, sample: Sample, statistic: Statistic) -> FloatArray:
    """The members (k, m) of every replicate; raises a ValueError if one has no value."""
    estimates = replicate_values(replicates, sample, statistic)
    missing = np.argwhere(~np.isfinite(estimates))
    if missing.size:
        row, column = missing[0].tolist()
        raise ValueError(
            f"replicate {row} of {replicates.count} has no estimate ({estimates[row, column]}): this part of the "
            "sample is too small for the statistic; use Fay's rho of 0.5, or the jackknife"
        )
    return estimates
