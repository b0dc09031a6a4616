"""Is A as good as B, within a margin: non-inferiority and equivalence.

That a test finds no difference does not show that there is none. These tests turn the question round: what has to be
refuted is a difference of at least the margin, which is chosen before the data are seen.
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
    """A is rate A - rate B above -margin (not inferior), below margin (not superior), both (equivalent).

    `p_equivalent` is the larger of the two one-sided p-values (TOST, Schuirmann 1987). `interval` is the one that lies
    within the margins exactly when equivalence is shown at `alpha`: of confidence 1 - 2 alpha.
    """

    margin: float
    alpha: float
    p_not_inferior: float
    p_not_superior: float
    p_equivalent: float
    interval: Interval

    @property
    def not_inferior(self) -> bool:
        """Shown: A is not worse than B by the margin."""
        return self.p_not_inferior <= self.alpha

    @property
    def equivalent(self) -> bool:
        """Shown: A and B differ by less than the margin."""
        return self.p_equivalent <= self.alpha


def equivalent(
    difference: float, se: float, *, margin: float, df: float = math.inf, alpha: float = 0.05
) -> Equivalence:
    """From any estimate of rate A - rate B with its standard error and degrees of freedom, such as replication's."""
    _check(margin, alpha)
    if not (se >= 0 and df > 0):
        raise ValueError(f"standard error {se!r} with {df!r} degrees of freedom: expected 0 or more, and above 0")
    not_inferior, not_superior = _student_tail(difference + margin, se, df), _student_tail(margin - difference, se, df)
    half = _student_quantile(1 - alpha, df) * se
    return _wrapped(margin, alpha, not_inferior, not_superior, Interval(difference - half, difference + half))


def equivalent_by_limits(limits: Callable[[float], Interval], *, margin: float, alpha: float = 0.05) -> Equivalence:
    """From the limits of rate A - rate B at any confidence, for what has no standard error or no whole one."""
    _check(margin, alpha)
    not_inferior = _least_error(lambda error: limits(1 - 2 * error).low > -margin)
    not_superior = _least_error(lambda error: limits(1 - 2 * error).high < margin)
    return _wrapped(margin, alpha, not_inferior, not_superior, limits(1 - 2 * alpha))


def paired_equivalent(
    table: PairTable, *, margin: float, alpha: float = 0.05, design_effect: float = 1.0
) -> Equivalence:
    """From a paired table, by Tango's score test (1998), which holds in small samples where Wald's does not."""
    from scipy.special import ndtr

    _check(margin, alpha)
    not_inferior = float(ndtr(-score_z(table, -margin, design_effect=design_effect)))
    not_superior = float(ndtr(score_z(table, margin, design_effect=design_effect)))
    interval = _score_interval(table, _student_quantile(1 - alpha, math.inf), design_effect)
    return _wrapped(margin, alpha, not_inferior, not_superior, interval)


def score_z(table: PairTable, difference: float, *, design_effect: float = 1.0) -> float:
    """Tango's z for the hypothesis that rate A - rate B is `difference`; at 0 it is McNemar's without correction.

    The variance takes the discordant probabilities that fit best while they differ by just that much.
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


def _score_interval(table: PairTable, z: float, design_effect: float) -> Interval:
    """Where the score z passes z and -z: it falls as the supposed difference grows, so halving finds it."""
    if table.n == 0:
        return Interval(-1.0, 1.0)
    low = _halved(lambda d: score_z(table, d, design_effect=design_effect) - z, -1.0, table.difference)
    high = _halved(lambda d: score_z(table, d, design_effect=design_effect) + z, table.difference, 1.0)
    return Interval(low, high)


def _halved(falling: Callable[[float], float], left: float, right: float) -> float:
    for _ in range(60):
        middle = (left + right) / 2
        left, right = (middle, right) if falling(middle) > 0 else (left, middle)
    return (left + right) / 2


def _least_error(shown: Callable[[float], bool]) -> float:
    """The smallest error at which something is shown; 1 where it is not shown at all."""
    left, right = 1e-12, 0.5 - 1e-9
    if not shown(right):
        return 1.0
    for _ in range(50):
        middle = math.sqrt(left * right)
        left, right = (left, middle) if shown(middle) else (middle, right)
    return right


def _student_tail(distance: float, se: float, df: float) -> float:
    """P(T > distance / se); with no error at all it is certain one way or the other."""
    from scipy.special import ndtr, stdtr

    if se == 0:
        return 0.0 if distance > 0 else 1.0
    t = distance / se
    return float(ndtr(-t) if math.isinf(df) else stdtr(df, -t))


def _student_quantile(probability: float, df: float) -> float:
    from scipy.special import ndtri, stdtrit

    return float(ndtri(probability) if math.isinf(df) else stdtrit(df, probability))


def _wrapped(margin: float, alpha: float, not_inferior: float, not_superior: float, interval: Interval) -> Equivalence:
    return Equivalence(
        margin=margin,
        alpha=alpha,
        p_not_inferior=not_inferior,
        p_not_superior=not_superior,
        p_equivalent=max(not_inferior, not_superior),
        interval=interval,
    )


def _check(margin: float, alpha: float) -> None:
    if not 0 < margin < 1:
        raise ValueError(f"margin {margin!r} is not between 0 and 1: it is a difference of rates (0.01 for one in 100)")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha {alpha!r} is not between 0 and 0.5 (0.05 for 5 %)")
