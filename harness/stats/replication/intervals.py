"""Intervals and p-values of replicated estimates: Student's t, and what to say where the variance is zero."""

import math

import numpy as np

from harness.stats.rates import Interval, wilson
from harness.stats.replication.arrays import FloatArray
from harness.stats.replication.sample import Sample, unit_sums
from harness.stats.replication.statistic import Bounds, Difference, Ratio, Statistic, full_totals


def t_interval(estimate: float, se: float, df: float, *, bounds: Bounds, confidence: float) -> Interval:
    """Student's t interval, clipped to what is possible."""
    from scipy.special import stdtrit

    half = float(stdtrit(df, (1 + confidence) / 2)) * se
    return Interval(max(estimate - half, bounds[0]), min(estimate + half, bounds[1]))


def t_p_value(estimate: float, se: float, df: float) -> float:
    """Two-sided p of a true value of zero."""
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(estimate / se)))


def effective_cases(sample: Sample, statistic: Statistic, design_effect: float | None) -> float:
    """How many independent cases the sample is worth to a statistic: cases in its denominator over the design effect.

    Where the variance is zero the data cannot tell the design effect. If none is given, the cases of a unit are taken
    to be one: the worst that can be. Unequal weights count as Kish has it, (sum w)^2 / sum w^2.
    """
    counted = statistic.columns[:, -1] if isinstance(statistic, Ratio | Difference) else np.ones(sample.cases)
    if design_effect is not None:
        return _kish(sample.weights * counted) / design_effect
    return _kish(unit_sums(sample, counted))


def interval_without_variance(
    sample: Sample, statistic: Statistic, estimate: float, size: float, confidence: float
) -> Interval:
    """Wilson's interval with an effective number of cases, on the statistic's own scale; never a single point."""
    if isinstance(statistic, Difference):
        return _difference_interval(*_shares(sample, statistic), size, confidence)
    low, high = statistic.bounds
    if not (math.isfinite(low) and math.isfinite(high)):
        return Interval(low, high)
    share = min(max((estimate - low) / (high - low), 0.0), 1.0)
    scaled = wilson(share * size, size, confidence=confidence)
    return Interval(low + scaled.low * (high - low), low + scaled.high * (high - low))


def p_without_variance(sample: Sample, statistic: Difference, size: float) -> float:
    """The sign test on an effective number of discordant cases, two-sided."""
    from scipy.special import betainc

    a, b = (share * size for share in _shares(sample, statistic))
    few, many = min(a, b), max(a, b)
    # P(X <= few) of few + many tosses, as an incomplete beta function: the numbers need not be whole.
    return 1.0 if many == 0 else min(1.0, float(2 * betainc(many, few + 1, 0.5)))


def _shares(sample: Sample, statistic: Difference) -> tuple[float, float]:
    for_a, for_b, weighed = full_totals(sample, statistic)
    return float(for_a / weighed), float(for_b / weighed)


def _difference_interval(for_a: float, for_b: float, size: float, confidence: float) -> Interval:
    """Wilson's limits of the two discordant shares, put together by squares and sums as Newcombe does."""
    a, b = (wilson(share * size, size, confidence=confidence) for share in (for_a, for_b))
    gap = for_a - for_b
    below = math.hypot(for_a - a.low, b.high - for_b)
    above = math.hypot(a.high - for_a, for_b - b.low)
    return Interval(max(gap - below, -1.0), min(gap + above, 1.0))


def _kish(weights: FloatArray) -> float:
    return float(weights.sum() ** 2 / (weights**2).sum())
