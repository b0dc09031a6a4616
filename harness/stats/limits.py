"""Limits of an interval, from an estimate, its standard error and its degrees of freedom.

A t interval on the raw scale undercovers near the ends of the scale, and has no width if no error was seen. Shares get
Wilson's limits with an effective number of cases, other bounded measures get limits on the logit scale, and differences
combine the limits of both sides. `docs/explanation/coverage.md` has the reasons and the simulated coverage.

One rule covers samples without variance and the first errors. If all n cases are right, they count as
`cases_without_variance` independent ones; their lower limit (`end_limit`) bounds every lower limit, however few the
errors, so the first error never raises the lower limit. The other end mirrors this.

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
    "root_mean_square_limits",
    "share_limits",
    "stretched_wilson",
    "t_quantiles",
]


# A variance below a quarter of that of independent cases is put down to chance.
_MAX_EFFECTIVE_RATIO = 4.0
# Standard errors below _ROUNDING are rounding errors; denominators are at least _TINY.
_ROUNDING = 1e-12
_TINY = 1e-300


def cases_without_variance(cases: npt.ArrayLike, units: npt.ArrayLike) -> FloatArray:
    """The effective number of independent cases in a sample without variance.

    Such a sample does not show how similar the cases of a unit are. At worst a unit counts as one case, which leaves
    little of a few large units. Correlation within units usually falls with their size s (Smith 1938); it is assumed
    to be s^(-1/4): 0.84 for pairs, 0.56 for ten cases, 0.32 for a hundred. `cases` and `units` are Kish's numbers.
    """
    n, m = _floats(cases, units)
    size = np.maximum(n / np.maximum(m, _TINY), 1.0)
    return np.asarray(n / (1 + (size - 1) * size**-0.25))


def end_limit(
    cases: npt.ArrayLike, units: npt.ArrayLike, *, design_effect: float | None = None, confidence: float = 0.95
) -> FloatArray:
    """The lower limit of a share when all cases are right: Clopper and Pearson's, for the effective number of cases."""
    n, m = _floats(cases, units)
    effective = _size_without_variance(n, m, design_effect)
    return clopper_pearson(effective, effective, confidence=confidence).low


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
    in the denominator. `design_effect`, if known, gives the effective number of cases without variance.
    """
    v, error, freedom, n, m = _floats(value, se, df, cases, units)
    v = _snap_to_ends(v)
    fallback = _size_without_variance(n, m, design_effect)
    size = np.minimum(_effective_size(v * (1 - v), error, fallback), n)
    t = t_quantiles(freedom, confidence)
    x, t2 = v * size, t * t
    half = t * np.sqrt(v * (1 - v) * size + t2 / 4)
    limits = Intervals((x + t2 / 2 - half) / (size + t2), (x + t2 / 2 + half) / (size + t2))
    end = clopper_pearson(fallback, fallback, confidence=confidence).low
    # At least as wide as Clopper and Pearson's limits of as many independent cases, but only on the side towards the
    # middle: on the other, near the end, these would cover far too much.
    low = clopper_pearson(np.maximum(v, 0.5) * n, n, confidence=confidence).low
    high = clopper_pearson(np.minimum(v, 0.5) * n, n, confidence=confidence).high
    return _with_ends(v, Intervals(np.minimum(limits.low, low), np.maximum(limits.high, high)), end)


def bounded_limits(
    value: npt.ArrayLike,
    se: npt.ArrayLike,
    df: npt.ArrayLike,
    *,
    end: npt.ArrayLike,
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
) -> Intervals:
    """Limits of a bounded measure that is not a share of cases, such as an area, on the logit scale.

    `end` is the lower limit of a value at the upper bound, as a fraction of the distance between the bounds:
    `auc_end_limit` or `end_limit`. A measure without bounds gets a t interval, infinite if there is no variance.
    """
    from scipy.special import expit, logit

    v, error, freedom, last = _floats(value, se, df, end)
    t, (low, high) = t_quantiles(freedom, confidence), bounds
    if not (np.isfinite(low) and np.isfinite(high)):
        half = np.where(error > 0, t * error, np.inf)
        return Intervals(np.maximum(v - half, low), np.minimum(v + half, high))
    width = high - low
    share = _snap_to_ends((v - low) / width)
    # The number of cases, all of them right, that has this exact lower limit.
    fallback = np.log((1 - confidence) / 2) / np.log(np.clip(last, 1e-12, 1 - 1e-12))
    spread = share * (1 - share)
    half = t / np.sqrt(np.maximum(_effective_size(spread, error / width, fallback) * spread, _TINY))
    middle = logit(np.where(spread > 0, share, 0.5))
    limits = _with_ends(share, Intervals(expit(middle - half), expit(middle + half)), last)
    return Intervals(low + width * limits.low, low + width * limits.high)


def auc_end_limit(positives: npt.ArrayLike, negatives: npt.ArrayLike, *, confidence: float = 0.95) -> FloatArray:
    """The lower limit of an area under the curve when the classes do not overlap.

    Newcombe's method 5 (2006): the area from which 1 is z standard errors away, with Hanley and McNeil's variance for
    that area. It is below what normal, uniform and exponential scores allow, and far above the bound of all scores
    (Clopper and Pearson's with the smaller class). Both numbers are effective ones (`cases_without_variance`).
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


def root_mean_square_limits(
    value: npt.ArrayLike, se: npt.ArrayLike, df: npt.ArrayLike, *, confidence: float = 0.95
) -> Intervals:
    """Limits of a root mean square: its square is taken as a multiple of chi-square with the same relative error.

    That has 2 m^2 / var(m) degrees of freedom (Satterthwaite 1946), of which (z / t)^2 are left because the variance is
    itself estimated. Without variance both limits are the value.
    """
    from scipy.special import chdtri

    v, error, freedom = _floats(value, se, df)
    known = (error > 0) & np.isfinite(error)
    tail = (1 - confidence) / 2
    shrunk = (normal_quantile(confidence) / t_quantiles(np.maximum(freedom, 1.0), confidence)) ** 2
    # The relative error of the square is twice that of the root.
    size = np.divide(v, error, out=np.ones_like(v), where=known) ** 2 / 2 * shrunk
    with np.errstate(divide="ignore", over="ignore"):
        low, high = (np.where(known, v * np.sqrt(size / chdtri(size, p)), v) for p in (tail, 1 - tail))
    return Intervals(np.asarray(low), np.asarray(high))


def difference_limits(
    a: npt.ArrayLike,
    limits_a: Intervals,
    b: npt.ArrayLike,
    limits_b: Intervals,
    *,
    correlation: npt.ArrayLike = 0.0,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Intervals:
    """Limits of a - b from those of both, added in quadrature with the correlation of the estimates.

    Zou and Donner (2008); with Wilson's limits it is Newcombe's method 10 (1998). `correlation` is that of the two
    estimates, 0 for different cases.
    """
    value_a, value_b, r = _floats(a, b, correlation)
    r = np.clip(r, -1.0, 1.0)
    down = _quadrature(value_a - limits_a.low, limits_b.high - value_b, r)
    up = _quadrature(limits_a.high - value_a, value_b - limits_b.low, r)
    low, high = np.maximum(value_a - value_b - down, bounds[0]), np.minimum(value_a - value_b + up, bounds[1])
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
    """Limits of a difference of two rates on the same cases, from the shares of cases that only A or only B got right.

    Both shares get Wilson's limits with one effective number of cases, (a + b - (a - b)^2) / se^2 with the standard
    error of the difference. Distances from the shares are scaled by t / z and combined with the correlation of two
    shares of a whole. Without variance, the effective number is `cases_without_variance`.
    """
    a, b, error, freedom, n, m = _floats(for_a, for_b, se, df, cases, units)
    a, b = _snap_to_ends(a), _snap_to_ends(b)  # the root below would turn a rounding error of 1e-17 into 1e-9
    fallback = _size_without_variance(n, m, design_effect)
    size = np.minimum(_effective_size(a + b - (a - b) ** 2, error, fallback), _MAX_EFFECTIVE_RATIO * n)
    limits_a, limits_b = (stretched_wilson(share, size, freedom, confidence=confidence) for share in (a, b))
    # Of two shares of the same whole.
    correlation = -np.sqrt(a * b / np.maximum((1 - a) * (1 - b), _TINY))
    return difference_limits(a, limits_a, b, limits_b, correlation=correlation)


def stretched_wilson(
    share: npt.ArrayLike, size: npt.ArrayLike, df: npt.ArrayLike, *, confidence: float = 0.95
) -> Intervals:
    """Wilson's limits with an effective number of cases, their distances from the share multiplied by t / z."""
    v, n, freedom = _floats(share, size, df)
    factor = t_quantiles(freedom, confidence) / normal_quantile(confidence)
    limits = wilson(v * n, n, confidence=confidence)
    return Intervals(np.asarray(v - factor * (v - limits.low)), np.asarray(v + factor * (limits.high - v)))


def _floats(*values: npt.ArrayLike) -> list[FloatArray]:
    return list(np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values)))


