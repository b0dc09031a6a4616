"""A curve with its summaries and notes, where two curves cross, and their JSON."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.analysis.curve_request import PointRequest
from harness.analysis.sampling import finite, interval_json
from harness.stats.arrays import FloatArray
from harness.stats.curves.binormal import BinormalFit
from harness.stats.curves.ellipses import Ellipse
from harness.stats.curves.hull import Crossing, crossings
from harness.stats.curves.points import DetectionCost, OperatingPoint
from harness.stats.curves.precision import PrecisionBand
from harness.stats.curves.scores import ThresholdCounts
from harness.stats.estimate import Estimate


@dataclass(frozen=True, eq=False)
class CurvePoints:
    """Columns of equal length, from the strictest threshold to the laxest; `low` and `high` of the tpr.

    `low_at_fpr` and `high_at_fpr` are of the tpr at that false positive rate, whatever the threshold: the band to draw.
    """

    threshold: FloatArray
    tpr: FloatArray
    fpr: FloatArray
    fnr: FloatArray
    precision: FloatArray
    low: FloatArray
    high: FloatArray
    low_at_fpr: FloatArray
    high_at_fpr: FloatArray

    @property
    def fixed(self) -> bool:
        """Whether there are bands at false positive rates."""
        return bool(np.isfinite(self.low_at_fpr).any())

    @property
    def drawn(self) -> tuple[FloatArray, FloatArray]:
        """The band over the false positive rate, else the one at thresholds."""
        return (self.low_at_fpr, self.high_at_fpr) if self.fixed else (self.low, self.high)


@dataclass(frozen=True)
class RequestedPoint:
    """A requested operating point; the estimate is of the other rate, None if it has no error."""

    at: PointRequest
    point: OperatingPoint
    estimate: Estimate | None = None

    @property
    def of(self) -> str:
        """The rate that the estimate is of."""
        return "fpr" if self.at.of == "fnr" else "fnr"


@dataclass(frozen=True)
class MeanPoint:
    """A mean point of repeated tests, with an ellipse if three or more repetitions vary."""

    threshold: float
    fpr: float
    tpr: float
    ellipse: Ellipse | None


@dataclass(frozen=True)
class Curve:
    """A curve, its summaries, and what a reader must know about it."""

    name: str
    positives: int
    negatives: int
    auc: Estimate
    eer: Estimate
    # What the intervals of area and equal error rate are for.
    summary_target: str
    eer_threshold: float
    average_precision: Estimate
    points: CurvePoints
    # How the bands were computed and what they are for; empty if there are none.
    bands: str
    target: str
    counts: ThresholdCounts
    # How many points the whole curve has; `points` may be only some of them.
    whole: int
    requested: list[RequestedPoint] = field(default_factory=list)
    cost: DetectionCost | None = None
    notes: list[str] = field(default_factory=list)
    # A swept algorithm parameter, and its value at each point.
    param: str | None = None
    values: list[str] | None = None
    repetitions: int | None = None
    means: list[MeanPoint] = field(default_factory=list)
    # The column of the strata that `target` names.
    stratum: str | None = None
    # What the curve is over if not over cases, such as pixels, and whether negative ones can be counted.
    elements: str = ""
    has_negatives: bool = True
    # The band of the precision, for curves of precision over recall.
    precision_band: PrecisionBand | None = None
    # The binormal curve that fits the scores best, if one does.
    binormal: BinormalFit | None = None


@dataclass(frozen=True)
class CurveCrossings:
    """Two curves, by name, and all points where they cross, from left to right."""

    a: str
    b: str
    places: list[Crossing]

    def ahead(self, place: Crossing) -> str:
        """The curve that is above at smaller false-positive rates."""
        return self.a if place.above_before == "a" else self.b

    def behind(self, place: Crossing) -> str:
        """The curve that is above at larger ones."""
        return self.b if place.above_before == "a" else self.a


# With more curves, nobody reads about pairs of them.
MOST_CURVES = 12


def find_crossings(curves: Sequence[Curve]) -> list[CurveCrossings]:
    """All pairs that cross."""
    if len(curves) > MOST_CURVES:
        return []
    pairs = [CurveCrossings(a.name, b.name, crossings(a.counts, b.counts)) for a, b in combinations(curves, 2)]
    return [pair for pair in pairs if pair.places]


POINTS = ("threshold", "tpr", "fpr", "fnr", "precision", "low", "high", "low_at_fpr", "high_at_fpr")


def curves_json(curves: Sequence[Curve], crossed: Sequence[CurveCrossings], confidence: float) -> dict[str, Any]:
    """Everything; infinite thresholds and missing values are null."""
    return {
        "curves": [_curve(curve) for curve in curves],
        "crossings": [_crossing(pair, place) for pair in crossed for place in pair.places],
        "confidence": confidence,
    }


def _curve(curve: Curve) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "name": curve.name,
        "positives": curve.positives,
        "negatives": curve.negatives,
        "auc": finite(curve.auc.value),
        "auc_interval": interval_json(curve.auc.interval),
        "auc_se": finite(curve.auc.se),
        "auc_method": summary_method(curve.auc) or None,
        "auc_target": curve.summary_target if curve.auc.interval else None,
        "eer": finite(curve.eer.value),
        "eer_interval": interval_json(curve.eer.interval),
        "eer_se": finite(curve.eer.se),
        "eer_method": curve.eer.method or None,
        "eer_threshold": finite(curve.eer_threshold),
        "average_precision": finite(curve.average_precision.value),
        "average_precision_interval": interval_json(curve.average_precision.interval),
        "average_precision_se": finite(curve.average_precision.se),
        "average_precision_method": curve.average_precision.method or None,
        "binormal": None if curve.binormal is None else binormal_json(curve.binormal),
        "closed": curve.counts.closed,
        "opened": curve.counts.opened,
        "bands": curve.bands or None,
        "target": curve.target or None,
        "whole": curve.whole,
        "points": _points(curve.points),
        "operating": [_point_json(one) for one in curve.requested],
        "cost": None if curve.cost is None else _cost(curve.cost),
        "notes": curve.notes,
    }
    if curve.precision_band is not None:
        names = ("threshold", "recall", "precision", "low", "high")
        payload |= {"precision_band": {name: numbers(getattr(curve.precision_band, name)) for name in names}}
    if curve.elements:
        payload |= {"elements": curve.elements}
    if curve.param is not None:
        payload |= {"param": curve.param, "values": curve.values}
    if curve.repetitions is not None:
        payload |= {"repetitions": curve.repetitions, "means": [_mean(mean) for mean in curve.means]}
    return payload


def binormal_json(fit: BinormalFit) -> dict[str, float]:
    """The parameters of the binormal curve and the area under it."""
    return {"a": fit.a, "b": fit.b, "auc": fit.area}


def summary_method(estimate: Estimate) -> str:
    """How an area was computed; for independent cases, the linear form is DeLong's."""
    return "DeLong" if estimate.method == "linearised" and math.isinf(estimate.df) else estimate.method


