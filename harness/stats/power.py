"""Power, before and after a test: how many cases and units it takes, and which difference could have been detected.

For McNemar's test (Connor 1987): with psi the share of discordant cases and d the difference of rates,
n = (z_a sqrt(psi) + z_b sqrt(psi - d^2))^2 / d^2, times the design effect. A difference cannot be larger than the
discordance, so |d| <= psi throughout.

For an estimate with a standard error and degrees of freedom, as replication gives them, `detectable` says what its t
test could have detected: with few units, far less than the normal formula says.

For a plan, a test of U units with m cases each has the standard error sqrt(v / U), where v = s^2 (1 + (m - 1) icc) / m
and s^2 is the variance of a case (Kish 1965). With L strata it has U - L degrees of freedom, which a small test feels:
power is that of the noncentral t distribution, not of the normal one. Independent cases without strata are decided by
McNemar's exact test, so their power is that test's own, summed over the discordant cases that may turn up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from harness.stats.arrays import FloatArray
from harness.stats.rates import normal_quantile

__all__ = [
    "MAX_UNITS",
    "PlannedSample",
    "PowerAnalysis",
    "cases_needed",
    "detectable",
    "detectable_difference",
    "difference_power",
    "equivalence_power",
    "independent_discordance",
    "mcnemar_power",
    "neyman_allocation",
    "paired_power",
    "paired_variance",
    "rule_of_30",
    "rule_of_three",
    "smallest_number",
    "student_power",
    "variance_interval",
    "width_of_rate",
]

# From this df on, the chi distribution of the standard error is narrow and the integral is taken over it; below, over
# the normal distribution: the density integrated over must be smooth.
_MANY_DF = 30.0
# Points at which the distribution of an estimated standard error is taken.
_NODES = 400
# Beyond it nobody plans, and rounding errors begin.
MAX_UNITS = 1_000_000_000


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


@dataclass(frozen=True, slots=True)
class PlannedSample:
    """Units of so many cases each, in so many strata, whose cases are this similar.

    effect   the design effect where it is known, of strata and weights too; else it follows from the similarity
    counted  the shares of the cases and of the units that count, by Kish: with weights, and with several answers to a
             case, which are not more cases
    """

    per_unit: float = 1.0
    icc: float = 0.0
    strata: int = 1
    effect: float | None = None
    counted: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.per_unit) and self.per_unit >= 1):
            raise ValueError(f"cases per unit {self.per_unit!r}: expected 1 or more")
        # Below this the variance of a unit's mean would be negative.
        least = -1 / (self.per_unit - 1) if self.per_unit > 1 else -1.0
        if not least <= self.icc <= 1:
            raise ValueError(f"intraclass correlation {self.icc!r}: expected {least:.3g} to 1")
        if self.strata < 1:
            raise ValueError(f"strata {self.strata!r}: expected 1 or more")

    @property
    def design_effect(self) -> float:
        """How much larger the variance is than that of independent cases."""
        return 1 + (self.per_unit - 1) * self.icc if self.effect is None else self.effect

    @property
    def least_units(self) -> int:
        """Two units in each stratum: fewer have no variance."""
        return 2 * self.strata

    def unit_variance(self, case_variance: float) -> float:
        """The variance of an estimate times its number of units."""
        return case_variance * self.design_effect / self.per_unit


def paired_variance(difference: float, discordance: float) -> float:
    """The variance of a case's difference, -1, 0 or 1."""
    if not 0 < discordance <= 1:
        raise ValueError(f"discordance {discordance!r}: expected a share of the cases, above 0 and at most 1")
    if abs(difference) > discordance:
        raise ValueError(f"difference {difference!r} exceeds the discordance {discordance!r}, which is its upper limit")
    return discordance - difference * difference


def difference_power(
    units: float, difference: float, unit_variance: float, *, strata: int = 1, alpha: float = 0.05
) -> float:
    """Probability that the t test of a paired difference by design is significant."""
    if units <= strata:
        return 0.0
    if unit_variance <= 0:
        return float(difference != 0)
    return student_power(abs(difference) * math.sqrt(units / unit_variance), units - strata, alpha=alpha)


def mcnemar_power(cases: int, difference: float, discordance: float, *, alpha: float = 0.05) -> float:
    """Probability that McNemar's exact test of independent cases is significant, in either direction."""
    import numpy as np

    paired_variance(difference, discordance)
    share = (discordance + abs(difference)) / (2 * discordance)
    counts, weights = _binomial(cases, discordance)
    critical = _critical_counts(counts, alpha)
    rejects = critical >= 0
    n, k = counts[rejects], critical[rejects]
    either = _at_most(k, n, 1 - share) + _at_most(k, n, share)
    return float(np.minimum(either, 1.0) @ weights[rejects])


def _binomial(n: int, p: float) -> tuple[FloatArray, FloatArray]:
    """The counts that a binomial variable takes but for one time in 10^12, and their probabilities."""
    import numpy as np
    from scipy.special import gammaln, xlog1py, xlogy

    middle, spread = n * p, 8 * math.sqrt(n * p * (1 - p)) + 30
    counts = np.arange(max(math.floor(middle - spread), 0), min(math.ceil(middle + spread), n) + 1, dtype=np.float64)
    logs = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1) + xlogy(counts, p) + xlog1py(n - counts, -p)
    return counts, np.exp(logs)


