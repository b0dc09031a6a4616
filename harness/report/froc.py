"""Free-response curves for people: a table, sentences, the points as data, a picture, and a gnuplot script."""

from collections.abc import Sequence

from harness.analysis.froc import WORDS, FrocCurve
from harness.report.blocks import Block, Cell, Paragraphs, Table
from harness.report.curve_data import CurveData
from harness.report.curves import METHODS
from harness.report.gnuplot import CurvePart, PlotLayout, ScriptPage, script
from harness.report.numbers import interval_cell, interval_text, percent
from harness.report.sampling import target_text
from harness.stats.curves.free_response import FALSE_POSITIVES

# The numbers of false positives per image in the table; the JSON has all.
_SHOWN = (0, 3, 6)


def froc_blocks(curves: Sequence[FrocCurve], confidence: float) -> list[Block]:
    """A row for each curve, and what a reader must know."""
    levels = [f"at {_fraction(float(FALSE_POSITIVES[place]))}" for place in _SHOWN]
    columns = ["name", "images", "objects", "mean recall", percent(confidence), *levels]
    rows: list[list[Cell]] = [
        [
            one.name,
            one.images,
            one.objects,
            one.score.value,
            interval_cell(one.score.interval),
            *(float(one.recalls[place]) for place in _SHOWN),
        ]
        for one in curves
    ]
    return [Table(columns, rows), Paragraphs(_sentences(curves))]


def _fraction(value: float) -> str:
    return f"{value:g}" if value >= 1 else f"1/{1 / value:g}"


def _sentences(curves: Sequence[FrocCurve]) -> list[str]:
    usual = ", ".join(_fraction(float(level)) for level in FALSE_POSITIVES)
    lines = [f"Mean recall: at {usual} false positives per image. The last columns: the recall at three of these."]
    for curve in curves:
        target = target_text(curve.target, curve.stratum)
        method = METHODS.get(curve.score.method, curve.score.method)
        text = f"Intervals for {target}: mean recall by {method}" if target else f"Mean recall by {method}"
        if curve.bands:
            text += f", pointwise bands of the recall at each threshold, {METHODS.get(curve.bands, curve.bands)}"
        lines.append(f"{text}.")
    lines += [f"{curve.name}: {note}." for curve in curves for note in curve.notes]
    return list(dict.fromkeys(lines))


def froc_data(curve: FrocCurve, confidence: float) -> CurveData:
    """The points of a curve."""
    names = ("threshold", "recall", "fppi", "low", "high")
    columns: dict[str, Sequence[float | str]] = {name: getattr(curve.points, name).tolist() for name in names}
    level, target = percent(confidence), target_text(curve.target, curve.stratum)
    remarks = [
        f"{curve.images} images, {curve.objects} objects",
        f"{WORDS}: {curve.score.value:.6f} ({level}: {interval_text(curve.score.interval)}, {curve.score.method})",
        *([f"low and high: of the recall at that threshold, {level}, {curve.bands}, for {target}"] * bool(curve.bands)),
        *curve.notes,
    ]
    return CurveData(curve.name, columns, remarks)


def froc_script(curves: Sequence[FrocCurve], confidence: float, page: ScriptPage) -> str:
    """A gnuplot script of the curves."""
    floor = floor_of(curves)
    settings = ["set logscale x 2", f"set xrange [{floor:g}:{largest(curves):g}]", "set yrange [0:1]"]
    at = f"($3 < {floor:g} ? {floor:g} : $3)"
    band = f"{at}:4:5" if any(curve.bands for curve in curves) else ""
    layout = PlotLayout("false positives per image", "recall", settings, f"{at}:2", "steps", band, straight=False)
    parts = [
        CurvePart(f"{page.name(curve.name)}, {score_text(curve)}", 1, curve.points.recall.size - 1) for curve in curves
    ]
    return script(layout, [froc_data(curve, confidence) for curve in curves], parts, page)


def floor_of(curves: Sequence[FrocCurve]) -> float:
    """Where the axis starts: at 1/8, or lower if a curve has found something before."""
    above = [float(one) for curve in curves for one in curve.points.fppi if one > 0]
    return min(1 / 8, max(min(above, default=1 / 8), 1 / 64))


def largest(curves: Sequence[FrocCurve]) -> float:
    """Where the axis ends: past the last point, but not before 1 and not after 64."""
    last = max(float(curve.points.fppi.max(initial=0.0)) for curve in curves)
    return min(max(last, 1.0), 64.0)


def score_text(curve: FrocCurve) -> str:
    """The score of a curve, for a legend."""
    interval = curve.score.interval
    limits = "" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]"
    return f"mean recall {curve.score.value:.3f}{limits}"
