"""How pictures of matplotlib look: the palette, markers, sizes of letters and lines.

A page may map the colours to others, for dark mode: no picture uses a colour that is not of the palette, but for the
scales of heat maps.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.report import palette
from harness.report.palette import COLOURS as COLOURS
from harness.report.palette import INK as INK
from harness.report.palette import PAPER, QUIET, RULE
from harness.report.palette import colour as colour
from harness.stats.rates import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A journal's column, in inches.
WIDTH = 3.5
BACKGROUND, DIM, GRID, GREY = PAPER, QUIET, RULE, palette.GUIDE
DASHES: tuple[Any, ...] = tuple((0, lengths) if lengths else "-" for lengths in palette.DASHES)
THIN = {"linewidth": 0.7, "linestyle": (0, palette.DOTS)}
GUIDE_DASHES = (0, (4, 2))
MARKERS = ("o", "s", "^", "D", "v", "P", "h")
# Points; no letter of a picture is smaller than SMALL at the width of a column.
SMALL, NORMAL = 7.0, 8.0
# How strong a band is filled.
BAND = 0.14

STYLE = {
    "font.size": NORMAL,
    "axes.labelsize": NORMAL,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.title_fontsize": SMALL,
    "figure.titlesize": NORMAL + 0.5,
    "figure.labelsize": SMALL,
    "axes.titlesize": NORMAL,
    "legend.frameon": True,
    "legend.framealpha": 0.9,
    "legend.edgecolor": "none",
    "legend.handlelength": 2.6,
    "legend.labelspacing": 0.35,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.2,
    "grid.linewidth": 0.4,
    "grid.color": GRID,
    "axes.grid": True,
    "axes.axisbelow": True,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": BACKGROUND,
    "axes.facecolor": BACKGROUND,
    "savefig.facecolor": BACKGROUND,
    # A name with dollar signs is not a formula.
    "text.parse_math": False,
    "text.usetex": False,
    "axes.formatter.use_mathtext": False,
    "svg.hashsalt": "hate",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}
# Fonts for letters that matplotlib's own lacks, where one of them is installed.
FURTHER_FONTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans JP",
    "Noto Sans SC",
    "Source Han Sans",
    "WenQuanYi Zen Hei",
    "IPAGothic",
    "Hiragino Sans",
    "PingFang SC",
    "Yu Gothic",
    "Microsoft YaHei",
    "Arial Unicode MS",
    "Noto Emoji",
    "Symbola",
)


def line(number: int) -> dict[str, Any]:
    """The style of a curve's line."""
    return {"color": colour(number), "linestyle": DASHES[number % len(DASHES)]}


def thin(number: int) -> dict[str, Any]:
    """The style of a line that no threshold reaches."""
    return {"color": colour(number), **THIN}


def dot(number: int) -> dict[str, Any]:
    """The style of a mark on a curve."""
    return {"color": colour(number), "markeredgecolor": BACKGROUND, "markeredgewidth": 0.5, "linestyle": "none"}


def guide(**look: Any) -> dict[str, Any]:
    """The style of a line that is no data, which a legend may cover."""
    return {"color": GREY, "linewidth": 0.6, "zorder": 0, "gid": GUIDE} | look


GUIDE = "guide"


def error_bars(axes: "Axes", points: Sequence[tuple[float, float, Interval | None]], **look: Any) -> None:
    """Positions and values with their intervals; a value that has none stands by itself."""
    limits = [(value, interval or Interval(value, value)) for _, value, interval in points]
    below = [max(value - interval.low, 0.0) for value, interval in limits]
    above = [max(interval.high - value, 0.0) for value, interval in limits]
    look = {"markersize": 3.2, "linewidth": 0.9, "elinewidth": 0.9, "capsize": 1.6} | look
    axes.errorbar([x for x, *_ in points], [value for value, _ in limits], yerr=[below, above], **look)


def logarithmic(axes: "Axes", which: str, *, dense: bool = False) -> None:
    """Logarithmic axes, labelled 0.01 rather than with powers, which need formulas; `dense` has 1, 2, 5, 10."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for name in which:
        axis = axes.xaxis if name == "x" else axes.yaxis
        (axes.set_xscale if name == "x" else axes.set_yscale)("log")
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
        if dense:
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
