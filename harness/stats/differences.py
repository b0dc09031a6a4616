"""How far apart two rates are: on the same cases (paired) and on different ones (unpaired).

For algorithms run on the same cases use the paired forms: they are more precise, since the cases' difficulty cancels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray
from harness.stats.limits import difference_limits
from harness.stats.paired import PairTable, PairTables
from harness.stats.rates import Interval, Intervals, clopper_pearson, wilson

__all__ = [
    "Difference",
    "OddsRatio",
    "UnpairedDifference",
    "fisher_exact",
    "newcombe_limits",
    "paired_difference",
    "paired_differences",
    "paired_odds_ratio",
    "quadrature_limits",
    "unpaired_difference",
]

# Probabilities that are equal in exact arithmetic differ in the last digits; R uses the same tolerance.
_TIE = 1 + 1e-7


@dataclass(frozen=True, slots=True)
class Difference:
    """Rate of A minus rate of B."""

    estimate: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class OddsRatio:
    """Odds that A wins a discordant case; infinite if A wins all of them, NaN if there are none."""

    estimate: float
    interval: Interval


def paired_difference(table: PairTable, *, confidence: float = 0.95, design_effect: float = 1.0) -> Difference:
    """Difference of rates with Newcombe's interval for paired data, his method 10 (1998)."""
    counts = [np.array([float(v)]) for v in (table.n_ff, table.n_sf, table.n_fs, table.n_ss)]
    limits = newcombe_limits(*counts, confidence=confidence, design_effect=design_effect)
    return Difference(table.difference, Interval(float(limits.low[0]), float(limits.high[0])))


def paired_differences(
    tables: PairTables, *, confidence: float = 0.95, design_effect: npt.ArrayLike = 1.0
) -> tuple[FloatArray, Intervals]:
    """`paired_difference` for many pairs: the estimates, and their intervals."""
    counts = [np.asarray(v, dtype=np.float64) for v in (tables.n_ff, tables.n_sf, tables.n_fs, tables.n_ss)]
    n = np.maximum(sum(counts, start=np.zeros(len(tables))), 1)
    return (counts[1] - counts[2]) / n, newcombe_limits(*counts, confidence=confidence, design_effect=design_effect)


def paired_odds_ratio(
    table: PairTable, *, confidence: float = 0.95, exact: bool = False, design_effect: float = 1.0
) -> OddsRatio:
    """n_sf / n_fs, with an interval derived from that of the share of n_sf among the discordant cases.

    Wilson's by default (recommended by Fagerland, Lydersen and Laake 2014), Clopper and Pearson's when `exact`.
    """
    method = clopper_pearson if exact else wilson
    share = method(table.n_sf, table.discordant, confidence=confidence, design_effect=design_effect)
    return OddsRatio(
        _odds(table.n_sf, table.n_fs), Interval(_odds(share.low, 1 - share.low), _odds(share.high, 1 - share.high))
    )


def _odds(for_a: float, for_b: float) -> float:
    if for_b == 0:
        return math.inf if for_a else math.nan
    return for_a / for_b


def newcombe_limits(
    n_ff: FloatArray,
    n_sf: FloatArray,
    n_fs: FloatArray,
    n_ss: FloatArray,
    *,
    confidence: float = 0.95,
    design_effect: npt.ArrayLike = 1.0,
) -> Intervals:
    """Newcombe's method 10 from the cells of the tables.

    Distances to Wilson's limits of both rates are added in quadrature, with their correlation.
    """
    deff = np.asarray(design_effect, dtype=np.float64)
    n = n_ff + n_sf + n_fs + n_ss
    size = np.where(n == 0, 1, n)
    rate_a, rate_b = (n_ss + n_sf) / size, (n_ss + n_fs) / size
    a = wilson(n_ss + n_sf, n, confidence=confidence, design_effect=deff)
    b = wilson(n_ss + n_fs, n, confidence=confidence, design_effect=deff)
    phi = _correlation(n_ff / deff, n_sf / deff, n_fs / deff, n_ss / deff)
    limits = difference_limits(rate_a, a, rate_b, b, correlation=phi)
    # Without cases nothing is known.
    return Intervals(np.where(n == 0, -1.0, limits.low), np.where(n == 0, 1.0, limits.high))


