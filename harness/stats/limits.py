"""Limits of an interval, from an estimate, its standard error and its degrees of freedom: made here and nowhere else.

A t interval on the raw scale does not cover near the ends of a scale, and has no width where no error was seen. Shares
get Wilson's limits with an effective number of cases, other bounded measures limits on the logit scale, differences
those of both sides put together. `docs/coverage.md` has the reasons and the simulated coverage.

One rule holds for samples without variance and for the first errors. All right, a sample of n cases is worth
`cases_without_variance`, and what these allow (`end_limit`) no lower limit passes, however few the errors: so the
first error never raises the lower limit. The same holds, turned over, at the other end.

All functions take arrays, which are broadcast against each other, or numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray
from harness.stats.rates import Intervals, clopper_pearson, normal_quantile, wilson

__all__ = [
    "auc_end_limit",
    "bounded_limits",
    "cases_without_variance",
    "difference_limits",
    "end_limit",
    "paired_limits",
    "share_limits",
    "stretched_wilson",
]


# A variance below a quarter of that of independent cases is taken for chance.
_MOST = 4.0
# Standard errors below this are rounding errors; numbers below the other would divide to infinity.
_ROUNDING = 1e-12
_TINY = 1e-300


def cases_without_variance(cases: npt.ArrayLike, units: npt.ArrayLike) -> FloatArray:
    """How many independent cases a sample is worth that shows no variance.

    It cannot tell how alike the cases of a unit are. The worst is that a unit counts for one case, which makes
    little of few large units. Correlation within units falls as a rule with their size s (Smith 1938); it is taken
    for s^(-1/4): 0.84 for pairs, 0.56 for ten cases, 0.32 for a hundred. Both numbers are Kish's.
    """
    n, m = _floats(cases, units)
    size = np.maximum(n / np.maximum(m, _TINY), 1.0)
    return np.asarray(n / (1 + (size - 1) * size**-0.25))


def end_limit(
    cases: npt.ArrayLike, units: npt.ArrayLike, *, design_effect: float | None = None, confidence: float = 0.95
) -> FloatArray:
    """The lower limit of a share when all cases are right: Clopper and Pearson's, with what the sample is worth."""
    n, m = _floats(cases, units)
    worth = _worth(n, m, design_effect)
    return clopper_pearson(worth, worth, confidence=confidence).low


def share_limits(
    value: npt.ArrayLike,
    se: npt.ArrayLike,
    df: npt.ArrayLike,
    *,
    cases: npt.ArrayLike,
    units: npt.ArrayLike,
    design_effect: float | None = None,
    confidence: float = 0.95,
) -> Intervals:
    """Limits of a share of cases under a design: a rate, a true positive rate, a rate at rank k.

    Wilson's, with Student's t for z and the effective number of cases v (1 - v) / se^2 (Kish 1965; Korn and Graubard
    1998 with Clopper and Pearson's limits), which is at most `cases`. `cases` and `units` are Kish's numbers of those
    in the denominator. `design_effect`, if known, says what cases without variance are worth.
    """
    v, error, freedom, n, m = _floats(value, se, df, cases, units)
    v = _at_ends(v)
    worth = _worth(n, m, design_effect)
    size = np.minimum(_effective(v * (1 - v), error, worth), n)
    limits = _student_wilson(v, size, _t_quantile(freedom, confidence))
    end = clopper_pearson(worth, worth, confidence=confidence).low
    return _with_ends(v, _within_exact(v, n, limits, confidence), end)


def bounded_limits(
    value: npt.ArrayLike,
    se: npt.ArrayLike,
    df: npt.ArrayLike,
    *,
    end: npt.ArrayLike,
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
) -> Intervals:
    """Limits of a measure between two bounds that is no share of cases, such as an area, on the logit scale.

    `end` is the lower limit of a value at the upper bound, as a share of the way from bound to bound: `auc_end_limit`
    or `end_limit`. A measure without bounds gets a t interval, and nothing is known of it where there is no variance.
    """
    v, error, freedom, last = _floats(value, se, df, end)
    t, (low, high) = _t_quantile(freedom, confidence), bounds
    if not (np.isfinite(low) and np.isfinite(high)):
        half = np.where(error > 0, t * error, np.inf)
        return Intervals(np.maximum(v - half, low), np.minimum(v + half, high))
    width = high - low
    share = _at_ends((v - low) / width)
    limits = _with_ends(share, _logit_limits(share, error / width, t, _size_of(last, confidence)), last)
    return Intervals(low + width * limits.low, low + width * limits.high)


