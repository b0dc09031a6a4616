"""Complete gnuplot scripts for curves, with the data inline: `gnuplot FILE` draws the picture next to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from harness.analysis.cmc import MatchCurve
from harness.analysis.curve import Curve
from harness.options import PictureOptions
from harness.report.curve_data import CurveData, curve_data, match_data, plain_data
from harness.report.plots.names import PictureNames
from harness.report.plots.scales import DEVIATE_TICKS, largest_rate, reached, smallest_rate
from harness.report.plots.style import COLOURS, WIDTH
from harness.report.text import safe

# Dash types that distinguish lines in black and white.
DASHES = 5
# Pixels of a picture as wide as a column.
SIZE = (520, 480)


@dataclass(frozen=True)
class PlotLayout:
    """What is drawn: labels, settings, columns and the style of lines."""

    x: str
    y: str
    settings: Sequence[str]
    using: str
    style: str = "lines"
    # Columns for a band, or none.
    band: str = ""
    extra: Sequence[str] = ()
    # Whether straight lines of the data are straight on these axes.
    straight: bool = True
    # How a number is placed on the axes.
    scale: str = "{}"


@dataclass(frozen=True)
class CurvePart:
    """The points of a curve that a threshold reaches, counted from 0, and its title in the key."""

    title: str
    first: int
    last: int

    @property
    def every(self) -> str:
        """In gnuplot's notation."""
        return f"every ::{self.first}::{self.last}"


class ScriptPage:
    """Where a script goes, and how its picture looks."""

    def __init__(self, path: PurePath, look: PictureOptions) -> None:
        self.picture = f"{path.stem}.svg"
        self._look, self._names = look, PictureNames(look)
        self.name = self._names.shown

    @property
    def size(self) -> str:
        """Pixels; wider pictures are higher too, as those of --plot are."""
        scale = (self._look.width or WIDTH) / WIDTH
        return f"{SIZE[0] * scale:.0f},{SIZE[1] * scale**0.5:.0f}"

    def settings(self, layout: "PlotLayout") -> list[str]:
        """The title and the limits of the axes, if there are any."""
        found = [f"set title {quoted(self._look.title)} noenhanced"] if self._look.title else []
        for axis, limits in (("x", self._look.xlim), ("y", self._look.ylim)):
            if limits is not None:
                ends = (limits.low, limits.high)
                low, high = ("*" if end is None else layout.scale.format(f"{end:.9g}") for end in ends)
                found += [f"set {axis}range [{low}:{high}]", "set size noratio"]
        self._names.check()
        return found


def script(layout: PlotLayout, data: Sequence[CurveData], parts: Sequence[CurvePart], page: ScriptPage) -> str:
    """The whole script; names are single-quoted, so gnuplot reads no escapes or commands in them."""
    lines = [
        f"# Draws {safe(page.picture)}. For another format change the next two lines, e.g. to pngcairo or pdfcairo.",
        f"set terminal svg size {page.size} font 'Helvetica,12' noenhanced background 'white'",
        f"set output {quoted(page.picture)}",
        "set key bottom right noenhanced",
        f"set xlabel {quoted(page.name(layout.x, 40))}",
        f"set ylabel {quoted(page.name(layout.y, 40))}",
        "set grid linecolor '#dddddd'",
        *layout.settings,
        *page.settings(layout),
    ]
    for number, one in enumerate(data):
        lines += [f"$curve{number} << EOD", plain_data([one]).rstrip("\n"), "EOD"]
    return "\n".join([*lines, "plot " + ", \\\n     ".join(_plots(layout, parts)), ""])


def _plots(layout: PlotLayout, parts: Sequence[CurvePart]) -> list[str]:
    plots = []
    for number, part in enumerate(parts if layout.band else ()):
        fill = f"linecolor '{COLOURS[number % len(COLOURS)]}' fillstyle transparent solid 0.15 noborder notitle"
        plots.append(f"$curve{number} {part.every} using {layout.band} with filledcurves {fill}")
    for number, part in enumerate(parts):
        line = f"linecolor '{COLOURS[number % len(COLOURS)]}' dashtype {number % DASHES + 1} linewidth 1.5"
        chosen = f"$curve{number}" if layout.straight else f"$curve{number} {part.every}"
        plots.append(f"{chosen} using {layout.using} with {layout.style} {line} title {quoted(part.title)}")
    return [*plots, *layout.extra]


def quoted(text: str) -> str:
    """A string that gnuplot takes literally."""
    return "'" + safe(text).replace("'", "''") + "'"


_UNIT = ["set xrange [0:1]", "set yrange [0:1]", "set size ratio 1"]
_DIAGONAL = "x with lines linecolor '#999999' linewidth 0.7 dashtype 1 notitle"


def _clamped(floor: float) -> list[str]:
    """Rates of 0 and 1 are drawn at the ends of an axis that cannot show them."""
    return [f"floor_ = {floor:.9g}", "clamp(r) = r < floor_ ? floor_ : (r > 1 - floor_ ? 1 - floor_ : r)"]


