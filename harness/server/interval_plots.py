"""Intervals as bars on a common axis, which one bad entry does not squeeze."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from harness.report.chart import round_ticks

WIDTH = 200.0
MARGIN = 6.0
# The axis is at most so many times as long as the distance from the best limit to the median of the lower ones.
MAX_AXIS = 4.0
MAX_TICKS = 5


@dataclass(frozen=True)
class IntervalPlot:
    """A bar on a line of 200 units; `cut` if it lies below the axis, in part or as a whole."""

    low: str
    value: str | None
    high: str | None
    cut: bool


@dataclass(frozen=True)
class Tick:
    """A mark on the axis."""

    place: str
    text: str


@dataclass(frozen=True)
class IntervalAxis:
    """Values between two ends on a line of 200 units."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Where a value is; outside of the line if it is beyond the ends."""
        return MARGIN + (value - self.low) / ((self.high - self.low) or 1.0) * (WIDTH - 2 * MARGIN)

    def plot(self, low: float, value: float, high: float) -> IntervalPlot:
        """The bar of an interval."""
        shown = [f"{self.place(one):.1f}" if one >= self.low else None for one in (low, value, high)]
        return IntervalPlot(shown[0] or f"{MARGIN / 2:.1f}", shown[1], shown[2], cut=low < self.low)

    @property
    def ticks(self) -> list[Tick]:
        """Round values, as on the scales of reports."""
        return [Tick(f"{self.place(tick):.1f}", f"{tick:g}") for tick in round_ticks(self.low, self.high, MAX_TICKS)]


def interval_axis(intervals: Sequence[tuple[float, float]]) -> IntervalAxis:
    """An axis for these intervals, from the best down; what lies far below the others is cut off."""
    lows, high = [low for low, _ in intervals], max(high for _, high in intervals)
    length = max(high - median(lows), 1e-9)
    return IntervalAxis(max(min(lows), high - MAX_AXIS * length), high)
