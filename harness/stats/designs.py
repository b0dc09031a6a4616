"""How the sampling design affects the variance of a mean: simple random, stratified, cluster sampling.

Cases come in groups. If a repetition would have the same groups, they are strata, and differences between them add
nothing to the variance; if it would draw new ones, they are clusters, and those differences count in full. After
"Is the Urn Well-Mixed?" (2004), section 2.1, which has groups of equal size; here they may be of any size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray, columns_of

__all__ = [
    "DesignVariances",
    "GroupMoments",
    "design_variances",
    "linearised_cluster_variance",
]


Weights = Literal["cases", "equal"]


@dataclass(frozen=True, slots=True, eq=False)
class GroupMoments:
    """Sizes, means and within-group sums of squares of the columns of a table, by group."""

    sizes: FloatArray
    means: FloatArray
    within: FloatArray

    @property
    def total(self) -> float:
        """Number of cases."""
        return float(self.sizes.sum())

    @property
    def mean(self) -> FloatArray:
        """Mean of all cases, by column."""
        mean: FloatArray = self.sizes @ self.means / self.total
        return mean

    @property
    def between(self) -> FloatArray:
        """Sum over cases of the squared distance of the group mean from the overall mean, by column."""
        between: FloatArray = self.sizes @ (self.means - self.mean) ** 2
        return between

    @classmethod
    def of(cls, values: npt.ArrayLike, groups: npt.ArrayLike) -> GroupMoments:
        """Group the rows of an (n, k) table of values by n labels of any kind."""
        table, codes = _check(values, groups)
        sizes = np.bincount(codes).astype(np.float64)
        order = np.argsort(codes, kind="stable")
        starts = np.concatenate(([0], np.cumsum(sizes[:-1]).astype(np.intp)))
        means = np.add.reduceat(table[order], starts, axis=0) / sizes[:, None]
        within = np.add.reduceat((table[order] - means[codes[order]]) ** 2, starts, axis=0)
        return cls(sizes, means, within)


@dataclass(frozen=True, slots=True, eq=False)
class DesignVariances:
    """Unbiased estimates of the variance of the mean: `st` groups are strata, `srs` no groups, `cl` clusters.

    In expectation st <= srs <= cl when groups differ (equation 19); in a single sample chance may reverse the order.
    NaN if there is no estimate: `st` with a group of one case, `cl` with a single group. Arrays have one number per
    column of values, or no dimension for a single column.
    """

    mean: FloatArray
    st: FloatArray
    srs: FloatArray
    cl: FloatArray


def design_variances(values: npt.ArrayLike, groups: npt.ArrayLike, *, weights: Weights = "cases") -> DesignVariances:
    """Variances of the mean of n values in groups, or of every column of (n, k): thresholds, algorithms, trials.

    `weights`: "cases" for the plain mean of all cases, "equal" for the mean of the groups' means.
    """
    columns, single = columns_of(values)
    grouped = GroupMoments.of(columns, groups)
    share = grouped.sizes / grouped.total if weights == "cases" else np.full(len(grouped.sizes), 1 / len(grouped.sizes))
    results = (share @ grouped.means, *(variance(grouped, share) for variance in (_stratified, _simple, _cluster)))
    return DesignVariances(*(column.reshape(()) if single else column for column in results))


def linearised_cluster_variance(values: npt.ArrayLike, groups: npt.ArrayLike) -> float:
    """The cluster variance of the plain mean that survey programs print: unbiased only for groups of equal size."""
    grouped = GroupMoments.of(np.asarray(values, dtype=np.float64)[:, None], groups)
    count = len(grouped.sizes)
    if count < 2:
        return math.nan
    totals = grouped.sizes[:, None] * (grouped.means - grouped.mean)
    return float(count / (count - 1) * (totals**2).sum() / grouped.total**2)


def _stratified(grouped: GroupMoments, share: FloatArray) -> FloatArray:
    """Equation 5 for unequal sizes: the sum of share^2 s^2 / size."""
    if (grouped.sizes < 2).any():
        return np.full(grouped.means.shape[1], np.nan)
    variance: FloatArray = (share**2 / (grouped.sizes * (grouped.sizes - 1))) @ grouped.within
    return variance


def _simple(grouped: GroupMoments, share: FloatArray) -> FloatArray:
    if grouped.total < 2:
        return np.full(grouped.means.shape[1], np.nan)
    spread = (grouped.within.sum(axis=0) + grouped.between) / (grouped.total - 1)
    variance: FloatArray = (share**2 / grouped.sizes).sum() * spread
    return variance


def _cluster(grouped: GroupMoments, share: FloatArray) -> FloatArray:
    """The variance between group means (equation 11), for unequal shares.

    With V_i the variance of group i's mean, E[(mean_i - mean)^2] = (1 - 2 share_i) V_i + sum share^2 V, whatever the
    V_i are. Solving for sum share^2 V gives an unbiased estimate; with equal shares it is the paper's S^2/n. If a group
    holds half of all cases or more, no weighting is unbiased, and the linearised variance is used, as in surveys.
    """
    count, distance = len(share), (grouped.means - share @ grouped.means) ** 2
    if count < 2:
        return np.full(grouped.means.shape[1], np.nan)
    if np.ptp(share) < 1e-12 or share.max() >= 0.5:
        return np.asarray(count / (count - 1) * (share**2 @ distance))
    factor = share**2 / (1 - 2 * share)
    return np.asarray(factor @ distance / (1 + factor.sum()))


def _check(values: npt.ArrayLike, groups: npt.ArrayLike) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    table, labels = np.asarray(values, dtype=np.float64), np.asarray(groups)
    if table.ndim != 2 or labels.shape != (len(table),):
        raise ValueError(f"values of shape {table.shape} and groups of {labels.shape}: expected (n, k) and (n,)")
    if len(table) == 0:
        raise ValueError("no cases: a mean needs at least one")
    if not np.isfinite(table).all():
        raise ValueError("a value is not a finite number: leave such cases out first")
    return table, np.unique(labels, return_inverse=True)[1].reshape(-1)
