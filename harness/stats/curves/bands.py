"""Bands of a curve: both rates at each threshold, the true-positive rate at a fixed false-positive rate, the precision.

Bands are pointwise. `simultaneous_confidence` is the confidence that each point needs for the band to hold along the
whole curve at once. The largest standardised deviation along the curve is drawn with random multipliers of the units
(the multiplier bootstrap: Gine and Zinn 1984; for bands, Montiel Olea and Plagborg-Moller 2019). No resamples are
formed, and the limits are those of any other band, only at a higher confidence.

A band at a threshold treats the threshold as given; read at a false-positive rate it covers far too little. The limits
at a fixed false-positive rate combine two sources in quadrature: the limits of the true-positive rate at the threshold,
and the curve at the false-positive rates that the negatives allow there (Woodruff 1952, for quantiles). No slope is
estimated.

At each threshold precision is a share whose denominator is random too, so that its error is that of a ratio.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import BoolArray, FloatArray, IntArray, kish
from harness.stats.curves.cumulative_rates import (
    Entries,
    RateBands,
    RateErrors,
    bootstrap_rates,
    replicated_rates,
    wilson_rates,
)
from harness.stats.curves.roc import thinned
from harness.stats.curves.scores import ScoredCases, ThresholdCounts, counts_of
from harness.stats.curves.summaries import with_weights_of
from harness.stats.limits import cases_without_variance, difference_limits, share_limits, stretched_wilson
from harness.stats.rates import Intervals, normal_quantile
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample, make_sample, unit_sums
from harness.stats.replication.statistic import shares

__all__ = [
    "DEFAULT_POINTS",
    "CurveBands",
    "FixedFprBands",
    "PrecisionBand",
    "along_curve",
    "bootstrap_bands",
    "entry_points",
    "fixed_fpr_bands",
    "precision_band",
    "replicated_bands",
    "simultaneous_confidence",
    "wilson_bands",
]

DEFAULT_POINTS = 1000
DRAWS = 2000
# Cases times draws are at most _MAX_DRAWS_WORK, but there are at least _MIN_DRAWS.
_MAX_DRAWS_WORK = 1 << 28
_MIN_DRAWS = 300
_ROUNDING = 1e-12
# Curves steepen towards an fpr of 0; their exponent there is assumed to be this times that of the first few, at most 1.
_STEEPER, _FIRST = 1.5, 4
_MIN_POWER = 0.05
# Points at which precision has limits: as many as a picture shows, but no more than that many cases times points.
PRECISION_POINTS = 40
_MAX_PRECISION_WORK = 1 << 24
_PRECISION_BLOCK = 8


@dataclass(frozen=True, slots=True, eq=False)
class CurveBands:
    """Bands of the true- and false-positive rates at some points of a curve."""

    at: IntArray
    threshold: FloatArray
    tpr: RateBands
    fpr: RateBands


def wilson_bands(counts: ThresholdCounts, at: npt.ArrayLike | None = None, *, confidence: float = 0.95) -> CurveBands:
    """Bands for independent cases, at all thresholds or at some points of the curve."""
    indices = np.arange(counts.threshold.size) if at is None else _check_indices(counts, at)
    tpr = wilson_rates(counts.tpr[indices], counts.positives.effective, confidence=confidence)
    fpr = wilson_rates(counts.fpr[indices], counts.negatives.effective, confidence=confidence)
    return CurveBands(indices, counts.threshold[indices], tpr, fpr)


def bootstrap_bands(
    counts: ThresholdCounts,
    at: npt.ArrayLike | None = None,
    *,
    rng: np.random.Generator,
    replicates: int = 1000,
    confidence: float = 0.95,
) -> CurveBands:
    """Percentile bands for independent cases of equal weight, resampled within each class.

    For weights, strata or clusters: `replicated_bands` with the bootstrap as its replication's method.
    """
    for size in (counts.positives, counts.negatives):
        if size.effective < size.cases * (1 - 1e-9):
            raise ValueError("cases have unequal weights: this bootstrap needs equal ones; use replicated bands")
    indices = thinned(counts, DEFAULT_POINTS) if at is None else _check_indices(counts, at)
    tpr, fpr = (
        bootstrap_rates(rates[indices], size.cases, rng=rng, replicates=replicates, confidence=confidence)
        for rates, size in ((counts.tpr, counts.positives), (counts.fpr, counts.negatives))
    )
    return CurveBands(indices, counts.threshold[indices], tpr, fpr)


def replicated_bands(
    cases: ScoredCases, sample: Sample, at: npt.ArrayLike | None = None, *, replication: Replication | None = None
) -> CurveBands:
    """Bands that allow for strata and clusters, with the sample's weights.

    `at`: points of the curve that `counts_of` gives with the same weights; up to 1,000 of them by default.
    """
    weighted = with_weights_of(cases, sample)
    counts = counts_of(weighted)
    indices = thinned(counts, DEFAULT_POINTS) if at is None else _check_indices(counts, at)
    entered = entry_points(weighted, counts, indices)
    tpr, fpr = (
        replicated_rates(Entries(entered, within, indices.size), sample, replication)
        for within in (cases.positive, ~cases.positive)
    )
    return CurveBands(indices, counts.threshold[indices], tpr, fpr)


def entry_points(cases: ScoredCases, counts: ThresholdCounts, at: IntArray) -> IntArray:
    """The first of the points at which each case is accepted, as a number; how many they are if there is none."""
    sign = 1.0 if counts.larger_is_better else -1.0
    # Place 0 accepts nothing, not even a score of plus infinity.
    nothing, order = int(np.count_nonzero(at == 0)), cases.order
    scores = np.searchsorted(-order.better, -sign * counts.threshold[at[nothing:]], side="right")
    accepted = np.concatenate(([-1], order.ends))[scores] + 1
    entered = np.empty(cases.better.size, dtype=np.intp)
    members = np.diff(accepted, prepend=0, append=entered.size)
    entered[order.cases] = np.repeat(np.arange(nothing, nothing + members.size), members)
    return entered


def _check_indices(counts: ThresholdCounts, at: npt.ArrayLike) -> IntArray:
    indices = np.asarray(at, dtype=np.intp)
    inside = indices.ndim == 1 and indices.size > 0 and indices[0] >= 0 and indices[-1] < counts.threshold.size
    if not inside or (np.diff(indices) <= 0).any():
        raise ValueError(f"places {indices!r}: expected ascending places of the curve's {counts.threshold.size} points")
    return indices


def simultaneous_confidence(
    cases: ScoredCases,
    sample: Sample | None,
    at: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> float:
    """The pointwise confidence at which both rates are within their limits at all of these points at once."""
    normal_quantile(confidence)  # checks the confidence
    known = make_sample(cases.better.size, weights=cases.weights) if sample is None else sample
    indices = np.asarray(at, dtype=np.intp)
    weighted = ScoredCases(cases.better, cases.positive, known.weights, cases.larger_is_better)
    entered = entry_points(weighted, counts_of(weighted), indices)
    draws = max(_MIN_DRAWS, min(DRAWS, _MAX_DRAWS_WORK // max(known.cases, 1)))
    classes = (cases.positive, ~cases.positive)
    shifts = np.empty((draws, 2, indices.size))
    for draw in range(draws):
        perturbed = known.weights * _multipliers(known, rng)[known.unit_of_case]
        shifts[draw] = [_rate_shift(known, entered, of, perturbed, indices.size) for of in classes]
    spread = shifts.std(axis=0)
    if not (spread > 1e-12).any():
        # Only the ends of the curve, which no sample moves.
        return confidence
    standardised = np.abs(shifts) / np.where(spread > 1e-12, spread, np.inf)
    from scipy.special import ndtr

    return float(2 * ndtr(np.quantile(standardised.max(axis=(1, 2)), confidence)) - 1)


def _multipliers(sample: Sample, rng: np.random.Generator) -> FloatArray:
    """A normal number per unit, centred within strata, so that the variance is the textbook one."""
    sizes = sample.stratum_sizes
    normal = rng.standard_normal(sample.units)
    means = np.bincount(sample.stratum_of_unit, weights=normal, minlength=sample.strata) / sizes
    scale = np.sqrt(sizes / np.maximum(sizes - 1, 1))
    return np.asarray((normal - means[sample.stratum_of_unit]) * scale[sample.stratum_of_unit])


def _rate_shift(sample: Sample, entered: IntArray, of: BoolArray, perturbed: FloatArray, points: int) -> FloatArray:
    """How far perturbed weights shift the rate of a class at every point."""
    weights, change = np.where(of, sample.weights, 0.0), np.where(of, perturbed, 0.0)
    whole, shift = (np.cumsum(np.bincount(entered, weights=w, minlength=points + 1)) for w in (weights, change))
    total = weights.sum()
    return np.asarray((shift[:-1] - whole[:-1] / total * change.sum()) / total)


@dataclass(frozen=True, slots=True, eq=False)
class FixedFprBands:
    """True-positive rates at given false-positive rates, with pointwise limits.

    `tpr` is that of the laxest threshold whose false-positive rate is within the given one, as in `point_at_fpr`: the
    next negative is just below it, so it is slightly optimistic. The limits are those of the strictest threshold with
    the same rate, whose false-positive rate is right on average; they contain both.
    """

    fpr: FloatArray
    tpr: FloatArray
    low: FloatArray
    high: FloatArray
    confidence: float
    df: float


@dataclass(frozen=True, slots=True, eq=False)
class _Errors:
    """Standard errors of both rates at some thresholds, and the correlation of the two."""

    tpr: FloatArray
    fpr: FloatArray
    correlation: FloatArray
    df: float


@dataclass(frozen=True, slots=True)
class _ClassSize:
    """Kish's numbers of cases and of units in a class."""

    cases: float
    units: float


