"""Many tests at once: p-values adjusted so that a threshold keeps its meaning.

Holm and Hochberg bound the chance of a single false finding, Benjamini and Hochberg the expected share of false ones.
Holm holds whatever the dependence between the tests. A p-value that is NaN stays NaN and is not counted. The max-t
method uses the dependence of differences between runs on the same cases, from their covariance, and gives simultaneous
intervals.

A compact letter display shows what was found of all pairs: two algorithms share a letter exactly when they were not
found to differ. The groups behind the letters are the maximal sets without a difference inside (Piepho 2004, insert and
absorb). One algorithm may be in several of them: being indistinguishable is not transitive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from string import ascii_lowercase

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import BoolArray, FloatArray, IntArray

__all__ = [
    "LetterDisplay",
    "MaxT",
    "Multiplicity",
    "adjusted",
    "benjamini_hochberg",
    "distinct_matrix",
    "hochberg",
    "holm",
    "letter_display",
    "max_t",
]

# NaN, or None, where there is none.
PValues = npt.ArrayLike | Sequence[float | None]
# A run, the runs it is compared with, and the reciprocal errors of the differences.
_Row = tuple[int, IntArray | slice, npt.NDArray[np.float32]]

# Directions drawn at a time, few enough for all that follows to fit in a processor's cache.
_BLOCK = 512
# Sorted directions are averaged in this many groups; even within groups of one in 50 they hardly differ.
_GROUPS = 250
# More p-values than this are interpolated between this many nodes.
_NODES = 400
_MAX_STATISTIC = 1e4
# A variance below this fraction of the largest counts as none.
_NO_VARIANCE = 1e-12
# More groups of letters than this are unreadable, and in the worst case there are 3^(m/3): then fewer groups are used
# that still say the same about every pair.
_READABLE = 200


class Multiplicity(StrEnum):
    """How p-values of many comparisons are adjusted."""

    HOLM = "holm"
    HOCHBERG = "hochberg"
    BH = "bh"
    MAX_T = "max-t"


@dataclass(frozen=True, slots=True, eq=False)
class MaxT:
    """Adjusted p-values of the pairs, and the factor of the standard errors for simultaneous intervals.

    All intervals difference -+ critical * se hold simultaneously at the given confidence. `pairs` is the number
    compared: pairs without variance are not, and have no p-value.
    """

    p_values: FloatArray
    critical: float
    pairs: int
    draws: int


def adjusted(p_values: PValues, method: Multiplicity) -> FloatArray:
    """The p-values adjusted by a method that needs nothing else; `max_t` needs the covariance."""
    methods: dict[Multiplicity, Callable[[PValues], FloatArray]] = {
        Multiplicity.HOLM: holm,
        Multiplicity.HOCHBERG: hochberg,
        Multiplicity.BH: benjamini_hochberg,
    }
    if method not in methods:
        raise ValueError(f"{method} needs the covariance of the estimates: p-values alone are not enough")
    return methods[method](p_values)


def holm(p_values: PValues) -> FloatArray:
    """Holm's step-down adjustment (1979): from the smallest p up, the running maximum of (tests left) * p."""
    return _adjusted_by(p_values, lambda p: np.maximum.accumulate(np.arange(p.size, 0, -1) * p))


def hochberg(p_values: PValues) -> FloatArray:
    """Hochberg's step-up adjustment (1988): stronger than Holm's, for independent or positively dependent tests."""
    return _adjusted_by(p_values, lambda p: _minimum_from_above(np.arange(p.size, 0, -1) * p))


def benjamini_hochberg(p_values: PValues) -> FloatArray:
    """Benjamini and Hochberg's adjustment (1995) for the false discovery rate."""
    return _adjusted_by(p_values, lambda p: _minimum_from_above(p.size / np.arange(1, p.size + 1) * p))


