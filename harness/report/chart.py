"""A chart as plain data: axes, and series with their bands and marks. Three drawers take it.

`harness.report.page.svg` draws it for a page, `harness.report.plots.chart` with matplotlib, `harness.report.gnuplot` as
a script. Values are as they are in the data; the scale of an axis says where they are drawn.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

from harness.report.blocks import Table

Columns = Mapping[str, Sequence[float | str]]
# Rates that are marked on normal-deviate axes.
DEVIATE_TICKS = (0.0001, 0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.995, 0.999)
_NORMAL = NormalDist()


def deviate(rate: float) -> float:
    """The normal deviate of a rate between 0 and 1."""
    return _NORMAL.inv_cdf(rate)


@dataclass(frozen=True)
class ChartAxis:
    """An axis: where it begins and ends, and its scale: linear, log, log2 or normal."""

    label: str
    low: float
    high: float
    scale: str = "linear"
    # Values that are marked, with their labels; round numbers by default.
    ticks: Sequence[tuple[float, str]] = ()
    # An axis that cannot show 0 shows it, and what lies below this rate, here.
    floor: float = 0.0
    # What follows the label, whatever a user calls it.
    unit: str = ""

    @staticmethod
    def over(label: str, values: Iterable[float]) -> "ChartAxis":
        """A scale that all values fit on."""
        return ChartAxis(label, *widened([value for value in values if math.isfinite(value)]))

    def shown(self, value: float) -> float:
        """The value that is drawn for one: itself, unless the scale cannot show it."""
        if self.scale == "linear":
            return value
        return max(value, self.floor) if self.scale != "normal" else min(max(value, self.floor), 1 - self.floor)

    def share(self, value: float) -> float:
        """Where a value is drawn: 0 at the beginning of the axis, 1 at its end."""
        scaled = deviate if self.scale == "normal" else float if self.scale == "linear" else math.log
        low, middle, high = (scaled(end) for end in (self.low, self.shown(value), self.high))
        return (middle - low) / (high - low)

    @property
    def marked(self) -> list[tuple[float, str]]:
        """The values that are marked, with their labels."""
        if self.ticks:
            return list(self.ticks)
        if self.scale == "linear":
            return [(tick, f"{tick:g}") for tick in round_ticks(self.low, self.high, CHART_TICKS)]
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        ticks = [factor * 10.0**power for power in powers for factor in ((1, 2, 5) if self.is_dense else (1,))]
        return [(tick, f"{tick:g}") for tick in ticks if self.low * (1 - 1e-9) <= tick <= self.high * (1 + 1e-9)]

    @property
    def is_dense(self) -> bool:
        """Whether 2 and 5 are marked beside 1 and 10."""
        return self.high / self.low < FEW_POWERS


CHART_TICKS = 6
FEW_POWERS = 1000


@dataclass(frozen=True)
class Band:
    """Limits over `x`, by the names of columns; of x instead of y if `across`; bars if nothing is between points."""

    columns: Columns
    x: str
    low: str
    high: str
    across: bool = False
    bars: bool = False


@dataclass(frozen=True)
class Mark:
    """A point by itself, on a curve: a request, a mean, where errors are equal."""

    x: float
    y: float
    shape: str


@dataclass(frozen=True)
class Series:
    """What belongs to one run: columns, of which `x` and `y` are drawn, as a line, as marks or both.

    summary  what a legend says after the name
    remarks  what is said above the columns, where they are written
    over     a parameter that varies along the line, and its value at each point
    step     pre or post, if values hold up to the point, or from it on; straight lines otherwise
    part     the points that a threshold reaches, the first and the one after the last; the others are dotted
    path     where the line goes, if not through all points, as names of x and y: those it leaves out are hollow
    outlines closed lines, such as ellipses
    """

    name: str
    columns: Columns
    x: str = "x"
    y: str = "y"
    summary: str = ""
    remarks: Sequence[str] = ()
    over: str | None = None
    values: Sequence[str] = ()
    band: Band | None = None
    step: str = ""
    part: tuple[int, int] | None = None
    path: Columns | None = None
    marks: Sequence[Mark] = ()
    outlines: Sequence[Sequence[tuple[float, float]]] = ()
    line: bool = True
    dots: bool = False
    # Small and pale, for many single points.
    faint: bool = False

    @property
    def points(self) -> list[tuple[float, float]]:
        return list(zip(numbers_of(self.columns, self.x), numbers_of(self.columns, self.y), strict=True))

    @property
    def lines(self) -> tuple[list[tuple[float, float]], list[list[tuple[float, float]]]]:
        """The line, and the lines to either end that no threshold reaches."""
        if self.path is not None:
            whole = list(zip(numbers_of(self.path, self.x), numbers_of(self.path, self.y), strict=True))
            first, last = 1, len(whole) - 1
        else:
            whole = self.points
            first, last = self.part or (0, len(whole))
        ends = [whole[: first + 1]] * (first > 0) + [whole[last - 1 :]] * (last < len(whole))
        return whole[first:last], ends

    @property
    def limits(self) -> list[tuple[float, float, float]]:
        """The position and both limits of the band, where all of them are known, along the part that is reached."""
        if self.band is None:
            return []
        sides = (numbers_of(self.band.columns, name) for name in (self.band.x, self.band.low, self.band.high))
        rows = list(zip(*sides, strict=True))
        if self.part is not None and self.band.columns is self.columns:
            rows = rows[slice(*self.part)]
        return [(x, low, high) for x, low, high in rows if math.isfinite(x + low + high)]


@dataclass(frozen=True)
class Chart:
    """Series over a scale; `description` says in words what can be seen, `data` is what can be downloaded."""

    caption: str
    description: str
    x: ChartAxis
    y: ChartAxis
    series: Sequence[Series]
    data: Table
    # Lines across: from corner to corner, and at these heights.
    diagonal: bool = False
    levels: Sequence[float] = ()
    # Whether both axes are equally long, and where a legend is put that cannot look for room.
    square: bool = False
    legend_at: str = "bottom right"


def numbers_of(columns: Columns, name: str) -> list[float]:
    """A column of numbers."""
    return [float(value) for value in columns[name]]


def stepped(points: Sequence[tuple[float, float]], step: str) -> list[tuple[float, float]]:
    """The corners of a line that goes in steps; the points themselves if it does not."""
    if not step:
        return list(points)
    corners = list(points[:1])
    for (x0, y0), (x1, y1) in pairwise(points):
        corners += [(x1, y0) if step == "post" else (x0, y1), (x1, y1)]
    return corners


def widened(ends: Sequence[float]) -> tuple[float, float]:
    """From the smallest to the largest, with a little room on either side."""
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    room = 0.06 * (high - low) or abs(high) * 0.1 or 0.1
    return low - room, high + room


def round_ticks(low: float, high: float, max_count: int) -> list[float]:
    """Round numbers between two others, as many as fit: steps of 1, 2 or 5."""
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / max_count))
    step = next(step * factor for factor in (1, 2, 5, 10, 20) if (high - low) / (step * factor) <= max_count)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 12) for number in range(first, math.floor(high / step + 1e-9) + 1)]
