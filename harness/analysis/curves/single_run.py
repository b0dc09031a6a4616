"""The curve of one run: over the scores of its cases, or of what they consist of, such as pixels or objects."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs

from harness.analysis.align import Run, align, names_of
from harness.analysis.curves.bands import (
    CurveBasis,
    curve_bands,
    curve_estimate,
    few_errors,
    find_subjects,
    fixed_bands,
    identity_notes,
    least_cost,
    precision_limits,
    requested_point,
)
from harness.analysis.curves.curve import Curve
from harness.analysis.curves.scores import CurveScores, curve_elements, curve_scores, scored_elements
from harness.analysis.sampling import Sampling, take_sample
from harness.errors import TranscriptError, UsageError
from harness.model import plural
from harness.options.curves import BandMethod, CurveOptions, FrocOptions
from harness.stats.arrays import FloatArray, IntArray
from harness.stats.curves.bands import CurveBands, FixedFprBands
from harness.stats.curves.roc import auc, average_precision, equal_error, points, thinned
from harness.stats.curves.scores import ScoredCases, ThresholdCounts, counts_of, make_scored_cases
from harness.stats.curves.summaries import (
    AREA,
    AVERAGE_PRECISION,
    EQUAL_ERROR,
    FOUND_PRECISION,
    ScoredElements,
    element_sample,
    element_statistic,
)
from harness.stats.detection_curves import FALSE_POSITIVES, free_response, froc_statistic
from harness.stats.estimate import Estimate
from harness.stats.replication.balanced import balanced_size
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.tasks.task import Elements

# A curve of up to this many points is output whole, a longer one at a thousand of them.
MAX_WHOLE = 5000
THINNED = 1000
# With more units times points, bands by replication take too long.
MAX_REPLICATED = 1 << 24
MEAN_RECALL = "mean recall at 1/8 to 8 false positives per image"


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """A transcript's scores and how its cases were sampled."""

    name: str
    scored: CurveScores
    counts: ThresholdCounts
    basis: CurveBasis


def score_run(run: Run, name: str, options: CurveOptions, *, precise: bool = False) -> ScoredRun:
    """The scores of a transcript, ready for a curve."""
    aligned = align([run], partial=options.partial)
    scored = curve_scores(run.columns, run.source)
    design, subjects, recorded = options, options.subjects, aligned.headers[0].design.get("psu")
    if subjects is not None and options.psu is None and isinstance(recorded, list) and set(subjects) <= set(recorded):
        # Their pair, which older imports recorded, is no unit.
        design = replace(options, psu=("none",))
    try:
        sampling = take_sample(aligned, design)
        weights = None if sampling.weights == "cases" else sampling.sample.weights
        larger = scored.larger_is_better
        cases = make_scored_cases(scored.scores, scored.positive, weights=weights, larger_is_better=larger)
        basis = CurveBasis(cases, sampling, find_subjects(aligned, subjects), options, precise)
        return ScoredRun(name, scored, counts_of(basis.cases), basis)
    except ValueError as error:
        raise TranscriptError(f"{run.source}: {error}") from None


def curve_of_scores(run: Run, name: str, options: CurveOptions, *, precise: bool) -> Curve:
    """A curve with its summaries and bands."""
    scored_run = score_run(run, name, options, precise=precise)
    counts, basis = scored_run.counts, scored_run.basis
    try:
        bands = curve_bands(basis, counts, point_indices(counts, basis))
        at = point_indices(counts, basis) if bands is None else bands.at
        summaries, notes = _summaries(basis, counts)
        requested = [requested_point(basis, counts, point) for point in options.at]
        fixed = fixed_bands(basis, counts, at)
        few = [
            note
            for point in options.at
            for note in few_errors(point.text, point.of, point.value, scored_run.scored.positive, basis.sample.answers)
        ]
    except ValueError as mistake:
        raise TranscriptError(f"{run.source}: {mistake}") from None
    target = "" if bands is None else bands.tpr.target
    if bands is not None and basis.subjects is None and not target.endswith("independent cases"):
        target = basis.sampling.target
    return Curve(
        name=name,
        sizes={"positives": counts.positives.cases, "negatives": counts.negatives.cases},
        summaries=summaries,
        summary_target=basis.target,
        eer_threshold=equal_error(counts).threshold,
        columns=curve_columns(counts, at, bands, fixed),
        bands=band_method(basis, bands),
        target=target,
        stratum=basis.sampling.stratum,
        counts=counts,
        whole=counts.threshold.size,
        requested=requested,
        cost=least_cost(counts, options.cost),
        precision_band=precision_limits(basis, counts),
        cases=basis.cases,
        notes=[*_end_notes(scored_run), *notes, *few, *identity_notes(basis)],
    )