def max_t(
    covariance: npt.ArrayLike,
    pairs: npt.ArrayLike,
    statistics: npt.ArrayLike,
    df: float,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    draws: int = 40_000,
) -> MaxT:
    """Single-step adjustment by the largest |t| of all pairs (Hothorn, Bretz and Westfall 2008).

    `covariance` (m, m) is that of the m estimates, `pairs` (k, 2) are the runs i and j of each difference, `statistics`
    (k,) their t, `df` the degrees of freedom that all share. With all pairs of independent estimates it is Tukey's
    test, with the pairs of one baseline Dunnett's. Of the multivariate t distribution only directions are drawn; the
    length and the error of the variance are integrated out, so that p falls with |t| and is exact if all pairs are one.
    """
    from scipy.special import ndtr, stdtr

    matrix, first, second, t = _check_contrasts(covariance, pairs, statistics, df)
    if not (0 < confidence < 1 and draws > 0):
        raise ValueError(f"confidence {confidence!r}, {draws!r} draws: expected between 0 and 1, and above 0")
    squares = np.diagonal(matrix)
    variances = squares[first] + squares[second] - 2 * matrix[first, second]
    errors = np.sqrt(np.where(variances > _NO_VARIANCE * squares.max(initial=0.0), variances, 0.0))
    known = (errors > 0) & ~np.isnan(t)
    p = np.full(t.size, math.nan)
    if not known.any():
        return MaxT(p, math.nan, 0, 0)
    first, second, errors = first[errors > 0], second[errors > 0], errors[errors > 0]
    scales, space = _space(matrix, first, second)
    tail = _Tail(_largest(scales, space, _rows(first, second, errors), draws, rng), scales.size, df)
    plain = 2 * (ndtr(-np.abs(t[known])) if math.isinf(df) else stdtr(df, -np.abs(t[known])))
    # At least the plain p, at most Bonferroni's: simulated values pass these bounds only by chance.
    p[known] = np.clip(tail.of_many(np.abs(t[known])), plain, np.minimum(errors.size * plain, 1.0))
    return MaxT(p, tail.quantile(1 - confidence), errors.size, draws)


@dataclass(frozen=True, slots=True, eq=False)
class _Tail:
    """P(max |t| > x). `largest`: the largest |t| in each direction, for a draw of length 1."""

    largest: FloatArray
    rank: int
    df: float

    def __call__(self, x: FloatArray) -> FloatArray:
        from scipy.special import chdtrc, fdtrc

        squares = (x[:, None] / self.largest) ** 2
        chance = chdtrc(self.rank, squares) if math.isinf(self.df) else fdtrc(self.rank, self.df, squares / self.rank)
        return np.asarray(chance.mean(axis=1))

    def of_many(self, x: FloatArray) -> FloatArray:
        """The same for any number of x: log p is interpolated between nodes, to a thousandth of p."""
        if x.size <= _NODES:
            return self(x)
        nodes = np.linspace(0.0, math.log1p(min(float(x.max()), _MAX_STATISTIC)), _NODES)
        logs = np.log(np.maximum(self(np.expm1(nodes)), np.finfo(float).tiny))
        return np.exp(np.interp(np.log1p(x), nodes, logs))

    def quantile(self, p: float) -> float:
        """The x that the largest |t| exceeds with probability p, by bisection."""
        left, right = 0.0, 1.0
        while self(np.array([right]))[0] > p:
            left, right = right, 2 * right
        while right - left > 1e-6 * right:
            middle = (left + right) / 2
            left, right = (middle, right) if self(np.array([middle]))[0] > p else (left, middle)
        return right


def _largest(
    scales: FloatArray, space: FloatArray, rows: list[_Row], draws: int, rng: np.random.Generator
) -> FloatArray:
    """The largest |difference| / error among the pairs in random directions, sorted and averaged in groups."""
    largest, root = np.empty(draws, dtype=np.float32), space * scales
    for start in range(0, draws, _BLOCK):
        # Drawn for the runs, not for the eigenvectors: another processor may find others.
        z = space.T @ rng.standard_normal((len(space), min(_BLOCK, draws - start)))
        # Single precision is enough: the error of drawing is ten thousand times larger.
        estimates = (root @ (z / np.sqrt((z**2).sum(axis=0)))).astype(np.float32)
        block = np.zeros(estimates.shape[1], dtype=np.float32)
        for run, others, weights in rows:
            differences = estimates[others] - estimates[run]
            differences *= weights
            np.maximum(block, differences.max(axis=0), out=block)
            np.maximum(block, -differences.min(axis=0), out=block)
        largest[start : start + _BLOCK] = block
    groups = np.array_split(np.sort(largest).astype(np.float64), min(_GROUPS, draws))
    return np.array([group.mean() for group in groups])


