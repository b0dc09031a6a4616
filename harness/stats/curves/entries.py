"""Where cases enter a curve, and sums over groups of them by point.

A case enters at one place of the curve and stays: it is accepted at the first threshold that its score passes, or
found at its rank. So one number a case, its place, says all, and sums by group and place, accumulated, give every
group's total at every point without an array of cases by points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.curves.cases import BoolArray, FloatArray, IntArray

__all__ = ["Entries", "binned", "column_blocks", "square_steps"]

_BLOCK_ELEMENTS = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Where each case enters (`points` for never), and which cases the rate is taken over."""

    place: IntArray
    within: BoolArray
    points: int


def column_blocks(groups: int, points: int) -> Iterator[tuple[int, int]]:
    """Ranges of points such that groups times points stays of a size."""
    width = max(1, _BLOCK_ELEMENTS // max(1, groups))
    for start in range(0, points, width):
        yield start, min(start + width, points)


def binned(
    group: npt.NDArray[np.integer], groups: int, place: IntArray, weights: FloatArray, columns: tuple[int, int]
) -> FloatArray:
    """Weight that has entered by each of the points start to stop, for each group: (groups, stop - start)."""
    start, stop = columns
    width = stop - start + 1
    cell = group * width + np.clip(place - start, 0, width - 1)
    sums = np.bincount(cell, weights=weights, minlength=groups * width).reshape(groups, width)
    return np.cumsum(sums[:, :-1], axis=1)


def square_steps(group: npt.NDArray[np.integer], place: IntArray, weights: FloatArray) -> FloatArray:
    """By how much each case raises the square of its group's total when it enters.

    Summed over all that has entered, they are the sum of squared group totals, and no array of groups by points is
    needed to have it at every point.
    """
    order = np.lexsort((place, group))
    w, g = weights[order], group[order]
    upto = np.cumsum(w)
    first = np.flatnonzero(np.diff(g, prepend=-1))
    members = np.diff(first, append=g.size)
    before = upto - w - np.repeat(upto[first] - w[first], members)
    steps = np.empty(w.size)
    steps[order] = w * (2 * before + w)
    return steps