def _snap_to_ends(share: FloatArray) -> FloatArray:
    """Set shares to 0 or 1 that miss it by a rounding error: weights may have been added in another order."""
    return np.where(share < _ROUNDING, 0.0, np.where(share > 1 - _ROUNDING, 1.0, share))


def _size_without_variance(cases: FloatArray, units: FloatArray, design_effect: float | None) -> FloatArray:
    return cases / design_effect if design_effect is not None else cases_without_variance(cases, units)


def _effective_size(spread: FloatArray, se: FloatArray, fallback: FloatArray) -> FloatArray:
    """The number of independent cases that would have this standard error; `fallback` if it is 0."""
    varies = (se > _ROUNDING) & (spread > 0)
    return np.where(varies, spread / np.where(varies, se, 1.0) ** 2, fallback)


def t_quantiles(df: npt.ArrayLike, confidence: float) -> FloatArray:
    """How many standard errors a t interval reaches to either side."""
    from scipy.special import stdtrit

    normal_quantile(confidence)  # checks the confidence
    return np.asarray(stdtrit(np.minimum(df, 1e12), (1 + confidence) / 2))


def _with_ends(v: FloatArray, limits: Intervals, end: FloatArray) -> Intervals:
    """Apply the module's one rule: the limit at the end bounds all others, and limits contain the value."""
    low = np.where(v == 1, end, np.minimum(np.minimum(limits.low, end), v))
    high = np.where(v == 0, 1 - end, np.maximum(np.maximum(limits.high, 1 - end), v))
    return Intervals(np.where(v == 0, 0.0, np.maximum(low, 0.0)), np.where(v == 1, 1.0, np.minimum(high, 1.0)))


def _quadrature(of_a: FloatArray, of_b: FloatArray, r: FloatArray) -> FloatArray:
    return np.sqrt(np.maximum(of_a**2 - 2 * r * of_a * of_b + of_b**2, 0.0))
