"""A chart as a complete gnuplot script, with the data inline: `gnuplot FILE` draws the picture next to it."""

from pathlib import PurePath

from harness.options import AxisLimits, PictureOptions
from harness.report.chart import Chart, ChartAxis, Series
from harness.report.curve_chart import data_block
from harness.report.palette import GUIDE, RULE, colour, dashes
from harness.report.plots.labels import PictureNames
from harness.report.plots.style import WIDTH
from harness.report.text import safe

# Pixels of a picture as wide as a column.
SIZE = (520, 480)
STYLES = {"": "lines", "pre": "fsteps", "post": "steps"}


def chart_script(chart: Chart, path: PurePath, options: PictureOptions) -> str:
    """The whole script; names are single-quoted, so gnuplot reads no escapes or commands in them."""
    names, picture = PictureNames(options), f"{path.stem}.svg"
    # Wider pictures are higher too, as those of --plot are.
    scale = (options.width or WIDTH) / WIDTH
    size = f"{SIZE[0] * scale:.0f},{SIZE[1] * scale**0.5:.0f}"
    x, y = (f"{names.shown(axis.label, 40)}{axis.unit}" for axis in (chart.x, chart.y))
    lines = [
        f"# Draws {safe(picture)}. For another format change the next two lines, e.g. to pngcairo or pdfcairo.",
        f"set terminal svg size {size} font 'Helvetica,12' noenhanced background 'white'",
        f"set output {quoted(picture)}",
        f"set key {chart.legend_at} noenhanced",
        f"set xlabel {quoted(x)}",
        f"set ylabel {quoted(y)}",
        f"set grid linecolor '{RULE}'",
        *(["set size ratio 1"] if chart.square else []),
        *_axis("x", chart.x),
        *_axis("y", chart.y),
        *([f"set title {quoted(options.title)} noenhanced"] if options.title else []),
        *_limits("x", chart.x, options.xlim),
        *_limits("y", chart.y, options.ylim),
    ]
    for number, series in enumerate(chart.series):
        # The first line has the names of columns, by which the plots below choose them.
        data = data_block(series.name, series.columns, series.remarks, header=" ").rstrip("\n")
        lines += [f"$curve{number} << EOD", data, "EOD"]
        if (band := series.band) is not None and band.columns is not series.columns:
            lines += [
                f"$band{number} << EOD",
                data_block(series.name, band.columns, (), header=" ").rstrip("\n"),
                "EOD",
            ]
    plots = [text for number, curve in enumerate(chart.series) if (text := _band(chart, number, curve))]
    plots += [_line(chart, number, curve, names) for number, curve in enumerate(chart.series)]
    if chart.diagonal:
        plots.append(f"x with lines linecolor '{GUIDE}' linewidth 0.7 dashtype 1 notitle")
    plots += [f"{level:.9g} with lines linecolor '{GUIDE}' linewidth 0.7 dashtype 1 notitle" for level in chart.levels]
    names.check()
    return "\n".join([*lines, "plot " + ", \\\n     ".join(plots), ""])


def quoted(text: str) -> str:
    """A string that gnuplot takes literally."""
    return "'" + safe(text).replace("'", "''") + "'"


def _axis(name: str, axis: ChartAxis) -> list[str]:
    """The scale; `x_at` says where a value is drawn that the scale cannot show, or that it bends."""
    low, high = f"{axis.low:.9g}", f"{axis.high:.9g}"
    if axis.scale == "linear":
        return [f"set {name}range [{low}:{high}]"]
    floor = f"{axis.floor:.9g}"
    if axis.scale == "normal":
        marks = ", ".join(f"'{label}' invnorm({tick:g})" for tick, label in axis.ticks)
        return [
            f"{name}_at(r) = invnorm(r < {floor} ? {floor} : (r > 1 - {floor} ? 1 - {floor} : r))",
            f"set {name}tics ({marks})",
            f"set {name}range [invnorm({low}):invnorm({high})]",
        ]
    base = " 2" if axis.scale == "log2" else ""
    return [
        f"{name}_at(r) = r < {floor} ? {floor} : r",
        f"set logscale {name}{base}",
        f"set {name}range [{low}:{high}]",
    ]


def _limits(name: str, axis: ChartAxis, limits: AxisLimits | None) -> list[str]:
    """The ends of an axis that the user set."""
    if limits is None:
        return []
    ends = ("*" if end is None else f"{end:.9g}" for end in (limits.low, limits.high))
    low, high = (f"invnorm({end})" if axis.scale == "normal" and end != "*" else end for end in ends)
    return [f"set {name}range [{low}:{high}]", "set size noratio"]


def _using(name: str, axis: ChartAxis, column: str) -> str:
    """A column by its name, as it is placed on its axis."""
    return f'"{column}"' if axis.scale == "linear" else f'({name}_at(column("{column}")))'


def _every(series: Series) -> str:
    """The points that a threshold reaches, counted from 0."""
    return "" if series.part is None else f" every ::{series.part[0]}::{series.part[1] - 1}"


def _band(chart: Chart, number: int, series: Series) -> str:
    band = series.band
    if band is None or band.across:
        # gnuplot fills between heights only.
        return ""
    data = f"$curve{number}{_every(series)}" if band.columns is series.columns else f"$band{number}"
    x, low, high = _using("x", chart.x, band.x), _using("y", chart.y, band.low), _using("y", chart.y, band.high)
    if band.bars:
        at = f"{x}:{_using('y', chart.y, series.y)}:{low}:{high}"
        return f"{data} using {at} with yerrorbars linecolor '{colour(number)}' pointtype 7 pointsize 0.4 notitle"
    fill = f"linecolor '{colour(number)}' fillstyle transparent solid 0.15 noborder notitle"
    return f"{data} using {x}:{low}:{high} with filledcurves {fill}"


def _line(chart: Chart, number: int, series: Series, names: PictureNames) -> str:
    # Straight lines that no threshold reaches are straight only on linear axes.
    whole = not series.step and chart.x.scale == chart.y.scale == "linear"
    dash = f"({','.join(f'{2 * one:g}' for one in dashes(number))})" if dashes(number) else "1"
    look = f"linecolor '{colour(number)}' dashtype {dash} linewidth 1.5"
    title = f"{names.shown(series.name)}, {series.summary}"
    using = f"{_using('x', chart.x, series.x)}:{_using('y', chart.y, series.y)}"
    data = f"$curve{number}" if whole else f"$curve{number}{_every(series)}"
    return f"{data} using {using} with {STYLES[series.step]} {look} title {quoted(title)}"