def point_indices(counts: ThresholdCounts, basis: CurveBasis, whole: int | None = None) -> IntArray:
    """Which of the points, or of the first `whole`, to output: all, unless there are too many to read or for bands."""
    size, limit = counts.threshold.size if whole is None else whole, basis.options.points
    if limit == 0:
        return np.arange(size)
    if limit is None:
        slow = _replicated(basis) and basis.sample.units * size > MAX_REPLICATED
        limit = THINNED if size > MAX_WHOLE or slow else size
    return thinned(counts, max(limit, 2), size)


def _replicated(basis: CurveBasis) -> bool:
    """Whether bands need every unit at every point; the textbook variance of unbalanced samples does not."""
    if not basis.sampling.known or basis.bands not in (BandMethod.BRR, BandMethod.BOOTSTRAP, BandMethod.SIMULTANEOUS):
        return False
    textbook = basis.bands is BandMethod.BRR and basis.sample.stratified and balanced_size(basis.sample) is None
    return not textbook


def _summaries(basis: CurveBasis, counts: ThresholdCounts) -> tuple[dict[str, Estimate], list[str]]:
    """Area, equal error rate and average precision; with too few cases for a variance without intervals.

    A note says so, but for the average precision, which has an interval only if one is asked for.
    """
    values = {"auc": auc(counts), "eer": equal_error(counts).rate, "average_precision": average_precision(counts)}
    summaries = {name: Estimate(value, math.nan, math.nan, None) for name, value in values.items()}
    notes = []
    try:
        area, error = curve_estimate(basis, AREA), curve_estimate(basis, EQUAL_ERROR)
        summaries |= {"auc": replace(area, value=values["auc"]), "eer": replace(error, value=values["eer"])}
    except ValueError as mistake:
        notes.append(f"no interval: {mistake}")
    if basis.precise:
        with suppress(ValueError):
            precision = curve_estimate(basis, AVERAGE_PRECISION)
            summaries["average_precision"] = replace(precision, value=values["average_precision"])
    return summaries, notes


def curve_columns(
    counts: ThresholdCounts, at: IntArray, bands: CurveBands | None, fixed: FixedFprBands | None
) -> dict[str, FloatArray]:
    """The points of a curve with these indices, with their bands."""
    chosen = points(counts, at)
    none = np.full(at.size, np.nan)
    return {
        "threshold": chosen.threshold,
        "tpr": chosen.tpr,
        "fpr": chosen.fpr,
        "fnr": chosen.fnr,
        "precision": chosen.precision,
        "low": none if bands is None else bands.tpr.low,
        "high": none if bands is None else bands.tpr.high,
        "low_at_fpr": none if fixed is None else fixed.low,
        "high_at_fpr": none if fixed is None else fixed.high,
    }


def band_method(basis: CurveBasis, bands: CurveBands | None) -> str:
    """How bands were computed; empty if there are none."""
    if bands is None:
        return ""
    return "simultaneous" if basis.bands is BandMethod.SIMULTANEOUS else bands.tpr.method


def _end_notes(run: ScoredRun) -> list[str]:
    """Notes on the ends of the curve that no threshold can reach."""
    scored = run.scored
    lost, false, kept = (
        int(np.count_nonzero(of))
        for of in (scored.never & scored.positive, scored.never & ~scored.positive, scored.always & ~scored.positive)
    )
    counted = "answers" if run.basis.sample.answers > 1 else "cases"
    why = "a label other than the claimed one, a refusal or an error"
    return _ends(run.counts, lost, false, kept, counted=counted, why=why)


def _element_end_notes(counts: ThresholdCounts, elements: Elements) -> list[str]:
    """The same of elements, which may weigh."""
    never, always = np.isneginf(elements.score), np.isposinf(elements.score)
    lost, false, kept = (
        round(float(elements.weight[of].sum()))
        for of in (never & elements.positive, never & ~elements.positive, always & ~elements.positive)
    )
    return _ends(counts, lost, false, kept, counted=elements.words, why="a refusal or an error")


