"""Pictures of curves over a threshold: ROC, DET, precision and recall."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.analysis.curve import Curve
from harness.options import PictureOptions
from harness.report.plots.canvas import Picture
from harness.report.plots.curve_lines import AxisTransform, draw_band, draw_line, draw_marks
from harness.report.plots.scales import (
    deviate,
    deviates,
    largest_rate,
    logarithmic,
    reached,
    set_deviate_axes,
    smallest_rate,
)
from harness.report.plots.style import BAND, colour, dot, guide, line, thin
from harness.stats.estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_roc(curves: Sequence[Curve], look: PictureOptions | None = None, *, axes: str = "linear") -> Picture:
    """True- over false-positive rate."""
    with Picture(look, height=3.3) as page:
        sheet, floor = page.sheet, smallest_rate(curves)
        place: AxisTransform = (lambda v: _above(v, floor)) if axes == "log" else _same
        for number, curve in enumerate(curves):
            low, high = (side.tolist() for side in curve.points.drawn)
            draw_band(sheet, number, curve, place(curve.points.fpr.tolist()), low, high)
            draw_line(sheet, number, curve, (place, _same), _with_area(page, curve))
            draw_marks(sheet, number, curve, (place, _same))
        if axes == "linear":
            sheet.plot([0, 1], [0, 1], **guide())
        _roc_axes(page, axes, floor)
        page.legend()
    return page


def plot_det(curves: Sequence[Curve], look: PictureOptions | None = None, *, axes: str = "normal") -> Picture:
    """Both errors against each other, with the line on which they are equal."""
    with Picture(look, height=3.3) as page:
        sheet, floor = page.sheet, smallest_rate(curves)
        place: AxisTransform = {
            "normal": lambda v: deviates(v, floor),
            "log": lambda v: _above(v, floor),
            "linear": _same,
        }[axes]
        missed: AxisTransform = lambda v: place([1 - one for one in v])  # noqa: E731
        for number, curve in enumerate(curves):
            limits = (missed(side.tolist()) for side in reversed(curve.points.drawn))
            draw_band(sheet, number, curve, place(curve.points.fpr.tolist()), *limits)
            draw_line(sheet, number, curve, (place, missed), _with_equal_error(page, curve))
            draw_marks(sheet, number, curve, (place, missed))
            equal = place([curve.eer.value])
            sheet.plot(equal, equal, marker="o", markersize=3.4, zorder=5, **dot(number))
        ends = place([floor, 1 - floor])
        sheet.plot(ends, ends, **guide())
        _det_axes(page, axes, floor, curves)
        page.legend()
    return page


def plot_pr(curves: Sequence[Curve], look: PictureOptions | None = None, *, axes: str = "linear") -> Picture:
    """Precision over recall, in steps: straight lines would show points that no threshold gives."""
    with Picture(look, height=3.3) as page:
        sheet = page.sheet
        for number, curve in enumerate(curves):
            recall, precision = curve.points.tpr.tolist(), curve.points.precision.tolist()
            first, last = reached(curve)
            part = slice(first, last)
            _precision_band(sheet, number, curve, part)
            own = line(number) | ({} if curve.param is None else {"marker": "o", "markersize": 3.2})
            text = f"{page.name(curve.name)}, AP {_value(curve.average_precision)}"
            sheet.plot(recall[part], precision[part], drawstyle="steps-pre", label=text, **own)
            if last < len(recall):
                sheet.plot(recall[last - 1 :], precision[last - 1 :], drawstyle="steps-pre", **thin(number))
        if curves[0].has_negatives:
            sheet.axhline(curves[0].positives / (curves[0].positives + curves[0].negatives), **guide())
        sheet.set(xlim=(0, 1), ylim=(0, 1.005), xlabel=page.name("recall"), ylabel=page.name("precision"))
        page.legend()
    return page


def _precision_band(sheet: "Axes", number: int, curve: Curve, part: slice) -> None:
    """Limits of the precision; where there are none, those of the recall at each threshold."""
    band = curve.precision_band
    if band is not None:
        sides = (side.tolist() for side in (band.recall, band.low, band.high))
        sheet.fill_between(*sides, color=colour(number), alpha=BAND, linewidth=0)
    elif curve.bands:
        _recall_band(sheet, number, curve, part)


def _recall_band(sheet: "Axes", number: int, curve: Curve, part: slice) -> None:
    """Recall is the true-positive rate, so its band is horizontal."""
    precision, low, high = (
        column.tolist()[part] for column in (curve.points.precision, curve.points.low, curve.points.high)
    )
    if curve.param is None:
        sheet.fill_betweenx(precision, low, high, color=colour(number), alpha=BAND, linewidth=0)
    else:
        sheet.hlines(precision, low, high, color=colour(number), linewidth=0.8, alpha=0.6)


def _same(values: Sequence[float]) -> list[float]:
    return list(values)


def _above(values: Sequence[float], floor: float) -> list[float]:
    return [max(value, floor) for value in values]


def _roc_axes(page: Picture, axes: str, floor: float) -> None:
    page.sheet.set(xlabel=page.name("false-positive rate"), ylabel=page.name("true-positive rate"))
    if axes == "log":
        logarithmic(page.sheet, "x")
        page.sheet.set(xlim=(floor, 1), ylim=(0, 1.005))
    else:
        page.sheet.set(xlim=(-0.005, 1), ylim=(0, 1.005), aspect="equal")


def _det_axes(page: Picture, axes: str, floor: float, curves: Sequence[Curve]) -> None:
    sheet, percent = page.sheet, ", %" if axes == "normal" else ""
    x, y = (f"{page.name(name)}{percent}" for name in ("false-positive rate", "false-negative rate"))
    sheet.set(xlabel=x, ylabel=y)
    if axes == "normal":
        set_deviate_axes(sheet, floor, largest_rate(curves))
        page.place = {"x": deviate, "y": deviate}
    elif axes == "log":
        logarithmic(sheet, "xy")
        sheet.set(xlim=(floor, 1), ylim=(floor, 1))
    else:
        sheet.set(xlim=(0, 1), ylim=(0, 1))
    sheet.set_aspect("equal")


def _with_area(page: Picture, curve: Curve) -> str:
    return f"{page.name(curve.name)}, AUC {_value(curve.auc)}"


def _with_equal_error(page: Picture, curve: Curve) -> str:
    return f"{page.name(curve.name)}, EER {_value(curve.eer)}"


def _value(one: Estimate) -> str:
    interval = one.interval
    return f"{one.value:.3f}" + ("" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]")
