"""Hadamard matrices by Sylvester, Paley I, Paley II and products, with fast transforms if available.

Every matrix has a first column of ones; the other columns therefore sum to zero and balance strata fully.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray
from harness.stats.replication.galois import field, is_prime, prime_power

Signs = npt.NDArray[np.int8]
# Up to this many strata the smallest order of any construction is used; beyond, the smallest with a fast transform.
DENSE_LIMIT = 2000


def quadratic_character(size: int) -> Signs:
    """For the elements of GF(size) by code: +1 for squares, 0 for zero, -1 for others."""
    power = _prime_power(size)
    character = np.zeros(size, dtype=np.int8)
    if power[1] == 1:
        character[1:] = -1
        character[np.arange(1, size, dtype=np.int64) ** 2 % size] = 1
        return character
    logs = field(*power).logarithms
    character[1:] = 1 - 2 * (logs[1:] % 2)
    return character


def jacobsthal(size: int) -> Signs:
    """The matrix of the quadratic character of x - y, over all elements x, y of GF(size)."""
    prime, degree = _prime_power(size)
    digits = np.arange(size)[:, None] // prime ** np.arange(degree) % prime
    difference = np.zeros((size, size), dtype=np.int64)
    for digit in range(degree):
        difference += (digits[:, None, digit] - digits[None, :, digit]) % prime * prime**digit
    return quadratic_character(size)[difference]


def paley_one(size: int) -> Signs:
    """Order size + 1, for a prime power size = 3 mod 4."""
    matrix = np.ones((size + 1, size + 1), dtype=np.int8)
    matrix[1:, 1:] = jacobsthal(size) - np.eye(size, dtype=np.int8)
    return matrix


def paley_two(size: int) -> Signs:
    """Order 2 (size + 1), for a prime power size = 1 mod 4; rows are negated to make the first column ones."""
    conference = np.ones((size + 1, size + 1), dtype=np.int8)
    conference[0, 0] = 0
    conference[1:, 1:] = jacobsthal(size)
    outer, inner = np.array([[1, 1], [1, -1]], dtype=np.int8), np.array([[1, -1], [-1, -1]], dtype=np.int8)
    matrix = np.kron(conference, outer) + np.kron(np.eye(size + 1, dtype=np.int8), inner)
    return np.asarray(matrix * matrix[:, :1], dtype=np.int8)


def _prime_power(size: int) -> tuple[int, int]:
    power = prime_power(size)
    if power is None:
        raise ValueError(f"{size} is not a power of a prime; fields have p^n elements")
    return power


class Hadamard(Protocol):
    """A Hadamard matrix H whose first column is ones."""

    @property
    def order(self) -> int:
        """Number of rows and columns."""
        ...

    def transform(self, values: FloatArray) -> FloatArray:
        """H times (order, m) values; missing rows count as zeros."""
        ...

    def rows(self, start: int, stop: int) -> Signs:
        """The rows from start to stop."""
        ...


@dataclass(frozen=True)
class Sylvester:
    """Order 2^s: entry (i, j) is (-1)^b, with b the number of bits that i and j share."""

    order: int

    def transform(self, values: FloatArray) -> FloatArray:
        """The fast Walsh-Hadamard transform."""
        width = values.shape[1]
        work = np.zeros((self.order, width))
        work[: len(values)] = values
        half = 1
        while half < self.order:
            pairs = work.reshape(self.order // (2 * half), 2, half * width)
            difference = pairs[:, 0] - pairs[:, 1]
            pairs[:, 0] += pairs[:, 1]
            pairs[:, 1] = difference
            half *= 2
        return work

    def rows(self, start: int, stop: int) -> Signs:
        """Signs from the parity of the common bits."""
        bits = np.arange(start, stop)[:, None] & np.arange(self.order)
        for shift in (32, 16, 8, 4, 2, 1):
            bits ^= bits >> shift
        return (1 - 2 * (bits & 1)).astype(np.int8)


@dataclass(frozen=True)
class PaleyOne:
    """Order q + 1 for a prime q = 3 mod 4: ones, and the circulant of the quadratic character minus the identity."""

    prime: int

    @property
    def order(self) -> int:
        return self.prime + 1

    @cached_property
    def _kernel(self) -> Signs:
        character = quadratic_character(self.prime)
        character[0] = -1
        return character

    @cached_property
    def _spectrum(self) -> npt.NDArray[np.complex128]:
        # Padded to a length with small factors: a transform of prime length q costs several times as much.
        length = fast_length(2 * self.prime - 1)
        padded = np.zeros(length)
        padded[: self.prime] = self._kernel
        padded[length - self.prime + 1 :] = self._kernel[1:]
        return np.fft.rfft(padded)

    def transform(self, values: FloatArray) -> FloatArray:
        """The circulant part is a convolution: two Fourier transforms."""
        length = fast_length(2 * self.prime - 1)
        first, rest = values[0], values[1:]
        product = np.fft.rfft(rest, n=length, axis=0) * self._spectrum[:, None]
        result = np.empty((self.order, values.shape[1]))
        result[0] = first + rest.sum(axis=0)
        result[1:] = first + np.fft.irfft(product, n=length, axis=0)[: self.prime]
        return result

    def rows(self, start: int, stop: int) -> Signs:
        """Rotations of the character."""
        block = np.ones((stop - start, self.order), dtype=np.int8)
        first = max(start, 1)
        lags = np.arange(first - 1, stop - 1)[:, None] - np.arange(self.prime)
        block[first - start :, 1:] = self._kernel[lags % self.prime]
        return block


@dataclass(frozen=True)
class StoredHadamard:
    """A stored matrix, for orders without a fast transform."""

    matrix: Signs

    @property
    def order(self) -> int:
        return len(self.matrix)

    def transform(self, values: FloatArray) -> FloatArray:
        return np.asarray(self.matrix[:, : len(values)].astype(np.float64) @ values)

    def rows(self, start: int, stop: int) -> Signs:
        return self.matrix[start:stop]


@dataclass(frozen=True)
class HadamardProduct:
    """The Kronecker product of two Hadamard matrices: one transform after the other."""

    left: Hadamard
    right: Hadamard

    @property
    def order(self) -> int:
        return self.left.order * self.right.order

    def transform(self, values: FloatArray) -> FloatArray:
        """The right factor within blocks, then the left one across them."""
        m, n, width = self.left.order, self.right.order, values.shape[1]
        padded = np.zeros((m * n, width))
        padded[: len(values)] = values
        within = padded.reshape(m, n, width).transpose(1, 0, 2).reshape(n, m * width)
        across = self.right.transform(within).reshape(n, m, width).transpose(1, 0, 2).reshape(m, n * width)
        return self.left.transform(across).reshape(m * n, width)

    def rows(self, start: int, stop: int) -> Signs:
        """Products of the factors' rows."""
        index = np.arange(start, stop)
        left, right = self.left.rows(0, self.left.order), self.right.rows(0, self.right.order)
        block = left[index // self.right.order][:, :, None] * right[index % self.right.order][:, None, :]
        return block.reshape(len(index), self.order)


@lru_cache(maxsize=16)
def hadamard(order: int) -> Hadamard:
    """The matrix of this order, by the fastest construction that gives it."""
    make = _construction(order)
    if make is None:
        raise ValueError(f"no Hadamard matrix of order {order} by Sylvester, Paley or products; try smallest_order")
    return make()


def smallest_order(strata: int) -> int:
    """The smallest order above the number of strata: any construction up to 2,000 strata, a fast one beyond."""
    if strata < 1:
        raise ValueError(f"{strata} strata: expected at least one")
    order = strata + 1
    construction = _construction if strata <= DENSE_LIMIT else _fast
    while construction(order) is None:
        order += 1
    return order


def fast_length(least: int) -> int:
    """The smallest length from `least` on with no prime factor above 5."""
    length = least
    while True:
        rest = length
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return length
        length += 1


def _fast(order: int) -> Callable[[], Hadamard] | None:
    if order & (order - 1) == 0:
        return partial(Sylvester, order)
    if order % 4 == 0 and is_prime(order - 1):
        return partial(PaleyOne, order - 1)
    return None


@lru_cache(maxsize=4096)
def _construction(order: int) -> Callable[[], Hadamard] | None:
    if order > 2 and order % 4:
        return None
    if (fast := _fast(order)) is not None:
        return fast
    for left in range(2, order // 2 + 1):
        if order % left == 0 and _construction(left) and _construction(order // left):
            return lambda: HadamardProduct(hadamard(left), hadamard(order // left))
    if prime_power(order - 1):
        return lambda: StoredHadamard(paley_one(order - 1))
    half = order // 2 - 1
    if half % 4 == 1 and prime_power(half):
        return lambda: StoredHadamard(paley_two(half))
    return None
