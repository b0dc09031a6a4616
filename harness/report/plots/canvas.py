"""The canvas of all pictures: column width, colours that the colour-blind can distinguish, reproducible files."""

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import MissingExtra, OutputError, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.analysis.curve import Curve

SUFFIXES = (".svg", ".png", ".pdf")
# A journal's column, in inches.
WIDTH = 3.5
# Okabe and Ito (2008) without the light yellow: everyone can distinguish them, on white paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# These distinguish lines in black and white.
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2, 1, 2, 1, 2)))
GREY = "#999999"
# Rates that are marked on normal-deviate axes.
DEVIATE_TICKS = (0.0001, 0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.995, 0.999)
STYLE = {
    "font.size": 8.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 6.5,
    "legend.frameon": True,
    "legend.framealpha": 0.9,
    "legend.edgecolor": "none",
    "legend.handlelength": 2.6,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.2,
    "grid.linewidth": 0.4,
    "grid.color": "#e4e4e4",
    "axes.grid": True,
    "axes.axisbelow": True,
    # A name with dollar signs is not a formula.
    "text.parse_math": False,
    "svg.hashsalt": "hate",
    "pdf.fonttype": 42,
}


def check_picture(path: Path) -> None:
    """Raise an error before anything is run if the picture cannot be drawn."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"--plot {path}: the name of a picture must end in .svg, .png or .pdf")
    if not path.parent.is_dir():
        raise OutputError(f"--plot {path}: no folder {path.parent}; create it first")
    library()


def library() -> Any:
    """Matplotlib, or a hint on how to install it."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("pictures need matplotlib: pip install 'hate-harness[plots]'") from None
    return matplotlib


@contextmanager
def picture(path: Path, *, width: float = WIDTH, height: float = 3.3) -> "Iterator[tuple[Figure, Axes]]":
    """Axes to draw on; the file is written at the end."""
    matplotlib = library()
    from matplotlib.figure import Figure

    # Not pyplot: no window and no global state, whatever backend the user has set.
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
        yield figure, axes
        _save(figure, path)


def _save(figure: "Figure", path: Path) -> None:
    kind = path.suffix.lower()[1:]
    dates: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[kind]
    page = io.BytesIO()
    with warnings.catch_warnings():
        # Characters that the font lacks are drawn as boxes.
        warnings.simplefilter("ignore", UserWarning)
        figure.savefig(page, format=kind, dpi=300, metadata=dates)
    try:
        path.write_bytes(page.getvalue())
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}; the picture was not written") from None


def line(number: int) -> dict[str, Any]:
    """The style of a curve's line."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number % len(DASHES)]}


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


def smallest_rate(curves: "Sequence[Curve]") -> float:
    """Half of the smallest rate above 0: where an axis without 0 starts."""
    smallest = min(1 / (2 * max(curve.positives, curve.negatives)) for curve in curves)
    return max(smallest, 1e-6)


def largest_rate(curves: "Sequence[Curve]") -> float:
    """Where normal-deviate axes end: past the equal error rates, with room for a legend."""
    return min(0.999, max(0.6, *(2 * curve.eer.value for curve in curves)))


def reached(curve: "Curve") -> tuple[int, int]:
    """The first point that a threshold reaches, and the first after those; a sweep reaches all."""
    size = int(curve.points.tpr.size)
    if curve.param is not None:
        return 0, size
    return int(curve.counts.opened), size - int(curve.counts.closed)
