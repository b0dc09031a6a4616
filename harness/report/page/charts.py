"""Charts as data: bars with intervals beside the rows of a table, and lines with bands. `svg.py` draws them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.report.blocks import Table
from harness.stats.estimate import Estimate
from harness.stats.rates import Interval


@dataclass(frozen=True)
class Bar:
    """A value with its limits; both are the value if there is no interval."""

    value: float
    low: float
    high: float

    @staticmethod
    def of(value: float | None, interval: Interval | None) -> "Bar | None":
        """None if there is no value to draw."""
        if value is None or not math.isfinite(value):
            return None
        if interval is None or not (math.isfinite(interval.low) and math.isfinite(interval.high)):
            return Bar(value, value, value)
        return Bar(value, interval.low, interval.high)

    @staticmethod
    def of_estimate(estimate: Estimate | None) -> "Bar | None":
        """An estimate as a bar."""
        return None if estimate is None else Bar.of(estimate.value, estimate.interval)


@dataclass(frozen=True)
class BarColumn:
    """A bar for each row of a table, or several, one for each of the `names`."""

    title: str
    rows: Sequence[Sequence[Bar | None]]
    names: Sequence[str] = ("",)
    # Where the scale must reach, and where a line stands across all rows.
    bounds: tuple[float, float] | None = None
    zero: float | None = None

    @property
    def limits(self) -> tuple[float, float]:
        """The scale that all bars fit on."""
        bars = [bar for row in self.rows for bar in row if bar is not None]
        ends = [end for bar in bars for end in (bar.low, bar.high)]
        ends += [] if self.zero is None else [self.zero]
        return self.bounds or _widened(ends)


@dataclass(frozen=True)
class ChartAxis:
    """An axis of a chart."""

    label: str
    low: float
    high: float
    # Places that are marked, with their labels; round numbers by default.
    ticks: Sequence[tuple[float, str]] = ()

    @staticmethod
    def over(label: str, values: Iterable[float]) -> "ChartAxis":
        """A scale that all values fit on."""
        return ChartAxis(label, *_widened([value for value in values if math.isfinite(value)]))


@dataclass(frozen=True)
class Trace:
    """A line of a chart, with its band, if `low` and `high` have values, or with error bars where it has marks."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    # Where the band is, if not at `x`.
    band: Sequence[float] = ()
    line: bool = True
    marks: bool = False
    # Small and pale, for many single points.
    faint: bool = False


@dataclass(frozen=True)
class LineChart:
    """Lines over a scale; `description` says in words what can be seen, `data` is what can be downloaded."""

    caption: str
    description: str
    x: ChartAxis
    y: ChartAxis
    traces: Sequence[Trace]
    data: Table
    # Lines across: from corner to corner, and at these heights.
    diagonal: bool = False
    levels: Sequence[float] = ()


def _widened(ends: Sequence[float]) -> tuple[float, float]:
    """From the smallest to the largest, with a little room on either side."""
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    room = 0.06 * (high - low) or abs(high) * 0.1 or 0.1
    return low - room, high + room


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between two others, as many as fit: steps of 1, 2 or 5."""
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(step * factor for factor in (1, 2, 5, 10, 20) if (high - low) / (step * factor) <= most)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 12) for number in range(first, math.floor(high / step + 1e-9) + 1)]
