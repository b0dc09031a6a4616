"""Pictures of curves over a threshold: ROC, DET, precision and recall."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.analysis.curve import Curve
from harness.options import PictureOptions
from harness.report.plots.canvas import Picture
from harness.report.plots.curve_lines import (
    AxisTransform,
    draw_band,
    draw_line,
    draw_marks,
    label_points,
    label_settings,
)
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


def plot_roc(
    curves: Sequence[Curve], look: PictureOptions | None = None, *, axes: str = "linear", zoom: float | None = None
) -> Picture:
    """True- over false-positive rate; `zoom` is the rate up to which the corner is drawn larger, 0 for not at all."""
    look = look or PictureOptions()
    limited = look.xlim is not None or look.ylim is not None
    part = 0.0 if axes == "log" or (limited and not zoom) else _corner(curves) if zoom is None else zoom
    # An inset has room only where all curves leave it.
    below = part > 0 and not _corner(curves)
    with Picture(look, height=6.3 if below else 3.3, panels=1 + below) as page:
        floor = smallest_rate(curves)
        place: AxisTransform = (lambda v: _above(v, floor)) if axes == "log" else _same
        _roc_curves(page, page.sheet, curves, place, named=not part)
        if axes == "linear":
            page.sheet.plot([0, 1], [0, 1], **guide())
        _roc_axes(page, axes, floor)
        if part:
            _draw_corner(page, curves, part, page.sheets[1] if below else page.sheet.inset_axes(INSET))
        page.limited = [page.sheet]
        page.legend()
    return page


# Where the corner is drawn larger, in shares of the axes.
INSET = (0.42, 0.33, 0.53, 0.5)
# Curves with a larger equal error rate do not lie close to the corner.
CLOSE = 0.13
CORNERS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)


def _corner(curves: Sequence[Curve]) -> float:
    """The part of the axes that shows where curves differ, if all lie close to the corner; else 0."""
    worst = max(curve.eer.value for curve in curves)
    return next(part for part in CORNERS if part >= 1.6 * worst) if worst <= CLOSE else 0.0


def _roc_curves(
    page: Picture, sheet: "Axes", curves: Sequence[Curve], place: AxisTransform, *, named: bool, legend: bool = True
) -> None:
    """The curves; `named` if the settings of a sweep are."""
    for number, curve in enumerate(curves):
        low, high = (side.tolist() for side in curve.points.drawn)
        draw_band(sheet, number, curve, place(curve.points.fpr.tolist()), low, high)
        draw_line(sheet, number, curve, (place, _same), _with_area(page, curve) if legend else "")
        draw_marks(sheet, number, curve, (place, _same))
        if named:
            label_settings(page, sheet, number, curve, (place, _same))


def _draw_corner(page: Picture, curves: Sequence[Curve], part: float, sheet: "Axes") -> None:
    """The upper left corner, larger; a frame shows which part it is."""
    from matplotlib.patches import Rectangle

    _roc_curves(page, sheet, curves, _same, named=True, legend=False)
    sheet.set(xlim=(-part / 100, part), ylim=(1 - part, 1 + part / 100), aspect="equal")
    sheet.locator_params(nbins=4)
    sheet.grid(visible=True)
    page.sheet.add_patch(Rectangle((0, 1 - part), part, part, fill=False, **guide(zorder=1, clip_on=False)))


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
            label_settings(page, sheet, number, curve, (place, missed))
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
            text = f"{_named(page, curve)}, AP {_value(curve.average_precision)}"
            sheet.plot(recall[part], precision[part], drawstyle="steps-pre", label=text, **own)
            label_points(page, sheet, number, curve, (recall, precision))
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
    return f"{_named(page, curve)}, AUC {_value(curve.auc)}"


def _with_equal_error(page: Picture, curve: Curve) -> str:
    return f"{_named(page, curve)}, EER {_value(curve.eer)}"


def _named(page: Picture, curve: Curve) -> str:
    name = page.name(curve.name)
    return name if curve.param is None else f"{name} over {page.name(curve.param)}"


def _value(one: Estimate) -> str:
    interval = one.interval
    return f"{one.value:.3f}" + ("" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]")
