"""Tests of whether several algorithms differ: Cochran's Q on the same cases, and a Wald test for clustered cases."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray
from harness.stats.paired import check_successes

__all__ = ["CochranQ", "WaldTest", "cochran_q", "equal_rates"]


@dataclass(frozen=True, slots=True)
class CochranQ:
    """Cochran's Q with its chi-square p-value; 0 and 1 if no two algorithms differ on any case."""

    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, slots=True)
class WaldTest:
    """Wald test that all rates are equal.

    `f` is the statistic scaled to F with `df` and `df_error` degrees of freedom. Its p, `p_value`, allows for the
    covariance having been estimated, with about `eta` degrees of freedom. `p_chi2` is the p of `statistic`, too small
    with few units. `f` and `p_value` are NaN if the sample cannot carry the test; then `eta` are all the degrees of
    freedom that it has, and `too_few_units` says whether more of them would help.
    """

    statistic: float
    df: int
    f: float
    df_error: float
    p_value: float
    p_chi2: float
    eta: float = math.nan

    @property
    def too_few_units(self) -> bool:
        """Whether so many contrasts cannot be tested with so few units."""
        return self.eta < self.least_df

    @property
    def least_df(self) -> int:
        """The degrees of freedom that the covariance must have: with one contrast 1, with more one above their number.

        With as many as contrasts, no `eta` below them could allow for unequal units, whose 5 % were 10 %.
        """
        return self.df + (self.df > 1)


def cochran_q(successes: npt.ArrayLike) -> CochranQ:
    """Cochran's Q (1950) from an (m, n) array of the successes of m algorithms on n independent cases."""
    from scipy.special import chdtrc

    matrix = check_successes(successes)
    m = len(matrix)
    # Integers throughout: the sums of squares stay exact for any number of cases that fits in memory.
    of_algorithm = np.count_nonzero(matrix, axis=1).astype(np.int64)
    cases_with, right = np.bincount(matrix.sum(axis=0), minlength=m + 1), np.arange(m + 1)
    spread = int(m * (of_algorithm**2).sum() - of_algorithm.sum() ** 2)
    within = int((cases_with * right * (m - right)).sum())
    statistic = (m - 1) * spread / within if within else 0.0
    return CochranQ(statistic, max(m - 1, 0), float(chdtrc(m - 1, statistic)) if m > 1 else 1.0)


def equal_rates(
    rates: npt.ArrayLike,
    covariance: npt.ArrayLike,
    *,
    df: float = math.inf,
    unit_values: npt.ArrayLike | None = None,
    design_df: float | None = None,
) -> WaldTest:
    """Test the same hypothesis from rates and their covariance matrix, which replication gives for clustered cases.

    `df` are the degrees of freedom of the covariance (units minus strata). Algorithms that agree on every case count
    once. F = (eta - q + 1)/(eta q) times the Wald statistic, on q and eta - q + 1, as if the covariance had a Wishart
    distribution with eta degrees of freedom: `df` (Korn and Graubard 1990), or fewer, estimated from `unit_values`
    (units, m), each unit's linearised contributions as deviations from their stratum's mean, on any common scale (the
    approximate Hotelling T^2 of Zhang 2012, and Pustejovsky and Tipton 2018). With one contrast, eta is `df`, and F
    is the square of the pair's t. `design_df` are those of all rows of `unit_values`, if a rate of a few of them has
    fewer.

    A contrast that has no variance and is not 0 has no finite statistic. That is not proof. If fewer units than
    contrasts leave it without, it would be there whatever the data: no test. A difference of two rates that is the same
    in every unit is evidence: units that toss coins agree so well with probability 2^-df, which is the p-value, times
    the number of pairs of rates among which this one was found.
    """
    estimate, matrix = _check_covariance(rates, covariance, df)
    units = None if unit_values is None else _check_units(unit_values, estimate.size)
    statistic, q = _quadratic(estimate, matrix)
    if math.isinf(statistic):
        return _without_variance(estimate, matrix, df)
    if q == 0:
        return WaldTest(0.0, 0, 0.0, df, 1.0, 1.0, df)
    eta = df if units is None or q == 1 else _eta(units, q, df, df if design_df is None else design_df)
    return _f_test(statistic, q, df, eta)


def _f_test(statistic: float, q: int, df: float, eta: float) -> WaldTest:
    from scipy.special import chdtrc, fdtrc

    p_chi2 = float(chdtrc(q, statistic))
    if math.isinf(eta):
        return WaldTest(statistic, q, statistic / q, eta, p_chi2, p_chi2, eta)
    none = WaldTest(statistic, q, math.nan, df - q + 1, math.nan, p_chi2, df)
    if none.too_few_units:
        return none
    df_error = eta - q + 1
    f = statistic * df_error / (eta * q)
    return WaldTest(statistic, q, f, df_error, float(fdtrc(q, df_error, f)), p_chi2, eta)


