"""The interface of replicate designs, the variance formula they share, and their treatment of lone strata."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import BoolArray, FloatArray, columns_of
from harness.stats.replication.sample import LoneStrata, Sample

Centre = Literal["full", "mean"]


class Replicates(ABC):
    """Replicates of a sample: in each, every unit's weight is multiplied by a factor.

    Their variance is a weighted sum of squared deviations.
    """

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of replicates."""

    @property
    @abstractmethod
    def df(self) -> float:
        """Degrees of freedom of the variance."""

    @property
    @abstractmethod
    def coefficients(self) -> FloatArray:
        """One coefficient for all replicates, or one for each (k,)."""

    def totals(self, unit_values: npt.ArrayLike) -> FloatArray:
        """For each replicate, the sum over units of factor times value: (units,) or (units, m) to (k,) or (k, m)."""
        columns, single = columns_of(unit_values)
        totals = self.column_totals(columns)
        return totals[:, 0] if single else totals

    @abstractmethod
    def column_totals(self, columns: FloatArray) -> FloatArray:
        """The same of columns (units, m)."""

    @abstractmethod
    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        """The factors in blocks (r, units), for statistics that are not functions of totals."""

    def variance(self, estimates: FloatArray, full: FloatArray | float, *, centre: Centre = "full") -> FloatArray:
        """Variance (m,) of the replicate estimates (k, m) about the full sample's, or about their mean as R does."""
        deviations = self._deviations(estimates, full, centre)
        squares = deviations**2
        return np.asarray(np.tensordot(self._all_coefficients(), squares, axes=1))

    def covariance(self, estimates: FloatArray, full: FloatArray, *, centre: Centre = "full") -> FloatArray:
        """Covariance matrix (m, m) of the replicate estimates (k, m)."""
        deviations = self._deviations(estimates, full, centre)
        return np.asarray(deviations.T @ (deviations * self._all_coefficients()[:, None]))

    def _all_coefficients(self) -> FloatArray:
        return np.broadcast_to(self.coefficients, (self.count,))

    def _deviations(self, estimates: FloatArray, full: FloatArray | float, centre: Centre) -> FloatArray:
        if len(estimates) != self.count:
            raise ValueError(f"{len(estimates)} estimates for {self.count} replicates: expected one for each replicate")
        middle = full if centre == "full" else estimates.mean(axis=0)
        return np.asarray(estimates - middle)


def check_fay(fay: float) -> None:
    """Fay's rho is the share of the weight that units keep: at least 0 and below 1."""
    if not 0 <= fay < 1:
        raise ValueError(f"Fay's rho {fay}: expected at least 0 and below 1")


def blocks(count: int, block: int) -> Iterator[tuple[int, int]]:
    """Start and end of successive blocks of replicates."""
    if block < 1:
        raise ValueError(f"a block of {block} replicates: expected at least one")
    for start in range(0, count, block):
        yield start, min(start + block, count)


@dataclass(frozen=True, eq=False)
class LoneStrataReplicates(Replicates):
    """The replicates of the other strata, with the lone units in all of them.

    With `average`, lone strata contribute as much as the others on average. `adjust` adds a replicate for each lone
    unit, without that unit and with the rest scaled up, as R's survey package does for its jackknife.
    """

    inner: Replicates
    replicated: BoolArray
    strata: int
    lone: LoneStrata

    @property
    def lone_units(self) -> int:
        return int((~self.replicated).sum())

    @property
    def added(self) -> int:
        """Number of replicates that lone units add."""
        return self.lone_units if self.lone is LoneStrata.ADJUST else 0

    @property
    def count(self) -> int:
        return self.inner.count + self.added

    @property
    def df(self) -> float:
        """Lone strata add none."""
        return self.inner.df

    @property
    def coefficients(self) -> FloatArray:
        """Those of the other strata, scaled, or followed by the added ones."""
        scale = self.strata / (self.strata - self.lone_units) if self.lone is LoneStrata.AVERAGE else 1.0
        inner = np.broadcast_to(scale * self.inner.coefficients, (self.inner.count,))
        return np.concatenate([inner, np.full(self.added, (self.strata - 1) / self.strata)])

    def column_totals(self, columns: FloatArray) -> FloatArray:
        """Those of the other units, plus the lone units unchanged."""
        alone = columns[~self.replicated]
        totals = self.inner.column_totals(columns[self.replicated]) + alone.sum(axis=0)
        if self.added:
            raised = (columns.sum(axis=0) - alone) * self.strata / (self.strata - 1)
            totals = np.concatenate([totals, raised])
        return np.asarray(totals)

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        for inner in self.inner.weights(block):
            factors = np.ones((len(inner), len(self.replicated)))
            factors[:, self.replicated] = inner
            yield factors
        for unit in np.flatnonzero(~self.replicated)[: self.added]:
            raised = np.full((1, len(self.replicated)), self.strata / (self.strata - 1))
            raised[0, unit] = 0.0
            yield raised


def around_lone(sample: Sample, build: Callable[[Sample], Replicates]) -> Replicates:
    """Build replicates for the strata of two or more units; lone units are in every replicate."""
    replicated = sample.stratum_sizes[sample.stratum_of_unit] > 1
    if replicated.all():
        return build(sample)
    cases = replicated[sample.unit_of_case]
    unit = np.cumsum(replicated) - 1
    strata, stratum_of_unit = np.unique(sample.stratum_of_unit[replicated], return_inverse=True)
    part = replace(
        sample,
        weights=sample.weights[cases],
        unit_of_case=unit[sample.unit_of_case[cases]],
        stratum_of_unit=stratum_of_unit,
        stratum_names=tuple(sample.stratum_names[stratum] for stratum in strata),
    )
    return LoneStrataReplicates(build(part), replicated, sample.strata, sample.lone)