def _critical_counts(discordant: FloatArray, alpha: float) -> FloatArray:
    """The largest smaller count at which the exact test of so many discordant cases is significant; -1 if none is."""
    import numpy as np
    from scipy.special import bdtrik

    start = np.where(discordant > 0, bdtrik(alpha / 2, np.maximum(discordant, 1), 0.5), -1.0)
    k = np.where(np.isnan(start), -1.0, np.floor(start)) + 1
    # The inverse is a real number, and may miss a whole one by rounding.
    for _ in range(3):
        too_large = (k >= 0) & (_at_most(np.maximum(k, 0), discordant, 0.5) > alpha / 2)
        k = np.where(too_large, k - 1, k)
    return np.asarray(k)


def _at_most(k: FloatArray, n: FloatArray, p: float) -> FloatArray:
    """The probability of at most k out of n, by the incomplete beta function."""
    import numpy as np
    from scipy.special import betainc

    below = betainc(np.maximum(n - k, 1), k + 1, 1 - p)
    return np.where(k < n, below, 1.0)


def equivalence_power(
    units: float,
    margin: float,
    difference: float,
    unit_variance: float,
    *,
    strata: int = 1,
    alpha: float = 0.05,
) -> float:
    """Probability that two one-sided t tests at alpha show a difference within the margin (Schuirmann 1987)."""
    import numpy as np
    from scipy.special import gammaincinv, ndtr, stdtrit

    if not margin > 0:
        raise ValueError(f"margin {margin!r}: expected a number above 0")
    if units <= strata:
        return 0.0
    if unit_variance <= 0:
        return float(abs(difference) < margin)
    df, se = units - strata, math.sqrt(unit_variance / units)
    critical = float(stdtrit(df, 1 - alpha))
    share = (np.arange(_NODES) + 0.5) / _NODES
    error = np.sqrt(2 * gammaincinv(df / 2, share) / df)
    upper, lower = (margin - difference) / se - critical * error, -(margin + difference) / se + critical * error
    return float(np.maximum(ndtr(upper) - ndtr(lower), 0.0).mean())


def width_of_rate(units: float, rate: float, sample: PlannedSample, *, confidence: float = 0.95) -> float:
    """The width of a rate's interval by design, as `hate rate` gives it, if the rate is as expected."""
    from harness.stats.limits import share_limits

    if not 0 <= rate <= 1:
        raise ValueError(f"rate {rate!r}: expected a number from 0 to 1")
    if units <= sample.strata:
        return 1.0
    se, (of_cases, of_units) = math.sqrt(sample.unit_variance(rate * (1 - rate)) / units), sample.counted
    limits = share_limits(
        rate,
        se,
        units - sample.strata,
        cases=units * sample.per_unit * of_cases,
        units=units * of_units,
        confidence=confidence,
    )
    return float(limits.high - limits.low)


def smallest_number(suffices: Callable[[int], bool], least: int) -> int | None:
    """The smallest whole number from `least` on that suffices, if larger ones then do too; None if none does."""
    high = max(least, 1)
    if suffices(high):
        return high
    while not suffices(2 * high):
        high *= 2
        if high > MAX_UNITS:
            return None
    low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def variance_interval(variance: float, df: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """How large a variance estimated with so many degrees of freedom may be, by the chi-squared distribution."""
    from scipy.special import chdtri

    if not df > 0:
        return 0.0, math.inf
    tail = (1 - confidence) / 2
    return variance * df / float(chdtri(df, tail)), variance * df / float(chdtri(df, 1 - tail))


def neyman_allocation(weights: FloatArray, deviations: FloatArray, units: int) -> list[int]:
    """Units for each stratum in proportion to its weight times its standard deviation (Neyman 1934), two at least.

    Strata that show no deviation get two.
    """
    import numpy as np

    if units < 2 * weights.size:
        raise ValueError(f"{units} units for {weights.size} strata: expected two for each")
    shares = np.asarray(weights * deviations, dtype=np.float64)
    if not shares.any():
        shares = np.asarray(weights, dtype=np.float64)
    fixed = np.zeros(shares.size, dtype=bool)
    # Those that would get fewer than two get two, and the others share the rest; at most one round for each stratum.
    for _ in range(shares.size):
        rest = units - 2 * int(fixed.sum())
        exact = np.where(fixed, 2.0, rest * shares / max(float(shares[~fixed].sum()), 1e-300))
        short = (exact < 2) & ~fixed
        if not short.any():
            break
        fixed |= short
    whole = np.floor(exact).astype(int)
    for stratum in np.argsort(whole - exact)[: units - int(whole.sum())]:
        whole[stratum] += 1
    return [int(count) for count in whole]


def rule_of_three(rate: float, *, confidence: float = 0.95) -> int:
    """Independent trials without an error that show an error rate below `rate`; about 3 / rate at 95 %."""
    _check_error_rate(rate)
    return math.ceil(math.log(1 - confidence) / math.log1p(-rate))


def rule_of_30(rate: float) -> int:
    """Independent trials in which 30 errors are expected: the rate is then within 30 % of the true one, at 90 %.

    Doddington and others (2000); ISO/IEC 19795-1.
    """
    _check_error_rate(rate)
    return math.ceil(30 / rate)


def _check_error_rate(rate: float) -> None:
    if not 0 < rate < 1:
        raise ValueError(f"error rate {rate!r}: expected a number between 0 and 1")
