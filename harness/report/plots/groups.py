"""Runs by group: how each run does as a property of the inputs changes, with error bars."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from harness.analysis.breakdown import Breakdown
from harness.errors import UsageError
from harness.measures import Measure
from harness.options import PictureOptions
from harness.report.numbers import percent
from harness.report.plots.canvas import Picture
from harness.report.plots.style import COLOURS, DASHES, MARKERS, WIDTH, error_bars, guide
from harness.stats.estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


BLACK = len(COLOURS) - 1
# Differences of more pairs would overlap.
MAX_PAIRS = 6
# Inches that a group needs, and the margins.
GROUP, MARGINS = 0.26, 0.8
# Values that are marked on a scale, if they are no closer than that.
MAX_TICKS = 24
# How many steps of runs side by side a scale has.
NARROW = 30


def check_one_column(count: int) -> None:
    """A picture has one x axis: a UsageError if groups are by more columns, so that none is left out in silence."""
    if count > 1:
        raise UsageError(f"--plot draws one column, and --by is given {count} times; draw them one by one")


def plot_groups(
    breakdown: Breakdown,
    names: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    measure: Measure,
    confidence: float,
    options: PictureOptions | None = None,
    ax: "Axes | None" = None,
) -> Picture:
    """The values of all runs above; the differences below, if there are a few."""
    few = 0 < len(pairs) <= MAX_PAIRS
    width = max(WIDTH, MARGINS + GROUP * len(breakdown.groups))
    height = 4.1 if few else 2.6
    with Picture(options, ax, width=width, height=height, panels=1 + few, sharex=True) as picture:
        values = [(picture.name(name), [group.runs[i] for group in breakdown.groups]) for i, name in enumerate(names)]
        _draw(picture, picture.axes, breakdown, values, picture.first)
        picture.axes.set_ylabel(picture.name(measure.words, 40))
        if few:
            axes = picture.panels[1]
            axes.axhline(0, **guide(linewidth=0.8))
            gaps = [
                (f"{picture.name(names[a])} − {picture.name(names[b])}", [group.pairs[i] for group in breakdown.groups])
                for i, (a, b) in enumerate(pairs)
            ]
            # A pair does not share the style of either run.
            _draw(picture, axes, breakdown, gaps, BLACK if len(pairs) == 1 else len(names))
            axes.set_ylabel(f"{picture.name('difference')}, {percent(confidence)} interval")
        _groups(picture, breakdown)
    return picture


def _groups(picture: Picture, breakdown: Breakdown) -> None:
    axes = picture.panels[-1]
    axes.set_xlabel(picture.name(breakdown.column, 40))
    if breakdown.positions is not None:
        _scale(picture, breakdown, breakdown.positions, axes)
        return
    picture.scales = "y"
    labels = [picture.name(group.label) for group in breakdown.groups]
    # Seven letters of a label fit into a third of an inch.
    slanted = max(map(len, labels)) * len(labels) > 14 * (picture.width - MARGINS)
    turned: dict[str, Any] = {"rotation": 40, "ha": "right"} if slanted else {"rotation": 0, "ha": "center"}
    axes.set_xticks(range(len(labels)), labels, rotation_mode="anchor", **turned)
    axes.set_xlim(-0.6, len(labels) - 0.4)


def _scale(picture: Picture, breakdown: Breakdown, positions: Sequence[float], axes: "Axes") -> None:
    """A number has a scale; its values are marked if there is room for them."""
    from matplotlib.ticker import NullLocator

    span = max(positions) - min(positions)
    if min(b - a for a, b in pairwise(sorted(positions))) >= span / MAX_TICKS:
        axes.set_xticks(positions, [picture.name(group.label) for group in breakdown.groups])
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(min(positions) - 0.04 * span, max(positions) + 0.04 * span)


def _draw(
    picture: Picture,
    axes: "Axes",
    breakdown: Breakdown,
    series: Sequence[tuple[str, Sequence[Estimate | None]]],
    first_style: int,
) -> None:
    """Labels with an estimate for each group; over a scale, they are joined."""
    for number, (label, column) in enumerate(series):
        positions, style = _shifted(breakdown, number, len(series)), first_style + number
        known = [(x, estimate) for x, estimate in zip(positions, column, strict=True) if estimate is not None]
        error_bars(
            axes,
            [(x, estimate.value, estimate.interval) for x, estimate in known],
            label=label,
            color=COLOURS[style % len(COLOURS)],
            marker=MARKERS[style % len(MARKERS)],
            linestyle="none" if breakdown.positions is None else DASHES[style % len(DASHES)],
        )
    picture.legend(axes, inside=False)
    axes.grid(visible=False, axis="x")


def _shifted(breakdown: Breakdown, number: int, count: int) -> list[float]:
    """Where the groups are drawn: runs side by side, so that error bars do not overlap."""
    offset = (number - (count - 1) / 2) * min(0.2, 0.75 / count)
    if breakdown.positions is None:
        return [index + offset for index in range(len(breakdown.groups))]
    # Lines over a scale should hardly show it.
    apart = (max(breakdown.positions) - min(breakdown.positions)) / NARROW
    return [x + offset * apart for x in breakdown.positions]
