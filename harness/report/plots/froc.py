"""Pictures of free-response curves."""

from collections.abc import Sequence
from pathlib import Path

from harness.analysis.froc import FrocCurve
from harness.report.froc import floor_of, label, largest
from harness.report.plots.canvas import line, picture


def plot_froc(curves: Sequence[FrocCurve], path: Path) -> None:
    """Recall over false positives per image, in steps, on a logarithmic axis."""
    with picture(path, height=2.9) as (_, sheet):
        floor, last = floor_of(curves), largest(curves)
        for number, curve in enumerate(curves):
            points, colour = curve.points, line(number)["color"]
            # Points without a false positive are drawn at the start of the axis; a curve goes on to its end.
            x = [max(one, floor) for one in points.fppi.tolist()] + [last]
            recall, low, high = (side.tolist() for side in (points.recall, points.low, points.high))
            if curve.bands:
                sides = (low + low[-1:], high + high[-1:])
                sheet.fill_between(x, *sides, step="post", color=colour, alpha=0.13, linewidth=0)
            sheet.plot(x, recall + recall[-1:], drawstyle="steps-post", label=label(curve), **line(number))
        sheet.set_xscale("log", base=2)
        ticks = [2.0**power for power in range(-6, 7) if floor <= 2.0**power <= last]
        sheet.set_xticks(ticks, [f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}" for tick in ticks])
        sheet.minorticks_off()
        sheet.set(xlim=(floor, last), ylim=(0, 1.005), xlabel="false positives per image", ylabel="recall")
        sheet.legend(loc="best")
