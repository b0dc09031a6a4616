"""Free-response curves of transcripts: the share of objects found over the false positives per image."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from msgspec import structs

from harness.analysis.align import Run, align, names_of
from harness.analysis.curve import numbers
from harness.analysis.curve_request import CurveRequest
from harness.analysis.curve_scores import curve_elements
from harness.analysis.element_curve import curve_of_elements
from harness.analysis.sampling import finite, interval_json, take_sample
from harness.errors import TranscriptError, UsageError
from harness.stats.arrays import FloatArray
from harness.stats.curves.free_response import FALSE_POSITIVES, FreeResponse, free_response, froc_statistic
from harness.stats.estimate import Estimate
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample

WORDS = "mean recall at 1/8 to 8 false positives per image"


@dataclass(frozen=True, eq=False)
class FrocPoints:
    """Columns of equal length, from the strictest threshold to the laxest; `low` and `high` of the recall."""

    threshold: FloatArray
    recall: FloatArray
    fppi: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class FrocCurve:
    """A curve, its score, and the recall at each of the usual numbers of false positives per image."""

    name: str
    images: int
    objects: int
    points: FrocPoints
    score: Estimate
    recalls: FloatArray
    # How the bands were computed and what they are for; empty if there are none.
    bands: str
    target: str
    # How many points the whole curve has; `points` may be only some of them.
    whole: int
    notes: list[str] = field(default_factory=list)
    stratum: str | None = None


def at_iou(runs: Sequence[Run], iou: float | None) -> list[Run]:
    """The runs as if objects had been matched at another `iou` from the start."""
    if iou is None:
        return list(runs)
    matched = []
    for run in runs:
        header = run.columns.header
        elements = curve_elements(run.columns, run.source)
        if elements is None or elements.has_negatives:
            raise UsageError(f"--iou: {run.source} has no objects that are found in images; leave it out")
        header = structs.replace(header, params={**header.params, "iou": iou})
        matched.append(replace(run, columns=replace(run.columns, header=header)))
    return matched


def make_froc_curves(runs: Sequence[Run], request: CurveRequest) -> list[FrocCurve]:
    """A curve for each transcript."""
    return [_curve(run, name, request) for run, name in zip(runs, names_of(runs), strict=True)]


def _curve(run: Run, name: str, request: CurveRequest) -> FrocCurve:
    elements = curve_elements(run.columns, run.source)
    if elements is None or elements.has_negatives:
        test = run.columns.header.test
        raise TranscriptError(
            f"{run.source}: {test.name} is a {test.task} test; such a curve needs objects that are found in images: "
            "use hate roc, hate det or hate pr"
        )
    curve = curve_of_elements(run, elements, name, request)
    sample = take_sample(align([run], partial=request.partial), request.design).sample
    found = free_response(elements.case, elements.score, elements.positive)
    try:
        score = make_estimate(
            sample,
            froc_statistic([(found, None)], WORDS),
            Replication(confidence=request.confidence, seed=request.seed),
        )
    except ValueError as error:
        raise TranscriptError(f"{run.source}: {error}") from None
    points = curve.points
    return FrocCurve(
        name=name,
        images=sample.cases,
        objects=curve.positives,
        points=FrocPoints(
            points.threshold, points.tpr, _false(found, sample, points.threshold), points.low, points.high
        ),
        score=score,
        recalls=found.recall_at(sample.weights, FALSE_POSITIVES),
        bands=curve.bands,
        target=curve.target,
        whole=curve.whole,
        notes=curve.notes,
        stratum=curve.stratum,
    )


def _false(found: FreeResponse, sample: Sample, threshold: FloatArray) -> FloatArray:
    """The false positives per image at some thresholds."""
    false = np.append(0.0, found.curve(sample.weights)[1])
    return np.asarray(false[np.searchsorted(-found.threshold, -threshold, side="right")])


def froc_json(curves: Sequence[FrocCurve], confidence: float) -> dict[str, Any]:
    """The JSON that the documentation promises."""
    return {"curves": [_json(curve) for curve in curves], "confidence": confidence}


def _json(curve: FrocCurve) -> dict[str, Any]:
    names = ("threshold", "recall", "fppi", "low", "high")
    return {
        "name": curve.name,
        "images": curve.images,
        "objects": curve.objects,
        "points": {name: numbers(getattr(curve.points, name)) for name in names},
        "mean_recall": finite(curve.score.value),
        "mean_recall_interval": interval_json(curve.score.interval),
        "mean_recall_se": finite(curve.score.se),
        "mean_recall_method": curve.score.method,
        "at": {"fppi": FALSE_POSITIVES.tolist(), "recall": curve.recalls.tolist()},
        "bands": curve.bands or None,
        "target": curve.target or None,
        "whole": curve.whole,
        "notes": curve.notes,
    }
