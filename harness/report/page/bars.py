"""Bars with intervals beside the rows of a table, as data. `svg.py` draws them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.report.chart import widened
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
        return self.bounds or widened(ends)
