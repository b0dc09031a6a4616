"""Confidence sequences: intervals that hold at every moment, so that one may look, and stop, whenever one likes.

The mean of bounded values, one after the other, by betting (Waudby-Smith and Ramdas 2024). Against every possible mean
m a gambler bets that the next value will be above, and another that it will be below. If m is the true mean, neither
can expect to win, and their wealth exceeds 1 / alpha with probability at most alpha, ever (Ville's inequality). The
means against which nobody has become that rich are the interval.

The values are of units drawn without replacement from a list of N, in random order. What is left in the list is then
known for every m, so bets are fair for (N m - sum so far) / (N - number so far). The interval is for the whole list,
and shrinks to a point when all has been seen. Without N, the values are of an endless supply of new units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.stats.arrays import FloatArray
from harness.stats.rates import Interval

__all__ = ["BettingSequence", "SequenceLimits", "UnitSequence"]

# Means that are tried; the limits are widened by one step on either side.
_GRID = 2000
# Bets are at most this share of what would risk all.
_BOLDNESS = 0.5


@dataclass(frozen=True, slots=True)
class SequenceLimits:
    """The interval after each value, and never wider than before."""

    low: FloatArray
    high: FloatArray

    @staticmethod
    def of(sequence: BettingSequence | UnitSequence, values: FloatArray) -> SequenceLimits:
        """The intervals of a sequence that has seen nothing yet, after each of the values."""
        intervals = [sequence.add(float(value)) for value in values]
        return SequenceLimits(
            np.array([interval.low for interval in intervals]), np.array([interval.high for interval in intervals])
        )

    def at(self, seen: int) -> Interval:
        """The interval after so many values."""
        return Interval(float(self.low[seen - 1]), float(self.high[seen - 1]))


class BettingSequence:
    """The interval of a mean while values between 0 and 1 come in; `population` is the number of units in the list."""

    def __init__(self, *, confidence: float = 0.95, population: int | None = None) -> None:
        if not 0 < confidence < 1:
            raise ValueError(f"confidence {confidence!r}: expected a number between 0 and 1")
        if population is not None and population < 1:
            raise ValueError(f"population {population!r}: expected 1 or more")
        self._alpha = 1 - confidence
        self._population = population
        self._means = np.linspace(0.0, 1.0, _GRID + 1)
        # Logarithms of the wealth of those who bet on more and on less.
        self._more = np.zeros(_GRID + 1)
        self._less = np.zeros(_GRID + 1)
        self._seen = 0
        self._sum = 0.0
        # A quarter and a half: what is assumed of variance and mean before the first value.
        self._spread, self._centre = 0.25, 0.5
        self._low, self._high = 0.0, 1.0

    @property
    def interval(self) -> Interval:
        """What is known by now."""
        return Interval(self._low, self._high)

    @property
    def seen(self) -> int:
        """How many values came in."""
        return self._seen

    def add(self, value: float) -> Interval:
        """The interval with one more value."""
        if not 0 <= value <= 1:
            raise ValueError(f"value {value!r}: expected a number from 0 to 1")
        if self._population is not None and self._seen >= self._population:
            raise ValueError(f"all {self._population} units have been seen")
        # The mean of what is left, for every mean of the whole list.
        fair = self._means
        if self._population is not None:
            fair = (self._population * fair - self._sum) / (self._population - self._seen)
            # A mean that the sum so far just allows may miss it by a rounding error.
            fair = np.where(np.abs(fair) < 1e-12, 0.0, np.where(np.abs(fair - 1) < 1e-12, 1.0, fair))
        # The predictable plug-in bet of the paper, from what was seen before this value.
        t = self._seen + 1
        bet = math.sqrt(2 * math.log(2 / self._alpha) / (self._spread * t * math.log(t + 1)))
        with np.errstate(divide="ignore"):
            up, down = np.minimum(bet, _BOLDNESS / fair), np.minimum(bet, _BOLDNESS / (1 - fair))
        possible = (fair >= 0) & (fair <= 1)
        gain = value - fair
        self._more = np.where(possible, self._more + np.log1p(np.where(possible, up * gain, 0.0)), np.inf)
        self._less = np.where(possible, self._less + np.log1p(np.where(possible, -down * gain, 0.0)), np.inf)
        self._seen, self._sum = t, self._sum + value
        self._centre = (0.5 + self._sum) / (t + 1)
        # A running mean of squared distances, begun with a quarter.
        self._spread += ((value - self._centre) ** 2 - self._spread) / (t + 1)
        self._narrow()
        return self.interval

    def _narrow(self) -> None:
        # The wealth of somebody who gives half to each gambler.
        wealth = np.logaddexp(self._more, self._less) - math.log(2)
        kept = np.flatnonzero(wealth < math.log(1 / self._alpha))
        low, high = self._low, self._high
        if kept.size:
            # One step of the grid more on either side: what lies between two means was not tried.
            low, high = float(self._means[max(kept[0] - 1, 0)]), float(self._means[min(kept[-1] + 1, _GRID)])
        if self._population is not None:
            left = self._population - self._seen
            low, high = max(low, self._sum / self._population), min(high, (self._sum + left) / self._population)
        self._low, self._high = max(self._low, min(low, self._high)), min(self._high, max(high, self._low))


class UnitSequence:
    """The interval of a rate, or of a difference of two, over a list of units whose sizes are known.

    A unit adds its successes (or its difference of successes) to the total over all cases. Large units can add more
    than others, so what is added is taken relative to the largest.
    """

    def __init__(self, units: int, cases: int, largest: int, *, confidence: float = 0.95, paired: bool = False) -> None:
        self._paired = paired
        self._largest = largest
        # The largest rate that units of this size could have; above 1 if they differ in size.
        self._scale = largest * units / cases
        self._betting = BettingSequence(confidence=confidence, population=units)

    def add(self, successes: float) -> Interval:
        """The interval with one more unit: its successes, or those of A minus those of B."""
        share = successes / self._largest
        self._betting.add((share + 1) / 2 if self._paired else share)
        return self.interval

    @property
    def interval(self) -> Interval:
        """What is known by now of the whole list."""
        betting, scale = self._betting.interval, self._scale
        if self._paired:
            return Interval(max((2 * betting.low - 1) * scale, -1.0), min((2 * betting.high - 1) * scale, 1.0))
        return Interval(betting.low * scale, min(betting.high * scale, 1.0))
