"""Reliability diagrams: how often it happened, over the probability that was said."""

from collections.abc import Sequence
from pathlib import Path

from harness.analysis.reliability import ReliabilityBin
from harness.report.numbers import percent
from harness.report.plots.canvas import COLOURS, GREY, picture
from harness.report.plots.groups import MARKERS
from harness.report.text import shortened


def plot_reliability(
    runs: Sequence[Sequence[ReliabilityBin]], names: Sequence[str], confidence: float, path: Path
) -> None:
    """The bins of every run with their intervals, and the diagonal of a calibrated one."""
    with picture(path) as (_, sheet):
        sheet.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=(0, (5, 1.5)))
        for number, (bins, name) in enumerate(zip(runs, names, strict=True)):
            below, above = zip(*map(_bars, bins), strict=True)
            sheet.errorbar(
                [one.probability for one in bins], [one.frequency for one in bins], yerr=[below, above],
                label=shortened(name), color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)],
                markersize=3.2, linewidth=0.9, elinewidth=0.9, capsize=1.6,
            )  # fmt: skip
        sheet.set(xlabel="probability that was said", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        sheet.set_ylabel(f"share that came true, {percent(confidence)} interval")
        sheet.legend(loc="upper left")


def _bars(one: ReliabilityBin) -> tuple[float, float]:
    """How far the interval reaches below and above."""
    interval = None if one.estimate is None else one.estimate.interval
    if interval is None:
        return 0.0, 0.0
    return max(one.frequency - interval.low, 0.0), max(interval.high - one.frequency, 0.0)
