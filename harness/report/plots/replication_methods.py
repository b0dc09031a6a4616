"""A picture of standard errors over the rank, by method of replication."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.analysis.replication_methods import MethodComparison
from harness.options import PictureOptions
from harness.report.plots.canvas import Picture
from harness.report.plots.scales import logarithmic
from harness.report.plots.style import line
from harness.report.replication_methods import method_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PANEL = 2.3


def plot_methods(comparisons: Sequence[MethodComparison], look: PictureOptions | None = None) -> Picture:
    """A panel of methods for each curve, and one with fewer units if strata have three or more."""
    panels = sum(1 + bool(one.se_with_a_unit_less) for one in comparisons)
    with Picture(look, height=PANEL * panels, panels=panels) as page:
        sheets = iter(page.sheets)
        for one in comparisons:
            _error_lines(page, next(sheets), one, {method_label(name): se.tolist() for name, se in one.se.items()})
            if one.se_with_a_unit_less:
                named = {f"{one.units_per_stratum} units": one.se["brr"].tolist()}
                named |= {f"without unit {n + 1}": se.tolist() for n, se in enumerate(one.se_with_a_unit_less)}
                _error_lines(page, next(sheets), one, named)
    return page


def _error_lines(page: Picture, sheet: "Axes", comparison: MethodComparison, named: dict[str, list[float]]) -> None:
    for number, (name, se) in enumerate(named.items()):
        sheet.plot(comparison.ranks, se, label=page.name(name), **line(number))
    logarithmic(sheet, "x", dense=True)
    sheet.set(xlim=(1, max(2, comparison.ranks[-1])), xlabel=page.name("rank"), ylabel=page.name("standard error"))
    sheet.set_ylim(bottom=0)
    page.legend(sheet, title=page.name(comparison.name))
