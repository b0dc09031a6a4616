"""A ready gnuplot script, its data inline: `gnuplot FILE` draws the picture beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from harness.report.curve_data import Data, plain
from harness.report.text import safe

# Okabe and Ito's colours, and dashes that tell lines apart in black and white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = 5
TICKS = (0.0001, 0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.995, 0.999)


@dataclass(frozen=True)
class Sketch:
    """What is drawn: labels, settings, which columns, how a line runs."""

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


@dataclass(frozen=True)
class Part:
    """The points of a curve that a threshold reaches, as places from 0, and its name in the key."""

    title: str
    first: int
    last: int

    @property
    def every(self) -> str:
        """As gnuplot has it."""
        return f"every ::{self.first}::{self.last}"


def script(sketch: Sketch, data: Sequence[Data], parts: Sequence[Part], path: PurePath) -> str:
    """The whole script; names are single-quoted, where gnuplot knows no escapes and no commands."""
    picture = f"{path.stem}.svg"
    lines = [
        f"# Draws {safe(picture)}. For another format change the next two lines, e.g. to pngcairo or pdfcairo.",
        "set terminal svg size 520,480 font 'Helvetica,12' noenhanced background 'white'",
        f"set output {quoted(picture)}",
        "set key bottom right noenhanced",
        f"set xlabel {quoted(sketch.x)}",
        f"set ylabel {quoted(sketch.y)}",
        "set grid linecolor '#dddddd'",
        *sketch.settings,
    ]
    for number, one in enumerate(data):
        lines += [f"$curve{number} << EOD", plain([one]).rstrip("\n"), "EOD"]
    return "\n".join([*lines, "plot " + ", \\\n     ".join(_plots(sketch, parts)), ""])


def _plots(sketch: Sketch, parts: Sequence[Part]) -> list[str]:
    plots = []
    for number, part in enumerate(parts if sketch.band else ()):
        fill = f"linecolor '{COLOURS[number % len(COLOURS)]}' fillstyle transparent solid 0.15 noborder notitle"
        plots.append(f"$curve{number} {part.every} using {sketch.band} with filledcurves {fill}")
    for number, part in enumerate(parts):
        line = f"linecolor '{COLOURS[number % len(COLOURS)]}' dashtype {number % DASHES + 1} linewidth 1.5"
        chosen = f"$curve{number}" if sketch.straight else f"$curve{number} {part.every}"
        plots.append(f"{chosen} using {sketch.using} with {sketch.style} {line} title {quoted(part.title)}")
    return [*plots, *sketch.extra]


def quoted(text: str) -> str:
    """A string that gnuplot takes as it is."""
    return "'" + safe(text).replace("'", "''") + "'"


_UNIT = ["set xrange [0:1]", "set yrange [0:1]", "set size ratio 1"]
_DIAGONAL = "x with lines linecolor '#999999' linewidth 0.7 dashtype 1 notitle"


def _clamped(floor: float) -> list[str]:
    """Rates of 0 and 1 stand where an axis without them ends."""
    return [f"floor_ = {floor:.9g}", "clamp(r) = r < floor_ ? floor_ : (r > 1 - floor_ ? 1 - floor_ : r)"]


def roc_sketch(axes: str, floor: float, *, bands: tuple[int, int] | None) -> Sketch:
    """True- over false-positive rate."""
    labels = ("false-positive rate", "true-positive rate")
    if axes == "linear":
        return Sketch(*labels, _UNIT, "3:2", band=f"3:{bands[0]}:{bands[1]}" if bands else "", extra=[_DIAGONAL])
    settings = [*_clamped(floor), "set logscale x", f"set xrange [{floor:.9g}:1]", "set yrange [0:1]"]
    settings.append("set key top left noenhanced")
    band = f"(clamp($3)):{bands[0]}:{bands[1]}" if bands else ""
    return Sketch(*labels, settings, "(clamp($3)):2", band=band, straight=False)


def det_sketch(axes: str, floor: float, largest: float, *, bands: tuple[int, int] | None) -> Sketch:
    """Both errors, on normal-deviate, logarithmic or plain axes, with the line on which they are equal."""
    if axes == "linear":
        band = f"3:(1-${bands[0]}):(1-${bands[1]})" if bands else ""
        labels = ("false-positive rate", "false-negative rate")
        return Sketch(*labels, _UNIT, "3:4", band=band, extra=[_DIAGONAL])
    normal = axes == "normal"
    settings = [*_clamped(floor), "set size ratio 1", f"at(r) = {'invnorm(clamp(r))' if normal else 'clamp(r)'}"]
    if normal:
        marks = ", ".join(f"'{tick * 100:g}' invnorm({tick:g})" for tick in TICKS if floor <= tick <= largest)
        settings += [f"set xtics ({marks})", f"set ytics ({marks})"]
        span = f"[invnorm({floor:.9g}):invnorm({largest:.9g})]"
    else:
        settings.append("set logscale xy")
        span = f"[{floor:.9g}:1]"
    settings += [f"set xrange {span}", f"set yrange {span}"]
    per_cent = ", %" if normal else ""
    band = f"(at($3)):(at(1-${bands[0]})):(at(1-${bands[1]}))" if bands else ""
    labels = (f"false-positive rate{per_cent}", f"false-negative rate{per_cent}")
    return Sketch(*labels, settings, "(at($3)):(at($4))", band=band, extra=[_DIAGONAL], straight=False)


def pr_sketch() -> Sketch:
    """Precision over recall, in steps: a straight line would promise what no threshold gives."""
    return Sketch("recall", "precision", [*_UNIT, "set key bottom left"], "2:5", style="fsteps")


def cmc_sketch(*, bands: bool) -> Sketch:
    """Identification rate over the rank, which is on a logarithmic axis."""
    settings = ["set logscale x", "set yrange [*:1]"]
    return Sketch("rank", "identification rate", settings, "1:2", style="linespoints pointsize 0.4",
                  band="1:3:4" if bands else "")  # fmt: skip