def _points(points: CurvePoints) -> dict[str, list[float | None]]:
    return {name: numbers(getattr(points, name)) for name in POINTS}


def numbers(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Numbers for JSON, which has no infinity: null if not finite."""
    plain: list[float | None] = values.tolist()
    for place in np.flatnonzero(~np.isfinite(values)).tolist():
        plain[place] = None
    return plain


def _point_json(requested: RequestedPoint) -> dict[str, Any]:
    point = requested.point
    return {
        "at": requested.at.text,
        "threshold": finite(point.threshold),
        "tpr": 1 - point.fnmr,
        "fpr": point.fmr,
        "fnr": point.fnmr,
        "attained": point.attained,
        "interval_of": requested.of,
        "interval": interval_json(requested.estimate.interval if requested.estimate else None),
        "method": requested.estimate.method if requested.estimate else None,
    }


def _cost(cost: DetectionCost) -> dict[str, Any]:
    return {
        "cost": cost.cost,
        "normalised": cost.normalised,
        "threshold": finite(cost.point.threshold),
        "fpr": cost.point.fmr,
        "fnr": cost.point.fnmr,
        "attained": cost.point.attained,
        "fp": cost.cost_false_alarm,
        "fn": cost.cost_miss,
        "prior": cost.prior,
    }


def _crossing(pair: CurveCrossings, place: Any) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "fpr": place.fpr,
        "tpr": place.tpr,
        "threshold_a": finite(place.threshold_a),
        "threshold_b": finite(place.threshold_b),
        "above_before": pair.ahead(place),
    }


def _mean(mean: MeanPoint) -> dict[str, Any]:
    ellipse = mean.ellipse
    payload = {"threshold": finite(mean.threshold), "fpr": mean.fpr, "tpr": mean.tpr, "ellipse": None}
    if ellipse is None:
        return payload
    return payload | {"ellipse": {"half_axes": list(ellipse.half_axes), "angle": ellipse.angle}}
