"""Reliability diagrams: how often it happened, over the probability that was said."""

from collections.abc import Sequence

from harness.analysis.reliability import ReliabilityBin
from harness.options import PictureOptions
from harness.report.numbers import percent
from harness.report.plots.canvas import Picture
from harness.report.plots.style import GUIDE_DASHES, MARKERS, colour, guide


def plot_reliability(
    runs: Sequence[Sequence[ReliabilityBin]],
    names: Sequence[str],
    confidence: float,
    look: PictureOptions | None = None,
) -> Picture:
    """The bins of every run with their intervals, and the diagonal of a calibrated one."""
    with Picture(look, height=3.3) as page:
        sheet = page.sheet
        sheet.plot([0, 1], [0, 1], **guide(linewidth=0.8, linestyle=GUIDE_DASHES))
        for number, (bins, name) in enumerate(zip(runs, names, strict=True)):
            below, above = zip(*map(_bars, bins), strict=True)
            sheet.errorbar(
                [one.probability for one in bins],
                [one.frequency for one in bins],
                yerr=[below, above],
                label=page.name(name),
                color=colour(number),
                marker=MARKERS[number % len(MARKERS)],
                markersize=3.2,
                linewidth=0.9,
                elinewidth=0.9,
                capsize=1.6,
            )
        sheet.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal", xlabel=page.name("probability that was said"))
        sheet.set_ylabel(f"{page.name('share that came true')}, {percent(confidence)} interval")
        page.legend()
    return page


def _bars(one: ReliabilityBin) -> tuple[float, float]:
    """How far the interval reaches below and above."""
    interval = one.interval
    if interval is None:
        return 0.0, 0.0
    return max(one.frequency - interval.low, 0.0), max(interval.high - one.frequency, 0.0)
