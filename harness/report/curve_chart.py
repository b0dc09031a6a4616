"""Curves as a chart, for all drawers, and their points as data: blocks for gnuplot, a table for spreadsheets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.analysis.curves.curve import Curve, summary_method
from harness.analysis.curves.single_run import MEAN_RECALL
from harness.report.blocks import Cell, Table
from harness.report.chart import Chart, ChartAxis, Columns, Mark, Series, numbers_of
from harness.report.curve_view import CurveView
from harness.report.numbers import interval_text, percent, target_text
from harness.report.text import one_word, safe

# What a legend calls a summary.
SUMMARIES = {"auc": "AUC", "eer": "EER", "average_precision": "AP", "mean_recall": "mean recall"}
# Curves with a larger equal error rate do not lie close to the corner.
CLOSE = 0.13
# Limits of the tpr at that fpr, which not all curves have.
AT_FPR = ("low_at_fpr", "high_at_fpr")
CORNERS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)


def curve_chart(view: CurveView, curves: Sequence[Curve], confidence: float, axes: str | None = None) -> Chart:
    """The curves as a view shows them, on axes by their name."""
    first, pair = curves[0], view.axes[axes or next(iter(view.axes))]
    x, y = view.x.limits(view.x, pair.x, curves), view.y.limits(view.y, pair.y, curves)
    bands = f" with {percent(confidence)} bands" if any(curve.bands for curve in curves) else ""
    data = [curve_data(curve, confidence) for curve in curves]
    return Chart(
        caption=f"{view.title}{bands}",
        description=view.description,
        x=x,
        y=y,
        series=[_series(view, curve, x, of.remarks) for curve, of in zip(curves, data, strict=True)],
        data=curve_table(data),
        diagonal=pair.diagonal,
        # The precision of whoever accepts everything.
        levels=[first.sizes["positives"] / sum(first.sizes.values())]
        if view.y.column == "precision" and first.has_negatives
        else [],
        square=view.square and pair.x == pair.y,
        legend_at=pair.legend_at,
    )


def corner_of(curves: Sequence[Curve]) -> float:
    """The part of the axes that shows where curves differ, if all lie close to the upper left corner; else 0."""
    worst = max(curve.eer.value for curve in curves)
    return next(part for part in CORNERS if part >= 1.6 * worst) if worst <= CLOSE else 0.0


def corner_chart(chart: Chart, part: float) -> Chart:
    """The upper left corner of a chart, enlarged; `part` is its share of each axis."""
    return replace(
        chart,
        caption="The same, the upper left corner",
        x=replace(chart.x, low=0.0, high=part),
        y=replace(chart.y, low=1 - part, high=1.0),
        diagonal=False,
    )


def summary_text(curve: Curve, name: str) -> str:
    """A summary with its interval, as short as a legend needs it."""
    if name == "rank_one":
        value, low, high = curve.rank_one
        return f"rank 1: {value:.3f}" + (f" [{low:.3f}, {high:.3f}]" if curve.bands else "")
    summary = curve.summaries[name]
    limits = "" if summary.interval is None else f" [{summary.interval.low:.3f}, {summary.interval.high:.3f}]"
    return f"{SUMMARIES[name]} {summary.value:.3f}{limits}"


def _series(view: CurveView, curve: Curve, x: ChartAxis, remarks: Sequence[str]) -> Series:
    columns = _columns(view, curve, x)
    band = view.band(curve, columns) if curve.bands else None
    of_rates = _rate_point(view, 0.0, 0.0) is not None
    front: Columns | None = None
    if of_rates and curve.param is not None and curve.counts is not None:
        # The line that bounds the area of a sweep; it leaves out settings that are beaten by another.
        fpr, tpr = curve.counts.fpr, curve.counts.tpr
        front = {"fpr": fpr.tolist(), "tpr": tpr.tolist(), "fnr": (1 - tpr).tolist()}
    # Requested operating points that can be reached, means of repeated tests, and where both errors are equal.
    marked = [(at.point.fpr, at.point.fnr, "diamond") for at in curve.requested if at.point.attained]
    marked += [(mean.fpr, 1 - mean.tpr, "dot") for mean in curve.means]
    marked += [(curve.eer.value, curve.eer.value, "circle")] if view.equal else []
    return Series(
        name=curve.name,
        columns=columns,
        x=view.x.column,
        y=view.y.column,
        summary=summary_text(curve, view.legend),
        remarks=remarks,
        over=curve.param,
        values=curve.values or (),
        # Settings are separate points: nothing is known between them.
        band=band if band is None or curve.param is None else replace(band, bars=True),
        step=view.step,
        part=curve.reached if curve.counts is not None else None,
        path=front,
        marks=[Mark(*point, shape) for fpr, fnr, shape in marked if (point := _rate_point(view, fpr, fnr))],
        outlines=[
            [point for fpr, tpr in mean.ellipse.path().tolist() if (point := _rate_point(view, fpr, 1 - tpr))]
            for mean in curve.means
            if mean.ellipse is not None and of_rates
        ],
        dots=curve.param is not None and not of_rates,
    )


def _columns(view: CurveView, curve: Curve, x: ChartAxis) -> Columns:
    columns = dict(data_columns(curve))
    # Of a sweep, the data has the parameter in place of the threshold.
    columns |= {name: curve.columns[name].tolist() for name in (view.x.column, view.y.column)}
    if view.y.column == "fnr":
        low, high = ("low_at_fpr", "high_at_fpr") if curve.fixed else ("low", "high")
        columns["fnr_low"] = [1 - value for value in numbers_of(columns, high)]
        columns["fnr_high"] = [1 - value for value in numbers_of(columns, low)]
    if view.x.column == "fppi":
        # The last recall holds to the end of the axis.
        columns = {name: [*values, x.high if name == "fppi" else values[-1]] for name, values in columns.items()}
    return columns


def _rate_point(view: CurveView, fpr: float, fnr: float) -> tuple[float, float] | None:
    """Where a point with these rates is in a view of rates; None in any other."""
    of = {"fpr": fpr, "fnr": fnr, "tpr": 1 - fnr}
    return (of[view.x.column], of[view.y.column]) if {view.x.column, view.y.column} <= of.keys() else None


@dataclass(frozen=True)
class CurveData:
    """The points of one curve: columns of equal length, and what to say above them."""

    name: str
    columns: Columns
    remarks: Sequence[str] = ()


def curve_data(curve: Curve, confidence: float) -> CurveData:
    """The points of a curve, with its summaries and its notes."""
    return CurveData(curve.name, data_columns(curve), [*_remarks(curve, percent(confidence)), *curve.notes])


def data_columns(curve: Curve) -> Columns:
    """The columns; those of a sweep have the parameter's value in place of the threshold."""
    names = [name for name in curve.columns if curve.fixed or name not in AT_FPR]
    columns: dict[str, Sequence[float | str]] = {name: curve.columns[name].tolist() for name in names}
    if curve.param is not None and curve.values is not None:
        del columns["threshold"]
        columns = {curve.param: curve.values, **columns}
    return columns


