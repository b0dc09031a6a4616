"""The points of curves as data: blocks for gnuplot, a table for spreadsheets."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.cmc import MatchCurve
from harness.analysis.curve import Curve, summary_method
from harness.report.blocks import Cell, Table
from harness.report.numbers import interval_text, percent
from harness.report.sampling import target_text
from harness.report.text import one_word, safe
from harness.stats.estimate import Estimate

Columns = Mapping[str, Sequence[float | str]]


@dataclass(frozen=True)
class CurveData:
    """The points of one curve: columns of equal length, and what to say above them."""

    name: str
    columns: Columns
    remarks: Sequence[str] = ()


POINTS = ("threshold", "tpr", "fpr", "fnr", "precision", "low", "high")
# Limits of the tpr at that fpr, if the curve has such bands.
AT_FPR = ("low_at_fpr", "high_at_fpr")


def curve_data(curve: Curve, confidence: float = 0.95) -> CurveData:
    """The points of a curve; those of a sweep have the parameter's value in place of the threshold."""
    names = POINTS + (AT_FPR if curve.points.fixed else ())
    columns: dict[str, Sequence[float | str]] = {name: getattr(curve.points, name).tolist() for name in names}
    if curve.param is not None and curve.values is not None:
        del columns["threshold"]
        columns = {curve.param: curve.values, **columns}
    level, target = percent(confidence), target_text(curve.target, curve.stratum)
    remarks = [
        f"{curve.positives} positives, {curve.negatives} negatives",
        *(
            [f"AUC {_with_interval(curve, curve.auc, level)}; EER {_with_interval(curve, curve.eer, level)}"]
            * curve.has_negatives
        ),
        *(
            [f"AP {_with_interval(curve, curve.average_precision, level)}"]
            * (curve.average_precision.interval is not None)
        ),
        *([f"low and high: of the tpr at that threshold, {level}, {curve.bands}, for {target}"] * bool(curve.bands)),
        *([f"low_at_fpr and high_at_fpr: of the tpr at that fpr, {level}"] * curve.points.fixed),
        *curve.notes,
    ]
    return CurveData(curve.name, columns, remarks)


def _with_interval(curve: Curve, estimate: Estimate, level: str) -> str:
    if estimate.interval is None:
        return f"{estimate.value:.6f}"
    limits, target = interval_text(estimate.interval), target_text(curve.summary_target, curve.stratum)
    return f"{estimate.value:.6f} ({level}: {limits}, {summary_method(estimate)}, for {target})"


def match_data(curve: MatchCurve) -> CurveData:
    """Ranks and rates."""
    bands = curve.curve.bands
    none = [float("nan")] * bands.rate.size
    columns: dict[str, Sequence[float | str]] = {
        "rank": [float(rank) for rank in curve.curve.ranks.tolist()],
        "rate": bands.rate.tolist(),
        "low": bands.low.tolist() if curve.bands else none,
        "high": bands.high.tolist() if curve.bands else none,
    }
    remarks = [f"{curve.curve.probes} probes, gallery of {curve.gallery}"]
    if curve.bands:
        remarks.append(
            f"low and high: {percent(bands.confidence)}, {curve.bands}, for {target_text(curve.target, curve.stratum)}"
        )
    return CurveData(curve.name, columns, [*remarks, *curve.notes])


def plain_data(data: Sequence[CurveData]) -> str:
    """A block for each curve, separated by two blank lines: `plot "file" index 1 using 3:2`."""
    return "\n\n".join(_block(one) for one in data)


def _block(data: CurveData) -> str:
    head = [f"# {safe(data.name)}", *(f"# {safe(remark)}" for remark in data.remarks)]
    columns = [[one_word(name), *map(digits, values)] for name, values in data.columns.items()]
    widths = [max(map(len, column)) for column in columns]
    rows = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in zip(*columns, strict=True)]
    return "\n".join([*head, f"# {rows[0]}", *(f"  {row}" for row in rows[1:])]) + "\n"


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
