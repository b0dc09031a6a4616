"""How the sampling design affects the variance of a mean, and how similar cases within a group are.

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

from harness.stats.arrays import FloatArray, columns_of, numbered
from harness.stats.rates import normal_quantile

__all__ = [
    "DesignVariances",
    "GroupMoments",
    "IntraclassCorrelation",
    "Overdispersion",
    "design_variances",
    "effective_size",
    "intraclass_correlation",
    "intraclass_of_differences",
    "kish_design_effect",
    "linearised_cluster_variance",
    "overdispersion",
    "real_error",
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
        table, labels = np.asarray(values, dtype=np.float64), np.asarray(groups)
        if table.ndim != 2 or labels.shape != (len(table),):
            raise ValueError(f"values of shape {table.shape} and groups of {labels.shape}: expected (n, k) and (n,)")
        if len(table) == 0:
            raise ValueError("no cases: a mean needs at least one")
        if not np.isfinite(table).all():
            raise ValueError("a value is not a finite number: leave such cases out first")
        codes = np.unique(labels, return_inverse=True)[1].reshape(-1)
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


@dataclass(frozen=True, slots=True)
class IntraclassCorrelation:
    """One-way analysis of variance: how similar the cases of a group are.

    `icc` may be below 0 by chance. It is NaN if there is nothing to compare: no two cases in a group, a single group,
    or no variance at all. `mean_size` is n0, the common size that represents unequal ones. `design_effect` and
    `effective_size` are Kish's for the plain mean.
    """

    icc: float
    groups: int
    cases: int
    mean_size: float
    ms_between: float
    ms_within: float
    design_effect: float
    effective_size: float


@dataclass(frozen=True, slots=True)
class Overdispersion:
    """Whether successes vary more between groups than a single binomial rate allows.

    `dispersion` is Pearson's chi-square over its degrees of freedom, 1 if groups do not matter. `z` is Tarone's
    (1979), the more powerful test for clustering, with the one-sided `p_clustered`; it holds for small groups too.
    """

    chi2: float
    df: int
    p_value: float
    dispersion: float
    z: float
    p_clustered: float


def intraclass_correlation(values: npt.ArrayLike, groups: npt.ArrayLike) -> IntraclassCorrelation:
    """The anova estimate (MSB - MSW) / (MSB + (n0 - 1) MSW), for groups of any size (Donner 1986)."""
    grouped = GroupMoments.of(np.asarray(values, dtype=np.float64)[:, None], groups)
    sizes, count, total = grouped.sizes, len(grouped.sizes), grouped.total
    n0 = (total - (sizes**2).sum() / total) / (count - 1) if count > 1 else math.nan
    between = float(grouped.between[0]) / (count - 1) if count > 1 else math.nan
    within = float(grouped.within.sum()) / (total - count) if total > count else math.nan
    icc = _ratio(between - within, between + (n0 - 1) * within)
    deff = kish_design_effect(sizes, icc)
    return IntraclassCorrelation(
        icc=icc,
        groups=count,
        cases=int(total),
        mean_size=n0,
        ms_between=between,
        ms_within=within,
        design_effect=deff,
        effective_size=effective_size(total, deff),
    )


def kish_design_effect(sizes: npt.ArrayLike, icc: float) -> float:
    """1 + (size - 1) icc: the factor by which clustering multiplies the variance of a mean.

    `size` is the mean group size over cases. If every group has one case, the factor is 1 whatever the correlation;
    otherwise an unknown correlation gives an unknown effect.
    """
    counts = np.asarray(sizes, dtype=np.float64)
    if counts.size == 0 or not (counts > 0).all():
        raise ValueError("group sizes: expected one or more, each above 0")
    size = float((counts**2).sum() / counts.sum())
    return 1.0 if size == 1 else 1 + (size - 1) * icc


def effective_size(n: float, design_effect: float) -> float:
    """Number of independent cases that carry as much information."""
    return _ratio(n, design_effect)


def real_error(design_effect: float, *, confidence: float = 0.95) -> float:
    """How often an interval that ignores the design misses: 2 Phi(-1.96 / sqrt(design effect)), for 95 %."""
    if not design_effect > 0:
        raise ValueError(f"design effect {design_effect!r} is not above 0 (1 for independent cases)")
    return math.erfc(normal_quantile(confidence) / math.sqrt(2 * design_effect))


def overdispersion(successes: npt.ArrayLike, sizes: npt.ArrayLike) -> Overdispersion:
    """Pearson's and Tarone's tests, from the successes and the size of each group."""
    from scipy.special import chdtrc, ndtr

    x, m = np.asarray(successes, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if x.ndim != 1 or x.shape != m.shape or x.size == 0:
        raise ValueError(f"{x.shape} successes and {m.shape} sizes: expected one of each per group")
    if not ((x >= 0) & (x <= m) & (m > 0)).all():
        raise ValueError("a group has more successes than cases, or no case: expected 0 <= successes <= size")
    rate = x.sum() / m.sum()
    variance, df = rate * (1 - rate), len(m) - 1
    if variance == 0 or df == 0:
        return Overdispersion(0.0, df, 1.0, math.nan, 0.0, 1.0)
    squares = (x - m * rate) ** 2 / variance
    chi2 = float((squares / m).sum())
    pairs = float((m * (m - 1)).sum())
    z = float((squares.sum() - m.sum()) / math.sqrt(2 * pairs)) if pairs else 0.0
    return Overdispersion(chi2, df, float(chdtrc(df, chi2)), chi2 / df, z, float(ndtr(-z)) if pairs else 1.0)


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else math.nan


def intraclass_of_differences(
    successes: npt.ArrayLike, groups: npt.ArrayLike, *, singles: bool = False
) -> npt.NDArray[np.float64]:
    """The intraclass correlation of a - b for all pairs of m algorithms at once: (m, n) in, (m, m) out.

    `singles` adds a last row and column, an algorithm that never succeeds: they have the correlations of single
    algorithms. The result is the same as `intraclass_correlation` of each difference. Sums of squares of differences
    follow from sums of products, so a hundred algorithms cost two matrix products instead of 4,950 passes over the
    cases.
    """
    rows = np.asarray(successes, dtype=np.float64)
    codes = numbered(np.asarray(groups))[1]
    sizes = np.bincount(codes).astype(np.float64)
    count, total = len(sizes), float(sizes.sum())
    if count < 2 or total <= count:
        return np.full((len(rows) + singles, len(rows) + singles), math.nan)
    sums = np.stack([np.bincount(codes, weights=row, minlength=count) for row in rows])
    all_squares = _squares_of_differences(np.pad(rows @ rows.T, (0, int(singles))))
    group_squares = _squares_of_differences(np.pad((sums / sizes) @ sums.T, (0, int(singles))))
    totals = np.pad(rows.sum(axis=1), (0, int(singles)))
    correction = (totals[:, None] - totals[None, :]) ** 2 / total
    between = (group_squares - correction) / (count - 1)
    within = (all_squares - group_squares) / (total - count)
    n0 = (total - (sizes**2).sum() / total) / (count - 1)
    scale = between + (n0 - 1) * within
    # For two algorithms that never differ, only rounding errors of the products remain.
    known = scale > 1e-12
    return np.where(known, (between - within) / np.where(known, scale, 1.0), math.nan)


def _squares_of_differences(products: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Sums of (a - b)^2 for all pairs, from the sums of a b."""
    squares = np.diagonal(products)
    return np.asarray(squares[:, None] + squares[None, :] - 2 * products)
