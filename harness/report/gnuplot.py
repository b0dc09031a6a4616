"""A ready gnuplot script, its data inline: `gnuplot FILE` draws the picture beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from harness.report.curve_data import Data, plain
from harness.report.text import safe

# Okabe and Ito's colours, and dashes that tell lines apart in black and white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = 5
TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99)


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


def script(sketch: Sketch, data: Sequence[Data], titles: Sequence[str], path: PurePath) -> str:
    """The whole script; names are single-quoted, where gnuplot knows no escapes and no commands."""
    picture = f"{path.stem}.svg"
    lines = [
        "# Draws " + safe(picture) + ". For another format change the next two lines, e.g. to pngcairo or pdfcairo.",
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
    return "\n".join([*lines, "plot " + ", \\\n     ".join(_plots(sketch, titles)), ""])


def _plots(sketch: Sketch, titles: Sequence[str]) -> list[str]:
    plots = []
    for number in range(len(titles)):
        colour = COLOURS[number % len(COLOURS)]
        if sketch.band:
            fill = f"with filledcurves linecolor '{colour}' fillstyle transparent solid 0.15 noborder notitle"
            plots.append(f"$curve{number} using {sketch.band} {fill}")
    for number, title in enumerate(titles):
        line = f"linecolor '{COLOURS[number % len(COLOURS)]}' dashtype {number % DASHES + 1} linewidth 1.5"
        plots.append(f"$curve{number} using {sketch.using} with {sketch.style} {line} title {quoted(title)}")
    return [*plots, *sketch.extra]


def quoted(text: str) -> str:
    """A string that gnuplot takes as it is."""
    return "'" + safe(text).replace("'", "''") + "'"


_UNIT = ["set xrange [0:1]", "set yrange [0:1]", "set size ratio 1"]
_DIAGONAL = "x with lines linecolor '#999999' linewidth 0.7 notitle"


def roc_sketch(axes: str, *, bands: bool) -> Sketch:
    """True- over false-positive rate."""
    settings = _UNIT if axes == "linear" else ["set logscale x", "set xrange [*:1]", "set yrange [0:1]"]
    extra = [_DIAGONAL] if axes == "linear" else []
    band = "3:6:7" if bands else ""
    return Sketch("false-positive rate", "true-positive rate", settings, "3:2", band=band, extra=extra)


def det_sketch(axes: str, *, bands: bool) -> Sketch:
    """Both errors, on normal-deviate or logarithmic axes, with the line on which they are equal."""
    if axes == "normal":
        inside = "($3>0&&$3<1&&$4>0&&$4<1 ? invnorm($3) : NaN):(invnorm($4))"
        marks = ", ".join(f"'{tick * 100:g}' invnorm({tick:g})" for tick in TICKS)
        settings = [f"set xtics ({marks}) rotate by -45", f"set ytics ({marks})", "set size ratio 1"]
        span = f"[invnorm({TICKS[0]:g}):invnorm({TICKS[-1]:g})]"
        settings += [f"set xrange {span}", f"set yrange {span}"]
        labels = ("false-positive rate, %", "false-negative rate, %")
        return Sketch(*labels, settings, inside, extra=[_DIAGONAL])
    settings = _UNIT if axes == "linear" else ["set logscale xy", "set xrange [*:1]", "set yrange [*:1]"]
    band = "3:(1-$6):(1-$7)" if bands else ""
    return Sketch("false-positive rate", "false-negative rate", settings, "3:4", band=band, extra=[_DIAGONAL])


def pr_sketch() -> Sketch:
    """Precision over recall, in steps: a straight line would promise what no threshold gives."""
    return Sketch("recall", "precision", [*_UNIT, "set key bottom left"], "2:5", style="fsteps")


def cmc_sketch(*, bands: bool) -> Sketch:
    """Identification rate over the rank, which is on a logarithmic axis."""
    settings = ["set logscale x", "set yrange [*:1]"]
    return Sketch("rank", "identification rate", settings, "1:2", style="linespoints pointsize 0.4",
                  band="1:3:4" if bands else "")  # fmt: skip
