"""Power, or the width of an interval, over the size of a test."""

from pathlib import Path
from typing import TYPE_CHECKING

from harness.analysis.power import PowerPlan
from harness.report.plots.canvas import COLOURS, GREY, picture
from harness.report.text import safe

if TYPE_CHECKING:
    from matplotlib.ticker import MaxNLocator

LABELS = {"width": "width of the interval", "detectable": "smallest difference that is shown"}


def plot_power(plan: PowerPlan, path: Path) -> None:
    """The curve, with the goal and where it is reached."""
    request = plan.request
    falls = request.measured != "power"
    goal = request.width if falls else request.power
    with picture(path, height=2.6) as (_, sheet):
        sheet.plot(plan.curve_units, plan.curve, color=COLOURS[0])
        if request.units is None and goal is not None and plan.units is not None:
            sheet.axhline(goal, color=GREY, linewidth=0.8, linestyle=(0, (5, 1.5)))
            sheet.plot([plan.units], [plan.reached], marker="o", markersize=4, color=COLOURS[1])
            sheet.annotate(
                f"{plan.units:,} {safe(plan.unit)}",
                (plan.units, plan.reached),
                textcoords="offset points",
                xytext=(6, 6 if falls else -10),
                fontsize=7,
            )
        sheet.set(xlabel=safe(plan.unit), ylabel=LABELS.get(request.measured, "power"), xlim=(0, None))
        sheet.set_ylim(0, None if falls else 1.005)
        sheet.xaxis.set_major_formatter(lambda value, _place: f"{value:,.0f}")
        sheet.xaxis.set_major_locator(_locator())


def _locator() -> "MaxNLocator":
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5, integer=True)
