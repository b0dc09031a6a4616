"""Ranks of the true identity in a gallery, from a full matrix of similarities or distances.

The rank of a probe is 1 + the number of wrong identities that score at least as well as its own, so ties count against
the algorithm. An identity with several gallery images has the score of its best one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import BoolArray, FloatArray, IntArray

__all__ = ["Ranks", "censored", "median_rank", "rank_matrix", "weighted_median"]


# Matrix elements at a time, few enough to fit in a processor's cache.
_BLOCK_ELEMENTS = 1 << 18
_LONG_ROW = 512


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Ranks of the probes. A probe whose identity is not in the gallery has rank nan, and `enrolled` is false.

    `best_right` and `best_wrong` are the scores that an open-set decision compares with its threshold, in the
    direction of the matrix; nan if there is none.
    """

    rank: FloatArray
    enrolled: BoolArray
    best_right: FloatArray
    best_wrong: FloatArray
    gallery: int
    """Number of identities in the gallery."""

    @property
    def relative(self) -> FloatArray:
        """Rank over the size of the gallery: comparable between galleries, 1 for the last place."""
        return self.rank / self.gallery


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Columns sorted by identity: where each identity starts, and which one each probe is (-1: not enrolled)."""

    columns: IntArray
    starts: IntArray
    identity_of_probe: IntArray
    sizes: IntArray


def rank_matrix(
    scores: npt.ArrayLike,
    probes: npt.ArrayLike,
    gallery: npt.ArrayLike,
    *,
    larger_is_better: bool = True,
    exclude_diagonal: bool = False,
    block: int | None = None,
) -> Ranks:
    """Rank every probe (a row) in the gallery (the columns); `probes` and `gallery` are their identities.

    `exclude_diagonal`: probe i and gallery image i are the same image, which is left out of that probe's gallery.
    `block`: rows processed at a time; memory is proportional to it, the result does not depend on it.
    """
    matrix, layout = _check(scores, np.asarray(probes), np.asarray(gallery), exclude_diagonal)
    rows = block if block is not None else max(1, _BLOCK_ELEMENTS // max(1, matrix.shape[1]))
    if rows < 1:
        raise ValueError(f"block {rows!r}: expected one row or more")
    sign = 1.0 if larger_is_better else -1.0
    # One buffer for all blocks: allocating memory each time costs more than the comparisons.
    larger = np.empty((min(rows, matrix.shape[0]), layout.starts.size), dtype=matrix.dtype)
    parts = []
    for at, best in _best_by_identity(matrix, layout, rows, sign, exclude_diagonal):
        ordered = larger[: best.shape[0]]
        with np.errstate(invalid="ignore"):  # a NaN is refused below; some kinds of it would also warn
            np.multiply(best, matrix.dtype.type(sign), out=ordered)
        parts.append(_rank_block(ordered, layout.identity_of_probe[at], _available(layout, at, exclude_diagonal)))
        _refuse_nan(matrix, at, parts[-1])
    rank, right, wrong = (np.concatenate([p[i] for p in parts]) for i in range(3))
    return Ranks(rank, ~np.isnan(rank), sign * right + 0.0, sign * wrong + 0.0, layout.starts.size)


def censored(rank: npt.ArrayLike, limit: int) -> FloatArray:
    """Ranks cut off at a limit: beyond it, all misses are equally bad."""
    if limit < 1:
        raise ValueError(f"limit {limit!r}: the smallest rank is 1")
    return np.asarray(np.minimum(np.asarray(rank, dtype=np.float64), limit))


def median_rank(rank: npt.ArrayLike, *, limit: int | None = None, weights: npt.ArrayLike | None = None) -> float:
    """Median of the ranks, censored at a limit if there is one; probes without a rank (nan) are left out."""
    r = np.asarray(rank, dtype=np.float64)
    known = ~np.isnan(r)
    if not known.any():
        raise ValueError("no probe has a rank: none is in the gallery")
    w = None if weights is None else np.asarray(weights, dtype=np.float64)[known]
    return weighted_median(r[known] if limit is None else censored(r[known], limit), w)


def weighted_median(values: FloatArray, weights: FloatArray | None = None) -> float:
    """The value with half of the weight on either side; the mean of two if the halves meet between them."""
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values)
    ranked, below = values[order], np.cumsum(weights[order])
    if not below[-1] > 0:
        raise ValueError("weights add up to 0: expected a weight above 0")
    half = below[-1] / 2
    # A half that is missed by a rounding error of the summed weights is still a half.
    slack = 1e-12 * below[-1]
    low = ranked[np.searchsorted(below, half - slack)]
    high = ranked[min(int(np.searchsorted(below, half + slack)), ranked.size - 1)]
    return float((low + high) / 2)


def _check(
    scores: npt.ArrayLike, probes: npt.NDArray[np.generic], gallery: npt.NDArray[np.generic], diagonal: bool
) -> tuple[npt.NDArray[np.floating], _Layout]:
    matrix = np.asarray(scores)
    if not np.issubdtype(matrix.dtype, np.floating):
        matrix = matrix.astype(np.float64)
    if matrix.ndim != 2 or probes.shape != matrix.shape[:1] or gallery.shape != matrix.shape[1:]:
        raise ValueError(
            f"scores {matrix.shape}, probes {probes.shape}, gallery {gallery.shape}: expected (n, m), (n,) and (m,)"
        )
    if matrix.size == 0:
        raise ValueError("the matrix is empty: expected a probe and a gallery image")
    if diagonal and matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"scores {matrix.shape}: only a square matrix has a diagonal to exclude")
    return matrix, _layout(probes, gallery)


def _layout(probes: npt.NDArray[np.generic], gallery: npt.NDArray[np.generic]) -> _Layout:
    names, code = np.unique(gallery, return_inverse=True)
    columns = np.argsort(code, kind="stable")
    sizes = np.bincount(code)
    starts = np.cumsum(sizes) - sizes
    nearest = np.minimum(np.searchsorted(names, probes), names.size - 1)
    identity_of_probe = np.where(names[nearest] == probes, nearest, -1)
    return _Layout(columns, starts, identity_of_probe, sizes)


def _best_by_identity(
    matrix: npt.NDArray[np.floating], layout: _Layout, rows: int, sign: float, diagonal: bool
) -> Iterator[tuple[slice, npt.NDArray[np.floating]]]:
    """Blocks of rows with each identity's best score as a column, in the direction of the matrix."""
    sorted_already = bool((layout.columns[1:] > layout.columns[:-1]).all())
    for start in range(0, matrix.shape[0], rows):
        at = slice(start, min(start + rows, matrix.shape[0]))
        part = matrix[at]
        if diagonal:
            part = part.copy()
            part[np.arange(part.shape[0]), np.arange(at.start, at.stop)] = -sign * np.inf
        yield at, _best(part if sorted_already else part[:, layout.columns], layout, sign)


