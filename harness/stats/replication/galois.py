"""Finite fields GF(r^n): primes, a primitive polynomial found by search, and the powers of its root."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from harness.stats.replication.arrays import IntArray


def prime_factors(number: int) -> tuple[int, ...]:
    """The distinct primes that divide a number, by trial division."""
    found, divisor = [], 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            found.append(divisor)
            while number % divisor == 0:
                number //= divisor
        divisor += 1
    return (*found, number) if number > 1 else tuple(found)


def is_prime(number: int) -> bool:
    """Whether a number is prime."""
    return number > 1 and prime_factors(number) == (number,)


def prime_power(number: int) -> tuple[int, int] | None:
    """The prime r and exponent n with r^n = number, or nothing if there are none."""
    primes = prime_factors(number)
    if len(primes) != 1:
        return None
    exponent = 1
    while primes[0] ** exponent < number:
        exponent += 1
    return primes[0], exponent


@dataclass(frozen=True)
class Field:
    """GF(r^n) by the powers of the root of a primitive polynomial, coefficients of x^0 to x^(n-1) without the x^n."""

    prime: int
    degree: int
    polynomial: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(self.prime**self.degree)

    @cached_property
    def powers(self) -> IntArray:
        """(size - 1, degree): the coefficients of root^0, root^1, ..."""
        table = np.zeros((self.size - 1, self.degree), dtype=np.int64)
        table[0, 0] = 1
        step, filled = companion(self.prime, self.polynomial), 1
        while filled < len(table):
            # Rows double: root^(t + m) is root^t times root^m, a linear map.
            more = min(filled, len(table) - filled)
            table[filled : filled + more] = self.multiply(table[:more], step)
            step, filled = step @ step % self.prime, filled + more
        return table

    @cached_property
    def codes(self) -> IntArray:
        """(size - 1,): root^t as one number, its coefficients being digits in base `prime`."""
        return self.encode(self.powers)

    @cached_property
    def logarithms(self) -> IntArray:
        """(size,): the t for which root^t has this code; -1 for zero."""
        logs = np.full(self.size, -1, dtype=np.int64)
        logs[self.codes] = np.arange(self.size - 1)
        return logs

    def multiply(self, rows: IntArray, matrix: IntArray) -> IntArray:
        """Rows of coefficients times a matrix over GF(prime)."""
        # In floating point, where the numbers are still exact and the product is a fast one.
        return (rows.astype(np.float64) @ matrix.astype(np.float64)).astype(np.int64) % self.prime

    def encode(self, coefficients: IntArray) -> IntArray:
        """Coefficients on the last axis to codes."""
        return np.asarray(coefficients @ self.prime ** np.arange(self.degree, dtype=np.int64), dtype=np.int64)


def field(prime: int, degree: int) -> Field:
    """The field of prime^degree elements."""
    return Field(prime, degree, primitive_polynomial(prime, degree))


def companion(prime: int, polynomial: tuple[int, ...]) -> IntArray:
    """The matrix that multiplies a row of coefficients by x."""
    degree = len(polynomial)
    matrix = np.zeros((degree, degree), dtype=np.int64)
    matrix[np.arange(degree - 1), np.arange(1, degree)] = 1
    matrix[-1] = -np.array(polynomial) % prime
    return matrix


def primitive_polynomial(prime: int, degree: int) -> tuple[int, ...]:
    """The first monic polynomial whose root has the order prime^degree - 1, hence generates the whole field."""
    if not is_prime(prime) or degree < 1:
        raise ValueError(f"no field of {prime}^{degree} elements: give a prime and a degree of at least 1")
    order = prime**degree - 1
    for coefficients in product(range(prime), repeat=degree):
        polynomial = coefficients[::-1]
        if polynomial[0] and _generates(prime, polynomial, order):
            return polynomial
    raise ValueError(f"no primitive polynomial of degree {degree} over GF({prime})")


def _generates(prime: int, polynomial: tuple[int, ...], order: int) -> bool:
    # x^order = 1 and no smaller power: the powers of x are then all non-zero residues, so the ring is a field.
    if not _is_one(prime, polynomial, order):
        return False
    return not any(_is_one(prime, polynomial, order // factor) for factor in prime_factors(order))


def _is_one(prime: int, polynomial: tuple[int, ...], exponent: int) -> bool:
    base = companion(prime, polynomial)
    result = np.eye(len(polynomial), dtype=np.int64)
    while exponent:
        if exponent & 1:
            result = result @ base % prime
        base = base @ base % prime
        exponent >>= 1
    return bool((result == np.eye(len(polynomial), dtype=np.int64)).all())