def _remarks(curve: Curve, level: str) -> list[str]:
    sizes, target = curve.sizes, target_text(curve.target, curve.stratum)
    limits = f"{level}, {curve.bands}, for {target}"
    if "rank" in curve.columns:
        lines = [f"{sizes['probes']} probes, gallery of {sizes['gallery']}"]
        return [*lines, *([f"low and high: {limits}"] * bool(curve.bands))]
    lines = [", ".join(f"{number} {what}" for what, number in sizes.items())]
    if "fppi" in curve.columns:
        mean = curve.summaries["mean_recall"]
        lines.append(f"{MEAN_RECALL}: {mean.value:.6f} ({level}: {interval_text(mean.interval)}, {mean.method})")
    if curve.has_negatives:
        area, error = (_with_interval(curve, name, level) for name in ("auc", "eer"))
        lines.append(f"AUC {area}; EER {error}")
    if "average_precision" in curve.summaries and curve.average_precision.interval is not None:
        lines.append(f"AP {_with_interval(curve, 'average_precision', level)}")
    of = "recall" if "fppi" in curve.columns else "tpr"
    lines += [f"low and high: of the {of} at that threshold, {limits}"] * bool(curve.bands)
    return [*lines, *([f"low_at_fpr and high_at_fpr: of the tpr at that fpr, {level}"] * curve.fixed)]


def _with_interval(curve: Curve, name: str, level: str) -> str:
    estimate = curve.summaries[name]
    if estimate.interval is None:
        return f"{estimate.value:.6f}"
    limits, target = interval_text(estimate.interval), target_text(curve.summary_target, curve.stratum)
    return f"{estimate.value:.6f} ({level}: {limits}, {summary_method(estimate)}, for {target})"


def plain_data(data: Sequence[CurveData]) -> str:
    """A block for each curve, separated by two blank lines: `plot "file" index 1 using 3:2`."""
    return "\n\n".join(data_block(curve.name, curve.columns, curve.remarks, header="#") for curve in data)


def data_block(name: str, columns: Columns, remarks: Sequence[str], *, header: str) -> str:
    """Columns below their names; `header` is what the line with the names begins with."""
    head = [f"# {safe(name)}", *(f"# {safe(remark)}" for remark in remarks)]
    texts = [[one_word(name), *map(digits, values)] for name, values in columns.items()]
    widths = [max(map(len, column)) for column in texts]
    rows = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in zip(*texts, strict=True)]
    return "\n".join([*head, f"{header} {rows[0]}", *(f"  {row}" for row in rows[1:])]) + "\n"


def digits(value: float | str) -> str:
    """A number for gnuplot and R; nine digits are more than any plot shows."""
    if isinstance(value, str):
        return one_word(value)
    if math.isnan(value):
        return "NaN"
    return f"{value:.9g}" if math.isfinite(value) else ("Inf" if value > 0 else "-Inf")


def curve_table(data: Sequence[CurveData]) -> Table:
    """All points in one table, the curve's name first."""
    columns = list(data[0].columns) if data else []
    rows: list[list[Cell]] = [
        [curve.name, *(None if isinstance(cell, float) and math.isnan(cell) else cell for cell in row)]
        for curve in data
        for row in zip(*curve.columns.values(), strict=True)
    ]
    return Table(["curve", *columns], rows)
