"""How many cases it takes to detect a difference between two algorithms on the same cases, and what is detectable.

For McNemar's test (Connor 1987): with psi the share of discordant cases and d the difference of rates,
n = (z_a sqrt(psi) + z_b sqrt(psi - d^2))^2 / d^2, times the design effect. A difference cannot be larger than the
discordance, so |d| <= psi throughout.

For an estimate with a standard error and degrees of freedom, as replication gives them, `detectable` says what its t
test could have detected: with few units, far less than the normal formula says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from harness.stats.rates import normal_quantile

__all__ = [
    "PowerAnalysis",
    "cases_needed",
    "detectable",
    "detectable_difference",
    "independent_discordance",
    "paired_power",
    "student_power",
]


if TYPE_CHECKING:
    from harness.stats.arrays import FloatArray


# From this df on, the chi distribution of the standard error is narrow and the integral is taken over it; below, over
# the normal distribution: the density integrated over must be smooth.
_MANY_DF = 30.0
_NODES = 400


@dataclass(frozen=True, slots=True)
class PowerAnalysis:
    """A planned test: two-sided or one-sided at `alpha`, with this power and this design effect."""

    alpha: float = 0.05
    power: float = 0.80
    two_sided: bool = True
    design_effect: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:
            raise ValueError(f"alpha {self.alpha!r} is not between 0 and 0.5 (0.05 for 5 %)")
        if not 0 < self.power < 1:
            raise ValueError(f"power {self.power!r} is not between 0 and 1 (0.8 for 80 %)")
        if self.power <= self.alpha:
            raise ValueError(f"power {self.power!r} is not above alpha {self.alpha!r}: no data are needed for that")
        if not (math.isfinite(self.design_effect) and self.design_effect > 0):
            raise ValueError(f"design effect {self.design_effect!r} is not above 0 (1 for independent cases)")

    @property
    def z_alpha(self) -> float:
        """The critical value of the test statistic."""
        return normal_quantile(1 - self.alpha if self.two_sided else 1 - 2 * self.alpha)

    @property
    def z_power(self) -> float:
        """How far beyond `z_alpha` the statistic must lie on average; below 0 for a power under one half."""
        return math.copysign(normal_quantile(abs(2 * self.power - 1)), self.power - 0.5) if self.power != 0.5 else 0.0


_DEFAULT = PowerAnalysis()


def cases_needed(difference: float, discordance: float, *, analysis: PowerAnalysis = _DEFAULT) -> int:
    """Number of cases needed to detect a difference of rates with the analysis's power."""
    d, psi = _check(difference, discordance)
    if d == 0:
        raise ValueError("no number of cases shows a difference of 0: ask for equivalence within a margin instead")
    root = analysis.z_alpha * math.sqrt(psi) + analysis.z_power * math.sqrt(psi - d * d)
    return math.ceil(analysis.design_effect * max(root, 0.0) ** 2 / (d * d))


def paired_power(n: float, difference: float, discordance: float, *, analysis: PowerAnalysis = _DEFAULT) -> float:
    """Probability that n cases show the difference, in its direction (`analysis.power` is not used)."""
    d, psi = _check(difference, discordance)
    _check_cases(n)
    gap = math.sqrt(n / analysis.design_effect) * d - analysis.z_alpha * math.sqrt(psi)
    spread = math.sqrt(psi - d * d)
    if spread == 0:
        return float(gap >= 0 and d > 0)
    return math.erfc(-gap / spread / math.sqrt(2)) / 2


def detectable_difference(n: float, discordance: float, *, analysis: PowerAnalysis = _DEFAULT) -> float:
    """The smallest difference that n cases show with the analysis's power, at this discordance.

    No difference can exceed the discordance. If this one would, the result is the smallest difference detectable at
    any discordance: one side wins every discordant case. Infinite if not even that is detectable.
    """
    _check(0.0, discordance)
    _check_cases(n)
    size = n / analysis.design_effect
    d = _difference_at(size, discordance, analysis)
    return d if d <= discordance else _difference_if_one_sided(size, analysis)


def independent_discordance(rate_a: float, rate_b: float) -> float:
    """Discordance of two algorithms with independent successes; real ones usually have less."""
    for rate in (rate_a, rate_b):
        if not 0 <= rate <= 1:
            raise ValueError(f"rate {rate!r} is not between 0 and 1")
    return rate_a * (1 - rate_b) + rate_b * (1 - rate_a)


def detectable(se: float, df: float, *, alpha: float = 0.05, power: float = 0.8, comparisons: int = 1) -> float:
    """The smallest true difference that a two-sided t test with this standard error and df detects with this power.

    With several comparisons it is for the strictest test, at alpha / comparisons (Holm). Infinite without degrees of
    freedom, 0 without error.
    """
    analysis = PowerAnalysis(alpha=alpha, power=power)
    if not (comparisons >= 1 and se >= 0):
        raise ValueError(f"standard error {se!r}, {comparisons!r} comparisons: expected 0 or more, and 1 or more")
    if not df > 0:
        return math.inf
    return se * _noncentrality(df, analysis.alpha / comparisons, analysis.power)


