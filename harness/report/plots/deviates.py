"""Normal-deviate axes: normal scores give a straight line on them (Martin and others 1997)."""

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TICKS = (0.0001, 0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.995, 0.999)
_NORMAL = NormalDist()


def deviate(rate: float) -> float:
    """The normal deviate of a rate between 0 and 1."""
    return _NORMAL.inv_cdf(rate)


def deviates(rates: Sequence[float], floor: float) -> list[float]:
    """Of many rates; those of 0 and 1, which are infinitely far away, stand where the axis ends."""
    return [deviate(min(max(rate, floor), 1 - floor)) for rate in rates]


def set_axes(axes: "Axes", low: float, high: float) -> None:
    """Both axes from one rate to another, labelled in per cent."""
    ticks = [tick for tick in TICKS if low <= tick <= high]
    for axis, limits in ((axes.xaxis, axes.set_xlim), (axes.yaxis, axes.set_ylim)):
        axis.set_ticks([deviate(tick) for tick in ticks], [f"{tick * 100:g}" for tick in ticks])
        limits(deviate(low), deviate(high))
