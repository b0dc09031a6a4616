"""How many cases it takes to see a difference between two algorithms on the same cases, and what could be seen.

For McNemar's test (Connor 1987): with psi the share of discordant cases and d the difference of rates,
n = (z_a sqrt(psi) + z_b sqrt(psi - d^2))^2 / d^2, times the design effect. A difference cannot be larger than the
discordance, so |d| <= psi throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.stats.rates import normal_quantile

__all__ = ["Plan", "cases_needed", "detectable_difference", "independent_discordance", "paired_power"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a test is to be: two-sided at `alpha`, or one-sided, with this power and this design effect."""

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
        """What the test statistic has to pass."""
        return normal_quantile(1 - self.alpha if self.two_sided else 1 - 2 * self.alpha)

    @property
    def z_power(self) -> float:
        """How far beyond it the statistic has to lie on average; below 0 for a power under one half."""
        return math.copysign(normal_quantile(abs(2 * self.power - 1)), self.power - 0.5) if self.power != 0.5 else 0.0


_USUAL = Plan()


def cases_needed(difference: float, discordance: float, *, plan: Plan = _USUAL) -> int:
    """Number of cases with which a difference of rates is found with the plan's power."""
    d, psi = _check(difference, discordance)
    if d == 0:
        raise ValueError("no number of cases shows a difference of 0: ask for equivalence within a margin instead")
    root = plan.z_alpha * math.sqrt(psi) + plan.z_power * math.sqrt(psi - d * d)
    return math.ceil(plan.design_effect * max(root, 0.0) ** 2 / (d * d))


def paired_power(n: float, difference: float, discordance: float, *, plan: Plan = _USUAL) -> float:
    """Probability that n cases show the difference, to the side where it is (`plan.power` plays no part)."""
    d, psi = _check(difference, discordance)
    _check_cases(n)
    gap = math.sqrt(n / plan.design_effect) * d - plan.z_alpha * math.sqrt(psi)
    spread = math.sqrt(psi - d * d)
    if spread == 0:
        return float(gap >= 0 and d > 0)
    return math.erfc(-gap / spread / math.sqrt(2)) / 2


def detectable_difference(n: float, discordance: float, *, plan: Plan = _USUAL) -> float:
    """The smallest difference that n cases show with the plan's power, at this discordance.

    Where that would exceed the discordance, which no difference can, it is the smallest difference at all: every
    discordant case won by one side, and as many of them as that takes. Infinite when not even that is enough.
    """
    _check(0.0, discordance)
    _check_cases(n)
    size = n / plan.design_effect
    d = _difference_at(size, discordance, plan)
    return d if d <= discordance else _difference_of_a_sweep(size, plan)


def independent_discordance(rate_a: float, rate_b: float) -> float:
    """Discordance of two algorithms whose successes have nothing to do with each other; real ones mostly have less."""
    for rate in (rate_a, rate_b):
        if not 0 <= rate <= 1:
            raise ValueError(f"rate {rate!r} is not between 0 and 1")
    return rate_a * (1 - rate_b) + rate_b * (1 - rate_a)


def _difference_at(size: float, psi: float, plan: Plan) -> float:
    """The formula solved for d: a root of (size + z_b^2) d^2 - 2 sqrt(size psi) z_a d + (z_a^2 - z_b^2) psi.

    The sign of z_b picks the root: the larger for a power above one half.
    """
    z_a, z_b = plan.z_alpha, plan.z_power
    inside = size + z_b**2 - z_a**2
    if inside < 0:
        return math.inf
    return math.sqrt(psi) * (z_a * math.sqrt(size) + z_b * math.sqrt(inside)) / (size + z_b**2)


def _difference_of_a_sweep(size: float, plan: Plan) -> float:
    """The formula with psi = d: size d = (z_a + z_b sqrt(1 - d))^2, found by halving."""
    left, right = 0.0, 1.0
    if size < plan.z_alpha**2:
        return math.inf
    for _ in range(60):
        d = (left + right) / 2
        short = size * d < (plan.z_alpha + plan.z_power * math.sqrt(1 - d)) ** 2
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
