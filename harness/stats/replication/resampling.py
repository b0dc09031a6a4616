"""Jackknives and the bootstrap: delete one unit at a time (JKn), or a group of units from all strata at a time,
or draw units anew (the rescaled bootstrap of Rao and Wu 1988, within strata and by whole units).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray, IntArray, columns_of
from harness.stats.replication.replicates import ScaledReplicates, around_lone, blocks
from harness.stats.replication.sample import Sample

_BLOCK = 64
# Factors, of units times replicates, that are held at once.
_HELD = 1 << 22


@dataclass(frozen=True, eq=False)
class DeleteOne(ScaledReplicates):
    """One replicate a unit: it is left out, and the others of its stratum are raised by n / (n - 1)."""

    stratum: IntArray
    sizes: IntArray

    @property
    def count(self) -> int:
        """Number of replicates."""
        return len(self.stratum)

    @property
    def df(self) -> float:
        """Units less strata."""
        return float(len(self.stratum) - len(self.sizes))

    @property
    def coefficients(self) -> FloatArray:
        """(n - 1) / n of the deleted unit's stratum."""
        return np.asarray((1 - 1 / self.sizes)[self.stratum])

    def totals(self, unit_values: npt.ArrayLike) -> FloatArray:
        """In closed form: no replicate is formed."""
        columns, single = columns_of(unit_values)
        starts = np.cumsum(self.sizes) - self.sizes
        sums, sizes = np.add.reduceat(columns, starts, axis=0)[self.stratum], self.sizes[self.stratum, None]
        totals = columns.sum(axis=0) + (sums - sizes * columns) / (sizes - 1)
        return np.asarray(totals[:, 0] if single else totals)

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        """The factors in blocks (r, units)."""
        raised = (self.sizes / (self.sizes - 1))[self.stratum]
        for start, stop in blocks(self.count, block):
            same = self.stratum[start:stop, None] == self.stratum
            factors = np.where(same, raised, 1.0)
            factors[np.arange(stop - start), np.arange(start, stop)] = 0.0
            yield factors


@dataclass(frozen=True, eq=False)
class DeleteGroup(ScaledReplicates):
    """One replicate a group, with factors that make every stratum's share unbiased, few units or many.

    Of n units in a stratum, m in the group: the group's factors are 1 - c (n - m), the others' 1 + c m, with
    c^2 = G / ((G - 1) g m (n - m)) and g the groups that the stratum has. For m = n / G that is the plain deletion; for
    m = 1 Kott's extension (Journal of Official Statistics 17, 2001) to strata of fewer units than groups.
    """

    stratum: IntArray
    sizes: IntArray
    group: IntArray
    groups: int

    @property
    def count(self) -> int:
        """Number of replicates."""
        return self.groups

    @property
    def df(self) -> float:
        """Groups less one, and never more than units less strata."""
        return float(min(self.groups - 1, len(self.stratum) - len(self.sizes)))

    @property
    def coefficients(self) -> FloatArray:
        """The same for all."""
        return np.array(1 - 1 / self.groups)

    def totals(self, unit_values: npt.ArrayLike) -> FloatArray:
        """Sums by stratum and group; factors are not formed."""
        columns, single = columns_of(unit_values)
        members, steps = self._steps()
        totals = np.empty((self.groups, columns.shape[1]))
        for column, values in enumerate(columns.T):
            within = self._by_group(values)
            moved = steps * (members * within.sum(axis=1, keepdims=True) - self.sizes[:, None] * within)
            totals[:, column] = values.sum() + moved.sum(axis=0)
        return totals[:, 0] if single else totals

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        """The factors in blocks (r, units)."""
        members, steps = self._steps()
        for start, stop in blocks(self.groups, block):
            step = steps[self.stratum, start:stop].T
            inside = self.group == np.arange(start, stop)[:, None]
            yield 1 + step * (members[self.stratum, start:stop].T - inside * self.sizes[self.stratum])

    def _by_group(self, values: FloatArray) -> FloatArray:
        cell = self.stratum * self.groups + self.group
        sums = np.bincount(cell, weights=values, minlength=len(self.sizes) * self.groups)
        return np.asarray(sums, dtype=np.float64).reshape(-1, self.groups)

    def _steps(self) -> tuple[FloatArray, FloatArray]:
        members = self._by_group(np.ones(len(self.stratum)))
        product = (members > 0).sum(axis=1, keepdims=True) * members * (self.sizes[:, None] - members)
        scale = self.groups / (self.groups - 1)
        return members, np.sqrt(np.divide(scale, product, out=np.zeros_like(product), where=product > 0))