def _rows(first: IntArray, second: IntArray, errors: FloatArray) -> list[_Row]:
    """The pairs by their first run."""
    rows: list[_Row] = []
    for run in np.unique(first):
        chosen = first == run
        others, weights = second[chosen], (1 / errors[chosen]).astype(np.float32)[:, None]
        consecutive = others.size == 1 or (np.diff(others) == 1).all()
        # A slice is not copied.
        rows.append((int(run), slice(others[0], others[-1] + 1) if consecutive else others, weights))
    return rows


def _space(covariance: FloatArray, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
    """The covariance within the space that the differences span: standard deviations (r,), directions (m, r)."""
    signs = np.zeros((first.size, len(covariance)))
    signs[np.arange(first.size), first], signs[np.arange(first.size), second] = 1.0, -1.0
    spanned = _eigenvectors(signs.T @ signs)[1]
    values, vectors = _eigenvectors(spanned.T @ covariance @ spanned)
    return np.sqrt(values), spanned @ vectors


def _eigenvectors(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues above 0, and their eigenvectors."""
    values, vectors = np.linalg.eigh(matrix)
    positive = values > _NO_VARIANCE * values.max()
    return values[positive], vectors[:, positive]


def _check_contrasts(
    covariance: npt.ArrayLike, pairs: npt.ArrayLike, statistics: npt.ArrayLike, df: float
) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
    matrix, t = np.asarray(covariance, dtype=np.float64), np.asarray(statistics, dtype=np.float64)
    two = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
        raise ValueError(f"a covariance of shape {matrix.shape}: expected finite numbers, as many rows as columns")
    if t.shape != (len(two),):
        raise ValueError(f"{t.shape} statistics of {len(two)} pairs: expected one for each pair")
    if two.size and not (two.min() >= 0 and two.max() < len(matrix)):
        raise ValueError(f"a pair names run {two.max()} or {two.min()}: expected 0 to {len(matrix) - 1}")
    if not df > 0:
        raise ValueError(f"degrees of freedom {df!r} are not above 0: more units are needed")
    return matrix, two[:, 0], two[:, 1], t


def _minimum_from_above(values: FloatArray) -> FloatArray:
    return np.minimum.accumulate(values[::-1])[::-1]


def _adjusted_by(p_values: PValues, adjust: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """The p-values by a method that takes those that are known, the smallest first."""
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"p-values have shape {p.shape}, expected a list of them")
    known = ~np.isnan(p)
    wrong = p[known][(p[known] < 0) | (p[known] > 1)]
    if wrong.size:
        raise ValueError(f"{wrong[0]} is not a p-value: expected between 0 and 1")
    order = np.flatnonzero(known)[np.argsort(p[known], kind="stable")]
    result = np.full(p.size, np.nan)
    result[order] = np.minimum(adjust(p[order]), 1.0)
    return result


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
    matrix, ranked = _check_distinct(distinct, order)
    conflicts = [sum(1 << int(k) for k in np.flatnonzero(row)) for row in matrix[np.ix_(ranked, ranked)]]
    columns = _insert_and_absorb(conflicts)
    complete = columns is not None
    if columns is None:
        columns = _covering_columns(conflicts)
    positions = sorted(tuple(_members(column)) for column in columns)
    letters = [""] * len(ranked)
    for index, group in enumerate(positions):
        for position in group:
            # a to z, then a1 to z1, a2 and so on.
            turn, number = divmod(index, len(ascii_lowercase))
            letters[ranked[position]] += ascii_lowercase[number] + (str(turn) if turn else "")
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


def _check_distinct(distinct: npt.ArrayLike, order: Sequence[int] | None) -> tuple[BoolArray, list[int]]:
    matrix = np.asarray(distinct, dtype=np.bool_)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or (matrix != matrix.T).any() or matrix.diagonal().any():
        raise ValueError("differences must be a symmetric matrix with an empty diagonal")
    ranked = list(range(len(matrix))) if order is None else [int(k) for k in order]
    if sorted(ranked) != list(range(len(matrix))):
        raise ValueError(f"order {ranked} does not list each of {len(matrix)} algorithms once")
    return matrix, ranked
