"""Draw a chart with matplotlib: lines and bands, marks, names beside points, a corner that is drawn larger."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from harness.options import PictureOptions
from harness.report.chart import Chart, ChartAxis, Series, deviate
from harness.report.plots.canvas import Picture
from harness.report.plots.style import BACKGROUND, BAND, DIM, colour, dot, guide, line, logarithmic, thin
from harness.report.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = tuple[float, float]
# Where the corner is drawn larger, in shares of the axes.
INSET = (0.42, 0.33, 0.53, 0.5)
# Axes that are not linear bend straight lines: into so many parts, unless there are many points anyway.
SEGMENTS, MAX_BENT = 100, 500
# Letters of a parameter's value beside its point.
MAX_VALUE_LENGTH = 12
# Room beyond the ends of a linear axis, as a share, so that lines along its end are seen.
ROOM = 0.005
MARKS = {"diamond": ("D", 3.6), "dot": (".", 3.5), "circle": ("o", 3.4)}
HOLLOW = {"markerfacecolor": BACKGROUND, "markeredgecolor": DIM, "markeredgewidth": 0.7}


def plot_chart(
    chart: Chart,
    options: PictureOptions | None = None,
    ax: "Axes | None" = None,
    *,
    height: float,
    corner: Chart | None = None,
    inset: bool = True,
) -> Picture:
    """The chart; `corner` is a part of it that is drawn larger: inside if all curves leave room there, else below."""
    below = corner is not None and not inset
    with Picture(options, ax, height=6.3 if below else height, panels=1 + below) as picture:
        _draw(picture, picture.axes, chart, named=corner is None)
        _set_axes(picture, chart)
        if corner is not None:
            _draw_corner(picture, corner, picture.axes.inset_axes(INSET) if inset else picture.panels[1])
        picture.limited = [picture.axes]
        picture.legend()
    return picture


def _draw_corner(picture: Picture, corner: Chart, axes: "Axes") -> None:
    """A part of the chart, larger; a frame shows which part it is."""
    from matplotlib.patches import Rectangle

    _draw(picture, axes, corner, named=True, legend=False)
    (left, right), (low, high) = (corner.x.low, corner.x.high), (corner.y.low, corner.y.high)
    room = (right - left) / 100
    axes.set(xlim=(left - room, right), ylim=(low, high + room), aspect="equal")
    axes.locator_params(nbins=4)
    axes.grid(visible=True)
    frame = Rectangle((left, low), right - left, high - low, fill=False, **guide(zorder=1, clip_on=False))
    picture.axes.add_patch(frame)


def _draw(picture: Picture, axes: "Axes", chart: Chart, *, named: bool, legend: bool = True) -> None:
    """All series; `named` if the settings of a sweep are."""
    for number, series in enumerate(chart.series, picture.first):
        _draw_band(axes, number, series, chart)
        text = (
            picture.name(series.name)
            if series.over is None
            else f"{picture.name(series.name)} over {picture.name(series.over)}"
        )
        _draw_line(axes, number, series, chart, f"{text}, {series.summary}" if legend else "")
        for mark in series.marks:
            shape, size = MARKS[mark.shape]
            style = {"color": colour(number), "zorder": 4} if shape == "." else dot(number) | {"zorder": 6}
            axes.plot(*_coordinates(chart, [(mark.x, mark.y)]), marker=shape, markersize=size, **style)
        for outline in series.outlines:
            axes.fill(*_coordinates(chart, outline), facecolor=colour(number), alpha=0.1)
            axes.plot(*_coordinates(chart, outline), color=colour(number), linewidth=0.6)
        for value, x, y in zip(series.values if named else (), *_coordinates(chart, series.points), strict=False):
            picture.label_point(axes, (x, y), shortened(value, MAX_VALUE_LENGTH), colour(number))
    for level in chart.levels:
        axes.axhline(level, **guide())


def _draw_band(axes: "Axes", number: int, series: Series, chart: Chart) -> None:
    band, limits = series.band, series.limits
    if band is None or not limits:
        return
    across, up = (chart.y, chart.x) if band.across else (chart.x, chart.y)
    x, low, high = ([position(axis, row[side]) for row in limits] for side, axis in ((0, across), (1, up), (2, up)))
    if band.bars:
        lines = axes.hlines if band.across else axes.vlines
        lines(x, low, high, color=colour(number), linewidth=0.8, alpha=0.6)
        return
    step: dict[str, Any] = {"step": "post"} if series.step == "post" and band.columns is series.columns else {}
    fill = axes.fill_betweenx if band.across else axes.fill_between
    fill(x, low, high, color=colour(number), alpha=BAND, linewidth=0, **step)


def _draw_line(axes: "Axes", number: int, series: Series, chart: Chart, label: str) -> None:
    """The line; what no threshold reaches is dotted, and settings that a line leaves out are hollow."""
    style = f"steps-{series.step}" if series.step else "default"
    reached, ends = series.lines
    if series.path is not None:
        axes.plot(*_coordinates(chart, series.points), marker="o", markersize=3.2, **(dot(number) | HOLLOW))
        axes.plot(*_coordinates(chart, reached), marker="o", markersize=3.2, **dot(number))
    marked = {"marker": "o", "markersize": 3.2} if series.dots else {}
    bent = reached if series.step or len(reached) > MAX_BENT else _subdivided(reached, 10)
    axes.plot(*_coordinates(chart, bent), drawstyle=style, label=label, **(line(number) | marked))
    for end in ends:
        axes.plot(
            *_coordinates(chart, end if series.step else _subdivided(end, SEGMENTS)), drawstyle=style, **thin(number)
        )


def _subdivided(points: Sequence[Point], parts: int) -> list[Point]:
    """Points along straight lines, denser at their start, where a scale that is not linear bends most."""
    power = 2 if parts == SEGMENTS else 1
    along = [
        (x0 + (x1 - x0) * share, y0 + (y1 - y0) * share)
        for (x0, y0), (x1, y1) in pairwise(points)
        for share in ((i / parts) ** power for i in range(parts))
    ]
    return [*along, *points[-1:]]


def position(axis: ChartAxis, value: float) -> float:
    """Where a value is drawn, in the units of matplotlib's axis, which has logarithms of its own."""
    shown = axis.shown(value)
    return deviate(shown) if axis.scale == "normal" else shown


