"""How far apart two algorithms are on the same cases: difference of rates and odds ratio, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.paired import PairTables, Table
from harness.stats.rates import Interval, Intervals, clopper_pearson, wilson, wilson_all

__all__ = ["Difference", "OddsRatio", "newcombe_limits", "paired_difference", "paired_differences", "paired_odds_ratio"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """Rate of A minus rate of B."""

    estimate: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class OddsRatio:
    """Odds that a discordant case is A's; infinite when all of them are, not a number when there is none."""

    estimate: float
    interval: Interval


def paired_difference(table: Table, *, confidence: float = 0.95, design_effect: float = 1.0) -> Difference:
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
    table: Table, *, confidence: float = 0.95, exact: bool = False, design_effect: float = 1.0
) -> OddsRatio:
    """n_sf / n_fs, with an interval turned over from that of n_sf among the discordant cases.

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
    """Newcombe's method 10 from the cells of tables.

    Wilson's limits of both rates are squared and added, with their correlation between them.
    """
    deff = np.asarray(design_effect, dtype=np.float64)
    n = n_ff + n_sf + n_fs + n_ss
    size = np.where(n == 0, 1, n)
    rate_a, rate_b = (n_ss + n_sf) / size, (n_ss + n_fs) / size
    a = wilson_all(n_ss + n_sf, n, confidence=confidence, design_effect=deff)
    b = wilson_all(n_ss + n_fs, n, confidence=confidence, design_effect=deff)
    phi = _correlation(n_ff / deff, n_sf / deff, n_fs / deff, n_ss / deff)
    down = _added(rate_a - a.low, b.high - rate_b, phi)
    up = _added(a.high - rate_a, rate_b - b.low, phi)
    difference = rate_a - rate_b
    # With no case at all nothing is known; elsewhere the limits cannot pass -1 and 1 but by rounding.
    low = np.where(n == 0, -1.0, np.maximum(difference - down, -1.0))
    return Intervals(low, np.where(n == 0, 1.0, np.minimum(difference + up, 1.0)))


def _added(of_a: FloatArray, of_b: FloatArray, phi: FloatArray) -> FloatArray:
    return np.sqrt(np.maximum(of_a**2 - 2 * phi * of_a * of_b + of_b**2, 0))


def _correlation(n_ff: FloatArray, n_sf: FloatArray, n_fs: FloatArray, n_ss: FloatArray) -> FloatArray:
    """The table's phi, pulled towards 0 by a continuity correction when it is positive: what makes it method 10."""
    margins = (n_ss + n_sf) * (n_fs + n_ff) * (n_ss + n_fs) * (n_sf + n_ff)
    product = n_ss * n_ff - n_sf * n_fs
    half = (n_ff + n_sf + n_fs + n_ss) / 2
    corrected = np.where(product < 0, product, np.maximum(product - half, 0))
    return np.where(margins > 0, corrected / np.sqrt(np.where(margins > 0, margins, 1)), 0.0)