def delete_one(sample: Sample) -> ScaledReplicates:
    """The delete-one jackknife, within strata where there are any (JKn)."""
    return around_lone(sample, lambda kept: DeleteOne(kept.stratum_of_unit, kept.stratum_sizes))


def delete_group(sample: Sample, *, rng: np.random.Generator, groups: int = 30) -> ScaledReplicates:
    """The delete-a-group jackknife: units of every stratum are spread over the groups at random."""
    if groups < 2:
        raise ValueError(f"{groups} groups: the delete-a-group jackknife needs at least two")
    return around_lone(sample, lambda kept: _delete_group(kept, rng, groups))


def _delete_group(sample: Sample, rng: np.random.Generator, groups: int) -> DeleteGroup:
    shuffled = np.lexsort((rng.random(sample.units), sample.stratum_of_unit))
    group = np.empty(sample.units, dtype=np.int64)
    # Dealt in turn, going on from stratum to stratum: no group gets more than one unit above another of its stratum.
    group[shuffled] = np.arange(sample.units) % groups
    return DeleteGroup(sample.stratum_of_unit, sample.stratum_sizes, group, groups)


@dataclass(frozen=True, eq=False)
class RescaledBootstrap(ScaledReplicates):
    """In each replicate n - 1 of a stratum's n units are drawn with replacement; r draws give r n / (n - 1).

    Drawing n - 1 keeps weights non-negative and the variance unbiased; n of them would be short by (n - 1) / n, a half
    for strata of two.
    """

    draws: npt.NDArray[np.uint16]
    sizes: IntArray

    @property
    def count(self) -> int:
        """Number of replicates."""
        return len(self.draws)

    @property
    def df(self) -> float:
        """Units less strata; the replicates are taken to be many."""
        return float(self.sizes.sum() - len(self.sizes))

    @property
    def coefficients(self) -> FloatArray:
        """The same for all."""
        return np.array(1 / self.count)

    def totals(self, unit_values: npt.ArrayLike) -> FloatArray:
        """Blocks of factors times values."""
        columns, single = columns_of(unit_values)
        totals = np.concatenate([factors @ columns for factors in self.weights(_BLOCK)])
        return totals[:, 0] if single else totals

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        """The factors in blocks (r, units)."""
        raised = np.repeat(self.sizes / (self.sizes - 1), self.sizes)
        for start, stop in blocks(self.count, min(block, _block(self.draws.shape[1]))):
            yield self.draws[start:stop] * raised


def rescaled_bootstrap(sample: Sample, *, rng: np.random.Generator, replicates: int = 1000) -> ScaledReplicates:
    """Rao and Wu's bootstrap of the units of each stratum."""
    if replicates < 2:
        raise ValueError(f"{replicates} replicates: the bootstrap needs at least two")
    return around_lone(sample, lambda kept: RescaledBootstrap(_draws(kept, rng, replicates), kept.stratum_sizes))


def _block(units: int) -> int:
    """How many replicates to have in hand: millions of units leave room for few."""
    return min(_BLOCK, max(1, _HELD // units))


def _draws(sample: Sample, rng: np.random.Generator, replicates: int) -> npt.NDArray[np.uint16]:
    """How often each unit is drawn, (replicates, units); strata of one size are drawn together."""
    sizes = sample.stratum_sizes
    starts = np.cumsum(sizes) - sizes
    draws = np.empty((replicates, sample.units), dtype=np.uint16)
    for start, stop in blocks(replicates, _block(sample.units)):
        rows = np.arange(stop - start)[:, None, None] * sample.units
        cells = []
        for size in np.unique(sizes):
            first = starts[sizes == size]
            taken = rng.integers(size, size=(stop - start, len(first), size - 1))
            cells.append((rows + first[:, None] + taken).ravel())
        counts = np.bincount(np.concatenate(cells), minlength=(stop - start) * sample.units)
        draws[start:stop] = counts.reshape(stop - start, sample.units)
    return draws
