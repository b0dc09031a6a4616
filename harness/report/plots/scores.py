"""How the scores of positive and negative cases are distributed, a panel for each curve."""

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from harness.analysis.curve import Curve
from harness.errors import UsageError
from harness.options import PictureOptions
from harness.report.plots.canvas import Picture
from harness.report.plots.style import BAND, COLOURS, DASHES, GUIDE_DASHES, guide
from harness.stats.curves.histogram import ClassHistogram, ScoreHistogram, score_histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL = 1.55
# More would not fit on a page.
MOST = 6


def plot_scores(curves: Sequence[Curve], look: PictureOptions | None = None) -> Picture:
    """Shares of each class in bins of the score; each curve has a scale of its own."""
    if len(curves) > MOST:
        raise UsageError(f"--scores: {len(curves)} curves; the scores of up to {MOST} are drawn")
    found = []
    for curve in curves:
        if curve.param is not None or not curve.has_negatives or curve.counts is None:
            raise UsageError(f"--scores: {curve.name} has no scores of positive and negative cases")
        found.append(score_histogram(curve.counts))
    with Picture(look, height=0.3 + PANEL * len(curves), panels=len(curves)) as page:
        for sheet, curve, histogram in zip(page.sheets, curves, found, strict=True):
            _distributions(page, sheet, curve, histogram)
        page.sheets[-1].set_xlabel(page.name("score"))
    return page


def _distributions(page: Picture, sheet: "Axes", curve: Curve, found: ScoreHistogram) -> None:
    edges = found.edges.tolist()
    # Orange and blue, as wrong and right; the outlines differ without colour.
    for number, (name, own) in enumerate((("positives", found.positive), ("negatives", found.negative))):
        steps = [*own.shares.tolist(), own.shares.tolist()[-1]]
        sheet.fill_between(edges, steps, step="post", color=COLOURS[number], alpha=BAND, linewidth=0)
        look = {"color": COLOURS[number], "linestyle": DASHES[number], "label": page.name(name) + _elsewhere(own)}
        sheet.plot(edges, steps, drawstyle="steps-post", **look)
    if isfinite(curve.eer_threshold) and edges[0] < curve.eer_threshold < edges[-1]:
        look = guide(linewidth=0.8, linestyle=GUIDE_DASHES, label=page.name("equal error"))
        sheet.axvline(curve.eer_threshold, **look)
    sheet.set(xlim=(edges[0], edges[-1]), ylabel=page.name("share of the class"))
    sheet.set_ylim(bottom=0)
    page.legend(sheet, inside=False, title=page.name(curve.name))


def _elsewhere(own: ClassHistogram) -> str:
    """What the bins do not have."""
    parts = [(own.infinite, "without a finite score"), (own.further, "further out")]
    return "".join(f", {100 * share:.1f} % {words}" for share, words in parts if share > 0)
