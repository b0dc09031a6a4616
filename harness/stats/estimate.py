"""The type of every estimate: a measure of a sample with its error. `stats.replication.estimates` makes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

import numpy as np

from harness.stats.arrays import FloatArray
from harness.stats.differences import fisher_exact, quadrature_limits
from harness.stats.limits import (
    auc_end_limit,
    bounded_limits,
    difference_limits,
    end_limit,
    root_mean_square_limits,
    share_limits,
)
from harness.stats.multiplicity import Multiplicity, adjusted
from harness.stats.rates import Interval, Intervals, wilson

__all__ = ["Estimate", "IntervalKind", "Scale", "independent_difference", "scale_limits", "t_p_values", "with_adjusted"]


Bounds = tuple[float, float]
UNBOUNDED: Bounds = (-math.inf, math.inf)
# The smallest p-value derived from limits.
_MIN_P = 1e-12


class IntervalKind(StrEnum):
    """Which limits a statistic gets: those of a share of cases, of another bounded number, of a root mean
    square, or plain Student-t.

    A share of independent cases with equal weights gets Wilson's limits.
    """

    INDEPENDENT = "independent"
    SHARE = "share"
    BOUNDED = "bounded"
    ROOT = "root"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Scale:
    """What an interval is based on: Kish's effective numbers of cases and of units behind the estimate.

    `classes`: for areas under a curve, the effective numbers of positive and negative cases if nothing varies.
    `design_effect`: the known one, used if nothing varies. Fields are numbers, or arrays with one number per member.
    """

    kind: IntervalKind
    bounds: Bounds = UNBOUNDED
    cases: FloatArray | float = math.nan
    units: FloatArray | float = math.nan
    classes: tuple[FloatArray | float, FloatArray | float] | None = None
    design_effect: float | None = None

    def of(self, member: int) -> Scale:
        """The scale of one member."""
        cases, units = (float(np.asarray(part)[member]) for part in (self.cases, self.units))
        classes = None
        if self.classes is not None:
            classes = (float(np.asarray(self.classes[0])[member]), float(np.asarray(self.classes[1])[member]))
        return Scale(self.kind, self.bounds, cases, units, classes, self.design_effect)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value, its standard error and interval, and how they were obtained.

    `interval` is None if the sample says nothing about the error. `target`: what it generalises to, new units or cases.
    `p_value` is two-sided, for a true value of 0, and only set for differences; `p_sign_flip` is its exact counterpart
    over units, if that is cheap. `strata` counts them after lone ones were merged (`collapsed` names those).
    `replicates` is None if the variance comes from a formula, `groupings` None if none were needed. `design_effect`:
    the variance over that of independent cases. `scale` gives the interval at any other confidence.
    """

    value: float
    se: float
    df: float
    interval: Interval | None
    confidence: float = 0.95
    method: str = ""
    target: str = ""
    p_value: float | None = None
    p_adjusted: float | None = None
    p_sign_flip: float | None = None
    cases: int = 0
    strata: int = 1
    units: int = 0
    replicates: int | None = None
    groupings: int | Literal["all"] | None = None
    collapsed: tuple[tuple[str, ...], ...] = ()
    lone: str = "collapse"
    fay: float = 0.0
    centre: str = "full"
    seed: int = 0
    design_effect: float | None = None
    icc: float | None = None
    scale: Scale = Scale(IntervalKind.PLAIN)
    # Limits at any confidence, if the scale alone does not determine them, as for a difference.
    limits: Callable[[float], Interval] | None = field(default=None, repr=False, compare=False)

    def at(self, confidence: float) -> Interval | None:
        """The interval at another confidence."""
        if self.interval is None:
            return None
        if self.limits is not None:
            return self.limits(confidence)
        limits = scale_limits(self.scale, self.value, self.se, self.df, confidence)
        return Interval(float(limits.low), float(limits.high))


def scale_limits(
    scale: Scale, value: FloatArray | float, se: FloatArray | float, df: FloatArray | float, confidence: float
) -> Intervals:
    """Limits of values with these errors, by their kind of scale; they have a width even without variance."""
    if scale.kind is IntervalKind.INDEPENDENT:
        return wilson(np.asarray(value) * scale.cases, scale.cases, confidence=confidence)
    if scale.kind is IntervalKind.SHARE:
        return share_limits(
            value,
            se,
            df,
            cases=scale.cases,
            units=scale.units,
            design_effect=scale.design_effect,
            confidence=confidence,
        )
    if scale.kind is IntervalKind.ROOT:
        return root_mean_square_limits(value, se, df, confidence=confidence)
    end: FloatArray | float = 0.0
    if scale.classes is not None:
        end = auc_end_limit(*scale.classes, confidence=confidence)
    elif scale.kind is IntervalKind.BOUNDED:
        end = end_limit(scale.cases, scale.units, design_effect=scale.design_effect, confidence=confidence)
    bounds = scale.bounds if scale.kind is IntervalKind.BOUNDED else UNBOUNDED
    limits = bounded_limits(value, se, df, end=end, bounds=bounds, confidence=confidence)
    return Intervals(np.maximum(limits.low, scale.bounds[0]), np.minimum(limits.high, scale.bounds[1]))