def _best(part: npt.NDArray[np.floating], layout: _Layout, sign: float) -> npt.NDArray[np.floating]:
    """The best score of each identity; if all have the same number of images, by whole rows, which is faster."""
    better = np.maximum if sign > 0 else np.minimum
    images = int(layout.sizes[0])
    if not (layout.sizes == images).all():
        return np.asarray(better.reduceat(part, layout.starts, axis=1))
    # The best of `images` neighbours, by doubling the width: whole rows are faster than strided columns.
    best, width = part, 1
    while width < images:
        step = min(width, images - width)
        best = better(best[:, :-step], best[:, step:])
        width += step
    return best[:, ::images]


def _available(layout: _Layout, at: slice, diagonal: bool) -> BoolArray:
    """Whether the probe's own identity has an image in the gallery, other than an excluded one."""
    identity = layout.identity_of_probe[at]
    images = np.where(identity >= 0, layout.sizes[identity], 0)
    if diagonal:
        # Gallery image i may have the identity of probe i.
        identity_of_column = np.empty(layout.columns.size, dtype=np.intp)
        identity_of_column[layout.columns] = np.repeat(np.arange(layout.sizes.size), layout.sizes)
        images = images - (identity_of_column[at] == identity)
    return np.asarray(images > 0)


def _refuse_nan(matrix: npt.NDArray[np.floating], at: slice, part: tuple[FloatArray, FloatArray, FloatArray]) -> None:
    """Look for NaN scores only if a maximum is NaN: this saves a pass over the matrix."""
    if np.isnan(part[1]).any() or np.isnan(part[2]).any():
        missing = np.argwhere(np.isnan(matrix[at]))
        if missing.size:
            r, c = missing[0]
            where = f"probe {at.start + r} and gallery image {c}"
            raise ValueError(f"score of {where} is not a number: give the worst score instead")


def _count_true(matrix: BoolArray) -> IntArray:
    """True values in each row; long rows one by one, since numpy counts a whole array faster than along an axis."""
    if matrix.shape[1] < _LONG_ROW:
        return np.asarray(np.count_nonzero(matrix, axis=1))
    return np.array([np.count_nonzero(row) for row in matrix], dtype=np.intp)


def _rank_block(
    best: npt.NDArray[np.floating], identity: IntArray, available: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rank, best right and best wrong score of each row, larger being better."""
    rows = np.arange(best.shape[0])
    right = best[rows, identity]
    # The right identity is at least as good as itself: this is the 1 in the definition.
    rank = _count_true(best >= right[:, None])
    others = best
    enrolled = identity >= 0
    others[rows[enrolled], identity[enrolled]] = -np.inf
    wrong = others.max(axis=1) if best.shape[1] > 1 else np.where(enrolled, np.nan, best[:, 0])
    return (
        np.where(available, rank, np.nan).astype(np.float64),
        np.where(available, right, np.nan).astype(np.float64),
        wrong.astype(np.float64),
    )
