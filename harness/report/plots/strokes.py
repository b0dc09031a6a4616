"""Lines, bands and marks of a curve over false-positive rates, on any axes."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from harness.analysis.curves.curve import Curve
from harness.report.extent import reached
from harness.report.plots.canvas import line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where rates stand on an axis.
Place = Callable[[Sequence[float]], list[float]]
SEGMENTS = 100
MOST_BENT = 500
HOLLOW = {"markerfacecolor": "white", "markeredgecolor": "#666666", "markeredgewidth": 0.7}


def draw_line(sheet: "Axes", number: int, curve: Curve, place: tuple[Place, Place], label: str) -> None:
    """The curve; the straight segments that no threshold reaches are thin."""
    if curve.param is not None:
        _swept(sheet, number, curve, place, label)
        return
    x, y = curve.points.fpr.tolist(), curve.points.tpr.tolist()
    first, last = reached(curve)
    sheet.plot(place[0](_bent(x[first:last])), place[1](_bent(y[first:last])), label=label, **line(number))
    _ends(sheet, number, (x, y), place, (first, last))


def _swept(sheet: "Axes", number: int, curve: Curve, place: tuple[Place, Place], label: str) -> None:
    """The line that the area is of; a setting that another one beats is a hollow mark beside it."""
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
    place: tuple[Place, Place],
    part: tuple[int, int],
) -> None:
    first, last = part
    for start, there in ((0, first > 0), (last - 1, last < len(curve[0]))):
        if there:
            along = [put(_between(*values[start : start + 2])) for put, values in zip(place, curve, strict=True)]
            sheet.plot(*along, **thin(number))


def _between(start: float, stop: float) -> list[float]:
    """A straight line is a bent one on axes that are not linear; denser where it starts."""
    return [start + (stop - start) * (i / SEGMENTS) ** 2 for i in range(SEGMENTS + 1)]


def _bent(values: Sequence[float]) -> list[float]:
    """The same for each segment of a curve of few points; many lie so close that it cannot be seen."""
    if len(values) < 2 or len(values) > MOST_BENT:
        return list(values)
    parts = [a + (b - a) * i / 10 for a, b in pairwise(values) for i in range(10)]
    return [*parts, values[-1]]


def thin(number: int) -> dict[str, Any]:
    """How a line looks that stands for no threshold."""
    return {"color": line(number)["color"], "linewidth": 0.7, "linestyle": (0, (1, 2))}


def dot(number: int) -> dict[str, Any]:
    """How a mark on a curve looks."""
    return {"color": line(number)["color"], "markeredgecolor": "white", "markeredgewidth": 0.5, "linestyle": "none"}


def draw_band(
    sheet: "Axes", number: int, curve: Curve, x: Sequence[float], low: Sequence[float], high: Sequence[float]
) -> None:
    """The pointwise band; settings of a sweep have bars."""
    if curve.bands and curve.param is not None:
        # Settings are points of their own, with nothing known between them.
        sheet.vlines(x, low, high, color=line(number)["color"], linewidth=0.8, alpha=0.6)
        return
    # Where there are ellipses, they say it better.
    if curve.bands and not any(mean.ellipse for mean in curve.means):
        part = slice(*reached(curve))
        sheet.fill_between(x[part], low[part], high[part], color=line(number)["color"], alpha=0.13, linewidth=0)


def draw_marks(sheet: "Axes", number: int, curve: Curve, place: tuple[Place, Place]) -> None:
    """Operating points that were asked for and can be had, and ellipses of repeated tests."""
    colour = line(number)["color"]
    for asked in curve.asked:
        if asked.point.attained:
            x, y = place[0]([asked.point.fmr]), place[1]([1 - asked.point.fnmr])
            sheet.plot(x, y, marker="D", markersize=3.6, zorder=6, **dot(number))
    for mean in curve.means:
        sheet.plot(place[0]([mean.fpr]), place[1]([mean.tpr]), marker=".", markersize=3.5, color=colour, zorder=4)
        if mean.ellipse is not None:
            around = mean.ellipse.path().tolist()
            x, y = (put([point[i] for point in around]) for i, put in enumerate(place))
            sheet.fill(x, y, facecolor=colour, alpha=0.1)
            sheet.plot(x, y, color=colour, linewidth=0.6)
