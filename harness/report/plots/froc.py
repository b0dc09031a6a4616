"""Pictures of free-response curves."""

from collections.abc import Sequence

from harness.analysis.froc import FrocCurve
from harness.options import PictureOptions
from harness.report.froc import floor_of, largest, score_text
from harness.report.plots.canvas import Picture
from harness.report.plots.style import BAND, colour, line


def plot_froc(curves: Sequence[FrocCurve], look: PictureOptions | None = None) -> Picture:
    """Recall over false positives per image, in steps, on a logarithmic axis."""
    with Picture(look, height=2.9) as page:
        sheet, floor, last = page.sheet, floor_of(curves), largest(curves)
        for number, curve in enumerate(curves):
            points = curve.points
            # Points without a false positive are drawn at the start of the axis; a curve goes on to its end.
            x = [max(one, floor) for one in points.fppi.tolist()] + [last]
            recall, low, high = (side.tolist() for side in (points.recall, points.low, points.high))
            if curve.bands:
                sides = (low + low[-1:], high + high[-1:])
                sheet.fill_between(x, *sides, step="post", color=colour(number), alpha=BAND, linewidth=0)
            text = f"{page.name(curve.name)}, {score_text(curve)}"
            sheet.plot(x, recall + recall[-1:], drawstyle="steps-post", label=text, **line(number))
        sheet.set_xscale("log", base=2)
        ticks = [2.0**power for power in range(-6, 7) if floor <= 2.0**power <= last]
        sheet.set_xticks(ticks, [f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}" for tick in ticks])
        sheet.minorticks_off()
        sheet.set(xlim=(floor, last), ylim=(0, 1.005))
        sheet.set(xlabel=page.name("false positives per image"), ylabel=page.name("recall"))
        page.legend()
    return page