def fixed_fpr_bands(
    cases: ScoredCases, sample: Sample | None, fpr: npt.ArrayLike, *, confidence: float = 0.95
) -> FixedFprBands:
    """Bands at some false-positive rates, under a design, or for independent cases without a sample."""
    targets = np.atleast_1d(np.asarray(fpr, dtype=np.float64))
    if targets.ndim != 1 or not ((targets >= 0) & (targets <= 1)).all():
        raise ValueError(f"false-positive rates {fpr!r}: expected rates between 0 and 1")
    normal_quantile(confidence)  # checks the confidence
    weighted = cases if sample is None else with_weights_of(cases, sample)
    counts = _of_cases(counts_of(weighted), 1 if sample is None else sample.answers)
    laxest = np.searchsorted(counts.fpr, targets + _ROUNDING, side="right") - 1
    # How many different false-positive rates come before that of each point.
    fpr_rank = np.concatenate(([0], np.cumsum(np.diff(counts.fpr) > 0)))
    at = _strictest(counts)[fpr_rank[laxest]]
    errors = _independent(counts, at) if sample is None else _by_design(weighted, counts, sample, at)
    positives, negatives = (
        _ClassSize(size.effective, size.effective if sample is None else float(kish(unit_sums(sample, of))))
        for size, of in ((counts.positives, cases.positive), (counts.negatives, ~cases.positive))
    )
    rates = share_limits(
        counts.tpr[at], errors.tpr, errors.df, cases=positives.cases, units=positives.units, confidence=confidence
    )
    moved = _at_moved_thresholds(counts, targets, at, errors, negatives, confidence)
    # The rate at the fixed fpr is the rate at the threshold minus what a move of the threshold removes.
    at_threshold = np.minimum(counts.tpr[at], 1.0)
    removed = Intervals(np.minimum(at_threshold - moved.high, 0.0), np.maximum(at_threshold - moved.low, 0.0))
    limits = difference_limits(at_threshold, rates, 0.0, removed, correlation=errors.correlation, bounds=(0.0, 1.0))
    tpr = np.minimum(counts.tpr[laxest], 1.0)
    return FixedFprBands(targets, tpr, limits.low, np.maximum(limits.high, tpr), confidence, errors.df)


