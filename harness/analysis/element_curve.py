"""Curves over what the cases consist of, pixels or objects: these have the scores, but the cases are the units."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from harness.analysis.align import Run, align, names_of
from harness.analysis.curve import Curve
from harness.analysis.curve_bands import (
    CurveBasis,
    curve_bands,
    fixed_bands,
    least_cost,
    precision_limits,
    requested_point,
)
from harness.analysis.curve_scores import curve_elements, scored_elements
from harness.analysis.sampling import Sampling, take_sample
from harness.analysis.score_curve import band_method, curve_columns, places
from harness.errors import TranscriptError, UsageError
from harness.model import plural
from harness.options.curves import CurveOptions, FrocOptions
from harness.stats.arrays import FloatArray
from harness.stats.curves.area import auc
from harness.stats.curves.elements import ScoredElements, element_sample, element_statistic
from harness.stats.curves.free_response import FALSE_POSITIVES, FreeResponse, free_response, froc_statistic
from harness.stats.curves.points import average_precision, equal_error
from harness.stats.curves.scores import ScoredCases, ThresholdCounts, counts_of
from harness.stats.curves.summaries import AREA, AVERAGE_PRECISION, EQUAL_ERROR, FOUND_PRECISION, CurveSummary
from harness.stats.estimate import Estimate
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample
from harness.tasks.task import Elements

MEAN_RECALL = "mean recall at 1/8 to 8 false positives per image"


def curve_of_elements(
    run: Run, elements: Elements, name: str, options: CurveOptions, *, precise: bool = False
) -> Curve:
    """A curve whose errors come from the cases that the elements belong to."""
    if options.subjects is not None:
        raise UsageError(f"--subjects: the scores of {name} are of {elements.words}, which have no two subjects")
    sampling = take_sample(align([run], partial=options.partial), options)
    try:
        scored = _with_end(scored_elements(elements), elements, sampling.sample.cases)
        sample = element_sample(sampling.sample, scored)
        # Without a PSU, each case is a unit of its own.
        spread = replace(sampling, sample=sample, psu=sampling.psu or "case")
        basis = CurveBasis(replace(scored.scored, weights=sample.weights), spread, None, options, precise)
        return _curve(name, elements, scored, sampling, basis)
    except ValueError as mistake:
        raise TranscriptError(f"{run.source}: {mistake}") from None


def _with_end(scored: ScoredElements, elements: Elements, number: int) -> ScoredElements:
    """If negative elements cannot be counted, one in each case, which no threshold accepts, stands for them.

    That point is cut off later. One in each case, because every replicate needs some.
    """
    if elements.has_negatives:
        return scored
    cases = scored.scored
    ended = ScoredCases(
        np.append(cases.better, np.full(number, -np.inf)),
        np.append(cases.positive, np.zeros(number, dtype=np.bool_)),
        np.append(cases.weight, np.ones(number)),
        cases.larger_is_better,
    )
    return ScoredElements(ended, np.append(scored.case, np.arange(number)))


def _curve(name: str, elements: Elements, scored: ScoredElements, sampling: Sampling, basis: CurveBasis) -> Curve:
    options, counts = basis.options, counts_of(basis.cases)
    whole = counts.threshold.size if elements.has_negatives else counts.threshold.size - 1
    at = places(counts, basis, whole)
    bands = curve_bands(basis, counts, at)
    fixed = fixed_bands(basis, counts, at) if elements.has_negatives else None
    columns = curve_columns(counts, at, bands, fixed)
    if not elements.has_negatives:
        # False positives cannot be a rate if nobody knows how many there could be.
        columns["fpr"] = np.full(at.size, np.nan)
    return Curve(
        name=name,
        sizes={
            "positives": round(float(elements.weight[elements.positive].sum())),
            "negatives": round(float(elements.weight[~elements.positive].sum())),
        },
        summaries={
            "auc": _summary(AREA, auc(counts), elements, scored, sampling, basis),
            "eer": _summary(EQUAL_ERROR, equal_error(counts).rate, elements, scored, sampling, basis),
            "average_precision": _precision(_average_precision(counts, whole), elements, scored, sampling, basis),
        },
        summary_target=basis.target,
        eer_threshold=equal_error(counts).threshold if elements.has_negatives else math.nan,
        columns=columns,
        bands=band_method(basis, bands),
        target="" if bands is None else basis.sampling.target,
        stratum=sampling.stratum,
        counts=counts,
        whole=whole,
        requested=[requested_point(basis, counts, one) for one in options.at] if elements.has_negatives else [],
        cost=least_cost(counts, options.cost) if elements.has_negatives else None,
        notes=[f"the curve is over {elements.words}; the {plural(basis.sampling.psu or 'case')} are the units"],
        precision_band=precision_limits(basis, counts),
        elements=elements.words,
        has_negatives=elements.has_negatives,
    )


def _summary(
    summary: CurveSummary,
    value: float,
    elements: Elements,
    scored: ScoredElements,
    sampling: Sampling,
    basis: CurveBasis,
) -> Estimate:
    """Area or equal error rate, if there is one."""
    if not elements.has_negatives:
        return Estimate(math.nan, math.nan, math.nan, None)
    return _estimate(summary, value, scored, sampling, basis)


def _estimate(
    summary: CurveSummary, value: float, scored: ScoredElements, sampling: Sampling, basis: CurveBasis
) -> Estimate:
    """A summary; without an interval if there are too few cases for one."""
    try:
        estimate = make_estimate(sampling.sample, element_statistic(summary, [(scored, None)]), basis.replication)
    except ValueError:
        return Estimate(value, math.nan, math.nan, None)
    return replace(estimate, value=value)


def _precision(
    value: float, elements: Elements, scored: ScoredElements, sampling: Sampling, basis: CurveBasis
) -> Estimate:
    """The average precision, with an interval if one is asked for."""
    if not basis.precise:
        return Estimate(value, math.nan, math.nan, None)
    summary = AVERAGE_PRECISION if elements.has_negatives else FOUND_PRECISION
    return _estimate(summary, value, scored, sampling, basis)


def _average_precision(counts: ThresholdCounts, whole: int) -> float:
    """Without the end of the curve that no threshold reaches."""
    if whole == counts.threshold.size:
        return average_precision(counts)
    return float(np.diff(counts.tpr[:whole]) @ counts.precision[1:whole])


# Objects over the false positives per image


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


def free_response_curves(runs: Sequence[Run], options: FrocOptions) -> list[Curve]:
    """A curve for each transcript: the share of objects found over the false positives per image."""
    matched = at_iou(runs, options.iou)
    return [_free_response(run, name, options) for run, name in zip(matched, names_of(matched), strict=True)]


def _free_response(run: Run, name: str, options: FrocOptions) -> Curve:
    elements = curve_elements(run.columns, run.source)
    if elements is None or elements.has_negatives:
        test = run.columns.header.test
        raise TranscriptError(
            f"{run.source}: {test.name} is a {test.task} test; such a curve needs objects that are found in images: "
            "use hate roc, hate det or hate pr"
        )
    curve = curve_of_elements(run, elements, name, CurveOptions.taken_from(options))
    sample = take_sample(align([run], partial=options.partial), options).sample
    found = free_response(elements.case, elements.score, elements.positive)
    replication = Replication(confidence=options.confidence, seed=options.seed)
    try:
        score = make_estimate(sample, froc_statistic([(found, None)], MEAN_RECALL), replication)
    except ValueError as error:
        raise TranscriptError(f"{run.source}: {error}") from None
    of = curve.columns
    return Curve(
        name=name,
        sizes={"images": sample.cases, "objects": curve.sizes["positives"]},
        columns={
            "threshold": of["threshold"],
            "recall": of["tpr"],
            "fppi": _false_positives(found, sample, of["threshold"]),
            "low": of["low"],
            "high": of["high"],
        },
        summaries={"mean_recall": score},
        recalls=found.recall_at(sample.weights, FALSE_POSITIVES),
        bands=curve.bands,
        target=curve.target,
        stratum=curve.stratum,
        whole=curve.whole,
        notes=curve.notes,
        has_negatives=False,
    )


def _false_positives(found: FreeResponse, sample: Sample, threshold: FloatArray) -> FloatArray:
    """The false positives per image at some thresholds."""
    false = np.append(0.0, found.curve(sample.weights)[1])
    return np.asarray(false[np.searchsorted(-found.threshold, -threshold, side="right")])
