"""The points of curves as data: blocks for gnuplot, a table for spreadsheets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.curve import Curve, summary_method
from harness.analysis.element_curve import MEAN_RECALL
from harness.report.blocks import Cell, Table
from harness.report.chart import Columns
from harness.report.numbers import interval_text, percent
from harness.report.sampling import target_text
from harness.report.text import one_word, safe

# Limits of the tpr at that fpr, which not all curves have.
AT_FPR = ("low_at_fpr", "high_at_fpr")


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
        one = curve.summaries["mean_recall"]
        lines.append(f"{MEAN_RECALL}: {one.value:.6f} ({level}: {interval_text(one.interval)}, {one.method})")
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
    return "\n\n".join(data_block(one.name, one.columns, one.remarks, header="#") for one in data)


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
        [one.name, *(_cell(value) for value in row)] for one in data for row in zip(*one.columns.values(), strict=True)
    ]
    return Table(["curve", *columns], rows)


def _cell(value: float | str) -> Cell:
    return None if isinstance(value, float) and math.isnan(value) else value
