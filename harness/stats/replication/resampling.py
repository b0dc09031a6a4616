"""Jackknives and the bootstrap: delete one unit at a time (JKn), delete a group of units from all strata at a time,
or resample units (the rescaled bootstrap of Rao and Wu 1988, within strata and by whole units).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray, IntArray
from harness.stats.replication.replicates import Replicates, around_lone, blocks
from harness.stats.replication.sample import Sample

_BLOCK = 64
_Draws = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
# Units of all replicates that are drawn at once, and units whose values are added at once: what a cache holds.
_UNITS_DRAWN, _UNITS_AT_ONCE = 1 << 18, 1 << 13
# Factors (units times replicates) in memory at once.
_MAX_FACTORS = 1 << 22


@dataclass(frozen=True, eq=False)
class DeleteOne(Replicates):
    """One replicate per unit: it is left out, and the others of its stratum are multiplied by n / (n - 1)."""

    stratum: IntArray
    sizes: IntArray

    @property
    def count(self) -> int:
        return len(self.stratum)

    @property
    def df(self) -> float:
        """Units minus strata."""
        return float(len(self.stratum) - len(self.sizes))

    @property
    def coefficients(self) -> FloatArray:
        """(n - 1) / n of the deleted unit's stratum."""
        return np.asarray((1 - 1 / self.sizes)[self.stratum])

    def column_totals(self, columns: FloatArray) -> FloatArray:
        """In closed form, without forming replicates."""
        starts = np.cumsum(self.sizes) - self.sizes
        sums, sizes = np.add.reduceat(columns, starts, axis=0)[self.stratum], self.sizes[self.stratum, None]
        return np.asarray(columns.sum(axis=0) + (sums - sizes * columns) / (sizes - 1))

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        raised = (self.sizes / (self.sizes - 1))[self.stratum]
        for start, stop in blocks(self.count, block):
            same = self.stratum[start:stop, None] == self.stratum
            factors = np.where(same, raised, 1.0)
            factors[np.arange(stop - start), np.arange(start, stop)] = 0.0
            yield factors


@dataclass(frozen=True, eq=False)
class DeleteGroup(Replicates):
    """One replicate per group, with factors that make every stratum's share unbiased for any number of units.

    With m of a stratum's n units in the group, their factors are 1 - c (n - m), those of the others 1 + c m, with
    c^2 = G / ((G - 1) g m (n - m)) and g the number of groups in the stratum. For m = n / G that is plain deletion; for
    m = 1, Kott's extension (Journal of Official Statistics 17, 2001) to strata with fewer units than groups.
    """

    stratum: IntArray
    sizes: IntArray
    group: IntArray
    groups: int

    @property
    def count(self) -> int:
        return self.groups

    @property
    def df(self) -> float:
        """Groups minus one, but at most units minus strata."""
        return float(min(self.groups - 1, len(self.stratum) - len(self.sizes)))

    @property
    def coefficients(self) -> FloatArray:
        return np.array(1 - 1 / self.groups)

    def column_totals(self, columns: FloatArray) -> FloatArray:
        """From sums by stratum and group, without forming factors."""
        members, steps = self._steps()
        totals = np.empty((self.groups, columns.shape[1]))
        for column, values in enumerate(columns.T):
            within = self._by_group(values)
            shift = steps * (members * within.sum(axis=1, keepdims=True) - self.sizes[:, None] * within)
            totals[:, column] = values.sum() + shift.sum(axis=0)
        return totals

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
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


def delete_one(sample: Sample) -> Replicates:
    """The delete-one jackknife, within strata if there are any (JKn)."""
    return around_lone(sample, lambda part: DeleteOne(part.stratum_of_unit, part.stratum_sizes))


def delete_group(sample: Sample, *, rng: np.random.Generator, groups: int = 30) -> Replicates:
    """The delete-a-group jackknife: units of every stratum are spread over the groups at random."""
    if groups < 2:
        raise ValueError(f"{groups} groups: the delete-a-group jackknife needs at least two")
    return around_lone(sample, lambda part: _delete_group(part, rng, groups))


