"""Power, or the width of an interval, over the size of a test."""

from typing import TYPE_CHECKING

from harness.analysis.power import PowerPlan
from harness.options import PictureOptions
from harness.report.plots.canvas import Picture
from harness.report.plots.style import COLOURS, DASHES, SMALL, guide

if TYPE_CHECKING:
    from matplotlib.ticker import MaxNLocator

LABELS = {"width": "width of the interval", "detectable": "smallest difference that is shown"}


def plot_power(plan: PowerPlan, look: PictureOptions | None = None) -> Picture:
    """The curve, with the goal and where it is reached."""
    request = plan.request
    falls = request.measured != "power"
    goal = request.width if falls else request.power
    with Picture(look, height=2.6) as page:
        sheet = page.sheet
        sheet.plot(plan.curve_units, plan.curve, color=COLOURS[0])
        if request.units is None and goal is not None and plan.units is not None:
            sheet.axhline(goal, **guide(linewidth=0.8, linestyle=DASHES[1]))
            sheet.plot([plan.units], [plan.reached], marker="o", markersize=4, color=COLOURS[1])
            sheet.annotate(
                f"{plan.units:,} {page.name(plan.unit)}",
                (plan.units, plan.reached),
                textcoords="offset points",
                xytext=(6, 6 if falls else -10),
                fontsize=SMALL,
            )
        sheet.set(
            xlabel=page.name(plan.unit), ylabel=page.name(LABELS.get(request.measured, "power"), 40), xlim=(0, None)
        )
        sheet.set_ylim(0, None if falls else 1.005)
        sheet.xaxis.set_major_formatter(lambda value, _place: f"{value:,.0f}")
        sheet.xaxis.set_major_locator(_locator())
    return page


def _locator() -> "MaxNLocator":
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5, integer=True)