def _correlation(n_ff: FloatArray, n_sf: FloatArray, n_fs: FloatArray, n_ss: FloatArray) -> FloatArray:
    """The table's phi, shrunk towards 0 by a continuity correction if positive: this makes it method 10."""
    margins = (n_ss + n_sf) * (n_fs + n_ff) * (n_ss + n_fs) * (n_sf + n_ff)
    product = n_ss * n_ff - n_sf * n_fs
    half = (n_ff + n_sf + n_fs + n_ss) / 2
    corrected = np.where(product < 0, product, np.maximum(product - half, 0))
    return np.where(margins > 0, corrected / np.sqrt(np.where(margins > 0, margins, 1)), 0.0)


@dataclass(frozen=True, slots=True)
class UnpairedDifference:
    """Rate of A minus rate of B, with a score z (pooled variance, no continuity correction) and p-values.

    `p_fisher` is exact for independent cases only; it ignores design effects.
    """

    difference: float
    interval: Interval
    z: float
    p_z: float
    p_fisher: float


def unpaired_difference(
    a: tuple[int, int],
    b: tuple[int, int],
    *,
    confidence: float = 0.95,
    design_effects: tuple[float, float] = (1.0, 1.0),
) -> UnpairedDifference:
    """Compare (successes, cases) of A with those of B."""
    from scipy.special import ndtr

    (x, n), (y, k) = _check(a), _check(b)
    z = 0.0
    if n and k:
        pooled = (x + y) / (n + k)
        variance = pooled * (1 - pooled) * (design_effects[0] / n + design_effects[1] / k)
        z = (x / n - y / k) / math.sqrt(variance) if variance > 0 else 0.0
    interval = _hybrid_score(a, b, confidence, design_effects)
    return UnpairedDifference(_rate(a) - _rate(b), interval, z, float(2 * ndtr(-abs(z))), fisher_exact(a, b))


def fisher_exact(a: tuple[int, int], b: tuple[int, int]) -> float:
    """Fisher's exact two-sided p: of all tables with the same margins, those no more likely than the observed one."""
    (x, n), (y, k) = _check(a), _check(b)
    first, last = max(0, x + y - k), min(n, x + y)
    # Hypergeometric probabilities of first..last successes among n, up to a factor: running products in logarithms. The
    # ratio of successive terms is a quotient of small numbers, so no factorial is needed and no digit is lost.
    at = np.arange(first, last, dtype=np.float64)
    steps = np.log((n - at) * (x + y - at)) - np.log((at + 1) * (k - (x + y) + at + 1))
    logarithm = np.concatenate(([0.0], np.cumsum(steps)))
    likelihood = np.exp(logarithm - logarithm.max())
    observed = likelihood[x - first]
    return min(1.0, float(likelihood[likelihood <= observed * _TIE].sum() / likelihood.sum()))


def _hybrid_score(
    a: tuple[int, int], b: tuple[int, int], confidence: float, design_effects: tuple[float, float]
) -> Interval:
    """Newcombe's method 10 for independent samples (1998): distances to Wilson's limits, added in quadrature."""
    limits_a, limits_b = (
        wilson(*counts, confidence=confidence, design_effect=deff)
        for counts, deff in zip((a, b), design_effects, strict=True)
    )
    if a[1] == 0 or b[1] == 0:
        return Interval(-1.0, 1.0)
    limits = quadrature_limits(_rate(a), limits_a, _rate(b), limits_b)
    return Interval(max(-1.0, limits.low), min(1.0, limits.high))


def quadrature_limits(a: float, limits_a: Interval, b: float, limits_b: Interval) -> Interval:
    """Limits of a - b for independent samples: distances to both limits, added in quadrature."""
    down, up = math.hypot(a - limits_a.low, limits_b.high - b), math.hypot(limits_a.high - a, b - limits_b.low)
    return Interval(a - b - down, a - b + up)


def _rate(counts: tuple[int, int]) -> float:
    return counts[0] / counts[1] if counts[1] else math.nan


def _check(counts: tuple[int, int]) -> tuple[int, int]:
    successes, cases = counts
    if int(successes) != successes or int(cases) != cases or not 0 <= successes <= cases:
        raise ValueError(f"{successes!r} successes of {cases!r} cases: expected whole numbers, 0 <= successes <= cases")
    return int(successes), int(cases)
