"""The textbook variance over units, of a rate that accumulates along a curve, at all of its points.

With A a unit's weight that has entered by a point, B its weight and p the rate there, the linearised values are
(A - p B) / sum B. Their variance within strata needs sums of A, B, A^2, A B and B^2 over units only, and those of A^2
grow by `square_steps`: memory is in proportion to strata times points, whatever the number of units.
"""

from __future__ import annotations

import numpy as np

from harness.stats.curves.cases import FloatArray
from harness.stats.curves.entries import Entries, binned, column_blocks, square_steps
from harness.stats.replication.linearised import stratum_variances
from harness.stats.replication.sample import Sample

__all__ = ["textbook_variances"]

# A variance is a difference of sums of squares here: below this share of them it is a rounding error. A single case
# of a thousand million that differs is above it.
_ROUNDING = 1e-10


def textbook_variances(entries: Entries, sample: Sample, rates: FloatArray) -> FloatArray:
    """Variance of the rate at every point, from differences between the units of each stratum."""
    weights = np.where(entries.within, sample.weights, 0.0)
    if (sample.stratum_sizes < 2).any():
        return _unit_by_unit(entries, sample, weights, rates)
    whole = _by_unit(sample, weights)
    steps = (weights, square_steps(sample.unit_of_case, entries.place, weights), weights * whole[sample.unit_of_case])
    variance = np.empty(rates.size)
    for columns in column_blocks(sample.strata, rates.size):
        part = slice(*columns)
        variance[part] = _from_sums(entries, sample, whole, steps, columns, rates[part])
    return np.asarray(variance / weights.sum() ** 2)


def _by_unit(sample: Sample, weights: FloatArray) -> FloatArray:
    return np.bincount(sample.unit_of_case, weights=weights, minlength=sample.units).astype(np.float64)


def _from_sums(
    entries: Entries,
    sample: Sample,
    whole: FloatArray,
    steps: tuple[FloatArray, FloatArray, FloatArray],
    columns: tuple[int, int],
    rates: FloatArray,
) -> FloatArray:
    stratum = sample.stratum_of_unit[sample.unit_of_case]
    entered, squares, products = (binned(stratum, sample.strata, entries.place, step, columns) for step in steps)
    b, b_squares = (
        np.bincount(sample.stratum_of_unit, weights=v, minlength=sample.strata)[:, None] for v in (whole, whole**2)
    )
    n = sample.stratum_sizes[:, None]
    scale = squares + rates**2 * b_squares
    deviations = scale - 2 * rates * products - (entered - rates * b) ** 2 / n
    return np.asarray(np.where(deviations > _ROUNDING * scale, deviations * n / (n - 1), 0.0).sum(axis=0))


def _unit_by_unit(entries: Entries, sample: Sample, weights: FloatArray, rates: FloatArray) -> FloatArray:
    """Lone strata that were left as they are have rules of their own, which `stratum_variances` knows."""
    whole = _by_unit(sample, weights)
    variance = np.empty(rates.size)
    for columns in column_blocks(sample.units, rates.size):
        sums = binned(sample.unit_of_case, sample.units, entries.place, weights, columns)
        linear = (sums - whole[:, None] * rates[slice(*columns)]) / weights.sum()
        variance[slice(*columns)] = [stratum_variances(sample, column).sum() for column in linear.T]
    return variance
