"""Linear forms of statistics, and the textbook variance from them, over the units of each stratum."""

import numpy as np

from harness.stats.arrays import FloatArray, columns_of
from harness.stats.replication.replicates import blocks
from harness.stats.replication.sample import LoneStrata, Sample, unit_sums
from harness.stats.replication.statistic import (
    Statistic,
    TotalsStatistic,
    WeightsStatistic,
    full_totals,
    row_weights,
    unit_totals,
)

# Cases at a time: so many are in the processor's cache.
_ROWS = 1 << 14
_NO_LINEAR_FORM = "no linear form, and so no textbook variance; use the bootstrap"


def case_scores(sample: Sample, statistic: WeightsStatistic) -> FloatArray | None:
    """The linearised value (cases, m) of each case per unit of weight; None if there is no linear form."""
    return None if statistic.linear is None else statistic.linear(sample.weights)


def influences(sample: Sample, statistic: Statistic) -> FloatArray | None:
    """What each unit (units, m) adds to the members to first order: weighted sums of its linearised cases."""
    if isinstance(statistic, TotalsStatistic):
        # Linear in the columns, so sum by unit first: there are fewer units than cases.
        return statistic.derivative(full_totals(sample, statistic), unit_totals(sample, statistic))
    scores = case_scores(sample, statistic)
    return None if scores is None else unit_sums(sample, scores)


def textbook_covariance(sample: Sample, statistic: Statistic) -> tuple[FloatArray, float]:
    """The covariance (m, m) over units of linearised values, and its degrees of freedom.

    For independent cases of two classes, the number of each is treated as fixed and the reference is normal, as in
    DeLong, DeLong and Clarke-Pearson (1988).
    """
    independent = not (sample.stratified or sample.clustered)
    if not (independent and isinstance(statistic, WeightsStatistic) and statistic.classes is not None):
        units = influences(sample, statistic)
        if units is None:
            raise ValueError(_NO_LINEAR_FORM)
        return linearised_covariance(sample, units), float(sample.units - sample.strata)
    scores = case_scores(sample, statistic)
    if scores is None:
        raise ValueError(_NO_LINEAR_FORM)
    covariance = np.zeros((scores.shape[1], scores.shape[1]))
    for name, of in (("positive", statistic.classes), ("negative", ~statistic.classes)):
        counting = of & (sample.weights > 0)
        number = int(np.count_nonzero(counting))
        if number < 2:
            raise ValueError(f"{number} {name} cases: DeLong's variance needs two or more of each class")
        members = scores[counting] * sample.weights[counting, None]
        members -= members.mean(axis=0)
        covariance += number / (number - 1) * (members.T @ members)
    return covariance, np.inf


def stratum_variances(sample: Sample, unit_values: FloatArray) -> FloatArray:
    """n / (n - 1) times the squared deviations of the units from their stratum's mean, for each stratum.

    (units,) gives (strata,), (units, m) gives (strata, m). This is what balanced replication gives on average over all
    ways to split a stratum's units into two halves. Lone strata: zero for `remove` and `certainty`, the square about
    zero for `adjust`, the mean of the others for `average`.
    """
    columns, single = columns_of(unit_values)
    variances = _by_stratum(sample, _deviations(sample, columns) ** 2)
    if sample.lone is LoneStrata.AVERAGE:
        lone = sample.stratum_sizes == 1
        variances[lone] = variances[~lone].mean(axis=0)
    return variances[:, 0] if single else variances


def linearised_covariance(sample: Sample, unit_values: FloatArray) -> FloatArray:
    """The covariance matrix (m, m) of several statistics from their influences (units, m)."""
    deviations = _deviations(sample, unit_values)
    lone = int((sample.stratum_sizes == 1).sum())
    scale = sample.strata / (sample.strata - lone) if sample.lone is LoneStrata.AVERAGE else 1.0
    return np.asarray(scale * deviations.T @ deviations)


def satterthwaite_df(sample: Sample, unit_values: FloatArray) -> float:
    """Satterthwaite's degrees of freedom: fewer than units - strata if strata differ in variance."""
    sizes = sample.stratum_sizes
    variances = stratum_variances(sample, unit_values)[sizes > 1]
    if not variances.any():
        return float(sample.units - sample.strata)
    return float(variances.sum() ** 2 / (variances**2 / (sizes[sizes > 1] - 1)).sum())


def independent_covariance(sample: Sample, statistic: TotalsStatistic) -> FloatArray:
    """The covariance matrix (m, m) that the members would have if all cases were independent.

    For a rate p of n cases with equal weights it is p (1 - p) / (n - 1); for a paired difference D it is
    [(n_sf + n_fs) / n - D^2] / (n - 1).
    """
    covariance, cases = np.zeros((statistic.size, statistic.size)), int(np.count_nonzero(sample.weights))
    if cases < 2:
        return covariance
    weights, totals = row_weights(statistic, sample.weights), full_totals(sample, statistic)
    total = float(weights.sum())
    # Linear, so that the mean of the cases follows from their totals.
    mean = statistic.derivative(totals, totals) / total
    for start, stop in blocks(len(weights), _ROWS):
        centred = statistic.derivative(totals, statistic.columns[start:stop]) - mean
        covariance += centred.T @ (centred * weights[start:stop, None])
    return covariance * (total / (cases - 1))


def _deviations(sample: Sample, columns: FloatArray) -> FloatArray:
    """Deviations (units, m) from the stratum's mean, scaled so that their squares add up to the variance."""
    sizes = sample.stratum_sizes
    means = _by_stratum(sample, columns) / sizes[:, None]
    if sample.lone is LoneStrata.ADJUST:
        means[sizes == 1] = 0.0
    scale = np.sqrt(np.where(sizes == 1, 1.0, sizes / np.maximum(sizes - 1, 1)))
    # The units of a stratum are consecutive.
    deviations = columns - np.repeat(means.T, sizes, axis=1).T
    deviations *= np.repeat(scale, sizes)[:, None]
    return deviations


def _by_stratum(sample: Sample, columns: FloatArray) -> FloatArray:
    sizes = sample.stratum_sizes
    return np.add.reduceat(columns, np.cumsum(sizes) - sizes, axis=0)
