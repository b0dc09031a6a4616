"""Curves on a page: a chart with bands, and what `hate roc`, `pr`, `froc` and `cmc` say about it."""

from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.cmc import MatchCurve
from harness.analysis.curve import Curve, CurveCrossings
from harness.analysis.froc import FrocCurve
from harness.analysis.value_errors import ErrorsOverTruth
from harness.report.blocks import Block, Cell, Paragraphs, Table
from harness.report.curve_data import curve_data, curve_table, match_data
from harness.report.curves import curve_blocks
from harness.report.froc import froc_blocks, froc_data
from harness.report.identification import match_blocks
from harness.report.numbers import percent
from harness.report.page.charts import ChartAxis, LineChart, Trace
from harness.report.page.document import Folded, Part, parts_of

# Points that are drawn of a cloud; more would only be a blot.
MOST_POINTS = 1500
# How wide the corner of a curve may be that is shown larger.
CORNERS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
# Sentences about curves that are read; more are folded.
MOST_NOTES = 3


def roc_parts(curves: Sequence[Curve], crossed: Sequence[CurveCrossings], confidence: float) -> list[Part]:
    """The true positive rate over the false positive rate."""
    traces = []
    for curve in curves:
        limits = [one.tolist() for one in curve.points.drawn] if curve.bands else []
        traces.append(Trace(curve.name, curve.points.fpr.tolist(), curve.points.tpr.tolist(), *limits))
    chart = LineChart(
        caption=f"ROC curve{_bands(curves, confidence)}",
        description="The true positive rate over the false positive rate. Guessing would give the dashed diagonal.",
        x=ChartAxis("false positive rate", 0, 1),
        y=ChartAxis("true positive rate", 0, 1),
        traces=traces,
        data=curve_table([curve_data(curve, confidence) for curve in curves]),
        diagonal=True,
    )
    charts = [chart, *_corner(chart, curves)]
    return [*charts, *_summary(curve_blocks(curves, crossed, "roc", confidence), "Areas and equal error rates")]


def _corner(chart: LineChart, curves: Sequence[Curve]) -> list[LineChart]:
    """The upper left corner, if all curves hug it."""
    reach = 1.5 * max(curve.eer.value for curve in curves)
    width = next((width for width in CORNERS if width >= reach), None)
    if width is None:
        return []
    x, y = ChartAxis(chart.x.label, 0, width), ChartAxis(chart.y.label, 1 - 1.5 * width, 1)
    return [replace(chart, caption="The same, the upper left corner", x=x, y=y, diagonal=False)]


def object_parts(curves: Sequence[Curve], found: Sequence[FrocCurve], confidence: float) -> list[Part]:
    """Objects in images: precision over recall, and recall over false positives per image."""
    return [
        _pr_chart(curves, confidence),
        _froc_chart(found, confidence),
        *_summary(curve_blocks(curves, [], "pr", confidence), "Precision and recall"),
        *_summary(froc_blocks(found, confidence), "Recall at so many false positives per image"),
    ]


def _pr_chart(curves: Sequence[Curve], confidence: float) -> LineChart:
    return LineChart(
        caption=f"Precision over recall{_bands(curves, confidence)}",
        description="The precision over the recall: the higher and the further to the right, the better.",
        x=ChartAxis("recall", 0, 1),
        y=ChartAxis("precision", 0, 1),
        traces=[_precision(curve) for curve in curves],
        data=curve_table([curve_data(curve, confidence) for curve in curves]),
    )


def _precision(curve: Curve) -> Trace:
    recall, precision, found = curve.points.tpr.tolist(), curve.points.precision.tolist(), curve.precision_band
    if found is None:
        return Trace(curve.name, recall, precision)
    return Trace(curve.name, recall, precision, found.low.tolist(), found.high.tolist(), found.recall.tolist())


def _froc_chart(curves: Sequence[FrocCurve], confidence: float) -> LineChart:
    traces = []
    for one in curves:
        limits = [one.points.low.tolist(), one.points.high.tolist()] if one.bands else []
        traces.append(Trace(one.name, one.points.fppi.tolist(), one.points.recall.tolist(), *limits))
    return LineChart(
        caption=f"Free-response curve{_bands(curves, confidence)}",
        description="The share of objects found over the false positives per image.",
        x=ChartAxis("false positives per image", 0, max(float(one.points.fppi.max()) for one in curves) or 1.0),
        y=ChartAxis("recall", 0, 1),
        traces=traces,
        data=curve_table([froc_data(one, confidence) for one in curves]),
    )


def cmc_parts(curves: Sequence[MatchCurve], confidence: float) -> list[Part]:
    """The share of probes found at each rank or better."""
    traces = []
    for one in curves:
        bands = one.curve.bands
        limits = [bands.low.tolist(), bands.high.tolist()] if one.bands else []
        traces.append(Trace(one.name, one.curve.ranks.tolist(), bands.rate.tolist(), *limits))
    last = max(max(trace.x) for trace in traces)
    chart = LineChart(
        caption=f"Cumulative match curve{_bands(curves, confidence)}",
        description="The share of probes whose right identity is found at this rank or better.",
        x=ChartAxis("rank", 1, max(last, 2)),
        y=ChartAxis("recognition rate", 0, 1),
        traces=traces,
        data=curve_table([match_data(one) for one in curves]),
    )
    return [chart, *_summary(match_blocks(curves, confidence), "Recognition rates")]


def error_parts(found: ErrorsOverTruth, confidence: float) -> list[Part]:
    """The error of each answer that is a number over the truth, and the mean error in bins."""
    step = -(-max(found.truth.size, 1) // MOST_POINTS)
    truth, errors = found.truth[::step].tolist(), found.errors[::step].tolist()
    bins = [one.bias for one in found.bins]
    ends = [(one.value, one.value) if one.interval is None else (one.interval.low, one.interval.high) for one in bins]
    tolerance = found.tolerance if found.tolerance and not found.relative else None
    rows: list[list[Cell]] = [list(pair) for pair in zip(truth, errors, strict=True)]
    return [
        LineChart(
            caption=f"Error of each answer over the truth; mean errors with {percent(confidence)} intervals",
            description="The answer minus the truth, over the truth. The dashed lines are 0 and the tolerance.",
            x=ChartAxis.over("truth", truth),
            y=ChartAxis.over("answer − truth", [*errors, *([tolerance, -tolerance] if tolerance else [])]),
            traces=[
                Trace("single answers", truth, errors, line=False, marks=True, faint=True),
                Trace(
                    "mean error",
                    [one.truth for one in found.bins],
                    [one.value for one in bins],
                    [low for low, _ in ends],
                    [high for _, high in ends],
                    line=False,
                    marks=True,
                ),
            ],
            data=Table(["truth", "error"], rows),
            levels=(0.0, *([tolerance, -tolerance] if tolerance else [])),
        )
    ]


def _summary(blocks: Sequence[Block], caption: str) -> list[Part]:
    """What is said about curves; notes on single ones are folded if there are many."""
    parts: list[Part] = []
    for part in parts_of(blocks, caption):
        if isinstance(part, Paragraphs) and len(part.texts) > MOST_NOTES:
            parts += [Paragraphs(part.texts[:1]), Folded("Notes on the curves", [Paragraphs(part.texts[1:])])]
        else:
            parts.append(part)
    return parts


def _bands(curves: Sequence[Curve] | Sequence[FrocCurve] | Sequence[MatchCurve], confidence: float) -> str:
    return f" with {percent(confidence)} bands" if any(curve.bands for curve in curves) else ""
