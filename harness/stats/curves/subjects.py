"""Which two subjects each score of a similarity matrix depends on, and the variance that follows from it.

Two scores are dependent when they share a subject, on whichever side. The variance of a mean is then a sum over all
pairs of scores that share one. Here it is taken by leaving out each subject with all of its scores in turn, which
counts a pair of scores with both subjects in common twice, so that these are taken off once: the two-way formula
(rows + columns - cells) of Cameron, Gelbach and Miller (2011), and for one set of subjects on both sides that of
Aronow, Samii and Assenova (2015), with the jackknife's correction for few subjects.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.curves.cases import BoolArray, FloatArray, IntArray

__all__ = ["Subjects", "require_rest", "two_way_variance", "without_twice"]


@dataclass(frozen=True, slots=True, eq=False)
class Subjects:
    """The two subjects of each case, numbered; `shares` is (n - 1) / n with n the subjects on the same side.

    Labels name subjects: a label that appears on both sides is one subject, and then there is one set of subjects.
    Otherwise rows and columns are two sets, each drawn on its own.
    """

    first: IntArray
    second: IntArray
    count: int
    shares: FloatArray
    cell: IntArray
    cells: int
    df: float

    @classmethod
    def of(cls, first: npt.ArrayLike, second: npt.ArrayLike) -> Subjects:
        """From one label a case on each side."""
        a, b = np.asarray(first), np.asarray(second)
        if a.ndim != 1 or a.shape != b.shape:
            raise ValueError(f"subjects have shapes {a.shape} and {b.shape}: expected one of each a case")
        names, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
        one, other = codes[: a.size], codes[a.size :]
        rows, columns = (np.bincount(side, minlength=names.size) > 0 for side in (one, other))
        sizes = _side_sizes(rows, columns)
        if sizes.min() < 3:
            raise ValueError(f"{sizes.min()} subjects on a side: a two-way variance needs three or more")
        low, high = np.minimum(one, other), np.maximum(one, other)
        cell = np.unique(low * names.size + high, return_inverse=True)[1]
        return cls(one, other, names.size, 1 - 1 / sizes, cell, int(cell.max()) + 1, float(sizes.min() - 1))

    @property
    def same(self) -> BoolArray:
        """Whether both subjects of a case are one (a genuine comparison)."""
        return np.asarray(self.first == self.second)

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum over all cases that a subject has a part in, once each."""
        once = np.where(self.same, 0.0, values)
        first = np.bincount(self.first, weights=values, minlength=self.count)
        return np.asarray(first + np.bincount(self.second, weights=once, minlength=self.count), dtype=np.float64)

    def cell_sums(self, values: FloatArray) -> FloatArray:
        """Sum over the cases of the same two subjects."""
        return np.bincount(self.cell, weights=values, minlength=self.cells).astype(np.float64)

    def cell_is_twofold(self) -> BoolArray:
        """Whether a cell's subjects are two."""
        twofold = np.zeros(self.cells, dtype=np.bool_)
        twofold[self.cell] = ~self.same
        return twofold


def two_way_variance(
    subjects: Subjects, weights: FloatArray, deviations: FloatArray, classes: tuple[BoolArray, ...]
) -> float:
    """Variance of a sum of weighted means, one a class, from each case's deviation from its class's mean.

    Leaving out a subject moves a weighted mean by minus its summed deviations over the weight that is left.
    """
    moved = np.zeros(subjects.count)
    within = np.zeros(weights.size)
    for of in classes:
        w = np.where(of, weights, 0.0)
        left = w.sum() - subjects.sums(w)
        require_rest(left, w.sum())
        moved -= subjects.sums(w * deviations) / left
        within += w * deviations / w.sum()
    cells = subjects.cell_sums(within) ** 2
    twice = cells[subjects.cell_is_twofold()].sum()
    return float(without_twice(subjects.shares @ moved**2, twice))


def without_twice(by_subject: FloatArray, twice: FloatArray) -> FloatArray:
    """Take off what was counted twice, but no more than half.

    Half is what independent scores come to. Less may be by chance, and a difference of two variances may even be
    negative; scores of a subject that speak against each other (genuine and impostor ones) need less than
    independent ones, so that these are no lower limit.
    """
    return np.maximum(by_subject - twice, by_subject / 2)


def require_rest(left: FloatArray, total: float) -> None:
    """Leaving out a subject must leave something of the class."""
    if (left <= 1e-12 * total).any():
        raise ValueError("a subject has a part in all cases of a class: there is nothing left without it")


def _side_sizes(rows: BoolArray, columns: BoolArray) -> IntArray:
    if (rows & columns).any():
        return np.full(rows.size, rows.size)
    return np.where(rows, np.count_nonzero(rows), np.count_nonzero(columns))
