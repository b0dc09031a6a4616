"""A curve: named columns, summaries with intervals, and notes; where two curves cross; and their JSON.

All curves are of this type: over a threshold (`roc`, `det`, `pr`), over the false positives per image (`froc`) and over
the rank (`cmc`). Which columns there are says what can be drawn of them; the views of `harness.api.curves` choose.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from harness.options.curves import PointLimit
from harness.stats.arrays import FloatArray
from harness.stats.curves.bands import PrecisionBand
from harness.stats.curves.ellipses import Ellipse
from harness.stats.curves.roc import Crossing, DetectionCost, OperatingPoint, crossings
from harness.stats.curves.scores import ScoredCases, ThresholdCounts
from harness.stats.detection_curves import FALSE_POSITIVES
from harness.stats.estimate import Estimate


@dataclass(frozen=True)
class RequestedPoint:
    """A requested operating point; the estimate is of the other rate, None if it has no error."""

    at: PointLimit
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


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve, its summaries, and what a reader must know about it.

    sizes      how many cases of each kind it rests on: positives and negatives; images and objects; probes, gallery
               and people
    columns    columns of equal length, from the strictest threshold, or the best rank, to the last. `low` and `high`
               are of the tpr, the recall or the rate in the same row; `low_at_fpr` and `high_at_fpr` of the tpr at that
               false positive rate, whatever the threshold
    summaries  by name, each with its interval: auc, eer, average_precision; mean_recall; median_rank
    bands      how the bands were computed, empty if there are none; `target` says what they are for, in strata by the
               column `stratum`
    whole      how many points the whole curve has; `columns` may be only some of them
    """

    name: str
    sizes: Mapping[str, int]
    columns: Mapping[str, FloatArray]
    summaries: Mapping[str, Estimate]
    bands: str
    target: str
    whole: int
    notes: Sequence[str] = ()
    stratum: str | None = None
    # What the intervals of the summaries are for.
    summary_target: str = ""
    # The recall at the usual numbers of false positives per image; the rank at which ranks were censored.
    recalls: FloatArray | None = None
    censored_at: int | None = None
    # Over a threshold: the counts behind the points, where both errors are equal, and what was asked for.
    counts: ThresholdCounts | None = None
    eer_threshold: float = math.nan
    requested: Sequence[RequestedPoint] = ()
    cost: DetectionCost | None = None
    # A swept algorithm parameter, and its value at each point.
    param: str | None = None
    values: Sequence[str] | None = None
    repetitions: int | None = None
    means: Sequence[MeanPoint] = ()
    # What the curve is over if not over cases, such as pixels, and whether negative ones can be counted.
    elements: str = ""
    has_negatives: bool = True
    # The band of the precision, for curves of precision over recall.
    precision_band: PrecisionBand | None = None
    # The cases of a curve over the scores of one run.
    cases: ScoredCases | None = None

    @property
    def auc(self) -> Estimate:
        """The area under a ROC curve."""
        return self.summaries["auc"]

    @property
    def eer(self) -> Estimate:
        """The equal error rate."""
        return self.summaries["eer"]

    @property
    def average_precision(self) -> Estimate:
        """The area under a curve of precision over recall."""
        return self.summaries["average_precision"]

    @property
    def rank_one(self) -> tuple[float, float, float]:
        """Of a curve over ranks: the rate at rank 1 with its limits."""
        rate, low, high = (float(self.columns[name][0]) for name in ("rate", "low", "high"))
        return rate, low, high

    @property
    def size(self) -> int:
        """How many points there are in `columns`."""
        return next(iter(self.columns.values())).size

    @property
    def fixed(self) -> bool:
        """Whether there are bands at false positive rates."""
        return "low_at_fpr" in self.columns and bool(np.isfinite(self.columns["low_at_fpr"]).any())

    @property
    def reached(self) -> tuple[int, int]:
        """The first point that a threshold reaches, and the first after those; a sweep and ranks reach all."""
        if self.counts is None or self.param is not None:
            return 0, self.size
        # Where negative ones cannot be counted, the end that stands for them is no point.
        return int(self.counts.opened), self.size - int(self.counts.closed and self.has_negatives)


@dataclass(frozen=True)
class CurveCrossings:
    """Two curves, by name, and all points where they cross, from left to right."""

    a: str
    b: str
    crossings: list[Crossing]

    def ahead(self, crossing: Crossing) -> str:
        """The curve that is above at smaller false-positive rates."""
        return self.a if crossing.above_before == "a" else self.b

    def behind(self, crossing: Crossing) -> str:
        """The curve that is above at larger ones."""
        return self.b if crossing.above_before == "a" else self.a


# With more curves, nobody reads about pairs of them.
MAX_CURVES = 12


def find_crossings(curves: Sequence[Curve]) -> list[CurveCrossings]:
    """All pairs that cross."""
    known = [(curve.name, curve.counts) for curve in curves if curve.counts is not None and curve.has_negatives]
    if len(known) > MAX_CURVES or len(known) < len(curves):
        return []
    pairs = [CurveCrossings(a, b, crossings(of_a, of_b)) for (a, of_a), (b, of_b) in combinations(known, 2)]
    return [pair for pair in pairs if pair.crossings]


