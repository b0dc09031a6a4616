"""Runs by group: how each run does as a property of the inputs changes, with error bars."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from harness.analysis.breakdown import Breakdown
from harness.errors import UsageError
from harness.measures import Measure
from harness.options import PictureOptions
from harness.report.numbers import limits_of, percent
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
    by: Breakdown,
    names: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    measure: Measure,
    confidence: float,
    look: PictureOptions | None = None,
) -> Picture:
    """The values of all runs above; the differences below, if there are a few."""
    few = 0 < len(pairs) <= MAX_PAIRS
    width = max(WIDTH, MARGINS + GROUP * len(by.groups))
    with Picture(look, width=width, height=4.1 if few else 2.6, panels=1 + few, sharex=True) as page:
        _values(page, by, names, measure)
        if few:
            _gaps(page, by, names, pairs, confidence)
        _groups(page, by)
    return page


def _groups(page: Picture, by: Breakdown) -> None:
    sheet = page.sheets[-1]
    sheet.set_xlabel(page.name(by.column, 40))
    if by.positions is not None:
        _scale(page, by, by.positions, sheet)
        return
    page.scales = "y"
    labels = [page.name(group.label) for group in by.groups]
    # Seven letters of a label fit into a third of an inch.
    slanted = max(map(len, labels)) * len(labels) > 14 * (page.width - MARGINS)
    sheet.set_xticks(
        range(len(labels)),
        labels,
        rotation=40 if slanted else 0,
        ha="right" if slanted else "center",
        rotation_mode="anchor",
    )
    sheet.set_xlim(-0.6, len(labels) - 0.4)


def _scale(page: Picture, by: Breakdown, positions: Sequence[float], sheet: "Axes") -> None:
    """A number has a scale; its values are marked if there is room for them."""
    from matplotlib.ticker import NullLocator

    span = max(positions) - min(positions)
    if min(b - a for a, b in pairwise(sorted(positions))) >= span / MAX_TICKS:
        sheet.set_xticks(positions, [page.name(group.label) for group in by.groups])
        sheet.xaxis.set_minor_locator(NullLocator())
    sheet.set_xlim(min(positions) - 0.04 * span, max(positions) + 0.04 * span)


def _values(page: Picture, by: Breakdown, names: Sequence[str], measure: Measure) -> None:
    sheet = page.sheet
    for number, name in enumerate(names):
        column = [group.runs[number] for group in by.groups]
        _series(sheet, _shifted(by, number, len(names)), column, number, page.name(name), joined=_is_scale(by))
    sheet.set_ylabel(page.name(measure.words, 40))
    _legend(page, sheet)


def _gaps(
    page: Picture, by: Breakdown, names: Sequence[str], pairs: Sequence[tuple[int, int]], confidence: float
) -> None:
    sheet = page.sheets[1]
    sheet.axhline(0, **guide(linewidth=0.8))
    for number, (a, b) in enumerate(pairs):
        column = [group.pairs[number] for group in by.groups]
        # A pair does not share the style of either run.
        look = BLACK if len(pairs) == 1 else len(names) + number
        label = f"{page.name(names[a])} − {page.name(names[b])}"
        _series(sheet, _shifted(by, number, len(pairs)), column, look, label, joined=_is_scale(by))
    sheet.set_ylabel(f"{page.name('difference')}, {percent(confidence)} interval")
    _legend(page, sheet)


def _is_scale(by: Breakdown) -> bool:
    return by.positions is not None


def _shifted(by: Breakdown, number: int, count: int) -> list[float]:
    """Where the groups are drawn: runs side by side, so that error bars do not overlap."""
    offset = (number - (count - 1) / 2) * min(0.2, 0.75 / count)
    if by.positions is None:
        return [index + offset for index in range(len(by.groups))]
    # Lines over a scale should hardly show it.
    apart = (max(by.positions) - min(by.positions)) / NARROW
    return [x + offset * apart for x in by.positions]


def _series(
    sheet: "Axes",
    positions: Sequence[float],
    column: Sequence[Estimate | None],
    look: int,
    label: str,
    *,
    joined: bool,
) -> None:
    known = [(x, estimate) for x, estimate in zip(positions, column, strict=True) if estimate is not None]
    values = [estimate.value for _, estimate in known]
    sheet.errorbar(
        [x for x, _ in known],
        values,
        yerr=error_bars(values, [limits_of(estimate) for _, estimate in known]),
        label=label,
        color=COLOURS[look % len(COLOURS)],
        marker=MARKERS[look % len(MARKERS)],
        markersize=3.2,
        linestyle=DASHES[look % len(DASHES)] if joined else "none",
        linewidth=0.9,
        elinewidth=0.9,
        capsize=1.6,
    )


def _legend(page: Picture, sheet: "Axes") -> None:
    page.legend(sheet, inside=False)
    sheet.grid(visible=False, axis="x")
