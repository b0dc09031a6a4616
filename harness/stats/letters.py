"""Groups of algorithms that the data cannot tell apart: a compact letter display.

Two algorithms share a letter exactly when they were not found to differ. The groups behind the letters are the maximal
sets without a difference inside (Piepho 2004, insert and absorb). One algorithm may be in several of them: being
indistinguishable is not transitive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import BoolArray

__all__ = ["LetterDisplay", "distinct_matrix", "letter_display"]


# More groups than this are unreadable, and in the worst case there are 3^(m/3): then fewer groups are used that still
# say the same about every pair.
_READABLE = 200


@dataclass(frozen=True, slots=True)
class LetterDisplay:
    """Groups of algorithms by index, the best group first, and each algorithm's letters.

    `complete`: all maximal groups are listed. If not, there were too many, and those listed still show for every pair
    whether it was found to differ.
    """

    groups: tuple[tuple[int, ...], ...]
    letters: tuple[str, ...]
    complete: bool


def distinct_matrix(m: int, first: npt.ArrayLike, second: npt.ArrayLike, distinct: npt.ArrayLike) -> BoolArray:
    """Symmetric (m, m) matrix from a list of pairs and whether each was found to differ."""
    matrix = np.zeros((m, m), dtype=np.bool_)
    i, j = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    matrix[i, j] = matrix[j, i] = np.asarray(distinct, dtype=np.bool_)
    return matrix


def letter_display(distinct: npt.ArrayLike, *, order: Sequence[int] | None = None) -> LetterDisplay:
    """Letters for a symmetric matrix of differences; `order` lists the algorithms from best to worst."""
    matrix, ranked = _check(distinct, order)
    conflicts = [sum(1 << int(k) for k in np.flatnonzero(row)) for row in matrix[np.ix_(ranked, ranked)]]
    columns = _insert_and_absorb(conflicts)
    complete = columns is not None
    if columns is None:
        columns = _covering_columns(conflicts)
    positions = sorted(tuple(_members(column)) for column in columns)
    letters = [""] * len(ranked)
    for index, group in enumerate(positions):
        for position in group:
            letters[ranked[position]] += _letter(index)
    return LetterDisplay(tuple(tuple(ranked[k] for k in group) for group in positions), tuple(letters), complete)


def _insert_and_absorb(conflicts: list[int]) -> list[int] | None:
    """All maximal sets of bits without a conflict, or None if there are too many.

    A set of algorithms is an integer with a bit for each. For each algorithm in turn, every set that contains it and
    some of its conflicts is split into one without it and one without them.
    """
    columns = [(1 << len(conflicts)) - 1] if conflicts else []
    for index, conflict in enumerate(conflicts):
        bit = 1 << index
        split = [c for c in columns if c & bit and c & conflict]
        # A set that was not split cannot lie within a part of another: only the parts need checking.
        columns = [c for c in columns if not (c & bit and c & conflict)]
        for part in sorted({p for c in split for p in (c & ~bit, c & ~conflict)}, key=int.bit_count, reverse=True):
            if not any(part & c == part for c in columns):
                columns.append(part)
        if len(columns) > _READABLE:
            return None
    return columns


def _covering_columns(conflicts: list[int]) -> list[int]:
    """Sets without a conflict that together cover every pair without one: each grown from a pair not yet covered."""
    everyone = (1 << len(conflicts)) - 1
    missing = [everyone & ~conflict & ~(1 << index) for index, conflict in enumerate(conflicts)]
    columns: list[int] = []
    for index, conflict in enumerate(conflicts):
        alone = everyone & ~conflict == 1 << index
        while missing[index] or alone:
            column = _grow(index, conflicts, missing)
            columns.append(column)
            for member in _members(column):
                missing[member] &= ~column
            alone = False
    return columns


def _grow(index: int, conflicts: list[int], missing: list[int]) -> int:
    """A maximal set around one algorithm, adding first the algorithm that covers most of the missing pairs."""
    column, candidates = 1 << index, ((1 << len(conflicts)) - 1) & ~conflicts[index] & ~(1 << index)
    while candidates:
        preferred = candidates & missing[index] or candidates
        best = max(_members(preferred), key=lambda k: (missing[k] & column).bit_count())
        column |= 1 << best
        candidates &= ~conflicts[best] & ~(1 << best)
    return column


def _members(column: int) -> Iterator[int]:
    while column:
        lowest = column & -column
        yield lowest.bit_length() - 1
        column ^= lowest


def _letter(index: int) -> str:
    """a to z, then a1 to z1, a2 and so on."""
    turn, place = divmod(index, len(ascii_lowercase))
    return ascii_lowercase[place] + (str(turn) if turn else "")


def _check(distinct: npt.ArrayLike, order: Sequence[int] | None) -> tuple[BoolArray, list[int]]:
    matrix = np.asarray(distinct, dtype=np.bool_)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or (matrix != matrix.T).any() or matrix.diagonal().any():
        raise ValueError("differences must be a symmetric matrix with an empty diagonal")
    ranked = list(range(len(matrix))) if order is None else [int(k) for k in order]
    if sorted(ranked) != list(range(len(matrix))):
        raise ValueError(f"order {ranked} does not list each of {len(matrix)} algorithms once")
    return matrix, ranked
