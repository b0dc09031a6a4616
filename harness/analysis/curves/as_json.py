"""Curves under the names that the documentation promises."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.analysis.curves.crossing import Crossed
from harness.analysis.curves.curve import Asked, Curve, CurvePoints, MeanPoint
from harness.stats.curves.operating import DetectionCost
from harness.stats.rates import Interval

POINTS = ("threshold", "tpr", "fpr", "fnr", "precision", "low", "high")


def as_json(curves: Sequence[Curve], crossed: Sequence[Crossed], confidence: float) -> dict[str, Any]:
    """Everything; infinite thresholds, and what could not be had, are null."""
    return {
        "curves": [_curve(curve) for curve in curves],
        "crossings": [_crossing(pair, place) for pair in crossed for place in pair.places],
        "confidence": confidence,
    }


def _curve(curve: Curve) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": curve.name,
        "positives": curve.positives,
        "negatives": curve.negatives,
        "auc": curve.auc.value,
        "auc_interval": _interval(curve.auc.interval),
        "auc_method": curve.auc.method or None,
        "auc_target": curve.auc.target or None,
        "eer": curve.eer.value,
        "eer_interval": _interval(curve.eer.interval),
        "eer_method": curve.eer.method or None,
        "eer_threshold": _finite(curve.eer_threshold),
        "average_precision": curve.average_precision,
        "closed": curve.counts.closed,
        "opened": curve.counts.opened,
        "bands": curve.bands or None,
        "target": curve.target or None,
        "whole": curve.whole,
        "points": _points(curve.points),
        "operating": [_asked(asked) for asked in curve.asked],
        "cost": None if curve.cost is None else _cost(curve.cost),
        "notes": curve.notes,
    }
    if curve.param is not None:
        found |= {"param": curve.param, "values": curve.values}
    if curve.repetitions is not None:
        found |= {"repetitions": curve.repetitions, "means": [_mean(mean) for mean in curve.means]}
    return found


def _points(points: CurvePoints) -> dict[str, list[float | None]]:
    return {name: numbers(getattr(points, name)) for name in POINTS}


def numbers(values: npt.NDArray[np.float64]) -> list[float | None]:
    """JSON has no infinity: null where a number is none."""
    plain: list[float | None] = values.tolist()
    for place in np.flatnonzero(~np.isfinite(values)).tolist():
        plain[place] = None
    return plain


def _asked(asked: Asked) -> dict[str, Any]:
    point = asked.point
    return {
        "at": asked.at.text,
        "threshold": _finite(point.threshold),
        "tpr": 1 - point.fnmr,
        "fpr": point.fmr,
        "fnr": point.fnmr,
        "attained": point.attained,
        "interval_of": asked.of,
        "interval": _interval(asked.interval),
        "method": asked.method or None,
    }


def _cost(cost: DetectionCost) -> dict[str, Any]:
    return {
        "cost": cost.cost,
        "normalised": cost.normalised,
        "threshold": _finite(cost.point.threshold),
        "fpr": cost.point.fmr,
        "fnr": cost.point.fnmr,
        "attained": cost.point.attained,
        "fp": cost.cost_false_alarm,
        "fn": cost.cost_miss,
        "prior": cost.prior,
    }


def _crossing(pair: Crossed, place: Any) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "fpr": place.fpr,
        "tpr": place.tpr,
        "threshold_a": _finite(place.threshold_a),
        "threshold_b": _finite(place.threshold_b),
        "above_before": pair.ahead(place),
    }


def _mean(mean: MeanPoint) -> dict[str, Any]:
    ellipse = mean.ellipse
    found = {"threshold": _finite(mean.threshold), "fpr": mean.fpr, "tpr": mean.tpr, "ellipse": None}
    if ellipse is None:
        return found
    return found | {"ellipse": {"half_axes": list(ellipse.half_axes), "angle": ellipse.angle}}


def _interval(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
