"""Tests of whether A is as good as B within a margin: non-inferiority and equivalence.

Finding no difference does not show that there is none. These tests reverse the question: the hypothesis to be rejected
is a difference of at least the margin, which is chosen before the data are seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from harness.stats.paired import PairTable
from harness.stats.rates import Interval

__all__ = ["Equivalence", "equivalent", "equivalent_by_limits", "paired_equivalent", "score_z"]


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Whether rate A - rate B is above -margin (not inferior), below margin (not superior), or both (equivalent).

    `p_equivalent` is the larger of the two one-sided p-values (TOST, Schuirmann 1987). `interval` has confidence
    1 - 2 alpha: it lies within the margins exactly when equivalence is shown at `alpha`.
    """

    margin: float
    alpha: float
    p_not_inferior: float
    p_not_superior: float
    p_equivalent: float
    interval: Interval

    @property
    def not_inferior(self) -> bool:
        """Whether A is shown to be less than the margin worse than B."""
        return self.p_not_inferior <= self.alpha

    @property
    def equivalent(self) -> bool:
        """Whether A and B are shown to differ by less than the margin."""
        return self.p_equivalent <= self.alpha


def equivalent(
    difference: float, se: float, *, margin: float, df: float = math.inf, alpha: float = 0.05, widest: float = 1.0
) -> Equivalence:
    """Test any estimate of rate A - rate B with its standard error and degrees of freedom, such as replication's.

    `widest` is how far two values can be apart: 1 for rates, infinity for means of any numbers.
    """
    _check(margin, alpha, widest)
    if not (se >= 0 and df > 0):
        raise ValueError(f"standard error {se!r} with {df!r} degrees of freedom: expected se >= 0 and df > 0")
    not_inferior, not_superior = _student_tail(difference + margin, se, df), _student_tail(margin - difference, se, df)
    half = _student_quantile(1 - alpha, df) * se
    return _equivalence(margin, alpha, not_inferior, not_superior, Interval(difference - half, difference + half))


def equivalent_by_limits(
    limits: Callable[[float], Interval], *, margin: float, alpha: float = 0.05, widest: float = 1.0
) -> Equivalence:
    """Test by the limits of rate A - rate B at any confidence, for estimates without a complete standard error."""
    _check(margin, alpha, widest)
    not_inferior = _smallest_level(lambda level: limits(1 - 2 * level).low > -margin)
    not_superior = _smallest_level(lambda level: limits(1 - 2 * level).high < margin)
    return _equivalence(margin, alpha, not_inferior, not_superior, limits(1 - 2 * alpha))


def paired_equivalent(
    table: PairTable, *, margin: float, alpha: float = 0.05, design_effect: float = 1.0
) -> Equivalence:
    """Test a paired table by Tango's score test (1998), which holds in small samples, unlike Wald's."""
    from scipy.special import ndtr

    _check(margin, alpha)
    not_inferior = float(ndtr(-score_z(table, -margin, design_effect=design_effect)))
    not_superior = float(ndtr(score_z(table, margin, design_effect=design_effect)))
    interval = Interval(-1.0, 1.0)
    if table.n > 0:
        # The differences at which the score is z and -z, by bisection: the score falls as the difference grows.
        z = _student_quantile(1 - alpha, math.inf)
        low = _bisect(lambda d: score_z(table, d, design_effect=design_effect) - z, -1.0, table.difference)
        high = _bisect(lambda d: score_z(table, d, design_effect=design_effect) + z, table.difference, 1.0)
        interval = Interval(low, high)
    return _equivalence(margin, alpha, not_inferior, not_superior, interval)


def score_z(table: PairTable, difference: float, *, design_effect: float = 1.0) -> float:
    """Tango's z for the hypothesis that rate A - rate B is `difference`; at 0 it is McNemar's without correction.

    The variance uses the discordant probabilities that fit best under that hypothesis.
    """
    if table.n == 0:
        return 0.0
    if difference < 0:
        return -score_z(table.swapped(), -difference, design_effect=design_effect)
    n, b, c = table.n, table.n_sf, table.n_fs
    # The likelihood of p_fs = q, p_sf = q + difference is largest at the upper root of a quadratic in q.
    linear = b + c - (2 * n - b + c) * difference
    q = (linear + math.sqrt(linear**2 + 8 * n * c * difference * (1 - difference))) / (4 * n)
    variance = max(2 * q + difference * (1 - difference), 0.0) / n * design_effect
    gap = (b - c) / n - difference
    return gap / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, gap) if gap else 0.0


def _bisect(decreasing: Callable[[float], float], left: float, right: float) -> float:
    for _ in range(60):
        middle = (left + right) / 2
        left, right = (middle, right) if decreasing(middle) > 0 else (left, middle)
    return (left + right) / 2


def _smallest_level(shown: Callable[[float], bool]) -> float:
    """The smallest significance level at which the claim is shown; 1 if it is never shown."""
    left, right = 1e-12, 0.5 - 1e-9
    if not shown(right):
        return 1.0
    for _ in range(50):
        middle = math.sqrt(left * right)
        left, right = (left, middle) if shown(middle) else (middle, right)
    return right


def _student_tail(distance: float, se: float, df: float) -> float:
    """P(T > distance / se); without error it is 0 or 1."""
    from scipy.special import ndtr, stdtr

    if se == 0:
        return 0.0 if distance > 0 else 1.0
    t = distance / se
    return float(ndtr(-t) if math.isinf(df) else stdtr(df, -t))


def _student_quantile(probability: float, df: float) -> float:
    from scipy.special import ndtri, stdtrit

    return float(ndtri(probability) if math.isinf(df) else stdtrit(df, probability))


def _equivalence(
    margin: float, alpha: float, not_inferior: float, not_superior: float, interval: Interval
) -> Equivalence:
    return Equivalence(
        margin=margin,
        alpha=alpha,
        p_not_inferior=not_inferior,
        p_not_superior=not_superior,
        p_equivalent=max(not_inferior, not_superior),
        interval=interval,
    )


def _check(margin: float, alpha: float, widest: float = 1.0) -> None:
    if not 0 < margin < widest:
        rates = ": it is a difference of rates (0.01 for one in 100)" if widest == 1 else ""
        raise ValueError(f"margin {margin!r} is not between 0 and {widest:g}{rates}")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha {alpha!r} is not between 0 and 0.5 (0.05 for 5 %)")
