"""Finite fields GF(r^n), and orthogonal arrays over them: which of p units each replicate takes from each stratum.

The papers say that p^b replicates are enough for p^b - 1 strata. They are enough for (p^b - 1) / (p - 1): columns that
far apart are multiples of each other in GF(p), so the choice in one stratum determines the choice in the other.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray, IntArray


def prime_factors(number: int) -> tuple[int, ...]:
    """The distinct primes that divide a number, by trial division."""
    primes, divisor = [], 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            primes.append(divisor)
            while number % divisor == 0:
                number //= divisor
        divisor += 1
    return (*primes, number) if number > 1 else tuple(primes)


def is_prime(number: int) -> bool:
    return number > 1 and prime_factors(number) == (number,)


def prime_power(number: int) -> tuple[int, int] | None:
    """The prime r and exponent n with r^n = number, or None if there are none."""
    primes = prime_factors(number)
    if len(primes) != 1:
        return None
    exponent = 1
    while primes[0] ** exponent < number:
        exponent += 1
    return primes[0], exponent


@dataclass(frozen=True)
class FiniteField:
    """GF(r^n) by the powers of the root of a primitive polynomial, given by its coefficients of x^0 to x^(n-1)."""

    prime: int
    degree: int
    polynomial: tuple[int, ...]

    @property
    def size(self) -> int:
        return int(self.prime**self.degree)

    @cached_property
    def powers(self) -> IntArray:
        """(size - 1, degree): the coefficients of root^0, root^1, ..."""
        table = np.zeros((self.size - 1, self.degree), dtype=np.int64)
        table[0, 0] = 1
        step, filled = companion(self.prime, self.polynomial), 1
        while filled < len(table):
            # Double the rows: root^(t + m) is root^t times root^m, a linear map.
            more = min(filled, len(table) - filled)
            table[filled : filled + more] = self.multiply(table[:more], step)
            step, filled = step @ step % self.prime, filled + more
        return table

    @cached_property
    def codes(self) -> IntArray:
        """(size - 1,): root^t as one number, with its coefficients as digits in base `prime`."""
        return self.encode(self.powers)

    @cached_property
    def logarithms(self) -> IntArray:
        """(size,): the t for which root^t has this code; -1 for zero."""
        logs = np.full(self.size, -1, dtype=np.int64)
        logs[self.codes] = np.arange(self.size - 1)
        return logs

    def multiply(self, rows: IntArray, matrix: IntArray) -> IntArray:
        """Rows of coefficients times a matrix over GF(prime)."""
        # In floating point: the numbers are still exact, and the product is fast.
        return (rows.astype(np.float64) @ matrix.astype(np.float64)).astype(np.int64) % self.prime

    def encode(self, coefficients: IntArray) -> IntArray:
        """Coefficients on the last axis to codes."""
        return np.asarray(coefficients @ self.prime ** np.arange(self.degree, dtype=np.int64), dtype=np.int64)


def field(prime: int, degree: int) -> FiniteField:
    return FiniteField(prime, degree, primitive_polynomial(prime, degree))


def companion(prime: int, polynomial: tuple[int, ...]) -> IntArray:
    """The matrix that multiplies a row of coefficients by x."""
    degree = len(polynomial)
    matrix = np.zeros((degree, degree), dtype=np.int64)
    matrix[np.arange(degree - 1), np.arange(1, degree)] = 1
    matrix[-1] = -np.array(polynomial) % prime
    return matrix


def primitive_polynomial(prime: int, degree: int) -> tuple[int, ...]:
    """The first monic polynomial whose root has order prime^degree - 1 and so generates the whole field."""
    if not is_prime(prime) or degree < 1:
        raise ValueError(f"no field of {prime}^{degree} elements: expected a prime and a degree of at least 1")
    order = prime**degree - 1
    for coefficients in product(range(prime), repeat=degree):
        polynomial = coefficients[::-1]
        # x^order = 1 and no smaller power: the powers of x are then all non-zero residues, so the ring is a field.
        if not polynomial[0] or not _is_one(prime, polynomial, order):
            continue
        if not any(_is_one(prime, polynomial, order // factor) for factor in prime_factors(order)):
            return polynomial
    raise ValueError(f"no primitive polynomial of degree {degree} over GF({prime})")


def _is_one(prime: int, polynomial: tuple[int, ...], exponent: int) -> bool:
    """Whether x^exponent is 1 modulo the polynomial."""
    base = companion(prime, polynomial)
    result = np.eye(len(polynomial), dtype=np.int64)
    while exponent:
        if exponent & 1:
            result = result @ base % prime
        base = base @ base % prime
        exponent >>= 1
    return bool((result == np.eye(len(polynomial), dtype=np.int64)).all())


@dataclass(frozen=True)
class OrthogonalArray:
    """p^b rows of `columns` symbols 0 to p - 1; every pair of symbols is equally frequent in every pair of columns.

    Row x and column h hold the trace of x root^h from GF(p^b) to GF(p), for p a prime or a power of one; along the
    powers of the root all rows are rotations of one sequence, and the last row, of x = 0, is zero.
    """

    levels: int
    exponent: int

    @property
    def count(self) -> int:
        return int(self.levels**self.exponent)

    @property
    def columns(self) -> int:
        """Number of columns in full balance."""
        return (self.count - 1) // (self.levels - 1)

    @cached_property
    def sequence(self) -> IntArray:
        """(p^b - 1,): 0 if the trace of root^t is zero, j if it is the (j - 1)th power of GF(p)'s root."""
        prime, degree = _levels(self.levels)
        whole = field(prime, degree * self.exponent)
        # The trace is linear: the traces of the first powers, the basis, give all others.
        basis = np.arange(whole.degree)[:, None] * self.levels ** np.arange(self.exponent)
        traces = whole.powers[basis % (self.count - 1)].sum(axis=1) % prime
        logs = whole.logarithms[whole.encode(whole.multiply(whole.powers, traces))]
        return np.where(logs < 0, 0, logs // self.columns + 1)

    @cached_property
    def _spectrum(self) -> npt.NDArray[np.complex128]:
        return np.fft.rfft((self.sequence == 1).astype(np.float64))

    def selected(self, values: FloatArray) -> FloatArray:
        """(strata, p, m) values to (p^b, m): for each row, the sum over strata of the value that it selects.

        Symbol j stands `columns` places after symbol j - 1, so one transform of the values laid end to end covers all
        p symbols.
        """
        strata, _, width = values.shape
        if strata > self.columns:
            raise ValueError(f"{strata} strata: {self.count} replicates can balance at most {self.columns}")
        period, base = self.count - 1, values[:, :1]
        laid = np.zeros((period, width))
        starts = self.columns * np.arange(self.levels - 1)
        lags = (starts[None, :] - np.arange(strata)[:, None]) % period
        laid[lags.ravel()] = (values[:, 1:] - base).reshape(-1, width)
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
    """The smallest array over powers of `levels` for this many strata."""
    _levels(levels)
    exponent = 1
    while OrthogonalArray(levels, exponent).columns < strata:
        exponent += 1
    return OrthogonalArray(levels, exponent)


def _levels(levels: int) -> tuple[int, int]:
    power = prime_power(levels)
    if power is None:
        raise ValueError(f"{levels} units per stratum: balance needs a prime power; group the units instead")
    return power