def _ends(counts: ThresholdCounts, lost: int, false: int, kept: int, *, counted: str, why: str) -> list[str]:
    notes = []
    if counts.closed:
        notes.append(
            f"no threshold accepts {lost:,} of the positive and {false:,} of the negative {counted} ({why}): from fpr "
            f"{counts.fpr[-2]:.4f}, tpr {counts.tpr[-2]:.4f} the curve is closed by a straight line to (1, 1)"
        )
    if counts.opened:
        notes.append(
            f"{kept:,} negative {counted} in error are accepted by every threshold: up to fpr {counts.fpr[1]:.4f} the "
            "curve is a straight line that no threshold reaches"
        )
    if counts.closed and int(np.searchsorted(counts.fpr - counts.fnr, 0.0)) == counts.fpr.size - 1:
        notes.append("the equal error rate lies on the straight line that closes the curve: no threshold reaches it")
    return notes


# Over what the cases consist of, pixels or objects: these have the scores, but the cases are the units


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
        return _element_curve(name, elements, scored, sampling, basis)
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


def _element_curve(
    name: str, elements: Elements, scored: ScoredElements, sampling: Sampling, basis: CurveBasis
) -> Curve:
    options, counts = basis.options, counts_of(basis.cases)
    whole = counts.threshold.size if elements.has_negatives else counts.threshold.size - 1
    at = point_indices(counts, basis, whole)
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
        summaries=_element_summaries(counts, whole, scored, sampling, basis, has_negatives=elements.has_negatives),
        summary_target=basis.target,
        eer_threshold=equal_error(counts).threshold if elements.has_negatives else math.nan,
        columns=columns,
        bands=band_method(basis, bands),
        target="" if bands is None else basis.sampling.target,
        stratum=sampling.stratum,
        counts=counts,
        whole=whole,
        requested=[requested_point(basis, counts, point) for point in options.at] if elements.has_negatives else [],
        cost=least_cost(counts, options.cost) if elements.has_negatives else None,
        notes=[
            f"the curve is over {elements.words}; the {plural(basis.sampling.psu or 'case')} are the units",
            *(_element_end_notes(counts, elements) if elements.has_negatives else []),
        ],
        precision_band=precision_limits(basis, counts),
        elements=elements.words,
        has_negatives=elements.has_negatives,
    )


def _element_summaries(
    counts: ThresholdCounts,
    whole: int,
    scored: ScoredElements,
    sampling: Sampling,
    basis: CurveBasis,
    *,
    has_negatives: bool,
) -> dict[str, Estimate]:
    """Area and equal error rate, if there are such; the average precision with an interval if one is asked for."""
    precision = average_precision(counts)
    if whole < counts.threshold.size:
        # Without the end that no threshold reaches.
        precision = float(np.diff(counts.tpr[:whole]) @ counts.precision[1:whole])
    values = {"auc": math.nan, "eer": math.nan, "average_precision": precision}
    wanted = {"average_precision": AVERAGE_PRECISION if has_negatives else FOUND_PRECISION} if basis.precise else {}
    if has_negatives:
        values |= {"auc": auc(counts), "eer": equal_error(counts).rate}
        wanted |= {"auc": AREA, "eer": EQUAL_ERROR}
    summaries = {name: Estimate(value, math.nan, math.nan, None) for name, value in values.items()}
    for name, summary in wanted.items():
        # With too few cases there is no interval.
        with suppress(ValueError):
            estimate = make_estimate(sampling.sample, element_statistic(summary, [(scored, None)]), basis.replication)
            summaries[name] = replace(estimate, value=values[name])
    return summaries


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
    response = free_response(elements.case, elements.score, elements.positive)
    replication = Replication(confidence=options.confidence, seed=options.seed)
    try:
        score = make_estimate(sample, froc_statistic([(response, None)], MEAN_RECALL), replication)
    except ValueError as error:
        raise TranscriptError(f"{run.source}: {error}") from None
    of = curve.columns
    false = np.append(0.0, response.curve(sample.weights)[1])
    return Curve(
        name=name,
        sizes={"images": sample.cases, "objects": curve.sizes["positives"]},
        columns={
            "threshold": of["threshold"],
            "recall": of["tpr"],
            "fppi": np.asarray(false[np.searchsorted(-response.threshold, -of["threshold"], side="right")]),
            "low": of["low"],
            "high": of["high"],
        },
        summaries={"mean_recall": score},
        recalls=response.recall_at(sample.weights, FALSE_POSITIVES),
        bands=curve.bands,
        target=curve.target,
        stratum=curve.stratum,
        whole=curve.whole,
        notes=curve.notes,
        has_negatives=False,
    )
