"""Logarithmic axes of matplotlib."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def logarithmic(sheet: "Axes", which: str, *, dense: bool = False) -> None:
    """Logarithmic axes, labelled 0.01 rather than with powers, which need formulas; `dense` has 1, 2, 5, 10."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for name in which:
        axis = sheet.xaxis if name == "x" else sheet.yaxis
        (sheet.set_xscale if name == "x" else sheet.set_yscale)("log")
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
        if dense:
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