def t_p_values(value: FloatArray | float, se: FloatArray | float, df: FloatArray | float) -> FloatArray:
    """Two-sided p-values for true values of 0; 1 if there is no variance."""
    from scipy.special import ndtr, stdtr

    spread, many = np.asarray(se, dtype=np.float64), np.isinf(df)
    t = np.abs(value) / np.where(spread > 0, spread, np.inf)
    return np.asarray(2 * np.where(many, ndtr(-t), stdtr(np.where(many, 1.0, np.maximum(df, 1e-9)), -t)))


def independent_difference(a: Estimate, b: Estimate) -> Estimate:
    """The difference of two estimates from independent samples: variances add.

    Degrees of freedom are Welch's and Satterthwaite's. A side without variance is not certain: its limits say how far
    off it may be, and the p-value is then derived from the limits of the difference. Shares of independent cases get
    Newcombe's interval and Fisher's exact test.
    """
    v, w = a.se**2, b.se**2
    gap, se = a.value - b.value, math.sqrt(v + w)
    df = min(a.df, b.df)
    if v > 0 and w > 0 and df > 0:
        denominator = v**2 / a.df + w**2 / b.df
        df = (v + w) ** 2 / denominator if denominator > 0 else math.inf
    low, high = a.scale.bounds
    width = (low - high, high - low)
    interval, p_value = None, None
    if a.interval is not None and b.interval is not None:
        interval = _independent_limits(a, b, a.confidence, width)
        if a.scale.kind is IntervalKind.INDEPENDENT is b.scale.kind:
            p_value = fisher_exact(_successes_and_cases(a), _successes_and_cases(b))
        elif v > 0 and w > 0:
            p_value = float(t_p_values(gap, se, df))
        else:
            p_value = p_of_limits(lambda confidence: _independent_limits(a, b, confidence, width))
    return replace(
        a,
        value=gap,
        se=se,
        df=df,
        interval=interval,
        p_value=p_value,
        design_effect=None,
        icc=None,
        cases=a.cases + b.cases,
        units=a.units + b.units,
        scale=Scale(IntervalKind.PLAIN, width),
        limits=lambda confidence: _independent_limits(a, b, confidence, width),
    )


def p_of_limits(limits: Callable[[float], Interval]) -> float:
    """The smallest significance level at which limits exclude 0: the test that matches an interval."""
    left, right = _MIN_P, 1.0 - 1e-9
    if not _contains_zero(limits(1 - left)):
        return left
    if _contains_zero(limits(1 - right)):
        return 1.0
    for _ in range(50):
        middle = math.sqrt(left * right)
        left, right = (middle, right) if _contains_zero(limits(1 - middle)) else (left, middle)
    return right


def with_adjusted(
    estimates: Sequence[Estimate | None], method: Multiplicity = Multiplicity.HOLM
) -> list[Estimate | None]:
    """The estimates with p-values adjusted for their number; None stays None."""
    p_values = [None if estimate is None else estimate.p_value for estimate in estimates]
    return [
        estimate if estimate is None or math.isnan(p) else replace(estimate, p_adjusted=float(p))
        for estimate, p in zip(estimates, adjusted(p_values, method), strict=True)
    ]


def _successes_and_cases(estimate: Estimate) -> tuple[int, int]:
    cases = round(float(estimate.scale.cases))
    return round(estimate.value * cases), cases


def _contains_zero(interval: Interval) -> bool:
    return interval.low <= 0 <= interval.high


def _independent_limits(first: Estimate, second: Estimate, confidence: float, width: Bounds) -> Interval:
    a, b = first.at(confidence), second.at(confidence)
    if a is None or b is None:
        return Interval(*width)
    if first.scale.kind is IntervalKind.PLAIN:
        # Means without bounds, such as seconds, are not clipped.
        return quadrature_limits(first.value, a, second.value, b)
    limits_a, limits_b = (Intervals(np.asarray(side.low), np.asarray(side.high)) for side in (a, b))
    limits = difference_limits(first.value, limits_a, second.value, limits_b, bounds=width)
    return Interval(float(limits.low), float(limits.high))
