"""The textbook variance over the units of each stratum, of linearised values, and what follows from it."""

import numpy as np

from harness.stats.replication.arrays import FloatArray
from harness.stats.replication.lone import Lone
from harness.stats.replication.sample import Sample
from harness.stats.replication.statistic import OfTotals, case_scores


def stratum_variances(sample: Sample, unit_values: FloatArray) -> FloatArray:
    """n / (n - 1) times the squared deviations of the units (units,) from their stratum's mean, for each stratum.

    It is what balanced replication gives on average over all ways to group a stratum's units in two halves. Lone
    strata: zero for `remove` and `certainty`, the square about zero for `adjust`, the others' mean for `average`.
    """
    sizes = sample.stratum_sizes
    alone = sizes == 1
    means = np.bincount(sample.stratum_of_unit, weights=unit_values, minlength=sample.strata) / sizes
    if sample.lone is Lone.ADJUST:
        means[alone] = 0.0
    squares = (unit_values - means[sample.stratum_of_unit]) ** 2
    sums = np.bincount(sample.stratum_of_unit, weights=squares, minlength=sample.strata)
    variances = np.asarray(sums * np.where(alone, 1.0, sizes / np.maximum(sizes - 1, 1)), dtype=np.float64)
    if sample.lone is Lone.AVERAGE:
        variances[alone] = variances[~alone].mean()
    return variances


def satterthwaite_df(sample: Sample, unit_values: FloatArray) -> float:
    """Satterthwaite's degrees of freedom: fewer than units - strata where strata differ in variance."""
    sizes = sample.stratum_sizes
    variances = stratum_variances(sample, unit_values)[sizes > 1]
    if not variances.any():
        return float(sample.units - sample.strata)
    return float(variances.sum() ** 2 / (variances**2 / (sizes[sizes > 1] - 1)).sum())


def independent_variance(sample: Sample, statistic: OfTotals) -> float:
    """The variance that the statistic would have if all cases were independent.

    For a rate p of n cases of one weight that is p (1 - p) / (n - 1), for a paired difference D
    [(n_sf + n_fs) / n - D^2] / (n - 1).
    """
    scores, weights = case_scores(sample, statistic), sample.weights
    cases = int((weights > 0).sum())
    if cases < 2:
        return 0.0
    weighed = weights.sum()
    centred = scores - weights @ scores / weighed
    return float(weights @ centred**2 * weighed / (cases - 1))
