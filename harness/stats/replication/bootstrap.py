"""The rescaled bootstrap of Rao and Wu (1988), within strata and by whole units."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.replication.around_lone import around_lone
from harness.stats.replication.arrays import FloatArray, IntArray, columns_of
from harness.stats.replication.replicates import ScaledReplicates, blocks
from harness.stats.replication.sample import Sample

_BLOCK = 64
# Factors, of units times replicates, that are held at once.
_HELD = 1 << 22


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
        raise ValueError(f"replicates={replicates}: give at least two")
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
