"""How all pictures look: colours that the colour-blind can distinguish, dashes, markers, sizes of letters and lines.

The colours are constants that a page may map to others, for dark mode: no picture uses a colour that is not named here,
but for the scales of heat maps.
"""

from typing import Any

# A journal's column, in inches.
WIDTH = 3.5
BACKGROUND = "#ffffff"
# Letters, axes and black lines. Not #000000, which SVG leaves out because it is the default.
INK = "#222222"
GRID = "#e4e4e4"
# Lines that are no data: the diagonal, chance, a goal.
GREY = "#999999"
# Settings that are beaten by others, and what else should stay in the background.
DIM = "#666666"
# Okabe and Ito (2008) without the light yellow: everyone can distinguish them, on white paper.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", INK)
# These distinguish lines in black and white. Dots alone are the line that no threshold reaches: see `THIN`.
DASHES: tuple[Any, ...] = (
    "-", (0, (5, 1.5)), (0, (2.4, 1.4)), (0, (6, 1.5, 1.4, 1.5)), (0, (6, 1.5, 1.4, 1.5, 1.4, 1.5)),
)  # fmt: skip
THIN = {"linewidth": 0.7, "linestyle": (0, (1, 2))}
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
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "Source Han Sans", "WenQuanYi Zen Hei",
    "IPAGothic", "Hiragino Sans", "PingFang SC", "Yu Gothic", "Microsoft YaHei", "Arial Unicode MS", "Noto Emoji",
    "Symbola",
)  # fmt: skip


def colour(number: int) -> str:
    """The colour of a curve."""
    return COLOURS[number % len(COLOURS)]


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