def _delete_group(sample: Sample, rng: np.random.Generator, groups: int) -> DeleteGroup:
    shuffled = np.lexsort((rng.random(sample.units), sample.stratum_of_unit))
    group = np.empty(sample.units, dtype=np.int64)
    # Dealt in turn, continuing from stratum to stratum: within a stratum, group sizes differ by at most one unit.
    group[shuffled] = np.arange(sample.units) % groups
    return DeleteGroup(sample.stratum_of_unit, sample.stratum_sizes, group, groups)


@dataclass(frozen=True, eq=False)
class RescaledBootstrap(Replicates):
    """Each replicate draws n - 1 of a stratum's n units with replacement; r draws give the factor r n / (n - 1).

    Drawing n - 1 keeps weights non-negative and the variance unbiased; with n draws it would be too small by
    (n - 1) / n, a half for strata of two.
    """

    draws: _Draws
    sizes: IntArray

    @property
    def count(self) -> int:
        return len(self.draws)

    @property
    def df(self) -> float:
        """Units minus strata, assuming many replicates."""
        return float(self.sizes.sum() - len(self.sizes))

    @property
    def coefficients(self) -> FloatArray:
        return np.array(1 / self.count)

    def column_totals(self, columns: FloatArray) -> FloatArray:
        """Blocks of draws times values, small enough for the processor's cache."""
        raised = columns * self._raised[:, None]
        totals = np.zeros((self.count, columns.shape[1]))
        for start, stop in blocks(self.count, _BLOCK // 2):
            for first, last in blocks(len(columns), _UNITS_AT_ONCE):
                totals[start:stop] += self.draws[start:stop, first:last].astype(np.float64) @ raised[first:last]
        return totals

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        for start, stop in blocks(self.count, min(block, _block(self.draws.shape[1]))):
            yield self.draws[start:stop] * self._raised

    @cached_property
    def _raised(self) -> FloatArray:
        """What one draw of each unit counts."""
        return np.repeat(self.sizes / (self.sizes - 1), self.sizes)


def rescaled_bootstrap(sample: Sample, *, rng: np.random.Generator, replicates: int = 1000) -> Replicates:
    """Rao and Wu's bootstrap of the units of each stratum."""
    if replicates < 2:
        raise ValueError(f"{replicates} replicates: the bootstrap needs at least two")
    return around_lone(sample, lambda part: RescaledBootstrap(_known_draws(part, rng, replicates), part.stratum_sizes))


def _block(units: int) -> int:
    """How many replicates to hold in memory: few for millions of units."""
    return min(_BLOCK, max(1, _MAX_FACTORS // units))


# The draws made last. Measures of one sample have the same ones, which take longer to draw than to use.
_made: dict[tuple[str, bytes, int], _Draws] = {}


def _known_draws(sample: Sample, rng: np.random.Generator, replicates: int) -> _Draws:
    """The draws for strata of these sizes by a generator in this state, from before if they are known."""
    key = (str(rng.bit_generator.state), sample.stratum_sizes.tobytes(), replicates)
    if key not in _made:
        _made.clear()
        _made[key] = _draws(sample, rng, replicates)
    return _made[key]


def _draws(sample: Sample, rng: np.random.Generator, replicates: int) -> _Draws:
    """How often each unit is drawn, (replicates, units); strata of one size are drawn together.

    Blocks and sizes follow one another in an order that must not change, so that a seed gives the same draws.
    """
    sizes = sample.stratum_sizes
    units_by_size = {int(size): np.flatnonzero(sizes[sample.stratum_of_unit] == size) for size in np.unique(sizes)}
    draws = np.empty((replicates, sample.units), dtype=np.uint8 if sizes.max() <= 256 else np.uint16)
    for start, stop in blocks(replicates, _block(sample.units)):
        for size, units in units_by_size.items():
            columns = slice(None) if len(units) == sample.units else units
            for first, last in blocks(stop - start, max(1, _UNITS_DRAWN // len(units))):
                strata = (last - first) * len(units) // size
                picked = rng.integers(size, size=(strata, size - 1))
                picked += np.arange(0, strata * size, size)[:, None]
                times = np.bincount(picked.reshape(-1), minlength=strata * size)
                draws[start + first : start + last, columns] = times.reshape(last - first, len(units))
    return draws
