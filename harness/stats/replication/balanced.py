"""Balanced repeated replication: strata of two units by Hadamard matrices, of p units by orthogonal arrays."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.replication.around_lone import around_lone
from harness.stats.replication.arrays import FloatArray, columns_of
from harness.stats.replication.galois import prime_power
from harness.stats.replication.hadamard import Hadamard, hadamard, smallest_order
from harness.stats.replication.orthogonal import OrthogonalArray, orthogonal_array
from harness.stats.replication.replicates import ScaledReplicates, blocks, check_fay
from harness.stats.replication.sample import Sample

LARGEST_BALANCED = 13


@dataclass(frozen=True, eq=False)
class HalfSamples(ScaledReplicates):
    """Two units a stratum: a replicate takes one of each, with weight 2 - fay, and leaves the other fay.

    With `complements`, every half-sample is followed by what it leaves out, after all the others: a statistic that is
    not linear then has an error that does not depend on which unit of a stratum is called the first.
    """

    matrix: Hadamard
    strata: int
    fay: float
    complements: bool = False

    @property
    def count(self) -> int:
        """Number of replicates."""
        return self.matrix.order * (2 if self.complements else 1)

    @property
    def df(self) -> float:
        """One degree of freedom a stratum."""
        return float(self.strata)

    @property
    def coefficients(self) -> FloatArray:
        """The same for all."""
        return np.array(1 / (self.count * (1 - self.fay) ** 2))

    def totals(self, unit_values: npt.ArrayLike) -> FloatArray:
        """One transform of the differences within strata."""
        columns, single = columns_of(unit_values)
        pairs = columns.reshape(self.strata, 2, -1)
        steps = np.zeros((self.strata + 1, columns.shape[1]))
        # The matrix's first column, of ones, serves no stratum.
        steps[1:] = (1 - self.fay) * (pairs[:, 0] - pairs[:, 1])
        moved, whole = self.matrix.transform(steps), columns.sum(axis=0)
        totals = np.concatenate([whole + moved, whole - moved]) if self.complements else whole + moved
        return totals[:, 0] if single else totals

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        """The factors in blocks (r, units)."""
        for sign in (1, -1) if self.complements else (1,):
            for start, stop in blocks(self.matrix.order, block):
                signs = sign * (1 - self.fay) * self.matrix.rows(start, stop)[:, 1 : self.strata + 1]
                yield np.stack([1 + signs, 1 - signs], axis=2).reshape(stop - start, 2 * self.strata)


@dataclass(frozen=True, eq=False)
class OneOfSeveral(ScaledReplicates):
    """p units a stratum: a replicate takes one of each, with weight p - (p - 1) fay, and leaves the others fay."""

    array: OrthogonalArray
    strata: int
    fay: float

    @property
    def count(self) -> int:
        """Number of replicates."""
        return self.array.count

    @property
    def df(self) -> float:
        """Units less strata."""
        return float(self.strata * (self.array.levels - 1))

    @property
    def coefficients(self) -> FloatArray:
        """The same for all."""
        return np.array(1 / (self.count * (self.array.levels - 1) * (1 - self.fay) ** 2))

    def totals(self, unit_values: npt.ArrayLike) -> FloatArray:
        """One transform for all units of all strata."""
        columns, single = columns_of(unit_values)
        selected = self.array.selected(columns.reshape(self.strata, self.array.levels, -1))
        totals = self.fay * columns.sum(axis=0) + self.array.levels * (1 - self.fay) * selected
        return np.asarray(totals[:, 0] if single else totals)

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        """The factors in blocks (r, units)."""
        for start, stop in blocks(self.count, block):
            taken = self.array.rows(start, stop, self.strata)[:, :, None] == np.arange(self.array.levels)
            factors = self.fay + self.array.levels * (1 - self.fay) * taken.astype(np.float64)
            yield factors.reshape(stop - start, -1)


def balanced(sample: Sample, *, fay: float = 0.0, complements: bool = False) -> ScaledReplicates:
    """The balanced replicates of a sample whose strata all have the same number of units, a prime power to 13."""
    check_fay(fay)
    return around_lone(sample, lambda kept: _balanced(kept, fay, complements=complements))


def balanced_size(sample: Sample) -> int | None:
    """The common number of units a stratum, lone ones aside, if balanced replicates exist for it."""
    sizes = sample.stratum_sizes
    size = int(sizes.max())
    if ((sizes != size) & (sizes > 1)).any() or size > LARGEST_BALANCED or prime_power(size) is None:
        return None
    return size


def _balanced(sample: Sample, fay: float, *, complements: bool) -> HalfSamples | OneOfSeveral:
    units = balanced_size(sample)
    if units is None:
        raise ValueError(
            f"strata of {sample.stratum_sizes.min()} to {sample.stratum_sizes.max()} units: balance needs the same "
            "number in each, a prime or a power of one up to 13; use grouped_halves"
        )
    if units == 2:
        return HalfSamples(hadamard(smallest_order(sample.strata)), sample.strata, fay, complements)
    return OneOfSeveral(orthogonal_array(units, sample.strata), sample.strata, fay)
