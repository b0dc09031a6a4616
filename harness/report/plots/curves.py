"""Pictures of curves over a threshold: ROC, DET, precision and recall."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.analysis.curves.curve import Curve
from harness.report.extent import largest_rate, reached, smallest_rate
from harness.report.plots.canvas import GREY, line, logarithmic, picture
from harness.report.plots.deviates import deviates, set_axes
from harness.report.text import shortened
from harness.stats.rates import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Place = Callable[[Sequence[float]], list[float]]
# A legend of more lines stands below the curves, not on them; on other axes than plain ones they take more room.
MOST_INSIDE = {"linear": 6, "normal": 3, "log": 3}
SEGMENTS = 100
HOLLOW = {"markerfacecolor": "white", "markeredgecolor": "#666666", "markeredgewidth": 0.7}


def plot_roc(curves: Sequence[Curve], path: Path, *, axes: str = "linear") -> None:
    """True- over false-positive rate."""
    with _sheet(curves, path, axes) as (_, sheet):
        floor = smallest_rate(curves)
        place: Place = (lambda v: _above(v, floor)) if axes == "log" else _same
        for number, curve in enumerate(curves):
            points = curve.points
            _band(sheet, number, curve, place(points.fpr.tolist()), points.low.tolist(), points.high.tolist())
            _line(sheet, number, curve, (place, _same), _with_area(curve))
            _marks(sheet, number, curve, (place, _same))
        if axes == "linear":
            sheet.plot([0, 1], [0, 1], color=GREY, linewidth=0.6, zorder=0)
        _roc_axes(sheet, axes, floor)
        _legend(sheet, len(curves), axes, "lower right")


def plot_det(curves: Sequence[Curve], path: Path, *, axes: str = "normal") -> None:
    """Both errors against each other, with the line on which they are equal."""
    with _sheet(curves, path, axes) as (_, sheet):
        floor = smallest_rate(curves)
        place: Place = {
            "normal": lambda v: deviates(v, floor),
            "log": lambda v: _above(v, floor),
            "linear": _same,
        }[axes]
        missed: Place = lambda v: place([1 - one for one in v])  # noqa: E731
        for number, curve in enumerate(curves):
            limits = (missed(side.tolist()) for side in (curve.points.high, curve.points.low))
            _band(sheet, number, curve, place(curve.points.fpr.tolist()), *limits)
            _line(sheet, number, curve, (place, missed), _with_equal_error(curve))
            _marks(sheet, number, curve, (place, missed))
            equal = place([curve.eer.value])
            sheet.plot(equal, equal, marker="o", markersize=3.4, zorder=5, **_dot(number))
        ends = place([floor, 1 - floor])
        sheet.plot(ends, ends, color=GREY, linewidth=0.6, zorder=0)
        _det_axes(sheet, axes, floor, curves)
        _legend(sheet, len(curves), axes, "best")


def plot_pr(curves: Sequence[Curve], path: Path, *, axes: str = "linear") -> None:
    """Precision over recall, in steps: a straight line would promise what no threshold gives."""
    with _sheet(curves, path, axes) as (_, sheet):
        for number, curve in enumerate(curves):
            recall, precision = curve.points.tpr.tolist(), curve.points.precision.tolist()
            first, last = reached(curve)
            if curve.bands:
                sides = (side.tolist()[first:last] for side in (curve.points.low, curve.points.high))
                colour = line(number)["color"]
                sheet.fill_betweenx(precision[first:last], *sides, color=colour, alpha=0.13, linewidth=0)
            text = f"{shortened(curve.name)}, AP {curve.average_precision:.3f}"
            sheet.plot(recall[first:last], precision[first:last], drawstyle="steps-pre", label=text, **line(number))
            if last < len(recall):
                sheet.plot(recall[last - 1 :], precision[last - 1 :], drawstyle="steps-pre", **_thin(number))
        chance = curves[0].positives / (curves[0].positives + curves[0].negatives)
        sheet.axhline(chance, color=GREY, linewidth=0.6, zorder=0)
        sheet.set(xlim=(0, 1), ylim=(0, 1.005), xlabel="recall", ylabel="precision")
        _legend(sheet, len(curves), axes, "lower left")


def _sheet(curves: Sequence[Curve], path: Path, axes: str) -> "AbstractContextManager[tuple[Figure, Axes]]":
    rows = len(curves) if len(curves) > MOST_INSIDE[axes] else 0
    return picture(path, height=3.3 + 0.135 * rows)


def _same(values: Sequence[float]) -> list[float]:
    return list(values)


def _above(values: Sequence[float], floor: float) -> list[float]:
    return [max(value, floor) for value in values]


def _line(sheet: "Axes", number: int, curve: Curve, place: tuple[Place, Place], label: str) -> None:
    """The curve; the straight segments that no threshold reaches are thin."""
    look = line(number)
    x, y = curve.points.fpr.tolist(), curve.points.tpr.tolist()
    first, last = reached(curve)
    if curve.param is not None:
        # The line that the area is of; a setting that another one beats is a hollow mark beside it.
        sheet.plot(place[0](x), place[1](y), marker="o", markersize=3.2, **(_dot(number) | HOLLOW))
        look |= {"marker": "o", "markersize": 3.2}
        x, y = curve.counts.fpr.tolist(), curve.counts.tpr.tolist()
        first, last = 1, len(x) - 1
    sheet.plot(place[0](x[first:last]), place[1](y[first:last]), label=label, **look)
    for start, there in ((0, first > 0), (last - 1, last < len(x))):
        if there:
            ends = ((values[start], values[start + 1]) for values in (x, y))
            along = [put(_between(*pair)) for put, pair in zip(place, ends, strict=True)]
            sheet.plot(*along, **_thin(number))


def _between(start: float, stop: float) -> list[float]:
    """A straight line is a bent one on axes that are not linear."""
    return [start + (stop - start) * (i / SEGMENTS) ** 2 for i in range(SEGMENTS + 1)]


def _thin(number: int) -> dict[str, Any]:
    return {"color": line(number)["color"], "linewidth": 0.7, "linestyle": (0, (1, 2))}


def _dot(number: int) -> dict[str, Any]:
    return {"color": line(number)["color"], "markeredgecolor": "white", "markeredgewidth": 0.5, "linestyle": "none"}


def _band(
    sheet: "Axes", number: int, curve: Curve, x: Sequence[float], low: Sequence[float], high: Sequence[float]
) -> None:
    if curve.bands and curve.param is not None:
        # Settings are points of their own, with nothing known between them.
        sheet.vlines(x, low, high, color=line(number)["color"], linewidth=0.8, alpha=0.6)
        return
    # Where there are ellipses, they say it better.
    if curve.bands and not any(mean.ellipse for mean in curve.means):
        part = slice(*reached(curve))
        sheet.fill_between(x[part], low[part], high[part], color=line(number)["color"], alpha=0.13, linewidth=0)


def _marks(sheet: "Axes", number: int, curve: Curve, place: tuple[Place, Place]) -> None:
    """Operating points that were asked for and can be had, and ellipses of repeated tests."""
    colour = line(number)["color"]
    for asked in curve.asked:
        if asked.point.attained:
            x, y = place[0]([asked.point.fmr]), place[1]([1 - asked.point.fnmr])
            sheet.plot(x, y, marker="D", markersize=3.6, zorder=6, **_dot(number))
    for mean in curve.means:
        sheet.plot(place[0]([mean.fpr]), place[1]([mean.tpr]), marker=".", markersize=3.5, color=colour, zorder=4)
        if mean.ellipse is not None:
            around = mean.ellipse.path().tolist()
            x, y = (put([point[i] for point in around]) for i, put in enumerate(place))
            sheet.fill(x, y, facecolor=colour, alpha=0.1)
            sheet.plot(x, y, color=colour, linewidth=0.6)


def _roc_axes(sheet: "Axes", axes: str, floor: float) -> None:
    sheet.set(xlabel="false-positive rate", ylabel="true-positive rate")
    if axes == "log":
        logarithmic(sheet, "x")
        sheet.set(xlim=(floor, 1), ylim=(0, 1.005))
    else:
        sheet.set(xlim=(-0.005, 1), ylim=(0, 1.005), aspect="equal")


def _det_axes(sheet: "Axes", axes: str, floor: float, curves: Sequence[Curve]) -> None:
    percent = ", %" if axes == "normal" else ""
    sheet.set(xlabel=f"false-positive rate{percent}", ylabel=f"false-negative rate{percent}")
    if axes == "normal":
        set_axes(sheet, floor, largest_rate(curves))
    elif axes == "log":
        logarithmic(sheet, "xy")
        sheet.set(xlim=(floor, 1), ylim=(floor, 1))
    else:
        sheet.set(xlim=(0, 1), ylim=(0, 1))
    sheet.set_aspect("equal")


def _with_area(curve: Curve) -> str:
    return f"{shortened(curve.name)}, AUC {_value(curve.auc.value, curve.auc.interval)}"


def _with_equal_error(curve: Curve) -> str:
    return f"{shortened(curve.name)}, EER {_value(curve.eer.value, curve.eer.interval)}"


def _value(value: float, interval: Interval | None) -> str:
    text = f"{value:.3f}"
    return text if interval is None else f"{text} [{interval.low:.3f}, {interval.high:.3f}]"


def _legend(sheet: "Axes", lines: int, axes: str, place: Any) -> None:
    if lines <= MOST_INSIDE[axes]:
        sheet.legend(loc=place if axes == "linear" else "best")
    else:
        sheet.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16))
