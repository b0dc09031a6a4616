"""Curves on a page: a chart with bands, and what `hate roc`, `pr`, `froc` and `cmc` say about it."""

from collections.abc import Sequence

from harness.analysis.curves.curve import Curve, CurveCrossings
from harness.analysis.value_errors import ErrorsOverTruth
from harness.report.blocks import Cell, Paragraphs, Table
from harness.report.chart import Band, Chart, ChartAxis, Series
from harness.report.curve_chart import corner_chart, corner_of, curve_chart
from harness.report.curve_view import CurveView
from harness.report.curves import curve_blocks
from harness.report.numbers import limits_of, percent
from harness.report.page.document import Folded, Part, parts_of

# Points that are drawn of a cloud; more would only be a blot.
MAX_POINTS = 1500
# Sentences about curves that are read; more are folded.
MAX_NOTES = 3


def curve_parts(
    view: CurveView, curves: Sequence[Curve], crossed: Sequence[CurveCrossings], confidence: float
) -> list[Part]:
    """The chart, its corner where curves hug it, and what is said about the curves; many notes are folded."""
    chart = curve_chart(view, curves, confidence)
    corner = corner_of(curves) if view.corner else 0.0
    parts: list[Part] = [chart, *([corner_chart(chart, corner)] if corner else [])]
    # A page asks for no operating points, costs or means: a second table is that of the crossings.
    for part in parts_of(curve_blocks(view, curves, crossed, confidence), view.summary, "Where curves cross"):
        if isinstance(part, Paragraphs) and len(part.texts) > MAX_NOTES:
            parts += [Paragraphs(part.texts[:1]), Folded("Notes on the curves", [Paragraphs(part.texts[1:])])]
        else:
            parts.append(part)
    return parts


def error_parts(points: ErrorsOverTruth, confidence: float) -> list[Part]:
    """The error of each answer that is a number over the truth, and the mean error in bins."""
    step = -(-max(points.truth.size, 1) // MAX_POINTS)
    truth, errors = points.truth[::step].tolist(), points.errors[::step].tolist()
    biases = [group.bias for group in points.bins]
    ends = [limits_of(bias) for bias in biases]
    tolerance = points.tolerance if points.tolerance and not points.relative else None
    levels = (0.0, *([tolerance, -tolerance] if tolerance else []))
    rows: list[list[Cell]] = [list(pair) for pair in zip(truth, errors, strict=True)]
    means = {
        "x": [group.truth for group in points.bins],
        "y": [bias.value for bias in biases],
        "low": [low for low, _ in ends],
        "high": [high for _, high in ends],
    }
    band = Band(means, "x", "low", "high", bars=True)
    return [
        Chart(
            caption=f"Error of each answer over the truth; mean errors with {percent(confidence)} intervals",
            description="The answer minus the truth, over the truth. The dashed lines are 0 and the tolerance.",
            x=ChartAxis.over("truth", truth),
            y=ChartAxis.over("answer − truth", [*errors, *levels[1:]]),
            series=[
                Series("single answers", {"x": truth, "y": errors}, line=False, dots=True, faint=True),
                Series("mean error", means, band=band, line=False, dots=True),
            ],
            data=Table(["truth", "error"], rows),
            levels=levels,
        )
    ]
