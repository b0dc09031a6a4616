"""Half-samples for strata of any number of units: the units of each are grouped at random into two, several times."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.replication.around_lone import around_lone
from harness.stats.replication.arrays import FloatArray, IntArray, columns_of
from harness.stats.replication.hadamard import Hadamard, hadamard, smallest_order
from harness.stats.replication.replicates import ScaledReplicates, blocks, check_fay
from harness.stats.replication.sample import Sample

GROUPINGS = 20


@dataclass(frozen=True, eq=False)
class GroupedHalves(ScaledReplicates):
    """Replicates of R groupings, one after another.

    A stratum in halves of m1 and m2 units has the factors 1 + sqrt(m2 / m1) and 1 - sqrt(m1 / m2), or both signs
    turned: its square is then unbiased for halves of any size. `leans` (R, units) holds the signed roots, and
    `spread` is what Fay's method left of them, 1 - rho.
    """

    matrix: Hadamard
    sizes: IntArray
    leans: FloatArray
    spread: float

    @property
    def groupings(self) -> int:
        """Number of groupings."""
        return len(self.leans)

    @property
    def count(self) -> int:
        """Number of replicates."""
        return self.groupings * self.matrix.order

    @property
    def df(self) -> float:
        """A half-sample variance has a degree of freedom a stratum; its mean over groupings nears units - strata."""
        strata, within = len(self.sizes), int(self.sizes.sum()) - len(self.sizes)
        return float(1 / (1 / within + (1 / strata - 1 / within) / self.groupings))

    @property
    def coefficients(self) -> FloatArray:
        """The same for all."""
        return np.array(1 / (self.count * self.spread**2))

    def totals(self, unit_values: npt.ArrayLike) -> FloatArray:
        """One transform for all groupings."""
        columns, single = columns_of(unit_values)
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        width = columns.shape[1]
        steps = np.zeros((len(self.sizes) + 1, self.groupings, width))
        for grouping, lean in enumerate(self.leans):
            steps[1:, grouping] = np.add.reduceat(columns * lean[:, None], starts, axis=0)
        moved = self.matrix.transform(steps.reshape(len(steps), -1)).reshape(-1, self.groupings, width)
        totals = columns.sum(axis=0) + moved.transpose(1, 0, 2).reshape(self.count, width)
        return np.asarray(totals[:, 0] if single else totals)

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        """The factors in blocks (r, units)."""
        stratum = np.repeat(np.arange(len(self.sizes)), self.sizes)
        for lean in self.leans:
            for start, stop in blocks(self.matrix.order, block):
                yield 1 + self.matrix.rows(start, stop)[:, 1 + stratum] * lean


def grouped_halves(
    sample: Sample, *, rng: np.random.Generator, groupings: int = GROUPINGS, fay: float = 0.0
) -> ScaledReplicates:
    """Half-samples of a sample by random grouping; use `balanced` where it exists."""
    check_fay(fay)
    if groupings < 1:
        raise ValueError(f"groupings={groupings}: give at least one")
    return around_lone(sample, lambda kept: _grouped(kept, rng, groupings, fay))


def _grouped(sample: Sample, rng: np.random.Generator, groupings: int, fay: float) -> GroupedHalves:
    sizes, stratum = sample.stratum_sizes, sample.stratum_of_unit
    first = (sizes // 2)[stratum]
    second = sizes[stratum] - first
    place = np.arange(sample.units) - (np.cumsum(sizes) - sizes)[stratum]
    leans = np.empty((groupings, sample.units))
    for grouping in range(groupings):
        shuffled = np.lexsort((rng.random(sample.units), stratum))
        leans[grouping, shuffled] = np.where(place < first, np.sqrt(second / first), -np.sqrt(first / second))
    matrix = hadamard(smallest_order(sample.strata))
    return GroupedHalves(matrix, sizes, (1 - fay) * leans, 1 - fay)
