"""Paley's matrices: Hadamard matrices from the squares of a finite field."""

import numpy as np
import numpy.typing as npt

from harness.stats.replication.galois import field, prime_power

Signs = npt.NDArray[np.int8]


def quadratic_character(size: int) -> Signs:
    """+1 for squares, -1 for others, 0 for zero, of the elements of GF(size) by their codes."""
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
    for place in range(degree):
        difference += (digits[:, None, place] - digits[None, :, place]) % prime * prime**place
    return quadratic_character(size)[difference]


def paley_one(size: int) -> Signs:
    """Order size + 1, for a prime power size = 3 mod 4."""
    matrix = np.ones((size + 1, size + 1), dtype=np.int8)
    matrix[1:, 1:] = jacobsthal(size) - np.eye(size, dtype=np.int8)
    return matrix


def paley_two(size: int) -> Signs:
    """Order 2 (size + 1), for a prime power size = 1 mod 4; rows turned so that the first column is ones."""
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
