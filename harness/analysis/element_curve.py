"""A curve over what the cases consist of, pixels or objects: these have the scores, but the cases are the units."""

import math
from dataclasses import replace

import numpy as np

from harness.analysis.align import Run, align
from harness.analysis.curve import Curve, CurvePoints
from harness.analysis.curve_bands import (
    CurveBasis,
    curve_bands,
    fixed_bands,
    least_cost,
    precision_limits,
    requested_point,
)
from harness.analysis.curve_request import CurveRequest
from harness.analysis.curve_scores import scored_elements
from harness.analysis.sampling import Sampling, take_sample
from harness.analysis.score_curve import band_method, curve_points, places
from harness.errors import TranscriptError, UsageError
from harness.model import plural
from harness.stats.curves.area import auc
from harness.stats.curves.elements import ScoredElements, element_sample, element_statistic
from harness.stats.curves.points import average_precision, equal_error
from harness.stats.curves.scores import ScoredCases, ThresholdCounts, counts_of
from harness.stats.curves.summaries import AREA, AVERAGE_PRECISION, EQUAL_ERROR, FOUND_PRECISION, CurveSummary
from harness.stats.estimate import Estimate
from harness.stats.replication.estimates import make_estimate
from harness.tasks.task import Elements


def curve_of_elements(run: Run, elements: Elements, name: str, request: CurveRequest) -> Curve:
    """A curve whose errors come from the cases that the elements belong to."""
    if request.subjects is not None:
        raise UsageError(f"--subjects: the scores of {name} are of {elements.words}, which have no two subjects")
    sampling = take_sample(align([run], partial=request.partial), request.design)
    try:
        scored = _with_end(scored_elements(elements), elements, sampling.sample.cases)
        basis = element_basis(scored, sampling, request)
        return _curve(name, elements, scored, sampling, basis)
    except ValueError as mistake:
        raise TranscriptError(f"{run.source}: {mistake}") from None


def element_basis(scored: ScoredElements, sampling: Sampling, request: CurveRequest) -> CurveBasis:
    """The elements as cases that errors are computed from; without a PSU, each case is a unit of its own."""
    sample = element_sample(sampling.sample, scored)
    spread = replace(sampling, sample=sample, psu=sampling.psu or "case")
    return CurveBasis(replace(scored.scored, weights=sample.weights), spread, None, request)


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
    request, counts = basis.request, counts_of(basis.cases)
    whole = counts.threshold.size if elements.has_negatives else counts.threshold.size - 1
    at = places(counts, basis, whole)
    bands = curve_bands(basis, counts, at)
    fixed = fixed_bands(basis, counts, at) if elements.has_negatives else None
    points = curve_points(counts, at, bands, fixed)
    return Curve(
        name=name,
        positives=round(float(elements.weight[elements.positive].sum())),
        negatives=round(float(elements.weight[~elements.positive].sum())),
        auc=_summary(AREA, auc(counts), elements, scored, sampling, basis),
        eer=_summary(EQUAL_ERROR, equal_error(counts).rate, elements, scored, sampling, basis),
        summary_target=basis.target,
        eer_threshold=equal_error(counts).threshold if elements.has_negatives else math.nan,
        average_precision=_precision(_average_precision(counts, whole), elements, scored, sampling, basis),
        points=points if elements.has_negatives else _without_rates(points),
        bands=band_method(basis, bands),
        target="" if bands is None else basis.sampling.target,
        stratum=sampling.stratum,
        counts=counts,
        whole=whole,
        requested=[requested_point(basis, counts, one) for one in request.at] if elements.has_negatives else [],
        cost=least_cost(counts, request.cost) if elements.has_negatives else None,
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
    if not basis.request.precise:
        return Estimate(value, math.nan, math.nan, None)
    summary = AVERAGE_PRECISION if elements.has_negatives else FOUND_PRECISION
    return _estimate(summary, value, scored, sampling, basis)


def _average_precision(counts: ThresholdCounts, whole: int) -> float:
    """Without the end of the curve that no threshold reaches."""
    if whole == counts.threshold.size:
        return average_precision(counts)
    return float(np.diff(counts.tpr[:whole]) @ counts.precision[1:whole])


def _without_rates(points: CurvePoints) -> CurvePoints:
    """False positives cannot be a rate if nobody knows how many there could be."""
    return replace(points, fpr=np.full(points.tpr.size, np.nan))
