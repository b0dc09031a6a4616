"""The gap of a run is the distance of its best group from its worst; here, the difference of two runs' gaps.

The best and the worst group were chosen after seeing the data, and a gap of groups that are all equal is not 0 but what
noise makes of it. So the interval is found from all contrasts at once. With groups i, j of the first run and k, l of
the second, the difference of the gaps is

    max over i, j of the min over k, l of (a_i - a_j) - (b_k - b_l)

If every contrast lies within its band, which the largest t of all of them decides (as in Tukey's method), the
difference lies between the same max and min of the bands' ends. It covers at least as often as it says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.stats.arrays import FloatArray
from harness.stats.rates import Interval

DRAWS = 4000
# Up to this many contrasts the largest t is simulated; beyond, Scheffe's bound (1959) holds for all that there are.
MAX_CONTRASTS = 20_000
_ROUNDING = 1e-12
# Numbers that are held in memory at once.
_CELLS = 1 << 21


@dataclass(frozen=True, slots=True)
class GapDifference:
    """The gap of one run minus that of another; the interval and the p-value hold for any choice of groups."""

    value: float
    se: float
    interval: Interval
    p_value: float


@dataclass(frozen=True, eq=False)
class _Contrasts:
    """All differences of two differences, (pairs of the first run, pairs of the second)."""

    value: FloatArray
    se: FloatArray

    def end(self, factor: float) -> float:
        """The end of the interval whose bands reach so many standard errors up, or down if negative."""
        return float((self.value + factor * self.se).min(axis=1).max())


def difference_of_gaps(
    values: FloatArray, covariance: FloatArray, df: float, *, confidence: float, rng: np.random.Generator
) -> GapDifference:
    """Two runs in the same groups: `values` (2 g,), first those of the first run, with their covariance."""
    contrasts = _contrasts(values, covariance)
    largest = _Largest.of(contrasts, covariance, df, rng)
    factor = largest.quantile(confidence)
    value = contrasts.end(0.0)
    interval = Interval(contrasts.end(-factor), contrasts.end(factor))
    # The standard error of the contrast that is the difference of the gaps.
    columns = contrasts.value.argmin(axis=1)
    row = int(contrasts.value[np.arange(len(columns)), columns].argmax())
    se = float(contrasts.se[row, columns[row]])
    return GapDifference(value, se, interval, largest.tail(_reach(contrasts, value)))


def widened(covariance: FloatArray, half: FloatArray, df: FloatArray, confidence: float) -> FloatArray:
    """The covariance with standard errors of at least the half-widths of intervals over their quantiles."""
    from scipy.special import ndtri, stdtrit

    level = (1 + confidence) / 2
    many = np.isinf(df)
    least = half / np.where(many, ndtri(level), stdtrit(np.where(many, 1.0, df), level))
    se = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(se > 0, 1 / np.where(se > 0, se, 1.0), 0.0)
    correlation = covariance * scale[:, None] * scale[None, :]
    np.fill_diagonal(correlation, 1.0)
    wide = np.maximum(se, least)
    return np.asarray(correlation * wide[:, None] * wide[None, :])


def _pairs(groups: int) -> FloatArray:
    """Contrasts (groups (groups - 1), groups): one group minus another, in both directions."""
    i, j = np.nonzero(~np.eye(groups, dtype=np.bool_))
    return np.asarray(np.eye(groups)[i] - np.eye(groups)[j])


def _contrasts(values: FloatArray, covariance: FloatArray) -> _Contrasts:
    half = values.size // 2
    pairs = _pairs(half)
    first, second = pairs @ values[:half], pairs @ values[half:]
    variances = [((pairs @ covariance[at, at]) * pairs).sum(axis=1) for at in (slice(None, half), slice(half, None))]
    cross = pairs @ covariance[:half, half:] @ pairs.T
    variance = variances[0][:, None] + variances[1][None, :] - 2 * cross
    return _Contrasts(first[:, None] - second[None, :], np.sqrt(np.maximum(variance, 0.0)))


def _reach(contrasts: _Contrasts, value: float) -> float:
    """How many standard errors the bands may reach before the interval holds 0."""
    sign = -1.0 if value > 0 else 1.0
    low, high = 0.0, 1.0
    if abs(value) <= _ROUNDING:
        return 0.0
    while sign * contrasts.end(sign * high) < 0 and high < 1e6:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sign * contrasts.end(sign * middle) < 0 else (low, middle)
    return high


@dataclass(frozen=True, eq=False)
class _Largest:
    """The distribution of the largest of all contrasts' t: simulated, or Scheffe's bound with its rank."""

    df: float
    draws: FloatArray | None = None
    rank: int = 0

    @staticmethod
    def of(contrasts: _Contrasts, covariance: FloatArray, df: float, rng: np.random.Generator) -> _Largest:
        """For contrasts of estimates with this covariance and these degrees of freedom."""
        half = len(covariance) // 2
        if contrasts.value.size > MAX_CONTRASTS:
            return _Largest(df, rank=2 * (half - 1))
        values, vectors = np.linalg.eigh(covariance)
        # The symmetric root: another processor may find other eigenvectors, and would draw other numbers with them.
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        noise = rng.standard_normal((DRAWS, len(covariance))) @ root.T
        scale = np.ones(DRAWS) if np.isinf(df) else np.sqrt(rng.chisquare(df, DRAWS) / df)
        pairs, floor = _pairs(half), np.where(contrasts.se > _ROUNDING, contrasts.se, np.inf)
        largest = []
        for part in np.array_split(noise, max(1, DRAWS * floor.size // _CELLS)):
            spread = (part[:, :half] @ pairs.T)[:, :, None] - (part[:, half:] @ pairs.T)[:, None, :]
            largest.append(np.abs(spread / floor).max(axis=(1, 2)))
        return _Largest(df, np.sort(np.concatenate(largest) / scale))

    def quantile(self, confidence: float) -> float:
        """How many standard errors all bands reach."""
        if self.draws is not None:
            return float(np.quantile(self.draws, confidence, method="higher"))
        from scipy.special import chdtri, fdtri

        if np.isinf(self.df):
            return float(np.sqrt(chdtri(self.rank, 1 - confidence)))
        return float(np.sqrt(self.rank * fdtri(self.rank, self.df, confidence)))

    def tail(self, factor: float) -> float:
        """How often the largest is at least this."""
        if self.draws is not None:
            return float((np.count_nonzero(self.draws >= factor) + 1) / (self.draws.size + 1))
        from scipy.special import chdtrc, fdtrc

        if np.isinf(self.df):
            return float(chdtrc(self.rank, factor**2))
        return float(fdtrc(self.rank, self.df, factor**2 / self.rank))