def roc_layout(axes: str, floor: float, *, bands: tuple[int, int] | None) -> PlotLayout:
    """True- over false-positive rate."""
    labels = ("false-positive rate", "true-positive rate")
    if axes == "linear":
        return PlotLayout(*labels, _UNIT, "3:2", band=f"3:{bands[0]}:{bands[1]}" if bands else "", extra=[_DIAGONAL])
    settings = [*_clamped(floor), "set logscale x", f"set xrange [{floor:.9g}:1]", "set yrange [0:1]"]
    settings.append("set key top left noenhanced")
    band = f"(clamp($3)):{bands[0]}:{bands[1]}" if bands else ""
    return PlotLayout(*labels, settings, "(clamp($3)):2", band=band, straight=False)


def det_layout(axes: str, floor: float, largest: float, *, bands: tuple[int, int] | None) -> PlotLayout:
    """Both errors, on normal-deviate, logarithmic or plain axes, with the line on which they are equal."""
    if axes == "linear":
        band = f"3:(1-${bands[0]}):(1-${bands[1]})" if bands else ""
        labels = ("false-positive rate", "false-negative rate")
        return PlotLayout(*labels, _UNIT, "3:4", band=band, extra=[_DIAGONAL])
    normal = axes == "normal"
    settings = [*_clamped(floor), "set size ratio 1", f"at(r) = {'invnorm(clamp(r))' if normal else 'clamp(r)'}"]
    if normal:
        marks = ", ".join(f"'{tick * 100:g}' invnorm({tick:g})" for tick in DEVIATE_TICKS if floor <= tick <= largest)
        settings += [f"set xtics ({marks})", f"set ytics ({marks})"]
        span = f"[invnorm({floor:.9g}):invnorm({largest:.9g})]"
    else:
        settings.append("set logscale xy")
        span = f"[{floor:.9g}:1]"
    settings += [f"set xrange {span}", f"set yrange {span}"]
    per_cent = ", %" if normal else ""
    band = f"(at($3)):(at(1-${bands[0]})):(at(1-${bands[1]}))" if bands else ""
    labels = (f"false-positive rate{per_cent}", f"false-negative rate{per_cent}")
    scale = "invnorm({})" if normal else "{}"
    return PlotLayout(*labels, settings, "(at($3)):(at($4))", band=band, extra=[_DIAGONAL], straight=False, scale=scale)


def pr_layout() -> PlotLayout:
    """Precision over recall, in steps: straight lines would show points that no threshold gives."""
    return PlotLayout("recall", "precision", [*_UNIT, "set key bottom left"], "2:5", style="fsteps")


def cmc_layout(*, bands: bool) -> PlotLayout:
    """Identification rate over the rank, on a logarithmic axis."""
    settings = ["set logscale x", "set yrange [*:1]"]
    return PlotLayout("rank", "identification rate", settings, "1:2", style="linespoints pointsize 0.4",
                  band="1:3:4" if bands else "")  # fmt: skip


def _band_columns(curves: Sequence[Curve]) -> tuple[int, int] | None:
    """The columns of the data that a band is drawn from."""
    if not any(curve.bands for curve in curves):
        return None
    return (8, 9) if all(curve.points.fixed for curve in curves) else (6, 7)


def curve_script(kind: str, curves: Sequence[Curve], axes: str, page: ScriptPage) -> str:
    """A gnuplot script of curves over a threshold."""
    bands, floor = _band_columns(curves), smallest_rate(curves)
    layout: PlotLayout = {
        "roc": lambda: roc_layout(axes, floor, bands=bands),
        "det": lambda: det_layout(axes, floor, largest_rate(curves), bands=bands),
        "pr": pr_layout,
    }[kind]()
    parts = [CurvePart(f"{page.name(curve.name)}, {_title(kind, curve)}", *_ends(curve)) for curve in curves]
    return script(layout, [curve_data(curve) for curve in curves], parts, page)


def _ends(curve: Curve) -> tuple[int, int]:
    first, stop = reached(curve)
    return first, stop - 1


def _title(kind: str, curve: Curve) -> str:
    summaries = {"pr": ("AP", curve.average_precision), "roc": ("AUC", curve.auc), "det": ("EER", curve.eer)}
    name, estimate = summaries[kind]
    interval = estimate.interval
    limits = "" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]"
    return f"{name} {estimate.value:.3f}{limits}"


def match_script(curves: Sequence[MatchCurve], page: ScriptPage) -> str:
    """A gnuplot script of cumulative match curves."""
    parts = [
        CurvePart(f"{page.name(curve.name)}, rank 1: {curve.rank_one[0]:.3f}", 0, curve.curve.ranks.size - 1)
        for curve in curves
    ]
    return script(cmc_layout(bands=any(c.bands for c in curves)), [match_data(c) for c in curves], parts, page)
