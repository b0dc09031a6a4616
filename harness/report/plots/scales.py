"""Axes that are not linear: logarithms and normal deviates; and which part of a curve they show."""

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.analysis.curve import Curve

# Rates that are marked on normal-deviate axes.
DEVIATE_TICKS = (0.0001, 0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.995, 0.999)
_NORMAL = NormalDist()


def deviate(rate: float) -> float:
    """The normal deviate of a rate between 0 and 1."""
    return _NORMAL.inv_cdf(rate)


def deviates(rates: Sequence[float], floor: float) -> list[float]:
    """The deviates of rates; 0 and 1, which are infinitely far away, are drawn at the ends of the axis."""
    return [deviate(min(max(rate, floor), 1 - floor)) for rate in rates]


def set_deviate_axes(axes: "Axes", low: float, high: float) -> None:
    """Both axes from one rate to another, labelled in per cent."""
    ticks = [tick for tick in DEVIATE_TICKS if low <= tick <= high]
    for axis, limits in ((axes.xaxis, axes.set_xlim), (axes.yaxis, axes.set_ylim)):
        axis.set_ticks([deviate(tick) for tick in ticks], [f"{tick * 100:g}" for tick in ticks])
        limits(deviate(low), deviate(high))


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
