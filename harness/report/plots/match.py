"""The picture of a cumulative match curve, its ranks on a logarithmic axis."""

from collections.abc import Sequence
from pathlib import Path

from harness.analysis.curves.match import MatchCurve
from harness.report.plots.canvas import line, logarithmic, picture
from harness.report.text import shortened


def plot_cmc(curves: Sequence[MatchCurve], path: Path) -> None:
    """Identification rate over the rank."""
    with picture(path, height=2.7) as (_, sheet):
        lowest = 1.0
        for number, curve in enumerate(curves):
            bands, ranks = curve.curve.bands, curve.curve.ranks.tolist()
            rate, low, high = curve.rank_one
            text = f"{shortened(curve.name)}, rank 1: {rate:.3f}" + (f" [{low:.3f}, {high:.3f}]" if curve.bands else "")
            if curve.bands:
                colour = line(number)["color"]
                sides = bands.low.tolist(), bands.high.tolist()
                sheet.fill_between(ranks, *sides, step="post", color=colour, alpha=0.13, linewidth=0)
            # A rate holds from its rank up to the next.
            sheet.plot(ranks, bands.rate.tolist(), drawstyle="steps-post", label=text, **line(number))
            lowest = min(lowest, low if curve.bands else rate)
        logarithmic(sheet, "x", dense=True)
        sheet.set(xlim=(1, max(2, *(int(c.curve.ranks[-1]) for c in curves))), xlabel="rank")
        sheet.set(ylim=(max(0.0, lowest - 0.05), 1.005), ylabel="identification rate")
        # A few lines leave room in the corner; more may not.
        sheet.legend(loc="lower right" if len(curves) < 4 else "best")
