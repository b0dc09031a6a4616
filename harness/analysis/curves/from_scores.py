"""A curve from the recorded scores of a transcript."""

import math
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.comparing.align import Aligned, Run, align
from harness.analysis.comparing.sampling import take_sample
from harness.analysis.curves.certainty import Ground, curve_bands, curve_estimate, find_subjects, fixed_bands
from harness.analysis.curves.curve import Curve, CurvePoints
from harness.analysis.curves.operating import ask, few_errors, least_cost
from harness.analysis.curves.scores import Scored, curve_scores
from harness.analysis.curves.wishes import Bands, Wishes
from harness.errors import TranscriptError
from harness.stats.curves.auc import auc
from harness.stats.curves.bands import CurveBands
from harness.stats.curves.cases import IntArray, make_cases
from harness.stats.curves.counts import Counts, counts_of
from harness.stats.curves.equal_error import equal_error
from harness.stats.curves.fixed_fpr import FixedFprBands
from harness.stats.curves.points import average_precision, points, thinned
from harness.stats.curves.summaries import AREA, EQUAL_ERROR
from harness.stats.estimate import Estimate
from harness.stats.replication.balanced import balanced_size

# A curve of so many points is given whole, a longer one at a thousand places.
LONGEST = 5000
THINNED = 1000
# Units times points beyond which bands by replication take longer than anyone likes to wait.
MOST_REPLICATED = 1 << 24


@dataclass(frozen=True, eq=False)
class Judged:
    """A transcript's scores and how its cases were sampled."""

    name: str
    scored: Scored
    counts: Counts
    ground: Ground


def judged(run: Run, name: str, wishes: Wishes) -> Judged:
    """The scores of a transcript, ready for a curve."""
    aligned = align([run], partial=wishes.partial)
    scored = curve_scores(run.columns, run.source)
    try:
        ground = _ground(aligned, scored, wishes)
        return Judged(name, scored, counts_of(ground.cases), ground)
    except ValueError as error:
        raise TranscriptError(f"{run.source}: {error}") from None


def _ground(aligned: Aligned, scored: Scored, wishes: Wishes) -> Ground:
    sampling = take_sample(aligned, wishes.design)
    weights = None if sampling.weights == "cases" else sampling.sample.weights
    cases = make_cases(scored.scores, scored.positive, weights=weights, larger_is_better=scored.larger_is_better)
    return Ground(cases, sampling, find_subjects(aligned, wishes.subjects), wishes)


def curve_of_scores(run: Run, name: str, wishes: Wishes) -> Curve:
    """A curve with its summaries and bands."""
    found = judged(run, name, wishes)
    counts, ground = found.counts, found.ground
    try:
        bands = curve_bands(ground, counts, places(counts, ground))
        at = places(counts, ground) if bands is None else bands.at
        equal = equal_error(counts)
        area, error, notes = _summaries(ground, auc(counts), equal.rate)
        asked = [ask(ground, counts, one) for one in wishes.at]
        fixed = fixed_bands(ground, counts, at)
        few = [text for one in wishes.at for text in few_errors(one.text, one.of, one.value, found.scored.positive)]
    except ValueError as mistake:
        raise TranscriptError(f"{run.source}: {mistake}") from None
    return Curve(
        name=name,
        positives=counts.positives.cases,
        negatives=counts.negatives.cases,
        auc=area,
        eer=error,
        summary_target=ground.target,
        eer_threshold=equal.threshold,
        average_precision=average_precision(counts),
        points=_points(counts, at, bands, fixed),
        bands=_band_method(ground, bands),
        target=_target(ground, bands),
        counts=counts,
        whole=counts.threshold.size,
        asked=asked,
        cost=least_cost(counts, wishes.cost),
        notes=[*_ends(found), *_equal_error_note(counts), *notes, *few],
    )


def places(counts: Counts, ground: Ground) -> IntArray:
    """Which points to give: all, unless there are too many to be read or to be sure of."""
    size, limit = counts.threshold.size, ground.wishes.points
    if limit == 0:
        return np.arange(size)
    if limit is None:
        slow = _replicated(ground) and ground.sample.units * size > MOST_REPLICATED
        limit = THINNED if size > LONGEST or slow else size
    return thinned(counts, max(limit, 2))


def _replicated(ground: Ground) -> bool:
    """Whether bands need every unit at every point: the textbook variance, where nothing is balanced, does not."""
    if not ground.sampling.known or ground.bands not in (Bands.BRR, Bands.BOOTSTRAP, Bands.SIMULTANEOUS):
        return False
    textbook = ground.bands is Bands.BRR and ground.sample.stratified and balanced_size(ground.sample) is None
    return not textbook


def _summaries(ground: Ground, area: float, error: float) -> tuple[Estimate, Estimate, list[str]]:
    """Area and equal error rate; too few cases for a variance leave them without an interval, and that is said."""
    try:
        found = [
            replace(curve_estimate(ground, summary), value=value)
            for summary, value in ((AREA, area), (EQUAL_ERROR, error))
        ]
    except ValueError as mistake:
        nothing = [Estimate(value, math.nan, math.nan, None) for value in (area, error)]
        return nothing[0], nothing[1], [f"no interval: {mistake}"]
    return found[0], found[1], []


def _points(counts: Counts, at: IntArray, bands: CurveBands | None, fixed: FixedFprBands | None) -> CurvePoints:
    chosen = points(counts, at)
    none = np.full(at.size, np.nan)
    low, high = (none, none) if bands is None else (bands.tpr.low, bands.tpr.high)
    at_fpr = (none, none) if fixed is None else (fixed.low, fixed.high)
    return CurvePoints(chosen.threshold, chosen.tpr, chosen.fpr, chosen.fnr, chosen.precision, low, high, *at_fpr)


def _equal_error_note(counts: Counts) -> list[str]:
    """Whether the equal error rate lies on the straight line to (1, 1), which no threshold reaches."""
    after = int(np.searchsorted(counts.fpr - counts.fnr, 0.0))
    if counts.closed and after == counts.fpr.size - 1:
        return ["the equal error rate lies on the straight line that closes the curve: no threshold reaches it"]
    return []


def _band_method(ground: Ground, bands: CurveBands | None) -> str:
    if bands is None:
        return ""
    return "simultaneous" if ground.bands is Bands.SIMULTANEOUS else bands.tpr.method


def _target(ground: Ground, bands: CurveBands | None) -> str:
    if bands is None:
        return ""
    independent = bands.tpr.target.endswith("independent cases") or ground.subjects is not None
    return bands.tpr.target if independent else ground.sampling.target


def _ends(found: Judged) -> list[str]:
    """What stands at the ends of the curve that no threshold of a user can reach."""
    counts, scored = found.counts, found.scored
    notes = []
    if counts.closed:
        lost, false = (int(np.count_nonzero(scored.never & of)) for of in (scored.positive, ~scored.positive))
        notes.append(
            f"no threshold accepts {lost:,} of the positive and {false:,} of the negative cases (another label than "
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