def student_power(noncentrality: float, df: float, *, alpha: float = 0.05) -> float:
    """Probability that a two-sided t test at alpha detects a difference of `noncentrality` standard errors."""
    if not df > 0:
        raise ValueError(f"degrees of freedom {df!r} are not above 0: more units are needed")
    return _two_sided(abs(noncentrality), df, alpha)


# Pairs of one comparison usually share their degrees of freedom.
@lru_cache(maxsize=256)
def _noncentrality(df: float, alpha: float, power: float) -> float:
    """The difference in standard errors that is detected with this power, by bisection: power rises with it."""
    left, right = 0.0, 1.0
    while _two_sided(right, df, alpha) < power:
        left, right = right, 2 * right
    while right - left > 1e-8 * right:
        middle = (left + right) / 2
        left, right = (middle, right) if _two_sided(middle, df, alpha) < power else (left, middle)
    return right


def _two_sided(nc: float, df: float, alpha: float) -> float:
    """P(|T| > c) of noncentral t: |Z + nc| exceeds c S, with Z normal and S the chi of the standard error.

    Integrated over Z or over S: scipy.special.nctdtr is NaN for some arguments of this kind.
    """
    from scipy.special import ndtr, ndtri, stdtrit

    if math.isinf(df):
        c = -float(ndtri(alpha / 2))
        return float(ndtr(nc - c) + ndtr(-nc - c))
    c = -float(stdtrit(df, alpha / 2))
    return _over_error(nc, df, c) if df >= _MANY_DF else _over_normal(nc, df, c)


def _over_normal(nc: float, df: float, c: float) -> float:
    """E[P(S < |Z + nc| / c)], in two pieces, since the absolute value has a corner at Z = -nc."""
    import numpy as np
    from scipy.special import chdtr

    x, weights = _legendre()
    corner, total = max(-nc, -9.0), 0.0
    for low, high in ((-9.0, corner), (corner, 9.0)):
        z = (low + high) / 2 + (high - low) / 2 * x
        density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        total += (high - low) / 2 * float(weights @ (density * chdtr(df, df * ((z + nc) / c) ** 2)))
    return total


def _over_error(nc: float, df: float, c: float) -> float:
    """E[P(|Z + nc| > c S | S)] on an even grid, which is accurate for so smooth a density."""
    import numpy as np
    from scipy.special import ndtr

    half = 10 / math.sqrt(2 * df)
    s = np.linspace(max(1 - half, 1e-9), 1 + half, _NODES)
    density = np.exp((df - 1) * np.log(s) - df * (s**2 - 1) / 2)
    density /= density.sum()
    return float(density @ (ndtr(nc - c * s) + ndtr(-nc - c * s)))


@lru_cache(maxsize=1)
def _legendre() -> tuple[FloatArray, FloatArray]:
    import numpy as np

    return np.polynomial.legendre.leggauss(_NODES)


def _difference_at(size: float, psi: float, analysis: PowerAnalysis) -> float:
    """The formula solved for d: a root of (size + z_b^2) d^2 - 2 sqrt(size psi) z_a d + (z_a^2 - z_b^2) psi.

    The sign of z_b picks the root: the larger for a power above one half.
    """
    z_a, z_b = analysis.z_alpha, analysis.z_power
    inside = size + z_b**2 - z_a**2
    if inside < 0:
        return math.inf
    return math.sqrt(psi) * (z_a * math.sqrt(size) + z_b * math.sqrt(inside)) / (size + z_b**2)


def _difference_if_one_sided(size: float, analysis: PowerAnalysis) -> float:
    """The formula with psi = d: size d = (z_a + z_b sqrt(1 - d))^2, by bisection."""
    left, right = 0.0, 1.0
    if size < analysis.z_alpha**2:
        return math.inf
    for _ in range(60):
        d = (left + right) / 2
        short = size * d < (analysis.z_alpha + analysis.z_power * math.sqrt(1 - d)) ** 2
        left, right = (d, right) if short else (left, d)
    return right


def _check(difference: float, discordance: float) -> tuple[float, float]:
    if not 0 < discordance <= 1:
        raise ValueError(f"discordance {discordance!r} is not above 0 and at most 1: it is a share of the cases")
    if not abs(difference) <= discordance:
        raise ValueError(f"difference {difference!r} exceeds the discordance {discordance!r}, which is its upper limit")
    return abs(difference), discordance


def _check_cases(n: float) -> None:
    if not (math.isfinite(n) and n > 0):
        raise ValueError(f"number of cases {n!r} is not a finite number above 0")
