"""Two rates from different cases: difference with Newcombe's hybrid score interval, score test, Fisher's exact test.

For algorithms run on the same cases use the paired tests, which are sharper: there the cases' difficulty cancels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.rates import Interval, wilson

__all__ = ["Unpaired", "fisher_exact", "unpaired"]

# Probabilities that are equal in exact arithmetic differ in the last digits; R takes the same tolerance.
_TIE = 1 + 1e-7


@dataclass(frozen=True, slots=True)
class Unpaired:
    """Rate of A minus rate of B, with a score z (pooled variance, no continuity correction) and p-values.

    `p_fisher` is exact for independent cases only; it does not know of design effects.
    """

    difference: float
    interval: Interval
    z: float
    p_z: float
    p_fisher: float


def unpaired(
    a: tuple[int, int],
    b: tuple[int, int],
    *,
    confidence: float = 0.95,
    design_effects: tuple[float, float] = (1.0, 1.0),
) -> Unpaired:
    """Compare (successes, cases) of A with those of B."""
    from scipy.special import ndtr

    z = _score_z(a, b, design_effects)
    interval = _hybrid_score(a, b, confidence, design_effects)
    return Unpaired(_rate(a) - _rate(b), interval, z, float(2 * ndtr(-abs(z))), fisher_exact(a, b))


def fisher_exact(a: tuple[int, int], b: tuple[int, int]) -> float:
    """Fisher's exact two-sided p: all tables with the same margins that are at most as likely as the one seen."""
    (x, n), (y, k) = _check(a), _check(b)
    first, last = max(0, x + y - k), min(n, x + y)
    likelihood = _relative_likelihood(first, last, n, k, x + y)
    seen = likelihood[x - first]
    return min(1.0, float(likelihood[likelihood <= seen * _TIE].sum() / likelihood.sum()))


def _relative_likelihood(first: int, last: int, n: int, k: int, total: int) -> npt.NDArray[np.float64]:
    """Hypergeometric probabilities of first..last successes among n, up to a factor: running products in logarithms.

    From one table to the next the ratio is a quotient of small numbers, so no factorial is needed and no digit lost.
    """
    at = np.arange(first, last, dtype=np.float64)
    steps = np.log((n - at) * (total - at)) - np.log((at + 1) * (k - total + at + 1))
    logarithm = np.concatenate(([0.0], np.cumsum(steps)))
    likelihood: npt.NDArray[np.float64] = np.exp(logarithm - logarithm.max())
    return likelihood


def _hybrid_score(
    a: tuple[int, int], b: tuple[int, int], confidence: float, design_effects: tuple[float, float]
) -> Interval:
    """Newcombe's method 10 for independent samples (1998): Wilson's limits, squared and added."""
    limits_a, limits_b = (
        wilson(*counts, confidence=confidence, design_effect=deff)
        for counts, deff in zip((a, b), design_effects, strict=True)
    )
    if a[1] == 0 or b[1] == 0:
        return Interval(-1.0, 1.0)
    rate_a, rate_b = _rate(a), _rate(b)
    down = math.hypot(rate_a - limits_a.low, limits_b.high - rate_b)
    up = math.hypot(limits_a.high - rate_a, rate_b - limits_b.low)
    return Interval(max(-1.0, rate_a - rate_b - down), min(1.0, rate_a - rate_b + up))


def _score_z(a: tuple[int, int], b: tuple[int, int], design_effects: tuple[float, float]) -> float:
    (x, n), (y, k) = _check(a), _check(b)
    if n == 0 or k == 0:
        return 0.0
    pooled = (x + y) / (n + k)
    variance = pooled * (1 - pooled) * (design_effects[0] / n + design_effects[1] / k)
    return (x / n - y / k) / math.sqrt(variance) if variance > 0 else 0.0


def _rate(counts: tuple[int, int]) -> float:
    return counts[0] / counts[1] if counts[1] else math.nan


def _check(counts: tuple[int, int]) -> tuple[int, int]:
    successes, cases = counts
    if int(successes) != successes or int(cases) != cases or not 0 <= successes <= cases:
        raise ValueError(f"{successes!r} successes of {cases!r} cases: expected whole numbers, at most all cases")
    return int(successes), int(cases)
