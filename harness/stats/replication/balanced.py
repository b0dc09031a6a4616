"""Balanced repeated replication: Hadamard matrices for two units per stratum, orthogonal arrays for p units,
and half-samples by random grouping for any number of units.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness.stats.arrays import FloatArray, IntArray
from harness.stats.replication.galois import OrthogonalArray, orthogonal_array, prime_power
from harness.stats.replication.hadamard import Hadamard, hadamard, smallest_order
from harness.stats.replication.replicates import Replicates, around_lone, blocks, check_fay
from harness.stats.replication.sample import Sample

MAX_BALANCED_UNITS = 13
GROUPINGS = 20


@dataclass(frozen=True, eq=False)
class HalfSamples(Replicates):
    """Two units per stratum: a replicate gives one of them weight 2 - fay and the other fay.

    With `complements`, all half-samples are followed by their complements: the error of a nonlinear statistic then
    does not depend on which unit of a stratum comes first.
    """

    matrix: Hadamard
    strata: int
    fay: float
    complements: bool = False

    @property
    def count(self) -> int:
        return self.matrix.order * (2 if self.complements else 1)

    @property
    def df(self) -> float:
        """One degree of freedom per stratum."""
        return float(self.strata)

    @property
    def coefficients(self) -> FloatArray:
        return np.array(1 / (self.count * (1 - self.fay) ** 2))

    def column_totals(self, columns: FloatArray) -> FloatArray:
        """One transform of the differences within strata."""
        pairs = columns.reshape(self.strata, 2, -1)
        steps = np.zeros((self.strata + 1, columns.shape[1]))
        # The first column of the matrix, all ones, belongs to no stratum.
        steps[1:] = (1 - self.fay) * (pairs[:, 0] - pairs[:, 1])
        shift, whole = self.matrix.transform(steps), columns.sum(axis=0)
        return np.concatenate([whole + shift, whole - shift]) if self.complements else whole + shift

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        for sign in (1, -1) if self.complements else (1,):
            for start, stop in blocks(self.matrix.order, block):
                signs = sign * (1 - self.fay) * self.matrix.rows(start, stop)[:, 1 : self.strata + 1]
                yield np.stack([1 + signs, 1 - signs], axis=2).reshape(stop - start, 2 * self.strata)


@dataclass(frozen=True, eq=False)
class OneOfSeveral(Replicates):
    """p units per stratum: a replicate gives one of them weight p - (p - 1) fay and the others fay."""

    array: OrthogonalArray
    strata: int
    fay: float

    @property
    def count(self) -> int:
        return self.array.count

    @property
    def df(self) -> float:
        """Units minus strata."""
        return float(self.strata * (self.array.levels - 1))

    @property
    def coefficients(self) -> FloatArray:
        return np.array(1 / (self.count * (self.array.levels - 1) * (1 - self.fay) ** 2))

    def column_totals(self, columns: FloatArray) -> FloatArray:
        """One transform for all units of all strata."""
        selected = self.array.selected(columns.reshape(self.strata, self.array.levels, -1))
        return np.asarray(self.fay * columns.sum(axis=0) + self.array.levels * (1 - self.fay) * selected)

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        for start, stop in blocks(self.count, block):
            chosen = self.array.rows(start, stop, self.strata)[:, :, None] == np.arange(self.array.levels)
            factors = self.fay + self.array.levels * (1 - self.fay) * chosen.astype(np.float64)
            yield factors.reshape(stop - start, -1)


def balanced(sample: Sample, *, fay: float = 0.0, complements: bool = False) -> Replicates:
    """The balanced replicates of a sample whose strata all have the same number of units, a prime power up to 13."""
    check_fay(fay)
    return around_lone(sample, lambda part: _balanced(part, fay, complements=complements))


def balanced_size(sample: Sample) -> int | None:
    """The common number of units per stratum, lone strata aside, if balanced replicates exist for it."""
    sizes = sample.stratum_sizes
    size = int(sizes.max())
    if ((sizes != size) & (sizes > 1)).any() or size > MAX_BALANCED_UNITS or prime_power(size) is None:
        return None
    return size


def _balanced(sample: Sample, fay: float, *, complements: bool) -> HalfSamples | OneOfSeveral:
    units = balanced_size(sample)
    if units is None:
        raise ValueError(
            f"strata of {sample.stratum_sizes.min()} to {sample.stratum_sizes.max()} units: balance needs the same "
            "number in each, a prime or a power of one up to 13; group the units of each stratum instead"
        )
    if units == 2:
        return HalfSamples(hadamard(smallest_order(sample.strata)), sample.strata, fay, complements)
    return OneOfSeveral(orthogonal_array(units, sample.strata), sample.strata, fay)


@dataclass(frozen=True, eq=False)
class GroupedHalves(Replicates):
    """Replicates of R groupings, one after another.

    A stratum split into m1 and m2 units has the factors 1 + sqrt(m2 / m1) and 1 - sqrt(m1 / m2), or both signs
    reversed: the squared deviation is then unbiased for halves of any size. `offsets` (R, units) holds the signed
    roots, scaled by `spread`, which is 1 - rho with Fay's method.
    """

    matrix: Hadamard
    sizes: IntArray
    offsets: FloatArray
    spread: float

    @property
    def groupings(self) -> int:
        return len(self.offsets)

    @property
    def count(self) -> int:
        return self.groupings * self.matrix.order

    @property
    def df(self) -> float:
        """A half-sample variance has one per stratum; its mean over groupings approaches units - strata."""
        strata, within = len(self.sizes), int(self.sizes.sum()) - len(self.sizes)
        return float(1 / (1 / within + (1 / strata - 1 / within) / self.groupings))

    @property
    def coefficients(self) -> FloatArray:
        return np.array(1 / (self.count * self.spread**2))

    def column_totals(self, columns: FloatArray) -> FloatArray:
        """One transform for all groupings."""
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        width = columns.shape[1]
        steps = np.zeros((len(self.sizes) + 1, self.groupings, width))
        for grouping, offset in enumerate(self.offsets):
            steps[1:, grouping] = np.add.reduceat(columns * offset[:, None], starts, axis=0)
        shift = self.matrix.transform(steps.reshape(len(steps), -1)).reshape(-1, self.groupings, width)
        return np.asarray(columns.sum(axis=0) + shift.transpose(1, 0, 2).reshape(self.count, width))

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        stratum = np.repeat(np.arange(len(self.sizes)), self.sizes)
        for offset in self.offsets:
            for start, stop in blocks(self.matrix.order, block):
                yield 1 + self.matrix.rows(start, stop)[:, 1 + stratum] * offset


def grouped_halves(
    sample: Sample, *, rng: np.random.Generator, groupings: int = GROUPINGS, fay: float = 0.0
) -> Replicates:
    """Half-samples of a sample by random grouping; prefer `balanced` if it exists."""
    check_fay(fay)
    if groupings < 1:
        raise ValueError(f"{groupings} groupings: expected at least one")
    return around_lone(sample, lambda part: _grouped(part, rng, groupings, fay))


def _grouped(sample: Sample, rng: np.random.Generator, groupings: int, fay: float) -> GroupedHalves:
    sizes, stratum = sample.stratum_sizes, sample.stratum_of_unit
    first = (sizes // 2)[stratum]
    second = sizes[stratum] - first
    position = np.arange(sample.units) - (np.cumsum(sizes) - sizes)[stratum]
    offsets = np.empty((groupings, sample.units))
    for grouping in range(groupings):
        shuffled = np.lexsort((rng.random(sample.units), stratum))
        offsets[grouping, shuffled] = np.where(position < first, np.sqrt(second / first), -np.sqrt(first / second))
    matrix = hadamard(smallest_order(sample.strata))
    return GroupedHalves(matrix, sizes, (1 - fay) * offsets, 1 - fay)
