"""Standard errors over the rank by several methods, and with fewer units: two panels."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.analysis.curves.methods import SideBySide
from harness.report.plots.canvas import line, logarithmic, picture, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL = 2.3


def plot_methods(found: Sequence[SideBySide], path: Path) -> None:
    """A panel of methods for each curve, and one with fewer units where strata have three or more."""
    panels = sum(1 + bool(one.fewer) for one in found)
    with picture(path, height=PANEL * panels) as (figure, whole):
        whole.remove()
        sheets = iter(figure.subplots(panels, 1, squeeze=False)[:, 0])
        for one in found:
            _lines(next(sheets), one, {name: se.tolist() for name, se in one.se.items()})
            if one.fewer:
                named = {f"{one.per_stratum} units": one.se["brr"].tolist()}
                named |= {f"without unit {n + 1}": se.tolist() for n, se in enumerate(one.fewer)}
                _lines(next(sheets), one, named)


def _lines(sheet: "Axes", found: SideBySide, named: dict[str, list[float]]) -> None:
    for number, (name, se) in enumerate(named.items()):
        sheet.plot(found.ranks, se, label=name, **line(number))
    logarithmic(sheet, "x", dense=True)
    sheet.set(xlim=(1, max(2, found.ranks[-1])), xlabel="rank", ylabel="standard error")
    sheet.set_ylim(bottom=0)
    sheet.legend(loc="best", title=shortened(found.name), title_fontsize=7, alignment="left")
