"""What curves are drawn with: lines, bands, and marks at points."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from harness.analysis.curve import Curve
from harness.report.plots.canvas import Picture
from harness.report.plots.scales import reached
from harness.report.plots.style import BACKGROUND, BAND, DIM, colour, dot, line, thin
from harness.report.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# From rates to positions on an axis.
AxisTransform = Callable[[Sequence[float]], list[float]]
SEGMENTS = 100
MOST_BENT = 500
# Letters of a parameter's value beside its point.
LONGEST_VALUE = 12
HOLLOW = {"markerfacecolor": BACKGROUND, "markeredgecolor": DIM, "markeredgewidth": 0.7}


def draw_line(sheet: "Axes", number: int, curve: Curve, place: tuple[AxisTransform, AxisTransform], label: str) -> None:
    """The curve; the straight segments that no threshold reaches are thin."""
    if curve.param is not None:
        _swept(sheet, number, curve, place, label)
        return
    x, y = curve.points.fpr.tolist(), curve.points.tpr.tolist()
    first, last = reached(curve)
    sheet.plot(place[0](_bent(x[first:last])), place[1](_bent(y[first:last])), label=label, **line(number))
    _ends(sheet, number, (x, y), place, (first, last))


def _swept(sheet: "Axes", number: int, curve: Curve, place: tuple[AxisTransform, AxisTransform], label: str) -> None:
    """The line that bounds the area; a setting beaten by another is a hollow mark."""
    x, y = curve.points.fpr.tolist(), curve.points.tpr.tolist()
    sheet.plot(place[0](x), place[1](y), marker="o", markersize=3.2, **(dot(number) | HOLLOW))
    x, y = curve.counts.fpr.tolist(), curve.counts.tpr.tolist()
    sheet.plot(place[0](x[1:-1]), place[1](y[1:-1]), marker="o", markersize=3.2, **dot(number))
    sheet.plot(place[0](_bent(x[1:-1])), place[1](_bent(y[1:-1])), label=label, **line(number))
    _ends(sheet, number, (x, y), place, (1, len(x) - 1))


def _ends(
    sheet: "Axes",
    number: int,
    curve: tuple[Sequence[float], Sequence[float]],
    place: tuple[AxisTransform, AxisTransform],
    part: tuple[int, int],
) -> None:
    first, last = part
    for start, there in ((0, first > 0), (last - 1, last < len(curve[0]))):
        if there:
            along = [put(_between(*values[start : start + 2])) for put, values in zip(place, curve, strict=True)]
            sheet.plot(*along, **thin(number))


def _between(start: float, stop: float) -> list[float]:
    """Points along a straight line, which other axes than linear ones bend; denser at its start."""
    return [start + (stop - start) * (i / SEGMENTS) ** 2 for i in range(SEGMENTS + 1)]


def _bent(values: Sequence[float]) -> list[float]:
    """The same for each segment of a curve with few points; with many it makes no visible difference."""
    if len(values) < 2 or len(values) > MOST_BENT:
        return list(values)
    parts = [a + (b - a) * i / 10 for a, b in pairwise(values) for i in range(10)]
    return [*parts, values[-1]]


def draw_band(
    sheet: "Axes", number: int, curve: Curve, x: Sequence[float], low: Sequence[float], high: Sequence[float]
) -> None:
    """The pointwise band; settings of a sweep have bars."""
    if curve.bands and curve.param is not None:
        # Settings are separate points: nothing is known between them.
        sheet.vlines(x, low, high, color=colour(number), linewidth=0.8, alpha=0.6)
        return
    # Ellipses, if there are any, replace the band.
    if curve.bands and not any(mean.ellipse for mean in curve.means):
        part = slice(*reached(curve))
        sheet.fill_between(x[part], low[part], high[part], color=colour(number), alpha=BAND, linewidth=0)


def draw_marks(sheet: "Axes", number: int, curve: Curve, place: tuple[AxisTransform, AxisTransform]) -> None:
    """Requested operating points that can be reached, and ellipses of repeated tests."""
    own = colour(number)
    for requested in curve.requested:
        if requested.point.attained:
            x, y = place[0]([requested.point.fmr]), place[1]([1 - requested.point.fnmr])
            sheet.plot(x, y, marker="D", markersize=3.6, zorder=6, **dot(number))
    for mean in curve.means:
        sheet.plot(place[0]([mean.fpr]), place[1]([mean.tpr]), marker=".", markersize=3.5, color=own, zorder=4)
        if mean.ellipse is not None:
            around = mean.ellipse.path().tolist()
            x, y = (put([point[i] for point in around]) for i, put in enumerate(place))
            sheet.fill(x, y, facecolor=own, alpha=0.1)
            sheet.plot(x, y, color=own, linewidth=0.6)


def label_settings(
    page: Picture, sheet: "Axes", number: int, curve: Curve, place: tuple[AxisTransform, AxisTransform]
) -> None:
    """The value of the parameter beside each setting of a sweep."""
    x, y = curve.points.fpr.tolist(), curve.points.tpr.tolist()
    label_points(page, sheet, number, curve, (place[0](x), place[1](y)))


def label_points(
    page: Picture, sheet: "Axes", number: int, curve: Curve, points: tuple[Sequence[float], Sequence[float]]
) -> None:
    """The same for points that are placed already."""
    for value, x, y in zip(curve.values or [], *points, strict=False):
        page.label_point(sheet, (x, y), shortened(value, LONGEST_VALUE), colour(number))
