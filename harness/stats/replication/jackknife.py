"""Jackknives: delete one unit at a time (JKn), or a group of units from all strata at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.replication.around_lone import around_lone
from harness.stats.replication.arrays import FloatArray, IntArray, columns_of
from harness.stats.replication.replicates import ScaledReplicates, blocks
from harness.stats.replication.sample import Sample


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
        raise ValueError(f"groups={groups}: give at least two")
    return around_lone(sample, lambda kept: _delete_group(kept, rng, groups))


def _delete_group(sample: Sample, rng: np.random.Generator, groups: int) -> DeleteGroup:
    shuffled = np.lexsort((rng.random(sample.units), sample.stratum_of_unit))
    group = np.empty(sample.units, dtype=np.int64)
    # Dealt in turn, going on from stratum to stratum: no group gets more than one unit above another of its stratum.
    group[shuffled] = np.arange(sample.units) % groups
    return DeleteGroup(sample.stratum_of_unit, sample.stratum_sizes, group, groups)