def auc_end_limit(positives: npt.ArrayLike, negatives: npt.ArrayLike, *, confidence: float = 0.95) -> FloatArray:
    """The lower limit of an area under the curve when the classes do not overlap.

    Newcombe's method 5 (2006): the area from which 1 is z standard errors away, with Hanley and McNeil's variance for
    that area. It is below what normal, uniform and exponential scores allow, and far above the bound of all scores
    (Clopper and Pearson's with the smaller class). Numbers are what each class is worth (`cases_without_variance`).
    """
    m, n = _floats(positives, negatives)
    z, more = normal_quantile(confidence), np.maximum((m + n) / 2 - 1, 0.0)
    low, high = np.zeros(m.shape), np.ones(m.shape)
    for _ in range(52):
        area = (low + high) / 2
        # Both sides of (1 - A)^2 = z^2 V(A) divided by 1 - A.
        far = (1 - area) * m * n > z * z * area * (1 + more * ((1 - area) / (2 - area) + area / (1 + area)))
        low, high = np.where(far, area, low), np.where(far, high, area)
    return np.asarray(low)


def difference_limits(
    a: npt.ArrayLike,
    limits_a: Intervals,
    b: npt.ArrayLike,
    limits_b: Intervals,
    *,
    correlation: npt.ArrayLike = 0.0,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Intervals:
    """Limits of a - b from those of both: squares added, less what the two estimates have in common.

    Zou and Donner (2008); with Wilson's limits it is Newcombe's method 10 (1998). `correlation` is that of the two
    estimates, 0 for different cases.
    """
    one, other, r = _floats(a, b, correlation)
    r = np.clip(r, -1.0, 1.0)
    below = _squares_added(one - limits_a.low, limits_b.high - other, r)
    above = _squares_added(limits_a.high - one, other - limits_b.low, r)
    low, high = np.maximum(one - other - below, bounds[0]), np.minimum(one - other + above, bounds[1])
    return Intervals(np.asarray(low), np.asarray(high))


def paired_limits(
    for_a: npt.ArrayLike,
    for_b: npt.ArrayLike,
    se: npt.ArrayLike,
    df: npt.ArrayLike,
    *,
    cases: npt.ArrayLike,
    units: npt.ArrayLike,
    design_effect: float | None = None,
    confidence: float = 0.95,
) -> Intervals:
    """Limits of a difference of two rates on the same cases, from the shares of cases that only A and only B has right.

    Both shares get Wilson's limits with one effective number of cases, (a + b - (a - b)^2) / se^2 with the standard
    error of the difference, their distances from the shares scaled by t / z, and are put together with the
    correlation of two shares of a whole. Without variance the cases are worth `cases_without_variance`.
    """
    a, b, error, freedom, n, m = _floats(for_a, for_b, se, df, cases, units)
    a, b = _at_ends(a), _at_ends(b)  # the root below would make 1e-9 of a rounding error of 1e-17
    size = np.minimum(_effective(a + b - (a - b) ** 2, error, _worth(n, m, design_effect)), _MOST * n)
    limits_a, limits_b = (stretched_wilson(share, size, freedom, confidence=confidence) for share in (a, b))
    return difference_limits(a, limits_a, b, limits_b, correlation=_of_a_whole(a, b))


def stretched_wilson(
    share: npt.ArrayLike, size: npt.ArrayLike, df: npt.ArrayLike, *, confidence: float = 0.95
) -> Intervals:
    """Wilson's limits with an effective number of cases, both t / z times as far from the share as his."""
    v, n, freedom = _floats(share, size, df)
    by = _t_quantile(freedom, confidence) / normal_quantile(confidence)
    limits = wilson(v * n, n, confidence=confidence)
    return Intervals(np.asarray(v - by * (v - limits.low)), np.asarray(v + by * (limits.high - v)))


def _floats(*values: npt.ArrayLike) -> list[FloatArray]:
    return list(np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values)))


