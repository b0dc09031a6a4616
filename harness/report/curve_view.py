"""A view of curves: everything that distinguishes `roc` from `det`, `pr`, `froc` and `cmc`, declared once.

`harness.api.curves` has the views. The command line, Python, tables, JSON and all pictures read them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from harness.report.chart import DEVIATE_TICKS, Band, ChartAxis, Columns

if TYPE_CHECKING:
    # Not at run time: the list of commands is made of the views without importing numpy.
    from harness.analysis.curves.curve import Curve
    from harness.options import OptionSet


@dataclass(frozen=True)
class AxisPair:
    """A choice of `--axes`: the scale of x and y, whether the diagonal means something, and where a legend may be."""

    x: str = "linear"
    y: str = "linear"
    diagonal: bool = False
    legend_at: str = "bottom right"


# What an axis shows: of some curves, on a scale.
AxisMaker = Callable[["ViewAxis", str, "Sequence[Curve]"], ChartAxis]


def value_axis(axis: ViewAxis, scale: str, curves: Sequence[Curve]) -> ChartAxis:
    """From the smallest to the largest value."""
    values = [value for curve in curves for value in curve.columns[axis.column].tolist()]
    return replace(ChartAxis.over(axis.label, values), scale=scale)


@dataclass(frozen=True)
class ViewAxis:
    """What an axis of a view shows: a column of the curves, and where it begins and ends."""

    column: str
    label: str
    limits: AxisMaker = value_axis


def unit_axis(axis: ViewAxis, scale: str, curves: Sequence[Curve]) -> ChartAxis:
    """From 0 to 1; where 0 cannot be shown, from half of the smallest rate above 0."""
    if scale == "linear":
        return ChartAxis(axis.label, 0.0, 1.0)
    floor = max(min(1 / (2 * max(curve.sizes.values())) for curve in curves), 1e-6)
    if scale == "log":
        return ChartAxis(axis.label, floor, 1.0, scale, floor=floor)
    # Past the equal error rates, with room for a legend.
    high = min(0.999, max(0.6, *(2 * curve.eer.value for curve in curves)))
    ticks = [(tick, f"{tick * 100:g}") for tick in DEVIATE_TICKS if floor <= tick <= high]
    return ChartAxis(axis.label, floor, high, scale, ticks, floor, unit=", %")


def false_positive_axis(axis: ViewAxis, scale: str, curves: Sequence[Curve]) -> ChartAxis:
    """From 1/8, or lower if a curve has found something before, past the last point, but not beyond 64."""
    values = [value for curve in curves for value in curve.columns[axis.column].tolist()]
    low = min(1 / 8, max(min((number for number in values if number > 0), default=1 / 8), 1 / 64))
    high = min(max(max(values), 1.0), 64.0)
    powers = [2.0**power for power in range(-6, 7) if low <= 2.0**power <= high]
    ticks = [(tick, f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}") for tick in powers]
    return ChartAxis(axis.label, low, high, scale, ticks, floor=low)


def rank_axis(axis: ViewAxis, scale: str, curves: Sequence[Curve]) -> ChartAxis:
    """From rank 1 to the last."""
    last = max(float(curve.columns[axis.column][-1]) for curve in curves)
    return ChartAxis(axis.label, 1.0, max(2.0, last), scale, floor=1.0)


def upper_rate_axis(axis: ViewAxis, scale: str, curves: Sequence[Curve]) -> ChartAxis:
    """From a little below the lowest limit to 1."""
    lowest = min(curve.columns["low" if curve.bands else axis.column][0] for curve in curves)
    return ChartAxis(axis.label, max(0.0, float(lowest) - 0.05), 1.0, scale)


# What is drawn around a curve

BandMaker = Callable[["Curve", Columns], Band | None]


def no_band(_curve: Curve, _columns: Columns) -> Band | None:
    return None


def band_over(x: str) -> BandMaker:
    """Limits of y at each x."""
    return lambda _curve, columns: Band(columns, x, "low", "high")


def tpr_band(curve: Curve, columns: Columns) -> Band | None:
    """Limits of the true-positive rate at each false-positive rate, else at each threshold."""
    if any(mean.ellipse for mean in curve.means):
        # Ellipses, if there are any, replace the band.
        return None
    low, high = ("low_at_fpr", "high_at_fpr") if curve.fixed else ("low", "high")
    return Band(columns, "fpr", low, high)


def fnr_band(curve: Curve, columns: Columns) -> Band | None:
    """The same of the false-negative rate."""
    band = tpr_band(curve, columns)
    return None if band is None else replace(band, low="fnr_low", high="fnr_high")


def precision_band(curve: Curve, columns: Columns) -> Band | None:
    """Limits of the precision; where there are none, those of the recall at each threshold."""
    limits = curve.precision_band
    if limits is None:
        # Recall is the true-positive rate, so its band is horizontal.
        return Band(columns, "precision", "low", "high", across=True)
    band = {"recall": limits.recall.tolist(), "low": limits.low.tolist(), "high": limits.high.tolist()}
    return Band(band, "recall", "low", "high")


@dataclass(frozen=True)
class CurveView:
    """A view of curves.

    name         of the command and of the function of Python
    help         what `hate NAME --help` says
    options      what may be given
    title        above a picture
    description  what can be seen, in words
    summary      above the table of summaries
    x, y         what is drawn
    axes         the choices of `--axes`, by name; the first is the default
    band         the limits that are drawn around a curve
    step         pre or post, if straight lines would show points that no threshold gives
    summaries    what the table says of a curve over a threshold, as names in `Curve.summaries`
    legend       what the legend says of a curve
    height       of a picture as wide as a journal's column, in inches
    square       whether both axes are equally long
    corner       whether the upper left corner is drawn larger, where all curves lie close to it
    equal        whether the point of equal error rates is marked
    """

    name: str
    help: str
    options: type[OptionSet]
    title: str
    description: str
    summary: str
    x: ViewAxis
    y: ViewAxis
    axes: Mapping[str, AxisPair] = field(default_factory=lambda: {"linear": AxisPair()})
    band: BandMaker = no_band
    step: str = ""
    summaries: Sequence[str] = ("auc", "eer")
    legend: str = "auc"
    height: float = 3.3
    square: bool = False
    corner: bool = False
    equal: bool = False

    @property
    def needs_fpr(self) -> bool:
        """Whether it needs a false positive rate."""
        return "fpr" in (self.x.column, self.y.column)

    @property
    def has_average_precision(self) -> bool:
        """Whether the average precision is shown, and so gets an interval."""
        return "average_precision" in self.summaries