def _coordinates(chart: Chart, points: Sequence[Point]) -> tuple[list[float], list[float]]:
    return [position(chart.x, x) for x, _ in points], [position(chart.y, y) for _, y in points]


def _set_axes(picture: Picture, chart: Chart) -> None:
    axes = picture.axes
    axes.set(
        xlabel=f"{picture.name(chart.x.label)}{chart.x.unit}", ylabel=f"{picture.name(chart.y.label)}{chart.y.unit}"
    )
    for name, axis in (("x", chart.x), ("y", chart.y)):
        room = ROOM * (axis.high - axis.low) if axis.scale == "linear" else 0.0
        low, high = (axis.low - room, axis.high) if name == "x" else (axis.low, axis.high + room)
        if axis.scale in ("log", "log2"):
            logarithmic(axes, name, dense=axis.is_dense)
        if axis.ticks:
            sides = [position(axis, tick) for tick, _ in axis.ticks], [label for _, label in axis.ticks]
            (axes.set_xticks if name == "x" else axes.set_yticks)(*sides)
            (axes.xaxis if name == "x" else axes.yaxis).minorticks_off()
        if axis.scale == "normal":
            picture.placing[name] = deviate
            low, high = deviate(low), deviate(high)
        axes.set(**{f"{name}lim": (low, high)})
    if chart.diagonal:
        ends = [(end, end) for end in (chart.x.low, chart.x.high)]
        axes.plot(*_coordinates(chart, ends), **guide())
    if chart.square:
        axes.set_aspect("equal")
