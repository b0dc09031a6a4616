"""Pictures over what can be chosen: one parameter (a line with its band), two (a heat map), the size of a test."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from harness.analysis.power import PowerPlan
from harness.errors import UsageError
from harness.options import PictureOptions
from harness.params import Value
from harness.report.plots.canvas import Picture
from harness.report.plots.heat_maps import MAX_TICKS, draw_grid, value_words
from harness.report.plots.style import BAND, COLOURS, DASHES, SMALL, guide, logarithmic
from harness.stats.rates import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Below what the best of settings on a test's own cases is.
ON_TEST = "A value chosen here is tuned on the test's own cases."
# From this ratio of the largest to the smallest on, equal ratios make the axis logarithmic.
LOGARITHMIC = 20.0
MAX_MARKS = 40
POWER_LABELS = {"width": "width of the interval", "detectable": "smallest difference that is shown"}


@dataclass(frozen=True)
class SettingValue:
    """A setting of the parameters, and what it came to."""

    params: Mapping[str, Value]
    value: float
    interval: Interval | None = None


@dataclass(frozen=True)
class SettingsChart:
    """What is drawn: settings, the parameters that vary, the measure in words, and a line below the picture."""

    settings: Sequence[SettingValue]
    swept: Sequence[str]
    words: str
    larger_is_better: bool = True
    note: str = ""


def check_swept(swept: Sequence[str]) -> None:
    """Refuse what cannot be drawn, before anything is run."""
    if not 1 <= len(swept) <= 2:
        count = f"{len(swept)} have" if swept else "none has"
        raise UsageError(f"--plot: a sweep is drawn over one or two parameters with several values; {count}")


def plot_settings(chart: SettingsChart, options: PictureOptions | None = None, ax: "Axes | None" = None) -> Picture:
    """The settings over the parameters that vary."""
    check_swept(chart.swept)
    return (_plot_line if len(chart.swept) == 1 else _plot_grid)(chart, options, ax)


def _plot_line(chart: SettingsChart, options: PictureOptions | None, ax: "Axes | None") -> Picture:
    [param] = chart.swept
    known = sorted(
        (point for point in chart.settings if point.value == point.value),
        key=lambda point: _value_key(point.params[param]),
    )
    if not known:
        raise UsageError("--plot: no setting has a value to draw")
    with Picture(options, ax, height=2.6) as picture:
        axes = picture.axes
        values = [point.params[param] for point in known]
        x, words = _positions(picture, values), value_words(values)
        limits = [point.interval or Interval(point.value, point.value) for point in known]
        sides = [limit.low for limit in limits], [limit.high for limit in limits]
        joined = "x" in picture.scales
        if joined:
            axes.fill_between(x, *sides, color=COLOURS[0], alpha=BAND, linewidth=0)
        else:
            axes.vlines(x, *sides, color=COLOURS[0], linewidth=0.9)
        mark = "o" if len(known) <= MAX_MARKS else None
        style = "-" if joined else "none"
        axes.plot(x, [point.value for point in known], color=COLOURS[0], linestyle=style, marker=mark, markersize=3.2)
        sign = 1.0 if chart.larger_is_better else -1.0
        index, best = max(enumerate(known), key=lambda item: (sign * item[1].value, -item[0]))
        text = f"best: {picture.name(param)} {words[index]}, {best.value:.3f}"
        look: dict[str, Any] = {"marker": "D", "markersize": 4.5, "color": COLOURS[1], "linestyle": "none", "zorder": 5}
        axes.plot([x[index]], [best.value], label=text, **look)
        axes.set(xlabel=picture.name(param), ylabel=picture.name(chart.words, 40))
        picture.note(chart.note)
        picture.legend()
    return picture


def _number(value: Value) -> float | None:
    """The number that a value is, also one that is kept as text; None of one that is no number."""
    try:
        number = math.nan if isinstance(value, bool) or value is None else float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _value_key(value: Value) -> tuple[bool, float, str]:
    """The order of values on an axis: numbers by size, before words; 1 and 1.0 are two values."""
    number = _number(value)
    return number is None, number or 0.0, str(value)


def _positions(picture: Picture, values: Sequence[Value]) -> list[float]:
    """Where values are drawn: numbers on a scale; side by side if there are words, or a number twice, as 1 and 1.0."""
    numbers = [number for number in map(_number, values) if number is not None]
    if len(numbers) == len(values) and len(set(numbers)) == len(set(map(_value_key, values))):
        if numbers[0] > 0 and numbers[-1] / numbers[0] >= LOGARITHMIC and _is_geometric(numbers):
            logarithmic(picture.axes, "x")
        return numbers
    picture.scales, words = "y", value_words(values)
    step = max(1, -(-len(values) // MAX_TICKS))
    ticks = range(0, len(values), step)
    picture.axes.set_xticks(list(ticks), [picture.name(words[i], 10) for i in ticks])
    picture.axes.grid(visible=False, axis="x")
    return [float(index) for index in range(len(values))]


def _is_geometric(numbers: Sequence[float]) -> bool:
    """Whether neighbours differ by a factor rather than by a step."""
    ratios = [b / a for a, b in pairwise(numbers) if b > a]
    return len(ratios) > 1 and max(ratios) < 2.6 * min(ratios)


def _plot_grid(chart: SettingsChart, options: PictureOptions | None, ax: "Axes | None") -> Picture:
    x, y = chart.swept
    cells: dict[tuple[Any, Any], float] = {}
    sign = 1.0 if chart.larger_is_better else -1.0
    for setting in chart.settings:
        key = _value_key(setting.params[x]), _value_key(setting.params[y])
        # One number for each pair of values: the best of the settings that have them.
        if setting.value == setting.value and sign * setting.value > sign * cells.get(key, -sign * float("inf")):
            cells[key] = setting.value
    if not cells:
        raise UsageError("--plot: no setting has a value to draw")
    across, down = (sorted({key[side] for key in cells}) for side in (0, 1))
    grid = [[cells.get((a, b), float("nan")) for a in across] for b in down]
    known = {_value_key(setting.params[name]): setting.params[name] for setting in chart.settings for name in (x, y)}
    shape = len(down) / max(len(across), 1)
    height = min(5.6, max(1.6, 2.8 * shape)) + 0.15 * bool(chart.note)
    with Picture(options, ax, height=height) as picture:
        values = [known[a] for a in across], [known[b] for b in down]
        draw_grid(picture, grid, values, chart.words, larger=chart.larger_is_better)
        picture.axes.set(xlabel=picture.name(x), ylabel=picture.name(y))
        picture.note(chart.note)
    return picture


def plot_power(plan: PowerPlan, options: PictureOptions | None = None, ax: "Axes | None" = None) -> Picture:
    """The curve, with the goal and where it is reached."""
    from matplotlib.ticker import MaxNLocator

    asked = plan.options
    falls = asked.measured != "power"
    goal = asked.width if falls else asked.power
    with Picture(options, ax, height=2.6) as picture:
        axes = picture.axes
        axes.plot(plan.curve_units, plan.curve, color=COLOURS[0])
        if asked.units is None and goal is not None and plan.units is not None:
            axes.axhline(goal, **guide(linewidth=0.8, linestyle=DASHES[1]))
            axes.plot([plan.units], [plan.reached], marker="o", markersize=4, color=COLOURS[1])
            text, beside = f"{plan.units:,} {picture.name(plan.unit)}", (6, 6 if falls else -10)
            axes.annotate(text, (plan.units, plan.reached), beside, textcoords="offset points", fontsize=SMALL)
        axes.set(xlabel=picture.name(plan.unit), xlim=(0, None), ylim=(0, None if falls else 1.005))
        axes.set_ylabel(picture.name(POWER_LABELS.get(asked.measured, "power"), 40))
        axes.xaxis.set_major_formatter(lambda value, _index: f"{value:,.0f}")
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    return picture
