"""Curves under the names that the documentation promises."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.analysis.as_json import finite, interval_json
from harness.analysis.curves.crossing import Crossed
from harness.analysis.curves.curve import Asked, Curve, CurvePoints, MeanPoint
from harness.stats.curves.operating import DetectionCost
from harness.stats.estimate import Estimate

POINTS = ("threshold", "tpr", "fpr", "fnr", "precision", "low", "high", "low_at_fpr", "high_at_fpr")


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
        "auc_interval": interval_json(curve.auc.interval),
        "auc_se": finite(curve.auc.se),
        "auc_method": summary_method(curve.auc) or None,
        "auc_target": curve.summary_target if curve.auc.interval else None,
        "eer": curve.eer.value,
        "eer_interval": interval_json(curve.eer.interval),
        "eer_se": finite(curve.eer.se),
        "eer_method": curve.eer.method or None,
        "eer_threshold": finite(curve.eer_threshold),
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


def summary_method(one: Estimate) -> str:
    """How an area was found; the linear form of independent cases has a name of its own."""
    return "DeLong" if one.method == "linearised" and math.isinf(one.df) else one.method


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
        "threshold": finite(point.threshold),
        "tpr": 1 - point.fnmr,
        "fpr": point.fmr,
        "fnr": point.fnmr,
        "attained": point.attained,
        "interval_of": asked.of,
        "interval": interval_json(asked.estimate.interval if asked.estimate else None),
        "method": asked.estimate.method if asked.estimate else None,
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


def _crossing(pair: Crossed, place: Any) -> dict[str, Any]:
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
    found = {"threshold": finite(mean.threshold), "fpr": mean.fpr, "tpr": mean.tpr, "ellipse": None}
    if ellipse is None:
        return found
    return found | {"ellipse": {"half_axes": list(ellipse.half_axes), "angle": ellipse.angle}}