def along_curve(bands: FixedFprBands) -> FixedFprBands:
    """Bands at the rates of a whole curve, with limits at its ends taken from the rest of it.

    By themselves the ends have the widest limits of all, since no error shows how far a threshold may move. But a
    curve rises: at the start it is not above its later upper limits, and at the end not below its earlier lower limits.
    """
    start, end = bands.fpr <= _ROUNDING, bands.fpr >= 1 - _ROUNDING
    low, high = np.where(end, bands.low.max(), bands.low), np.where(start, bands.high.min(), bands.high)
    return replace(bands, low=low, high=high)


def _strictest(counts: ThresholdCounts) -> IntArray:
    """The first point of the curve with each false-positive rate; for a rate of 0, the last."""
    rises = np.flatnonzero(np.diff(counts.fpr) > 0)
    return np.append(rises[:1], rises + 1)


def _independent(counts: ThresholdCounts, at: IntArray) -> _Errors:
    def error(rates: FloatArray, size: float) -> FloatArray:
        return np.asarray(np.sqrt(np.clip(rates * (1 - rates), 0, None) / size))

    tpr, fpr = error(counts.tpr[at], counts.positives.effective), error(counts.fpr[at], counts.negatives.effective)
    return _Errors(tpr, fpr, np.zeros(at.size), np.inf)


