"""Intervals for a rate: Wilson, Clopper-Pearson, Jeffreys.

Counts may be effective numbers, hence not whole: an interval for clustered cases is the ordinary one with successes
and n divided by the design effect. Each function takes numbers and returns an `Interval`, or takes arrays, which are
broadcast against each other, and returns `Intervals`. `wilson` of numbers needs neither numpy nor scipy, so that a run
can print it without waiting for them; everything else imports them when called.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast, overload

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from harness.stats.arrays import FloatArray, IntArray

    Counts = FloatArray | IntArray

__all__ = ["Interval", "Intervals", "clopper_pearson", "jeffreys", "normal_quantile", "wilson"]

_Z_95 = 1.959963984540054
# Effective successes are products of floats and may exceed n by a rounding error; more than that is a mistake.
_ROUNDING = 1e-9


class Interval(NamedTuple):
    """Lower and upper limit of one quantity; a list of two numbers in JSON."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Lower and upper limits of many quantities, as arrays of one shape."""

    low: FloatArray
    high: FloatArray


class _Limits(Protocol):
    """Numbers give an interval, arrays give intervals."""

    @overload
    def __call__(
        self, successes: float, n: float, *, confidence: float = 0.95, design_effect: float = 1.0
    ) -> Interval: ...
    @overload
    def __call__(
        self, successes: Counts, n: Counts | float, *, confidence: float = 0.95, design_effect: npt.ArrayLike = 1.0
    ) -> Intervals: ...


def _limits(function: Callable[..., Interval | Intervals]) -> _Limits:
    return cast(_Limits, function)


def normal_quantile(confidence: float) -> float:
    """The z such that a standard normal variable lies within -z and z with this probability."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence!r} is not between 0 and 1 (0.95 for 95 %)")
    if confidence == 0.95:
        return _Z_95
    # Imported here, and not for 95 %: loading the module takes longer than a run's use of it.
    from statistics import NormalDist

    return -NormalDist().inv_cdf((1 - confidence) / 2)


@_limits
def wilson(
    successes: Counts | float, n: Counts | float, *, confidence: float = 0.95, design_effect: npt.ArrayLike = 1.0
) -> Interval | Intervals:
    """Wilson's score interval (1927); [0, 1] for n = 0."""
    numbers = _numbers(successes, n, design_effect)
    if numbers is None:
        return _wilson_of_arrays(*_effective_arrays(successes, n, design_effect), normal_quantile(confidence))
    (x, size), z = _effective(*numbers), normal_quantile(confidence)
    if size == 0:
        return Interval(0.0, 1.0)
    rate, z2 = x / size, z * z
    half = z * math.sqrt(rate * (1 - rate) * size + z2 / 4)
    # At the ends the exact limits are 0 and 1; the formula misses them by a rounding error.
    low = 0.0 if x == 0 else max(0.0, (x + z2 / 2 - half) / (size + z2))
    high = 1.0 if x == size else min(1.0, (x + z2 / 2 + half) / (size + z2))
    return Interval(low, high)


def _wilson_of_arrays(x: FloatArray, size: FloatArray, z: float) -> Intervals:
    import numpy as np

    z2 = z * z
    rate = x / np.where(size == 0, 1.0, size)
    half = z * np.sqrt(rate * (1 - rate) * size + z2 / 4)
    low = np.maximum((x + z2 / 2 - half) / (size + z2), 0.0)
    high = np.minimum((x + z2 / 2 + half) / (size + z2), 1.0)
    return Intervals(np.where(x == 0, 0.0, low), np.where(x == size, 1.0, high))


@_limits
def clopper_pearson(
    successes: Counts | float, n: Counts | float, *, confidence: float = 0.95, design_effect: npt.ArrayLike = 1.0
) -> Interval | Intervals:
    """Clopper and Pearson's exact interval (1934), from beta quantiles: it never undercovers.

    With effective numbers it is Korn and Graubard's interval (1998).
    """
    return _beta_limits(successes, n, (0.0, 1.0), confidence, design_effect)


@_limits
def jeffreys(
    successes: Counts | float, n: Counts | float, *, confidence: float = 0.95, design_effect: npt.ArrayLike = 1.0
) -> Interval | Intervals:
    """Equal-tailed interval of the Beta(x + 1/2, n - x + 1/2) posterior, with 0 and 1 as limits at the ends.

    Brown, Cai and DasGupta (2001), section 4.1.2, for the ends.
    """
    return _beta_limits(successes, n, (0.5, 0.5), confidence, design_effect)


def _beta_limits(
    successes: Counts | float,
    n: Counts | float,
    added: tuple[float, float],
    confidence: float,
    design_effect: npt.ArrayLike,
) -> Interval | Intervals:
    """Quantiles of Beta(x + a, n - x + b) for the lower limit and, with a and b exchanged, the upper."""
    import numpy as np
    from scipy.special import betaincinv

    normal_quantile(confidence)  # checks the confidence
    x, size = _effective_arrays(successes, n, design_effect)
    tail, (a, b) = (1 - confidence) / 2, added
    inside_low, inside_high = x > 0, x < size
    # A beta distribution needs both parameters above 0; if one is not, the limit is known and the 1 is unused.
    low = betaincinv(np.where(inside_low, x + a, 1.0), size - x + b, tail)
    high = 1 - betaincinv(np.where(inside_high, size - x + a, 1.0), x + b, tail)
    # With a fraction of a success Jeffreys' limit may pass the rate: an interval must contain its estimate.
    rate = x / np.where(size == 0, 1.0, size)
    limits = Intervals(
        np.where(inside_low, np.minimum(low, rate), 0.0).astype(np.float64, copy=False),
        np.where(inside_high, np.maximum(high, rate), 1.0).astype(np.float64, copy=False),
    )
    return limits if _numbers(successes, n, design_effect) is None else Interval(float(limits.low), float(limits.high))


def _numbers(successes: object, n: object, design_effect: object) -> tuple[float, float, float] | None:
    """The arguments, if all of them are single numbers, numpy's included."""
    if isinstance(successes, Real) and isinstance(n, Real) and isinstance(design_effect, Real):
        return cast(float, successes), cast(float, n), cast(float, design_effect)
    return None


def _effective(successes: float, n: float, design_effect: float) -> tuple[float, float]:
    if not (math.isfinite(n) and n >= 0):
        raise ValueError(f"number of cases {n!r} is not a finite number of 0 or more")
    if not 0 <= successes <= n * (1 + _ROUNDING):
        raise ValueError(f"{successes!r} successes of {n!r} cases: expected between 0 and the number of cases")
    if not (math.isfinite(design_effect) and design_effect > 0):
        raise ValueError(f"design effect {design_effect!r} is not a finite number above 0 (1 for independent cases)")
    return min(successes, n) / design_effect, n / design_effect


def _effective_arrays(
    successes: Counts | float, n: Counts | float, design_effect: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    import numpy as np

    x, size, deff = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (successes, n, design_effect)))
    valid = np.isfinite(size) & (x >= 0) & (x <= size * (1 + _ROUNDING)) & np.isfinite(deff) & (deff > 0)
    if not valid.all():
        first = int(np.argmin(valid))
        _effective(float(x.flat[first]), float(size.flat[first]), float(deff.flat[first]))
    return np.minimum(x, size) / deff, size / deff
