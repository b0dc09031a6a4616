"""Sign-flip tests: could the units' differences just as well have had the opposite sign?

If two algorithms are equally good, a unit's difference is as likely to favour one as the other. So every choice of
signs is as likely as the one that was seen, however the cases within a unit depend on each other. The test counts the
choices whose sum is as far from 0: it is exact. With few units no p-value is small: five units that all agree have
p = 1/16, and never less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray, IntArray

__all__ = ["BestOf", "FlipMethod", "SignFlip", "best_of", "sign_flip"]


# Units whose sign flips are all looked at, half of them at a time.
_ENUMERATED = 24
# Beyond so many steps of the lattice, or additions of cells, an exact answer would take too long.
_CELLS = 1_000_000
_ADDITIONS = 200_000_000
# Sums that differ by less, relative to the largest, differ by rounding: they are ties.
_ROUNDING = 1e-9
FLIPS = 2000
# Flips and candidates are multiplied in pieces of about this many numbers.
_PIECE = 1 << 22


class FlipMethod(StrEnum):
    """How the sums over all sign flips were counted; each way is exact."""

    ENUMERATION = "enumeration"
    CONVOLUTION = "convolution"


@dataclass(frozen=True, slots=True)
class SignFlip:
    """Two-sided p-value of the sign-flip test, and how many units have a difference at all."""

    p_value: float
    units: int
    method: FlipMethod


def sign_flip(unit_sums: npt.ArrayLike) -> SignFlip | None:
    """Test the sum of the units' differences against all its sign flips; units without a difference do not matter.

    All flips are enumerated for up to 24 units. For more, sums that are whole multiples of one step (differences of
    counts of cases) are convolved. None where neither is possible.
    """
    sums = _check(unit_sums)
    if sums.size <= _ENUMERATED:
        return SignFlip(_by_enumeration(sums), sums.size, FlipMethod.ENUMERATION)
    p_value = _by_convolution(sums)
    return None if p_value is None else SignFlip(p_value, sums.size, FlipMethod.CONVOLUTION)


def _by_enumeration(sums: FloatArray) -> float:
    """Count the pairs of a flip of the first half and one of the second whose sum is far enough below 0."""
    seen, rounding = abs(float(sums.sum())), _ROUNDING * float(np.abs(sums).sum())
    if seen <= rounding:
        return 1.0
    first, second = _flips(sums[::2]), np.sort(_flips(sums[1::2]))
    below = int(np.searchsorted(second, rounding - seen - first, side="right").sum())
    return math.ldexp(2 * below, -sums.size)


def _flips(sums: FloatArray) -> FloatArray:
    """The sums under all 2^n choices of signs."""
    flipped = np.zeros(1)
    for value in sums:
        flipped = np.concatenate((flipped - value, flipped + value))
    return flipped


def _by_convolution(sums: FloatArray) -> float | None:
    """P(2 B <= S - |T|), twice, with B the sum of the sizes that a coin takes and S the sum of all of them."""
    sizes = _lattice(np.abs(sums))
    if sizes is None:
        return None
    total, seen = int(sizes.sum()), abs(int((np.sign(sums).astype(np.int64) * sizes).sum()))
    values, counts = np.unique(sizes, return_counts=True)
    cells, common = (total - seen) // 2 + 1, int(np.argmax(counts))
    if total > _CELLS or (sizes.size - counts[common]) * cells > _ADDITIONS:
        return None
    chances = _binomial(int(values[common]), int(counts[common]), cells)
    for size in np.repeat(np.delete(values, common), np.delete(counts, common)):
        chances = _with_coin(chances, int(size))
    return min(2 * float(chances.sum()), 1.0)


def _binomial(size: int, count: int, cells: int) -> FloatArray:
    """Chances of the sums 0, 1, ... of `count` units of one size, each taken by a coin."""
    from scipy.special import gammaln

    taken = np.arange(min(count, (cells - 1) // size) + 1)
    log_ways = gammaln(count + 1) - gammaln(taken + 1) - gammaln(count - taken + 1)
    chances = np.zeros(cells)
    chances[taken * size] = np.exp(log_ways - count * math.log(2))
    return chances


def _with_coin(chances: FloatArray, size: int) -> FloatArray:
    half = chances / 2
    added = half.copy()
    added[size:] += half[: max(half.size - size, 0)]
    return added


def _lattice(sizes: FloatArray) -> IntArray | None:
    """The sizes in steps of their greatest common divisor, None where there is no such step or too many of it."""
    largest = float(sizes.max())
    step, smallest = largest, _ROUNDING * largest
    for size in np.unique(sizes):
        step = _common(step, float(size), smallest)
    if largest / step > _CELLS:
        return None
    steps = np.rint(sizes / step)
    # Rounding errors of the divisor grow with the number of steps: what is meant is the step that fits best.
    step = float(sizes @ steps / (steps @ steps))
    return steps.astype(np.int64) if (np.abs(sizes - steps * step) <= smallest).all() else None


def _common(a: float, b: float, smallest: float) -> float:
    """Euclid's algorithm on numbers that have rounding errors."""
    while b > smallest:
        a, b = b, abs(math.remainder(a, b))
    return a


def _check(unit_sums: npt.ArrayLike) -> FloatArray:
    sums = np.asarray(unit_sums, dtype=np.float64)
    if sums.ndim != 1:
        raise ValueError(f"unit sums have shape {sums.shape}: expected one for each unit")
    if not np.isfinite(sums).all():
        raise ValueError("a unit's sum is not a finite number: leave such units out first")
    # What is left of sums that cancel is rounding, not a difference.
    return np.asarray(sums[np.abs(sums) > _ROUNDING * np.abs(sums).max(initial=0.0)])


@dataclass(frozen=True, slots=True)
class BestOf:
    """`p_value`: how often the best of these candidates would lead as clearly if none were better than the standard."""

    best: int
    t: float
    p_value: float
    candidates: int
    flips: int


def best_of(leads: npt.ArrayLike, *, rng: np.random.Generator, flips: int = FLIPS, best: int | None = None) -> BestOf:
    """A one-sided randomisation test over candidates (units, m): what each unit adds to each one's lead.

    If a candidate is no better than the standard, the sign of a unit's lead is a coin toss; it is tossed for all
    candidates at once, which keeps their dependence. The largest t of the candidates (sum over root of the sum of
    squares, which no toss changes) is compared with the largest of every toss: Westfall and Young (1993), single step.
    `best` names the candidate to be judged, where that is not the one with the largest t.
    """
    d = _checked(leads)
    scale = np.sqrt((d**2).sum(axis=0))
    scaled = np.divide(d, scale, out=np.zeros_like(d), where=scale > 0)
    t = scaled.sum(axis=0)
    chosen = int(t.argmax()) if best is None else best
    beaten = 0
    step = max(1, _PIECE // max(d.shape))
    for start in range(0, flips, step):
        signs = rng.choice(np.array([-1.0, 1.0]), size=(min(step, flips - start), len(d)))
        # The hair is rounding: a toss that gives the very same t must count.
        beaten += int(((signs @ scaled).max(axis=1) >= t[chosen] - 1e-9).sum())
    return BestOf(chosen, float(t[chosen]), (beaten + 1) / (flips + 1), d.shape[1], flips)


def _checked(leads: npt.ArrayLike) -> FloatArray:
    d = np.asarray(leads, dtype=np.float64)
    if d.ndim != 2 or not d.size:
        raise ValueError(f"leads have shape {d.shape}: expected units x candidates, one of each at least")
    if not np.isfinite(d).all():
        raise ValueError("leads must be finite numbers")
    return d
