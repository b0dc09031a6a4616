"""Scores: how those of positive and negative cases are distributed, and how often what they promise comes true."""

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from harness.analysis.curves.curve import Curve
from harness.analysis.rate import ReliabilityBin
from harness.errors import UsageError
from harness.options import PictureOptions
from harness.report.numbers import percent
from harness.report.plots.canvas import Picture
from harness.report.plots.style import BAND, COLOURS, DASHES, GUIDE_DASHES, MARKERS, colour, error_bars, guide
from harness.stats.curves.scores import ScoreHistogram, score_histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL = 1.55
# More would not fit on a page.
MAX_PANELS = 6


def plot_scores(curves: Sequence[Curve], options: PictureOptions | None = None, ax: "Axes | None" = None) -> Picture:
    """Shares of each class in bins of the score; each curve has a scale of its own."""
    if len(curves) > MAX_PANELS:
        raise UsageError(f"--scores: {len(curves)} curves; the scores of up to {MAX_PANELS} are drawn")
    histograms = []
    for curve in curves:
        if curve.param is not None or not curve.has_negatives or curve.counts is None:
            raise UsageError(f"--scores: {curve.name} has no scores of positive and negative cases")
        histograms.append(score_histogram(curve.counts))
    with Picture(options, ax, height=0.3 + PANEL * len(curves), panels=len(curves)) as picture:
        for axes, curve, histogram in zip(picture.panels, curves, histograms, strict=True):
            _distributions(picture, axes, curve, histogram)
        picture.panels[-1].set_xlabel(picture.name("score"))
    return picture


def _distributions(picture: Picture, axes: "Axes", curve: Curve, histogram: ScoreHistogram) -> None:
    edges = histogram.edges.tolist()
    # Orange and blue, as wrong and right; the outlines differ without colour.
    for number, (name, class_) in enumerate((("positives", histogram.positive), ("negatives", histogram.negative))):
        outside = [(class_.infinite, "without a finite score"), (class_.further, "further out")]
        missing = "".join(f", {100 * share:.1f} % {words}" for share, words in outside if share > 0)
        steps = [*class_.shares.tolist(), class_.shares.tolist()[-1]]
        axes.fill_between(edges, steps, step="post", color=COLOURS[number], alpha=BAND, linewidth=0)
        look = {"color": COLOURS[number], "linestyle": DASHES[number], "label": picture.name(name) + missing}
        axes.plot(edges, steps, drawstyle="steps-post", **look)
    if isfinite(curve.eer_threshold) and edges[0] < curve.eer_threshold < edges[-1]:
        look = guide(linewidth=0.8, linestyle=GUIDE_DASHES, label=picture.name("equal error"))
        axes.axvline(curve.eer_threshold, **look)
    axes.set(xlim=(edges[0], edges[-1]), ylabel=picture.name("share of the class"))
    axes.set_ylim(bottom=0)
    picture.legend(axes, inside=False, title=picture.name(curve.name))


def plot_reliability(
    runs: Sequence[Sequence[ReliabilityBin]],
    names: Sequence[str],
    confidence: float,
    options: PictureOptions | None = None,
    ax: "Axes | None" = None,
) -> Picture:
    """The bins of every run with their intervals, and the diagonal of a calibrated one."""
    with Picture(options, ax, height=3.3) as picture:
        axes = picture.axes
        axes.plot([0, 1], [0, 1], **guide(linewidth=0.8, linestyle=GUIDE_DASHES))
        for number, (bins, name) in enumerate(zip(runs, names, strict=True), picture.first):
            points = [(bin_.probability, bin_.frequency, bin_.interval) for bin_ in bins]
            look = {"color": colour(number), "marker": MARKERS[number % len(MARKERS)]}
            error_bars(axes, points, label=picture.name(name), **look)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        axes.set_xlabel(picture.name("probability that was said"))
        axes.set_ylabel(f"{picture.name('share that came true')}, {percent(confidence)} interval")
        picture.legend()
    return picture