def _without_variance(rates: FloatArray, covariance: FloatArray, df: float) -> WaldTest:
    """The test by pairs that differ by the same in every unit; without such a pair there is none."""
    variances = np.diagonal(covariance)
    certain = variances[:, None] + variances - 2 * covariance <= _negligible_variance(covariance)
    same = certain & (np.abs(rates[:, None] - rates) <= _negligible_rate(rates))
    # The first of each set of rates that are the same.
    distinct = int((same.argmax(axis=1) == np.arange(rates.size)).sum())
    q = distinct - 1
    if (certain & ~same).any() and math.isfinite(df):
        # The share of all sign flips of whole units that leave every stratum without variance.
        p_value = min(1.0, math.comb(distinct, 2) * 2.0**-df)
        return WaldTest(math.inf, q, math.inf, df - q + 1, p_value, math.nan, df)
    return WaldTest(math.nan, q, math.nan, df - q + 1, math.nan, math.nan, df)


def _eta(unit_values: FloatArray, q: int, df: float, design_df: float) -> float:
    """Degrees of freedom of the covariance from fourth moments of its terms, never above `df`.

    If unit i's terms were normal with covariance a_i V, the a_i adding up to 1, eta would be 1 / sum a_i^2, and both
    functions below would estimate it: `_own_excess` from the length of the contrasts, `_cross_excess` from products of
    different algorithms. When errors are rare, single units inflate an algorithm's own fourth moment, but not the cross
    one. Such a unit moves the difference as well as its error, so the own one alone is too strict (sizes of 0 to 2 %
    for 5 % in benchmarks/bench_wald.py, where `df` has up to 17 %). Hence the harmonic mean of the two.
    """
    units = len(unit_values)
    contrasts = unit_values - unit_values.mean(axis=1, keepdims=True)
    excess = (_own_excess(contrasts) + _cross_excess(unit_values)) / 2
    # Corrects for estimated means and moments: exact for units with the same normal distribution.
    correction = design_df / (design_df + 2) * design_df / units if math.isfinite(design_df) else 1.0
    # Keep one degree of freedom if `df` leaves one: a large p-value says more than none.
    return min(df, max(correction / excess, q)) if excess > 0 else df


def _own_excess(values: FloatArray) -> float:
    squares, spread = (values**2).sum(axis=1), values.T @ values
    return _ratio((squares**2).sum(), np.trace(spread) ** 2 + 2 * (spread**2).sum())


def _cross_excess(values: FloatArray) -> float:
    squares, spread = values**2, values.T @ values
    products = squares.sum(axis=1) ** 2 - (squares**2).sum(axis=1)
    totals = np.diagonal(spread)
    # C_aa C_bb + 2 C_ab^2, summed over all a != b.
    expected = totals.sum() ** 2 + 2 * (spread**2).sum() - 3 * (totals**2).sum()
    return _ratio(products.sum(), expected)


def _ratio(numerator: float, denominator: float) -> float:
    return float(numerator / denominator) if denominator > 0 else 0.0


def _quadratic(rates: FloatArray, covariance: FloatArray) -> tuple[float, int]:
    """The Wald statistic of the contrasts and their number, by the eigenvectors of the centred covariance."""
    m = len(rates)
    centre = np.eye(m) - 1 / m
    values, vectors = np.linalg.eigh(centre @ covariance @ centre)
    contrast = vectors.T @ (centre @ rates)
    positive = values > _negligible_variance(covariance)
    # A contrast that is 0 and never varies is no evidence.
    if (np.abs(contrast[~positive]) > _negligible_rate(rates)).any():
        return math.inf, m - 1
    return float((contrast[positive] ** 2 / values[positive]).sum()), int(positive.sum())


def _negligible_variance(covariance: FloatArray) -> float:
    """A variance that is nothing but rounding errors."""
    scale = max(float(np.abs(covariance).max(initial=0)), np.finfo(float).tiny)
    return 1e-10 * scale * len(covariance)


def _negligible_rate(rates: FloatArray) -> float:
    """A difference that is nothing but rounding errors."""
    return 1e-8 * float(np.abs(rates).max(initial=0))


def _check_units(unit_values: npt.ArrayLike, m: int) -> FloatArray:
    values = np.asarray(unit_values, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != m or not len(values):
        raise ValueError(f"unit values have shape {values.shape}: expected (units, {m})")
    if not np.isfinite(values).all():
        raise ValueError("a unit's value is not a finite number: leave such units out first")
    return values


def _check_covariance(rates: npt.ArrayLike, covariance: npt.ArrayLike, df: float) -> tuple[FloatArray, FloatArray]:
    estimate, matrix = np.asarray(rates, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    if estimate.ndim != 1 or matrix.shape != (estimate.size, estimate.size):
        raise ValueError(f"{estimate.shape} rates and a covariance of {matrix.shape}: expected m and m x m")
    # Mirrored sums of products differ by rounding errors on the scale of the largest.
    scale = float(np.abs(matrix).max(initial=0))
    if not (np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-12 * scale)):
        raise ValueError("the covariance matrix is not finite and symmetric")
    if not df > 0:
        raise ValueError(f"degrees of freedom {df!r} are not above 0: more units are needed")
    return estimate, matrix