def _at_ends(share: FloatArray) -> FloatArray:
    """Sums of weights in another order miss an end by a rounding error: they are there."""
    return np.where(share < _ROUNDING, 0.0, np.where(share > 1 - _ROUNDING, 1.0, share))


def _worth(cases: FloatArray, units: FloatArray, design_effect: float | None) -> FloatArray:
    return cases / design_effect if design_effect is not None else cases_without_variance(cases, units)


def _effective(spread: FloatArray, se: FloatArray, without: FloatArray) -> FloatArray:
    """The number of independent cases that would have this standard error; `without` one where it is 0."""
    seen = (se > _ROUNDING) & (spread > 0)
    return np.where(seen, spread / np.where(seen, se, 1.0) ** 2, without)


def _t_quantile(df: FloatArray, confidence: float) -> FloatArray:
    from scipy.special import stdtrit

    normal_quantile(confidence)  # refuses what is no confidence
    return np.asarray(stdtrit(np.minimum(df, 1e12), (1 + confidence) / 2))


def _student_wilson(v: FloatArray, size: FloatArray, t: FloatArray) -> Intervals:
    """Wilson's limits with a quantile a case may have of its own."""
    x, t2 = v * size, t * t
    half = t * np.sqrt(v * (1 - v) * size + t2 / 4)
    return Intervals((x + t2 / 2 - half) / (size + t2), (x + t2 / 2 + half) / (size + t2))


def _within_exact(v: FloatArray, cases: FloatArray, limits: Intervals, confidence: float) -> Intervals:
    """No nearer to the middle than Clopper and Pearson's limits of as many independent cases.

    Only on the side that looks to the middle: on the other, near the end, these would cover far too much.
    """
    low = clopper_pearson(np.maximum(v, 0.5) * cases, cases, confidence=confidence).low
    high = clopper_pearson(np.minimum(v, 0.5) * cases, cases, confidence=confidence).high
    return Intervals(np.minimum(limits.low, low), np.maximum(limits.high, high))


def _with_ends(v: FloatArray, limits: Intervals, end: FloatArray) -> Intervals:
    """The one rule: what a value at the end allows bounds all others, and contains the value itself."""
    low = np.where(v == 1, end, np.minimum(np.minimum(limits.low, end), v))
    high = np.where(v == 0, 1 - end, np.maximum(np.maximum(limits.high, 1 - end), v))
    return Intervals(np.where(v == 0, 0.0, np.maximum(low, 0.0)), np.where(v == 1, 1.0, np.minimum(high, 1.0)))


def _logit_limits(share: FloatArray, se: FloatArray, t: FloatArray, without: FloatArray) -> Intervals:
    from scipy.special import expit, logit

    spread = share * (1 - share)
    inside = spread > 0
    size = _effective(spread, se, without)
    half = t / np.sqrt(np.maximum(size * spread, _TINY))
    middle = logit(np.where(inside, share, 0.5))
    return Intervals(expit(middle - half), expit(middle + half))


def _size_of(end: FloatArray, confidence: float) -> FloatArray:
    """The number of cases, all of them right, whose exact lower limit this is."""
    inside = np.clip(end, 1e-12, 1 - 1e-12)
    return np.asarray(np.log((1 - confidence) / 2) / np.log(inside))


def _squares_added(of_a: FloatArray, of_b: FloatArray, r: FloatArray) -> FloatArray:
    return np.sqrt(np.maximum(of_a**2 - 2 * r * of_a * of_b + of_b**2, 0.0))


def _of_a_whole(a: FloatArray, b: FloatArray) -> FloatArray:
    """The correlation of two shares of the same whole."""
    return np.asarray(-np.sqrt(a * b / np.maximum((1 - a) * (1 - b), _TINY)))