def summary_method(estimate: Estimate) -> str:
    """How an area was computed; for independent cases, the linear form is DeLong's."""
    return "DeLong" if estimate.method == "linearised" and math.isinf(estimate.df) else estimate.method


# JSON


def curves_json(
    curves: Sequence[Curve], confidence: float, crossed: Sequence[CurveCrossings] | None = None
) -> dict[str, Any]:
    """Several curves, and where they cross, if that was looked for."""
    payload: dict[str, Any] = {"curves": [_curve_json(curve) for curve in curves]}
    if crossed is not None:
        payload["crossings"] = [
            {
                "a": pair.a,
                "b": pair.b,
                "fpr": crossing.fpr,
                "tpr": crossing.tpr,
                "threshold_a": crossing.threshold_a,
                "threshold_b": crossing.threshold_b,
                "above_before": pair.ahead(crossing),
            }
            for pair in crossed
            for crossing in pair.crossings
        ]
    return payload | {"confidence": confidence}


def _curve_json(curve: Curve) -> dict[str, Any]:
    """Everything; infinite thresholds and missing values are null."""
    columns = {name: values.tolist() for name, values in curve.columns.items()}
    payload: dict[str, Any] = {"name": curve.name, **curve.sizes}
    if "rank" in columns:
        return payload | _over_ranks(curve)
    for name, summary in curve.summaries.items():
        payload |= {name: summary.value, f"{name}_interval": summary.interval, f"{name}_se": summary.se}
        payload[f"{name}_method"] = (summary_method(summary) if name == "auc" else summary.method) or None
    payload |= {"bands": curve.bands or None, "target": curve.target or None, "whole": curve.whole, "points": columns}
    if curve.counts is not None:
        payload |= _over_thresholds(curve, curve.counts)
    if curve.recalls is not None:
        payload |= {"at": {"fppi": FALSE_POSITIVES.tolist(), "recall": curve.recalls.tolist()}}
    return payload | {"notes": curve.notes}


def _over_ranks(curve: Curve) -> dict[str, Any]:
    """Ranks and rates, which stand by themselves, and the median."""
    of, gallery, median = curve.columns, curve.sizes["gallery"], curve.summaries["median_rank"]
    return {
        "ranks": of["rank"].astype(np.intp).tolist(),
        "rates": of["rate"].tolist(),
        "low": of["low"].tolist(),
        "high": of["high"].tolist(),
        "relative_ranks": (of["rank"] / gallery).tolist(),
        "median_rank": median.value,
        "median_interval": median.interval,
        "median_relative_rank": median.value / gallery,
        "censored_at": curve.censored_at,
        "bands": curve.bands or None,
        "target": curve.target if curve.bands else None,
        "notes": curve.notes,
    }


def _over_thresholds(curve: Curve, counts: ThresholdCounts) -> dict[str, Any]:
    """What only a curve over a threshold has."""
    band = curve.precision_band
    payload: dict[str, Any] = {
        "auc_target": curve.summary_target if curve.auc.interval else None,
        "eer_threshold": curve.eer_threshold,
        "closed": counts.closed,
        "opened": counts.opened,
        "operating": [_point_json(point) for point in curve.requested],
        "cost": None if curve.cost is None else _cost_json(curve.cost),
    }
    if band is not None:
        names = ("threshold", "recall", "precision", "low", "high")
        payload |= {"precision_band": {name: getattr(band, name).tolist() for name in names}}
    if curve.elements:
        payload |= {"elements": curve.elements}
    if curve.param is not None:
        payload |= {"param": curve.param, "values": curve.values}
    if curve.repetitions is not None:
        means = [
            {
                "threshold": mean.threshold,
                "fpr": mean.fpr,
                "tpr": mean.tpr,
                "ellipse": mean.ellipse and {"half_axes": mean.ellipse.half_axes, "angle": mean.ellipse.angle},
            }
            for mean in curve.means
        ]
        payload |= {"repetitions": curve.repetitions, "means": means}
    return payload


def _point_json(requested: RequestedPoint) -> dict[str, Any]:
    point, estimate = requested.point, requested.estimate
    return {
        "at": requested.at.text,
        "threshold": point.threshold,
        "tpr": 1 - point.fnr,
        "fpr": point.fpr,
        "fnr": point.fnr,
        "attained": point.attained,
        "interval_of": requested.of,
        "interval": None if estimate is None else estimate.interval,
        "method": None if estimate is None else estimate.method,
    }


def _cost_json(cost: DetectionCost) -> dict[str, Any]:
    return {
        "cost": cost.cost,
        "normalised": cost.normalised,
        "threshold": cost.point.threshold,
        "fpr": cost.point.fpr,
        "fnr": cost.point.fnr,
        "attained": cost.point.attained,
        "fp": cost.cost_false_alarm,
        "fn": cost.cost_miss,
        "prior": cost.prior,
    }
