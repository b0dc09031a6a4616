"""Replicates of a sample in which lone strata were left as they are (remove, certainty, adjust, average)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from harness.stats.replication.arrays import BoolArray, FloatArray, columns_of
from harness.stats.replication.lone import Lone
from harness.stats.replication.replicates import ScaledReplicates
from harness.stats.replication.sample import Sample


@dataclass(frozen=True, eq=False)
class AroundLone(ScaledReplicates):
    """The replicates of the other strata, with the lone units in all of them.

    `average` has lone strata contribute what the others do on average. `adjust` adds a replicate for each lone unit,
    without that unit and with the rest raised to make up, as R's survey does for its jackknife.
    """

    inner: ScaledReplicates
    kept: BoolArray
    strata: int
    lone: Lone

    @property
    def alone(self) -> int:
        """Number of lone units."""
        return int((~self.kept).sum())

    @property
    def added(self) -> int:
        """Number of replicates that lone units add."""
        return self.alone if self.lone is Lone.ADJUST else 0

    @property
    def count(self) -> int:
        """Number of replicates."""
        return self.inner.count + self.added

    @property
    def df(self) -> float:
        """Lone strata add none."""
        return self.inner.df

    @property
    def coefficients(self) -> FloatArray:
        """Those of the other strata, scaled or with the added ones."""
        scale = self.strata / (self.strata - self.alone) if self.lone is Lone.AVERAGE else 1.0
        inner = np.broadcast_to(scale * self.inner.coefficients, (self.inner.count,))
        return np.concatenate([inner, np.full(self.added, (self.strata - 1) / self.strata)])

    def totals(self, unit_values: npt.ArrayLike) -> FloatArray:
        """Those of the other units and the lone ones as they are."""
        columns, single = columns_of(unit_values)
        alone = columns[~self.kept]
        totals = self.inner.totals(columns[self.kept]) + alone.sum(axis=0)
        if self.added:
            raised = (columns.sum(axis=0) - alone) * self.strata / (self.strata - 1)
            totals = np.concatenate([totals, raised])
        return np.asarray(totals[:, 0] if single else totals)

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        """The factors in blocks (r, units)."""
        for inner in self.inner.weights(block):
            factors = np.ones((len(inner), len(self.kept)))
            factors[:, self.kept] = inner
            yield factors
        for unit in np.flatnonzero(~self.kept)[: self.added]:
            raised = np.full((1, len(self.kept)), self.strata / (self.strata - 1))
            raised[0, unit] = 0.0
            yield raised


def around_lone(sample: Sample, build: Callable[[Sample], ScaledReplicates]) -> ScaledReplicates:
    """Build replicates for the strata of two and more units, and carry the lone units along."""
    kept = sample.stratum_sizes[sample.stratum_of_unit] > 1
    if kept.all():
        return build(sample)
    return AroundLone(build(_only(sample, kept)), kept, sample.strata, sample.lone)


def _only(sample: Sample, kept: BoolArray) -> Sample:
    cases = kept[sample.unit_of_case]
    unit = np.cumsum(kept) - 1
    strata, stratum_of_unit = np.unique(sample.stratum_of_unit[kept], return_inverse=True)
    return replace(
        sample,
        weights=sample.weights[cases],
        unit_of_case=unit[sample.unit_of_case[cases]],
        stratum_of_unit=stratum_of_unit,
        stratum_names=tuple(sample.stratum_names[stratum] for stratum in strata),
    )
