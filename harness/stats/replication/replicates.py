"""What every replicate design offers, and the variance that all of them share."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from harness.stats.replication.arrays import FloatArray

Centre = Literal["full", "mean"]


class Replicates(Protocol):
    """A set of replicates of a sample: in each, every unit's weight is multiplied by a factor."""

    @property
    def count(self) -> int:
        """Number of replicates."""
        ...

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance."""
        ...

    def totals(self, unit_values: npt.ArrayLike) -> FloatArray:
        """For each replicate the sum over units of factor times value: (units,) or (units, m) to (k,) or (k, m)."""
        ...

    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        """The factors themselves in blocks (r, units), for statistics that are not functions of totals."""
        ...

    def variance(self, estimates: FloatArray, full: FloatArray | float, *, centre: Centre = "full") -> FloatArray:
        """Variance of the replicate estimates, (k,) or (k, m), about the full sample's estimate or their mean."""
        ...

    def covariance(self, estimates: FloatArray, full: FloatArray, *, centre: Centre = "full") -> FloatArray:
        """Covariance matrix (m, m) of the replicate estimates (k, m)."""
        ...


class ScaledReplicates(ABC):
    """Replicates whose variance is a sum of squared deviations, each times its coefficient."""

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
        """One coefficient for all replicates, or (k,) of them."""

    @abstractmethod
    def totals(self, unit_values: npt.ArrayLike) -> FloatArray:
        """For each replicate the sum over units of factor times value."""

    @abstractmethod
    def weights(self, block: int = 64) -> Iterator[FloatArray]:
        """The factors in blocks (r, units)."""

    def variance(self, estimates: FloatArray, full: FloatArray | float, *, centre: Centre = "full") -> FloatArray:
        """Variance of the replicate estimates about the full sample's estimate, or about their mean as R does."""
        deviations = self._deviations(estimates, full, centre)
        squares = deviations**2
        return np.asarray(np.tensordot(self._spread(), squares, axes=1))

    def covariance(self, estimates: FloatArray, full: FloatArray, *, centre: Centre = "full") -> FloatArray:
        """Covariance matrix of several estimates at once."""
        deviations = self._deviations(estimates, full, centre)
        return np.asarray(deviations.T @ (deviations * self._spread()[:, None]))

    def _spread(self) -> FloatArray:
        return np.broadcast_to(self.coefficients, (self.count,))

    def _deviations(self, estimates: FloatArray, full: FloatArray | float, centre: Centre) -> FloatArray:
        if len(estimates) != self.count:
            raise ValueError(f"{len(estimates)} estimates for {self.count} replicates; give one for each replicate")
        middle = full if centre == "full" else estimates.mean(axis=0)
        return np.asarray(estimates - middle)


def check_fay(fay: float) -> None:
    """Fay's rho is a share of the weight that stays: at least 0 and below 1."""
    if not 0 <= fay < 1:
        raise ValueError(f"fay={fay}: Fay's rho is at least 0 and below 1")


def blocks(count: int, block: int) -> Iterator[tuple[int, int]]:
    """Start and end of successive blocks of replicates."""
    if block < 1:
        raise ValueError(f"block={block}: a block has at least one replicate")
    for start in range(0, count, block):
        yield start, min(start + block, count)
