"""Sign-flip tests: could the units' differences just as well have had the opposite sign?

If two algorithms are equally good, a unit's difference is as likely to favour one as the other. So every choice of
signs is as likely as the observed one, however the cases within a unit depend on each other. The test counts the
choices whose sum is at least as far from 0: it is exact. With few units no p-value is small: five units that all agree
have p = 1/16.

A number that is no sum, such as a ratio of totals, is tested in the same way: the two algorithms change places in some
of the units. That is Fisher's randomisation test, for such numbers Noreen (1989) and Yeh (2000).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray, IntArray

__all__ = ["BestOf", "FlipMethod", "SignFlip", "best_of", "exchange_test", "sign_flip"]


# Up to this many units all sign flips are enumerated, half of the units at a time.
_ENUMERATED = 24
# With more lattice steps, or more additions of cells, an exact answer would take too long.
_CELLS = 1_000_000
_ADDITIONS = 200_000_000
# Sums that differ by less than this, relative to the largest, differ only by rounding: they are ties.
_ROUNDING = 1e-9
# Two totals of a unit that differ by less than this, relative to them, are the same.
_SAME = 1e-12
FLIPS = 2000
# What an exchange test draws, unless all exchanges are fewer.
EXCHANGES = 9_999
# Flips and candidates are multiplied in pieces of about this many numbers.
_PIECE = 1 << 22
# With more powers of two than this, adding numbers takes no longer than counting bits.
_MAX_PLANES = 24


class FlipMethod(StrEnum):
    """How flips were counted: all of them, in one of two ways, or a random part."""

    ENUMERATION = "enumeration"
    CONVOLUTION = "convolution"
    MONTE_CARLO = "monte carlo"


@dataclass(frozen=True, slots=True)
class SignFlip:
    """Two-sided p-value of the sign-flip test, and the number of units with a difference.

    `flips`: how many were drawn at random; None if all were counted.
    """

    p_value: float
    units: int
    method: FlipMethod
    flips: int | None = None


def sign_flip(unit_sums: npt.ArrayLike) -> SignFlip | None:
    """Test the sum of the units' differences against all its sign flips; units without a difference do not matter.

    All flips are enumerated for up to 24 units. For more, sums that are whole multiples of one step (differences of
    counts of cases) are convolved. None if neither is possible.
    """
    sums = np.asarray(unit_sums, dtype=np.float64)
    if sums.ndim != 1:
        raise ValueError(f"unit sums have shape {sums.shape}: expected one for each unit")
    if not np.isfinite(sums).all():
        raise ValueError("a unit's sum is not a finite number: leave such units out first")
    # What remains of sums that cancel is rounding, not a difference.
    sums = sums[np.abs(sums) > _ROUNDING * np.abs(sums).max(initial=0.0)]
    if sums.size <= _ENUMERATED:
        return SignFlip(_by_enumeration(sums), sums.size, FlipMethod.ENUMERATION)
    p_value = _by_convolution(sums)
    return None if p_value is None else SignFlip(p_value, sums.size, FlipMethod.CONVOLUTION)


def exchange_test(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    value: Callable[[FloatArray], FloatArray],
    *,
    rng: np.random.Generator,
    flips: int = EXCHANGES,
) -> SignFlip:
    """Test the difference of a number of two algorithms by letting them change places within units.

    `first` and `second` (units, c) are the units' totals of both, `value` makes the number of totals (..., c). All
    exchanges are counted if `flips` is enough for that; else so many are drawn, and the observed one is counted among
    them, so that p is never 0 (Phipson and Smyth 2010). An exchange without a value counts as far from 0.
    """
    a, b = (np.asarray(part, dtype=np.float64) for part in (first, second))
    if a.ndim != 2 or a.shape != b.shape:
        raise ValueError(f"totals have shapes {a.shape} and {b.shape}: expected units x columns, the same for both")
    both = (a + b).sum(axis=0)
    # What remains of equal totals that were added in another order is rounding: such a unit has no part in the draws.
    moved = np.where(np.abs(a - b) > _SAME * (np.abs(a) + np.abs(b)), a - b, 0.0)
    moved = moved[(moved != 0).any(axis=1)]
    whole, units = moved.sum(axis=0), len(moved)

    def gaps(sums: FloatArray) -> FloatArray:
        return np.abs(value((both + sums) / 2) - value((both - sums) / 2))

    sides = [float(value(totals)) for totals in ((both + whole) / 2, (both - whole) / 2)]
    least = abs(sides[0] - sides[1]) - _ROUNDING * max(map(abs, sides))
    exact = units < flips.bit_length()
    if exact:
        # Every subset of the units.
        picked = iter([(np.arange(1 << units)[:, None] >> np.arange(units) & 1) @ moved])
    else:
        picked = _random_sums(moved, flips, rng)
    # NaN is far, too.
    far = sum(int((~(gaps(2 * sums - whole) < least)).sum()) for sums in picked)
    if exact:
        return SignFlip(math.ldexp(far, -units), units, FlipMethod.ENUMERATION)
    return SignFlip((far + 1) / (flips + 1), units, FlipMethod.MONTE_CARLO, flips)


def _random_sums(moved: FloatArray, count: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """The sums (k, c) over random subsets of the units, some at a time."""
    units = len(moved)
    step = max(1, _PIECE // units)
    by_bits = _BitSums.of(moved)
    for start in range(0, count, step):
        picks = min(step, count - start)
        random_bytes = np.frombuffer(rng.bytes(-(-picks * units // 8)), np.uint8)
        if by_bits is not None:
            yield by_bits.sums(random_bytes, picks)
        else:
            bits = np.unpackbits(random_bytes, count=picks * units).reshape(picks, units)
            yield bits.astype(np.float64) @ moved


@dataclass(frozen=True, eq=False)
class _BitSums:
    """Sums of small whole numbers over subsets that are given as bits: bits are counted, 64 at a time.

    A number above the least one of its column is a sum of powers of two. `planes` (p, units) are the units that have a
    power, and `scale` (p, c) is what each of them adds; the first plane is all units, and adds the least numbers.
    """

    planes: npt.NDArray[np.bool_]
    scale: FloatArray

    @classmethod
    def of(cls, moved: FloatArray) -> _BitSums | None:
        """None if the numbers are not whole, or too large for this to be worth while."""
        least = moved.min(axis=0)
        above = moved - least
        widths = [int(most).bit_length() for most in above.max(axis=0).tolist() if most < 1 << _MAX_PLANES]
        if not hasattr(np, "bitwise_count") or len(widths) < moved.shape[1] or sum(widths) > _MAX_PLANES:
            return None
        if not np.array_equal(moved, np.rint(moved)):
            return None
        planes, scale = [np.ones(len(moved), dtype=np.bool_)], [least]
        for column, width in enumerate(widths):
            for bit in range(width):
                planes.append((above[:, column].astype(np.int64) >> bit & 1).astype(np.bool_))
                scale.append(np.where(np.arange(moved.shape[1]) == column, float(1 << bit), 0.0))
        return cls(np.array(planes), np.array(scale))

    def sums(self, random_bytes: npt.NDArray[np.uint8], picks: int) -> FloatArray:
        """The sums (picks, c) over subsets whose bits follow one another."""
        units = self.planes.shape[1]
        counts = np.empty((picks, len(self.planes)))
        for pick in range(picks):
            first, shift = divmod(pick * units, 8)
            masks = self._masks[shift]
            bits = np.zeros(masks.shape[1] * 8, dtype=np.uint8)
            subset = random_bytes[first : first + -(-(shift + units) // 8)]
            bits[: subset.size] = subset
            counts[pick] = np.bitwise_count(masks & bits.view(np.uint64)).sum(axis=1)
        return counts @ self.scale

    @cached_property
    def _masks(self) -> list[npt.NDArray[np.uint64]]:
        """The planes as bits (p, words), for subsets that begin at each of the eight bits of a byte."""
        words = -(-(self.planes.shape[1] + 7) // 64)
        masks = np.zeros((8, len(self.planes), words * 8), dtype=np.uint8)
        for shift in range(8):
            packed = np.packbits(np.pad(self.planes, ((0, 0), (shift, 0))), axis=1)
            masks[shift, :, : packed.shape[1]] = packed
        return list(masks.view(np.uint64))


def _by_enumeration(sums: FloatArray) -> float:
    """Count the pairs of a flip of the first half and one of the second whose sum is far enough below 0."""
    observed, rounding = abs(float(sums.sum())), _ROUNDING * float(np.abs(sums).sum())
    if observed <= rounding:
        return 1.0
    first, second = _flips(sums[::2]), np.sort(_flips(sums[1::2]))
    below = int(np.searchsorted(second, rounding - observed - first, side="right").sum())
    return math.ldexp(2 * below, -sums.size)


def _flips(sums: FloatArray) -> FloatArray:
    """The sums under all 2^n choices of signs."""
    flipped = np.zeros(1)
    for value in sums:
        flipped = np.concatenate((flipped - value, flipped + value))
    return flipped


def _by_convolution(sums: FloatArray) -> float | None:
    """2 P(2 B <= S - |T|), with B the sum of the sizes picked by coin tosses and S the sum of all sizes."""
    sizes = _lattice(np.abs(sums))
    if sizes is None:
        return None
    total, observed = int(sizes.sum()), abs(int((np.sign(sums).astype(np.int64) * sizes).sum()))
    values, counts = np.unique(sizes, return_counts=True)
    cells, common = (total - observed) // 2 + 1, int(np.argmax(counts))
    if total > _CELLS or (sizes.size - counts[common]) * cells > _ADDITIONS:
        return None
    probabilities = _binomial(int(values[common]), int(counts[common]), cells)
    for size in np.repeat(np.delete(values, common), np.delete(counts, common)):
        half = probabilities / 2
        probabilities = half.copy()
        probabilities[size:] += half[: max(half.size - size, 0)]
    return min(2 * float(probabilities.sum()), 1.0)


def _binomial(size: int, count: int, cells: int) -> FloatArray:
    """Probabilities of the sums 0, 1, ... of `count` units of one size, each picked by a coin toss."""
    from scipy.special import gammaln

    picked = np.arange(min(count, (cells - 1) // size) + 1)
    log_ways = gammaln(count + 1) - gammaln(picked + 1) - gammaln(count - picked + 1)
    probabilities = np.zeros(cells)
    probabilities[picked * size] = np.exp(log_ways - count * math.log(2))
    return probabilities


def _lattice(sizes: FloatArray) -> IntArray | None:
    """The sizes in steps of their greatest common divisor; None if there is none or there are too many steps."""
    largest = float(sizes.max())
    step, smallest = largest, _ROUNDING * largest
    for size in np.unique(sizes):
        # Euclid's algorithm on numbers with rounding errors.
        rest = float(size)
        while rest > smallest:
            step, rest = rest, abs(math.remainder(step, rest))
        if largest / step > _CELLS:
            return None
    steps = np.rint(sizes / step)
    # Rounding errors of the divisor grow with the number of steps: take the step that fits best.
    step = float(sizes @ steps / (steps @ steps))
    return steps.astype(np.int64) if (np.abs(sizes - steps * step) <= smallest).all() else None


@dataclass(frozen=True, slots=True)
class BestOf:
    """`p_value`: how often the best candidate would lead as clearly if none were better than the standard."""

    best: int
    t: float
    p_value: float
    candidates: int
    flips: int


def best_of(leads: npt.ArrayLike, *, rng: np.random.Generator, flips: int = FLIPS, best: int | None = None) -> BestOf:
    """A one-sided randomisation test of the best of m candidates; `leads` (units, m) is each unit's share of each lead.

    If a candidate is no better than the standard, the sign of a unit's lead is a coin toss. One toss is used for all
    candidates, which keeps their dependence. The largest t of the candidates (sum over root of the sum of squares,
    which no toss changes) is compared with the largest of every toss: Westfall and Young (1993), single step. `best`
    is the candidate to test, if not the one with the largest t.
    """
    d = np.asarray(leads, dtype=np.float64)
    if d.ndim != 2 or not d.size:
        raise ValueError(f"leads have shape {d.shape}: expected units x candidates, at least one of each")
    if not np.isfinite(d).all():
        raise ValueError("leads must be finite numbers")
    scale = np.sqrt((d**2).sum(axis=0))
    scaled = np.divide(d, scale, out=np.zeros_like(d), where=scale > 0)
    t = scaled.sum(axis=0)
    chosen = int(t.argmax()) if best is None else best
    exceeded = 0
    step = max(1, _PIECE // max(d.shape))
    for start in range(0, flips, step):
        signs = rng.choice(np.array([-1.0, 1.0]), size=(min(step, flips - start), len(d)))
        # The tolerance is for rounding: a toss with exactly the same t must count.
        exceeded += int(((signs @ scaled).max(axis=1) >= t[chosen] - 1e-9).sum())
    return BestOf(chosen, float(t[chosen]), (exceeded + 1) / (flips + 1), d.shape[1], flips)