def _by_design(cases: ScoredCases, counts: ThresholdCounts, sample: Sample, at: IntArray) -> _Errors:
    """Linearised over units, once for each point."""
    indices, back = np.unique(at, return_inverse=True)
    along = RateErrors(sample, sample.unit_of_case, entry_points(cases, counts, indices), indices.size)
    positive, negative = (along.sums(np.where(of, sample.weights, 0.0)) for of in (cases.positive, ~cases.positive))
    tpr, fpr = np.sqrt(along.variance(positive)), np.sqrt(along.variance(negative))
    both, error = along.covariance(positive, negative), tpr * fpr
    correlation = np.divide(both, error, out=np.zeros(indices.size), where=error > _ROUNDING**2)
    return _Errors(tpr[back], fpr[back], correlation[back], float(sample.units - sample.strata))


def _of_cases(counts: ThresholdCounts, answers: int) -> ThresholdCounts:
    """With the effective numbers of cases, each of which has so many answers."""
    positives, negatives = (
        replace(size, effective=size.effective / answers) for size in (counts.positives, counts.negatives)
    )
    return replace(counts, positives=positives, negatives=negatives)


def _at_moved_thresholds(
    counts: ThresholdCounts, fpr: FloatArray, at: IntArray, errors: _Errors, negatives: _ClassSize, confidence: float
) -> Intervals:
    """The curve at the false-positive rates that the threshold may have."""
    observed = counts.fpr[at]
    fallback = float(cases_without_variance(negatives.cases, negatives.units))
    varies = errors.fpr > _ROUNDING
    effective = np.where(varies, observed * (1 - observed) / np.where(varies, errors.fpr, 1.0) ** 2, fallback)
    limits = stretched_wilson(fpr, np.minimum(effective, negatives.cases), errors.df, confidence=confidence)
    low = _curve_at(counts, np.clip(limits.low, 0.0, 1.0), negatives.cases)
    return Intervals(low, _curve_at(counts, np.clip(limits.high, 0.0, 1.0), negatives.cases))


def _curve_at(counts: ThresholdCounts, fpr: FloatArray, negatives: float) -> FloatArray:
    """The curve, linear between its points; before the first negative, where it is unknown, a power of the fpr.

    The false-positive rate of a threshold above all negatives is unknown: at the highest negative it is 1 / n on
    average, and from there the curve falls to 0 with the exponent of its first few negatives, made somewhat steeper.
    """
    strictest, first = _strictest(counts), 1 / negatives
    x, y = counts.fpr[strictest], counts.tpr[strictest]
    curve = np.interp(fpr, x, y)
    at_first, at_few = np.interp([first, min(_FIRST * first, 1.0)], x, y)
    half = 0.5 / counts.positives.effective
    power = np.clip(_STEEPER * np.log(max(at_few, half) / max(at_first, half)) / np.log(_FIRST), _MIN_POWER, 1.0)
    return np.asarray(np.where(fpr < first, np.minimum(curve, at_first * (fpr / first) ** power), curve))


@dataclass(frozen=True, slots=True, eq=False)
class PrecisionBand:
    """Limits of the precision at some thresholds, by rising recall."""

    threshold: FloatArray
    recall: FloatArray
    precision: FloatArray
    low: FloatArray
    high: FloatArray


def precision_band(
    cases: ScoredCases, counts: ThresholdCounts, sample: Sample, replication: Replication | None = None
) -> PrecisionBand:
    """The band at points that are spread evenly over the recall; ends that no threshold reaches are left out."""
    at = _points_over_recall(counts, cases.better.size)
    sign = 1.0 if counts.larger_is_better else -1.0
    limits = []
    for start in range(0, at.size, _PRECISION_BLOCK):
        accepted = [cases.better >= sign * edge for edge in counts.threshold[at[start : start + _PRECISION_BLOCK]]]
        statistic = shares([cases.positive & inside for inside in accepted], accepted)
        limits.append(make_estimates(sample, statistic, replication).limits)
    low, high = (
        np.concatenate([getattr(block, side) for block in limits] or [np.empty(0)]) for side in ("low", "high")
    )
    return PrecisionBand(counts.threshold[at], counts.tpr[at], counts.precision[at], low, high)


def _points_over_recall(counts: ThresholdCounts, cases: int) -> IntArray:
    first, last = 1 + counts.opened, counts.tpr.size - counts.closed
    most = max(4, min(PRECISION_POINTS, _MAX_PRECISION_WORK // max(cases, 1)))
    recall = counts.tpr[first:last]
    if recall.size <= most:
        return np.arange(first, last)
    wanted = np.linspace(recall[0], recall[-1], most)
    return np.unique(np.minimum(first + np.searchsorted(recall, wanted), last - 1))
