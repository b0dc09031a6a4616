"""Orthogonal arrays over GF(p^b): which of p units each replicate takes from each stratum.

The papers say that p^b replicates serve p^b - 1 strata. They serve (p^b - 1) / (p - 1): columns that far apart are
multiples of one another in GF(p), so that the choice in one stratum decides the choice in the other.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from harness.stats.replication.arrays import FloatArray, IntArray
from harness.stats.replication.galois import field, prime_power


@dataclass(frozen=True)
class OrthogonalArray:
    """p^b rows of `columns` symbols 0 to p - 1, every pair of symbols equally often in every pair of columns.

    Row x and column h hold the trace of x root^h from GF(p^b) to GF(p), for p a prime or a power of one; along the
    powers of the root all rows are rotations of one sequence, and the last row, of x = 0, is zero.
    """

    levels: int
    exponent: int

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self.levels**self.exponent)

    @property
    def columns(self) -> int:
        """Number of columns in full balance."""
        return (self.count - 1) // (self.levels - 1)

    @cached_property
    def sequence(self) -> IntArray:
        """(p^b - 1,): 0 where the trace of root^t is zero, and j where it is the (j - 1)th power of GF(p)'s root."""
        prime, degree = _levels(self.levels)
        whole = field(prime, degree * self.exponent)
        # The trace is linear: those of the first powers, the basis, give all others.
        basis = np.arange(whole.degree)[:, None] * self.levels ** np.arange(self.exponent)
        traces = whole.powers[basis % (self.count - 1)].sum(axis=1) % prime
        logs = whole.logarithms[whole.encode(whole.multiply(whole.powers, traces))]
        return np.where(logs < 0, 0, logs // self.columns + 1)

    @cached_property
    def _spectrum(self) -> npt.NDArray[np.complex128]:
        return np.fft.rfft((self.sequence == 1).astype(np.float64))

    def selected(self, values: FloatArray) -> FloatArray:
        """(strata, p, m) values to (p^b, m): for each row the sum over strata of the value that it takes.

        Symbol j stands `columns` places after symbol j - 1, so one transform of the values laid end to end does for
        all p symbols.
        """
        strata, _, width = values.shape
        if strata > self.columns:
            raise ValueError(f"{strata} strata: {self.count} replicates serve {self.columns} strata in balance")
        period, base = self.count - 1, values[:, :1]
        laid = np.zeros((period, width))
        starts = self.columns * np.arange(self.levels - 1)
        places = (starts[None, :] - np.arange(strata)[:, None]) % period
        laid[places.ravel()] = (values[:, 1:] - base).reshape(-1, width)
        product = np.fft.rfft(laid, axis=0) * self._spectrum[:, None]
        result = np.empty((self.count, width))
        result[-1] = base.sum(axis=(0, 1))
        result[:-1] = np.fft.irfft(product, n=period, axis=0) + result[-1]
        return result

    def rows(self, start: int, stop: int, strata: int) -> IntArray:
        """Symbols (stop - start, strata)."""
        block = np.zeros((stop - start, strata), dtype=np.int64)
        last = min(stop, self.count - 1)
        if last > start:
            lags = np.arange(start, last)[:, None] + np.arange(strata)
            block[: last - start] = self.sequence[lags % (self.count - 1)]
        return block


@lru_cache(maxsize=16)
def orthogonal_array(levels: int, strata: int) -> OrthogonalArray:
    """The smallest array over powers of `levels` that serves so many strata."""
    _levels(levels)
    exponent = 1
    while OrthogonalArray(levels, exponent).columns < strata:
        exponent += 1
    return OrthogonalArray(levels, exponent)


def _levels(levels: int) -> tuple[int, int]:
    power = prime_power(levels)
    if power is None:
        raise ValueError(f"{levels} units a stratum: balance needs a prime or a power of one; group the units instead")
    return power
