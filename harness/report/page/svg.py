"""Draw charts as SVG: colours have classes, so that a style sheet can change them, and values for where there is none.

No style attributes and no ids: a page with a strict policy takes them as they are, and as many as it likes.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from harness.report.chart import Chart, ChartAxis, Series, round_ticks, stepped
from harness.report.page.document import Bar, BarColumn
from harness.report.palette import COLOURS, DOTS, INK, QUIET, RULE, dashes
from harness.report.text import html, shortened

# Marks distinguish runs without colour.
MARKS = (
    "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0-4 0Z",
    "M-3.5-3.5H3.5V3.5H-3.5Z",
    "M0-4.6L4.4 3.2H-4.4Z",
    "M0-4.8L4.8 0L0 4.8L-4.8 0Z",
)
# Of bars, in pixels: the width of the column, the height of a row with one bar, and of each further bar.
BAR_WIDTH, BAR_ROW, BAR_STEP, BAR_EDGE = 220, 18, 11, 7
BAR_TICKS = 4
# Of charts: the whole picture, and the room for labels on the left, right, top and bottom.
WIDTH, HEIGHT = 460, 340
LEFT, RIGHT, TOP, BOTTOM = 54, 14, 10, 42
LINE = 2


def colour(number: int, what: str) -> str:
    """The attributes of a line (`stroke`) or an area (`fill`) that belongs to a run."""
    index = number % len(COLOURS)
    return f'class="{what[0]}{index}" {what}="{COLOURS[index]}"'


def dash(number: int) -> str:
    """The attribute that distinguishes lines without colour."""
    pattern = " ".join(f"{LINE * length:g}" for length in dashes(number))
    return f' stroke-dasharray="{pattern}"' if pattern else ""


def mark(number: int, x: float, y: float) -> str:
    return f'<path d="{MARKS[number % len(MARKS)]}" transform="translate({x:.1f} {y:.1f})" {colour(number, "fill")}/>'


# Bars


def bar_scale(column: BarColumn) -> str:
    """The scale above a column of bars."""
    ticks = round_ticks(*column.limits, BAR_TICKS)
    texts = ""
    for tick in ticks:
        x = _bar_x(column, tick)
        # Labels at the ends stay inside of the picture.
        anchor = "start" if x < 14 else "end" if x > BAR_WIDTH - 14 else "middle"
        texts += f'<text x="{x:.1f}" y="11" text-anchor="{anchor}" class="q" fill="{QUIET}">{tick:g}</text>'
    size = f'viewBox="0 0 {BAR_WIDTH} 14" width="{BAR_WIDTH}" height="14"'
    return f'<svg {size} font-size="10.5" aria-hidden="true">{texts}</svg>'


def bar_row(column: BarColumn, row: Sequence[Bar | None]) -> str:
    """The bars of a row; the table has the numbers, so that nobody has to read them off."""
    height = BAR_ROW + BAR_STEP * (len(row) - 1)
    lines = [_vertical_line(_bar_x(column, tick), height, "r", RULE) for tick in round_ticks(*column.limits, BAR_TICKS)]
    if column.zero is not None:
        lines.append(_vertical_line(_bar_x(column, column.zero), height, "i", INK))
    bars = []
    for number, bar in enumerate(row):
        if bar is None:
            continue
        y = BAR_ROW / 2 + BAR_STEP * number
        low, value, high = (_bar_x(column, end) for end in (bar.low, bar.value, bar.high))
        name = f"{shortened(column.names[number])}: " if column.names[number] else ""
        bars.append(
            f"<g><title>{html(name)}{bar.value:.4g} ({bar.low:.4g} to {bar.high:.4g})</title>"
            f'<path d="M{low:.1f} {y:g}H{high:.1f}" {colour(number, "stroke")} stroke-width="2.4" '
            f'stroke-linecap="round"/>{mark(number, value, y)}</g>'
        )
    return (
        f'<svg viewBox="0 0 {BAR_WIDTH} {height}" width="{BAR_WIDTH}" height="{height}" aria-hidden="true">'
        f"{''.join(lines)}{''.join(bars)}</svg>"
    )


def _bar_x(column: BarColumn, value: float) -> float:
    low, high = column.limits
    share = (value - low) / (high - low)
    return BAR_EDGE + min(max(share, 0.0), 1.0) * (BAR_WIDTH - 2 * BAR_EDGE)


def _vertical_line(x: float, height: float, kind: str, ink: str) -> str:
    return f'<path d="M{x:.1f} 0V{height}" class="s{kind}" stroke="{ink}"/>'


# Lines


def line_chart(chart: Chart) -> str:
    """A chart with axes; its legend is text of the page."""
    frame = _Frame(chart.x, chart.y)
    # Where guessing would be, and other lines across.
    guides = [((chart.x.low, level), (chart.x.high, level)) for level in chart.levels]
    guides += [((chart.x.low, chart.y.low), (chart.x.high, chart.y.high))] if chart.diagonal else []
    inner = [
        f'<path d="M{frame.path(line)}" class="sq" stroke="{QUIET}" stroke-dasharray="3 4" fill="none"/>'
        for line in guides
    ]
    inner += [_band(series, number, frame) for number, series in enumerate(chart.series)]
    inner += [_series(series, number, frame) for number, series in enumerate(chart.series)]
    # A picture within the picture: what leaves the frame is cut off.
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    inside = f'x="{LEFT}" y="{TOP}" width="{across}" height="{down}" viewBox="{LEFT} {TOP} {across} {down}"'
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'font-size="12"><title>{html(chart.caption)}</title><desc>{html(chart.description)}</desc>'
        f"{''.join(_grid(chart, frame))}<svg {inside}>{''.join(inner)}</svg></svg>"
    )


def swatch(number: int, *, line: bool, dots: bool) -> str:
    """The line or mark of a run, for a legend."""
    look = f'{colour(number, "stroke")} stroke-width="{LINE}"{dash(number)} fill="none"'
    parts = f'<path d="M1 7H27" {look}/>' * line + mark(number, 14, 7) * dots
    return f'<svg viewBox="0 0 28 14" width="28" height="14" aria-hidden="true">{parts}</svg>'


class _Frame:
    """From values to positions in the picture."""

    def __init__(self, x: ChartAxis, y: ChartAxis) -> None:
        self._x, self._y = x, y

    def x(self, value: float) -> float:
        return LEFT + self._x.share(value) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - self._y.share(value) * (HEIGHT - TOP - BOTTOM)

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        """A line through points; neighbours that look the same are one."""
        positions = (f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        return "L".join(position for position, _ in groupby(positions))


def _grid(chart: Chart, frame: _Frame) -> list[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = []
    for tick, label in chart.x.marked:
        x = frame.x(tick)
        parts.append(f'<path d="M{x:.1f} {TOP}V{bottom}" class="sr" stroke="{RULE}"/>')
        parts.append(_label(x, bottom + 16, shortened(label, 10), "middle"))
    for tick, label in chart.y.marked:
        y = frame.y(tick)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{right}" class="sr" stroke="{RULE}"/>')
        parts.append(_label(LEFT - 6, y + 4, shortened(label, 8), "end"))
    middle = (TOP + bottom) / 2
    parts.append(_label((LEFT + right) / 2, HEIGHT - 6, shortened(chart.x.label, 48) + chart.x.unit, "middle"))
    upright = f' transform="rotate(-90 13 {middle:.0f})"'
    return [*parts, _label(13, middle, shortened(chart.y.label, 42) + chart.y.unit, "middle", upright)]


def _label(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="q" fill="{QUIET}"{more}>{html(text)}</text>'


def _band(series: Series, number: int, frame: _Frame) -> str:
    """The limits of a line as an area, or as a bar at each point."""
    band, known = series.band, series.limits
    if band is None or not known:
        return ""
    sides = [(x, high) for x, _, high in known], [(x, low) for x, low, _ in known]
    upper, lower = ([(y, x) for x, y in side] for side in sides) if band.across else sides
    if band.bars:
        bars = "".join(f"M{frame.path([low, high])}" for low, high in zip(lower, upper, strict=True))
        return f'<path d="{bars}" {colour(number, "stroke")} stroke-width="1.6" fill="none"/>'
    step = series.step if band.columns is series.columns and not band.across else ""
    around = [*stepped(upper, step), *reversed(stepped(lower, step))]
    return f'<path d="M{frame.path(around)}Z" {colour(number, "fill")} fill-opacity=".16"/>'


def _series(series: Series, number: int, frame: _Frame) -> str:
    """The line, dotted where no threshold reaches it, and marks."""
    parts, ink = [f"<title>{html(shortened(series.name))}</title>"], colour(number, "stroke")
    reached, ends = series.lines
    if series.line:
        dots = " ".join(f"{length:g}" for length in DOTS)
        looks = [
            ([reached], f'stroke-width="{LINE}"{dash(number)}'),
            (ends, f'stroke-width="1" stroke-dasharray="{dots}"'),
        ]
        parts += [
            f'<path d="M{frame.path(stepped(line, series.step))}" {ink} {look} fill="none" stroke-linejoin="round"/>'
            for lines, look in looks
            for line in map(_finite, lines)
            if line
        ]
    points = _finite(series.points)
    if series.faint:
        cloud = "".join(f"M{frame.path([point])}h0" for point in points)
        parts.append(f'<path d="{cloud}" {ink} stroke-width="3" stroke-linecap="round" opacity=".45"/>')
    elif series.dots:
        parts += [mark(number, frame.x(x), frame.y(y)) for x, y in points]
    parts += [mark(number, frame.x(point.x), frame.y(point.y)) for point in series.marks]
    parts += [f'<path d="M{frame.path(outline)}Z" {ink} fill="none"/>' for outline in series.outlines]
    return f"<g>{''.join(parts)}</g>"


def _finite(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [point for point in points if all(map(math.isfinite, point))]
