"""Where cases enter a curve, sums over groups of them by point, and the textbook variance from such sums.

A case enters at one place of the curve and stays: it is accepted at the first threshold that its score passes, or
found at its rank. So one number per case, its place, is enough: cumulated sums by group and place give every group's
total at every point without an array of cases by points.

With A a unit's weight that has entered by a point, B its whole weight and p the rate there, the linearised values are
(A - p B) / sum B. Their variance within strata needs only sums of A, B, A^2, A B and B^2 over units, and those of A^2
grow by `square_steps`: memory is proportional to strata times points, whatever the number of units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.replication.linearised import stratum_variances
from harness.stats.replication.sample import Sample

__all__ = ["Entries", "binned", "column_blocks", "square_steps", "textbook_variances"]


_BLOCK_ELEMENTS = 1 << 22
# A variance is a difference of sums of squares here: below this share of them it is a rounding error. A single
# different case in a thousand million is above it.
_ROUNDING = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Where each case enters (`points` for never), and which cases the rate is taken over."""

    place: IntArray
    within: BoolArray
    points: int


def column_blocks(groups: int, points: int) -> Iterator[tuple[int, int]]:
    """Ranges of points such that groups times points stays within a block's size."""
    width = max(1, _BLOCK_ELEMENTS // max(1, groups))
    for start in range(0, points, width):
        yield start, min(start + width, points)


def binned(
    group: npt.NDArray[np.integer], groups: int, place: IntArray, weights: FloatArray, columns: tuple[int, int]
) -> FloatArray:
    """Weight that has entered by each of the points start to stop, for each group: (groups, stop - start)."""
    start, stop = columns
    width = stop - start + 1
    cell = group * width + np.clip(place - start, 0, width - 1)
    sums = np.bincount(cell, weights=weights, minlength=groups * width).reshape(groups, width)
    return np.cumsum(sums[:, :-1], axis=1)


def square_steps(group: npt.NDArray[np.integer], place: IntArray, weights: FloatArray) -> FloatArray:
    """By how much each case raises the square of its group's total when it enters.

    Summed over all cases that have entered, the steps give the sum of squared group totals at every point, without an
    array of groups by points.
    """
    order = np.lexsort((place, group))
    w, g = weights[order], group[order]
    upto = np.cumsum(w)
    first = np.flatnonzero(np.diff(g, prepend=-1))
    members = np.diff(first, append=g.size)
    before = upto - w - np.repeat(upto[first] - w[first], members)
    steps = np.empty(w.size)
    steps[order] = w * (2 * before + w)
    return steps


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
    """For lone strata that were left as they are: `stratum_variances` has the rules for them."""
    whole = _by_unit(sample, weights)
    variance = np.empty(rates.size)
    for columns in column_blocks(sample.units, rates.size):
        sums = binned(sample.unit_of_case, sample.units, entries.place, weights, columns)
        linear = (sums - whole[:, None] * rates[slice(*columns)]) / weights.sum()
        variance[slice(*columns)] = [stratum_variances(sample, column).sum() for column in linear.T]
    return variance
