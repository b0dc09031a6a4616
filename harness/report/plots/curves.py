"""Pictures of curves: ROC, DET, precision and recall; and cumulative match curves."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from harness.analysis.cmc import MatchCurve
from harness.analysis.curve import Curve
from harness.report.plots.canvas import (
    DEVIATE_TICKS,
    GREY,
    largest_rate,
    line,
    logarithmic,
    picture,
    reached,
    smallest_rate,
)
from harness.report.text import shortened
from harness.stats.rates import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_NORMAL = NormalDist()


def deviate(rate: float) -> float:
    """The normal deviate of a rate between 0 and 1."""
    return _NORMAL.inv_cdf(rate)


def deviates(rates: Sequence[float], floor: float) -> list[float]:
    """The deviates of rates; 0 and 1, which are infinitely far away, are drawn at the ends of the axis."""
    return [deviate(min(max(rate, floor), 1 - floor)) for rate in rates]


def set_deviate_axes(axes: "Axes", low: float, high: float) -> None:
    """Both axes from one rate to another, labelled in per cent."""
    ticks = [tick for tick in DEVIATE_TICKS if low <= tick <= high]
    for axis, limits in ((axes.xaxis, axes.set_xlim), (axes.yaxis, axes.set_ylim)):
        axis.set_ticks([deviate(tick) for tick in ticks], [f"{tick * 100:g}" for tick in ticks])
        limits(deviate(low), deviate(high))


# From rates to positions on an axis.
AxisTransform = Callable[[Sequence[float]], list[float]]
SEGMENTS = 100
MOST_BENT = 500
HOLLOW = {"markerfacecolor": "white", "markeredgecolor": "#666666", "markeredgewidth": 0.7}


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


def thin(number: int) -> dict[str, Any]:
    """The style of a line that no threshold reaches."""
    return {"color": line(number)["color"], "linewidth": 0.7, "linestyle": (0, (1, 2))}


def dot(number: int) -> dict[str, Any]:
    """The style of a mark on a curve."""
    return {"color": line(number)["color"], "markeredgecolor": "white", "markeredgewidth": 0.5, "linestyle": "none"}


def draw_band(
    sheet: "Axes", number: int, curve: Curve, x: Sequence[float], low: Sequence[float], high: Sequence[float]
) -> None:
    """The pointwise band; settings of a sweep have bars."""
    if curve.bands and curve.param is not None:
        # Settings are separate points: nothing is known between them.
        sheet.vlines(x, low, high, color=line(number)["color"], linewidth=0.8, alpha=0.6)
        return
    # Ellipses, if there are any, replace the band.
    if curve.bands and not any(mean.ellipse for mean in curve.means):
        part = slice(*reached(curve))
        sheet.fill_between(x[part], low[part], high[part], color=line(number)["color"], alpha=0.13, linewidth=0)


def draw_marks(sheet: "Axes", number: int, curve: Curve, place: tuple[AxisTransform, AxisTransform]) -> None:
    """Requested operating points that can be reached, and ellipses of repeated tests."""
    colour = line(number)["color"]
    for requested in curve.requested:
        if requested.point.attained:
            x, y = place[0]([requested.point.fmr]), place[1]([1 - requested.point.fnmr])
            sheet.plot(x, y, marker="D", markersize=3.6, zorder=6, **dot(number))
    for mean in curve.means:
        sheet.plot(place[0]([mean.fpr]), place[1]([mean.tpr]), marker=".", markersize=3.5, color=colour, zorder=4)
        if mean.ellipse is not None:
            around = mean.ellipse.path().tolist()
            x, y = (put([point[i] for point in around]) for i, put in enumerate(place))
            sheet.fill(x, y, facecolor=colour, alpha=0.1)
            sheet.plot(x, y, color=colour, linewidth=0.6)


# A legend with more lines goes below the plot; axes that are not linear have less room inside.
MOST_INSIDE = {"linear": 6, "normal": 3, "log": 3}


def plot_roc(curves: Sequence[Curve], path: Path, *, axes: str = "linear") -> None:
    """True- over false-positive rate."""
    with _sheet(curves, path, axes) as (_, sheet):
        floor = smallest_rate(curves)
        place: AxisTransform = (lambda v: _above(v, floor)) if axes == "log" else _same
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
        place: AxisTransform = {
            "normal": lambda v: deviates(v, floor),
            "log": lambda v: _above(v, floor),
            "linear": _same,
        }[axes]
        missed: AxisTransform = lambda v: place([1 - one for one in v])  # noqa: E731
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
    """Precision over recall, in steps: straight lines would show points that no threshold gives."""
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
        if curves[0].has_negatives:
            chance = curves[0].positives / (curves[0].positives + curves[0].negatives)
            sheet.axhline(chance, color=GREY, linewidth=0.6, zorder=0)
        sheet.set(xlim=(0, 1), ylim=(0, 1.005), xlabel="recall", ylabel="precision")
        _legend(sheet, len(curves), axes, "lower left")


def _recall_band(sheet: "Axes", number: int, curve: Curve, part: slice) -> None:
    """Recall is the true-positive rate, so its band is horizontal."""
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
        set_deviate_axes(sheet, floor, largest_rate(curves))
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


def plot_cmc(curves: Sequence[MatchCurve], path: Path) -> None:
    """Identification rate over the rank."""
    with picture(path, height=2.7) as (_, sheet):
        lowest = 1.0
        for number, curve in enumerate(curves):
            bands, ranks = curve.curve.bands, curve.curve.ranks.tolist()
            rate, low, high = curve.rank_one
            text = f"{shortened(curve.name)}, rank 1: {rate:.3f}" + (f" [{low:.3f}, {high:.3f}]" if curve.bands else "")
            if curve.bands:
                colour = line(number)["color"]
                sides = bands.low.tolist(), bands.high.tolist()
                sheet.fill_between(ranks, *sides, step="post", color=colour, alpha=0.13, linewidth=0)
            # A rate holds from its rank up to the next.
            sheet.plot(ranks, bands.rate.tolist(), drawstyle="steps-post", label=text, **line(number))
            lowest = min(lowest, low if curve.bands else rate)
        logarithmic(sheet, "x", dense=True)
        sheet.set(xlim=(1, max(2, *(int(c.curve.ranks[-1]) for c in curves))), xlabel="rank")
        sheet.set(ylim=(max(0.0, lowest - 0.05), 1.005), ylabel="identification rate")
        # A few lines leave room in the corner; more may not.
        sheet.legend(loc="lower right" if len(curves) < 4 else "best")
