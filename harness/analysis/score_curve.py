"""A curve from the recorded scores of a transcript."""

import math
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.curve import Curve
from harness.analysis.curve_bands import (
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
from harness.analysis.curve_scores import CurveScores, curve_scores
from harness.analysis.sampling import take_sample
from harness.errors import TranscriptError
from harness.options.curves import BandMethod, CurveOptions
from harness.stats.arrays import FloatArray, IntArray
from harness.stats.curves.area import auc
from harness.stats.curves.bands import CurveBands
from harness.stats.curves.fixed_fpr import FixedFprBands
from harness.stats.curves.points import average_precision, equal_error, points, thinned
from harness.stats.curves.scores import ThresholdCounts, counts_of, make_scored_cases
from harness.stats.curves.summaries import AREA, AVERAGE_PRECISION, EQUAL_ERROR
from harness.stats.estimate import Estimate
from harness.stats.replication.balanced import balanced_size

# A curve of up to this many points is output whole, a longer one at a thousand places.
LONGEST = 5000
THINNED = 1000
# With more units times points, bands by replication take too long.
MAX_REPLICATED = 1 << 24


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
    try:
        basis = _basis(aligned, scored, options, precise=precise)
        return ScoredRun(name, scored, counts_of(basis.cases), basis)
    except ValueError as error:
        raise TranscriptError(f"{run.source}: {error}") from None


def _basis(aligned: AlignedRuns, scored: CurveScores, options: CurveOptions, *, precise: bool) -> CurveBasis:
    design, subjects, recorded = options, options.subjects, aligned.headers[0].design.get("psu")
    if subjects is not None and options.psu is None and isinstance(recorded, list) and set(subjects) <= set(recorded):
        # Their pair, which older imports recorded, is no unit.
        design = replace(options, psu=("none",))
    sampling = take_sample(aligned, design)
    weights = None if sampling.weights == "cases" else sampling.sample.weights
    cases = make_scored_cases(scored.scores, scored.positive, weights=weights, larger_is_better=scored.larger_is_better)
    return CurveBasis(cases, sampling, find_subjects(aligned, subjects), options, precise)


def curve_of_scores(run: Run, name: str, options: CurveOptions, *, precise: bool) -> Curve:
    """A curve with its summaries and bands."""
    scored_run = score_run(run, name, options, precise=precise)
    counts, basis = scored_run.counts, scored_run.basis
    try:
        bands = curve_bands(basis, counts, places(counts, basis))
        at = places(counts, basis) if bands is None else bands.at
        equal = equal_error(counts)
        area, error, notes = _summaries(basis, auc(counts), equal.rate)
        requested = [requested_point(basis, counts, one) for one in options.at]
        fixed = fixed_bands(basis, counts, at)
        few = [
            text for one in options.at for text in few_errors(one.text, one.of, one.value, scored_run.scored.positive)
        ]
    except ValueError as mistake:
        raise TranscriptError(f"{run.source}: {mistake}") from None
    return Curve(
        name=name,
        sizes={"positives": counts.positives.cases, "negatives": counts.negatives.cases},
        summaries={"auc": area, "eer": error, "average_precision": _precision(basis, average_precision(counts))},
        summary_target=basis.target,
        eer_threshold=equal.threshold,
        columns=curve_columns(counts, at, bands, fixed),
        bands=band_method(basis, bands),
        target=_target(basis, bands),
        stratum=basis.sampling.stratum,
        counts=counts,
        whole=counts.threshold.size,
        requested=requested,
        cost=least_cost(counts, options.cost),
        precision_band=precision_limits(basis, counts),
        cases=basis.cases,
        notes=[*_ends(scored_run), *_equal_error_note(counts), *notes, *few, *identity_notes(basis)],
    )


def places(counts: ThresholdCounts, basis: CurveBasis, whole: int | None = None) -> IntArray:
    """Which of the points, or of the first `whole`, to output: all, unless there are too many to read or for bands."""
    size, limit = counts.threshold.size if whole is None else whole, basis.options.points
    if limit == 0:
        return np.arange(size)
    if limit is None:
        slow = _replicated(basis) and basis.sample.units * size > MAX_REPLICATED
        limit = THINNED if size > LONGEST or slow else size
    return thinned(counts, max(limit, 2), size)


def _replicated(basis: CurveBasis) -> bool:
    """Whether bands need every unit at every point; the textbook variance of unbalanced samples does not."""
    if not basis.sampling.known or basis.bands not in (BandMethod.BRR, BandMethod.BOOTSTRAP, BandMethod.SIMULTANEOUS):
        return False
    textbook = basis.bands is BandMethod.BRR and basis.sample.stratified and balanced_size(basis.sample) is None
    return not textbook


def _summaries(basis: CurveBasis, area: float, error: float) -> tuple[Estimate, Estimate, list[str]]:
    """Area and equal error rate; with too few cases for a variance they have no interval, but a note."""
    try:
        estimates = [
            replace(curve_estimate(basis, summary), value=value)
            for summary, value in ((AREA, area), (EQUAL_ERROR, error))
        ]
    except ValueError as mistake:
        nothing = [Estimate(value, math.nan, math.nan, None) for value in (area, error)]
        return nothing[0], nothing[1], [f"no interval: {mistake}"]
    return estimates[0], estimates[1], []


def _precision(basis: CurveBasis, value: float) -> Estimate:
    """The average precision; with an interval if one is asked for, and there are enough cases."""
    try:
        if basis.precise:
            return replace(curve_estimate(basis, AVERAGE_PRECISION), value=value)
    except ValueError:
        pass
    return Estimate(value, math.nan, math.nan, None)


def curve_columns(
    counts: ThresholdCounts, at: IntArray, bands: CurveBands | None, fixed: FixedFprBands | None
) -> dict[str, FloatArray]:
    """The points at some places of a curve, with their bands."""
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


def _equal_error_note(counts: ThresholdCounts) -> list[str]:
    """A note if the equal error rate lies on the straight line to (1, 1), which no threshold reaches."""
    after = int(np.searchsorted(counts.fpr - counts.fnr, 0.0))
    if counts.closed and after == counts.fpr.size - 1:
        return ["the equal error rate lies on the straight line that closes the curve: no threshold reaches it"]
    return []


def band_method(basis: CurveBasis, bands: CurveBands | None) -> str:
    """How bands were computed; empty if there are none."""
    if bands is None:
        return ""
    return "simultaneous" if basis.bands is BandMethod.SIMULTANEOUS else bands.tpr.method


def _target(basis: CurveBasis, bands: CurveBands | None) -> str:
    if bands is None:
        return ""
    independent = bands.tpr.target.endswith("independent cases") or basis.subjects is not None
    return bands.tpr.target if independent else basis.sampling.target


def _ends(run: ScoredRun) -> list[str]:
    """Notes on the ends of the curve that no threshold can reach."""
    counts, scored = run.counts, run.scored
    notes = []
    if counts.closed:
        lost, false = (int(np.count_nonzero(scored.never & of)) for of in (scored.positive, ~scored.positive))
        notes.append(
            f"no threshold accepts {lost:,} of the positive and {false:,} of the negative cases (a label other than "
            f"the claimed one, a refusal or an error): from fpr {counts.fpr[-2]:.4f}, tpr {counts.tpr[-2]:.4f} the "
            "curve is closed by a straight line to (1, 1)"
        )
    if counts.opened:
        kept = int(np.count_nonzero(scored.always & ~scored.positive))
        notes.append(
            f"{kept:,} negative cases in error are accepted by every threshold: up to fpr {counts.fpr[1]:.4f} the "
            "curve is a straight line that no threshold reaches"
        )
    return notes
