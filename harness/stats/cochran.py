"""Do several algorithms differ at all: Cochran's Q on the same cases, and its Wald form where cases are clustered."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.paired import check_successes

__all__ = ["CochranQ", "WaldTest", "cochran_q", "equal_rates"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CochranQ:
    """Cochran's Q with its chi-square p-value; 0 and 1 when no case tells any two algorithms apart."""

    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, slots=True)
class WaldTest:
    """Wald test that all rates are equal.

    `p_value` is from F with `df` and `df_error` degrees of freedom, which knows that the covariance was estimated; it
    is not a number when `df_error` is not above 0 (too few units for so many algorithms). `p_chi2` does not know it and
    is too small with few units.
    """

    statistic: float
    df: int
    f: float
    df_error: float
    p_value: float
    p_chi2: float


def cochran_q(successes: npt.ArrayLike) -> CochranQ:
    """Cochran's Q (1950) from an (m, n) array of the successes of m algorithms on n independent cases."""
    from scipy.special import chdtrc

    matrix = check_successes(successes).astype(np.int64)
    m = len(matrix)
    of_algorithm, of_case = matrix.sum(axis=1), matrix.sum(axis=0)
    # Integers throughout: the sums of squares stay exact for any number of cases that fits in memory.
    spread = int(m * (of_algorithm**2).sum() - of_algorithm.sum() ** 2)
    within = int((of_case * (m - of_case)).sum())
    statistic = (m - 1) * spread / within if within else 0.0
    return CochranQ(statistic, max(m - 1, 0), float(chdtrc(m - 1, statistic)) if m > 1 else 1.0)


def equal_rates(rates: npt.ArrayLike, covariance: npt.ArrayLike, *, df: float = math.inf) -> WaldTest:
    """The same question from rates and their covariance matrix, which replication gives for clustered cases.

    `df` are the degrees of freedom of the covariance (units minus strata). Algorithms that agree on every case count
    once. F as in Korn and Graubard (1990): (df - q + 1)/(df q) times the Wald statistic, on q and df - q + 1.
    """
    from scipy.special import chdtrc, fdtrc

    estimate, matrix = _check_covariance(rates, covariance, df)
    statistic, q = _quadratic(estimate, matrix)
    if q == 0:
        return WaldTest(0.0, 0, 0.0, df, 1.0, 1.0)
    df_error = df - q + 1
    p_chi2 = float(chdtrc(q, statistic))
    if math.isinf(df):
        return WaldTest(statistic, q, statistic / q, df, p_chi2, p_chi2)
    f = statistic * df_error / (df * q) if df_error > 0 else math.nan
    p_value = float(fdtrc(q, df_error, f)) if df_error > 0 else math.nan
    return WaldTest(statistic, q, f, df_error, p_value, p_chi2)


def _quadratic(rates: FloatArray, covariance: FloatArray) -> tuple[float, int]:
    """The contrasts' Wald statistic and how many there are, by the eigenvectors of the centred covariance."""
    m = len(rates)
    centre = np.eye(m) - 1 / m
    values, vectors = np.linalg.eigh(centre @ covariance @ centre)
    contrast = vectors.T @ (centre @ rates)
    scale = max(float(np.abs(covariance).max(initial=0)), np.finfo(float).tiny)
    kept = values > 1e-10 * scale * m
    # A difference that never varies is certain; one that is 0 and never varies says nothing.
    if (np.abs(contrast[~kept]) > 1e-8).any():
        return math.inf, m - 1
    return float((contrast[kept] ** 2 / values[kept]).sum()), int(kept.sum())


def _check_covariance(rates: npt.ArrayLike, covariance: npt.ArrayLike, df: float) -> tuple[FloatArray, FloatArray]:
    estimate, matrix = np.asarray(rates, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    if estimate.ndim != 1 or matrix.shape != (estimate.size, estimate.size):
        raise ValueError(f"{estimate.shape} rates and a covariance of {matrix.shape}: expected m and m x m")
    # Sums of many products differ from their mirror images by rounding, on the scale of the largest of them.
    scale = float(np.abs(matrix).max(initial=0))
    if not (np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-12 * scale)):
        raise ValueError("the covariance matrix is not finite and symmetric")
    if not df > 0:
        raise ValueError(f"degrees of freedom {df!r} are not above 0: more units are needed")
    return estimate, matrix
