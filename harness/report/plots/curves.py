"""Pictures of curves over a threshold: ROC, DET, precision and recall."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.analysis.curves.curve import Curve
from harness.report.extent import largest_rate, reached, smallest_rate
from harness.report.plots.canvas import GREY, line, logarithmic, picture
from harness.report.plots.deviates import deviates, set_axes
from harness.report.plots.strokes import Place, dot, draw_band, draw_line, draw_marks, thin
from harness.report.text import shortened
from harness.stats.rates import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# A legend of more lines stands below the curves, not on them; on other axes than plain ones they take more room.
MOST_INSIDE = {"linear": 6, "normal": 3, "log": 3}


def plot_roc(curves: Sequence[Curve], path: Path, *, axes: str = "linear") -> None:
    """True- over false-positive rate."""
    with _sheet(curves, path, axes) as (_, sheet):
        floor = smallest_rate(curves)
        place: Place = (lambda v: _above(v, floor)) if axes == "log" else _same
        for number, curve in enumerate(curves):
            low, high = (side.tolist() for side in curve.points.drawn)
            draw_band(sheet, number, curve, place(curve.points.fpr.tolist()), low, high)
            draw_line(sheet, number, curve, (place, _same), _with_area(curve))
            draw_marks(sheet, number, curve, (place, _same))
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
            limits = (missed(side.tolist()) for side in reversed(curve.points.drawn))
            draw_band(sheet, number, curve, place(curve.points.fpr.tolist()), *limits)
            draw_line(sheet, number, curve, (place, missed), _with_equal_error(curve))
            draw_marks(sheet, number, curve, (place, missed))
            equal = place([curve.eer.value])
            sheet.plot(equal, equal, marker="o", markersize=3.4, zorder=5, **dot(number))
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
            part = slice(first, last)
            if curve.bands:
                _recall_band(sheet, number, curve, part)
            look = line(number) | ({} if curve.param is None else {"marker": "o", "markersize": 3.2})
            text = f"{shortened(curve.name)}, AP {curve.average_precision:.3f}"
            sheet.plot(recall[part], precision[part], drawstyle="steps-pre", label=text, **look)
            if last < len(recall):
                sheet.plot(recall[last - 1 :], precision[last - 1 :], drawstyle="steps-pre", **thin(number))
        chance = curves[0].positives / (curves[0].positives + curves[0].negatives)
        sheet.axhline(chance, color=GREY, linewidth=0.6, zorder=0)
        sheet.set(xlim=(0, 1), ylim=(0, 1.005), xlabel="recall", ylabel="precision")
        _legend(sheet, len(curves), axes, "lower left")


def _recall_band(sheet: "Axes", number: int, curve: Curve, part: slice) -> None:
    """Recall is the true-positive rate, so that its band lies across."""
    precision, low, high = (
        column.tolist()[part] for column in (curve.points.precision, curve.points.low, curve.points.high)
    )
    colour = line(number)["color"]
    if curve.param is None:
        sheet.fill_betweenx(precision, low, high, color=colour, alpha=0.13, linewidth=0)
    else:
        sheet.hlines(precision, low, high, color=colour, linewidth=0.8, alpha=0.6)


def _sheet(curves: Sequence[Curve], path: Path, axes: str) -> "AbstractContextManager[tuple[Figure, Axes]]":
    rows = len(curves) if len(curves) > MOST_INSIDE[axes] else 0
    return picture(path, height=3.3 + 0.135 * rows)


def _same(values: Sequence[float]) -> list[float]:
    return list(values)


def _above(values: Sequence[float], floor: float) -> list[float]:
    return [max(value, floor) for value in values]


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
