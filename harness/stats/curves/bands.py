"""Bands of a ROC curve: both rates at each threshold, by Wilson, by bootstrap or by replication.

Bands are pointwise. `simultaneous_confidence` is the confidence that each point needs for the band to hold along the
whole curve at once. The largest standardised deviation along the curve is drawn with random multipliers of the units
(the multiplier bootstrap: Gine and Zinn 1984; for bands, Montiel Olea and Plagborg-Moller 2019). No resamples are
formed, and the limits are those of any other band, only at a higher confidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.curves.cumulative import RateBands, bootstrap_rates, replicated_rates, wilson_rates
from harness.stats.curves.entries import Entries
from harness.stats.curves.points import thinned
from harness.stats.curves.scores import ScoredCases, ThresholdCounts, counts_of
from harness.stats.curves.summaries import with_weights_of
from harness.stats.rates import normal_quantile
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample, make_sample

__all__ = [
    "DEFAULT_POINTS",
    "CurveBands",
    "bootstrap_bands",
    "places_of",
    "replicated_bands",
    "simultaneous_confidence",
    "wilson_bands",
]


DEFAULT_POINTS = 1000
DRAWS = 2000
# Cases times draws are at most _MAX_WORK, but there are at least _MIN_DRAWS.
_MAX_WORK = 1 << 28
_MIN_DRAWS = 300


@dataclass(frozen=True, slots=True, eq=False)
class CurveBands:
    """Bands of the true- and false-positive rates at some places of a curve."""

    at: IntArray
    threshold: FloatArray
    tpr: RateBands
    fpr: RateBands


def wilson_bands(counts: ThresholdCounts, at: npt.ArrayLike | None = None, *, confidence: float = 0.95) -> CurveBands:
    """Bands for independent cases, at all thresholds or at some places of the curve."""
    places = np.arange(counts.threshold.size) if at is None else _check_places(counts, at)
    tpr = wilson_rates(counts.tpr[places], counts.positives.effective, confidence=confidence)
    fpr = wilson_rates(counts.fpr[places], counts.negatives.effective, confidence=confidence)
    return CurveBands(places, counts.threshold[places], tpr, fpr)


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
    places = thinned(counts, DEFAULT_POINTS) if at is None else _check_places(counts, at)
    tpr, fpr = (
        bootstrap_rates(rates[places], size.cases, rng=rng, replicates=replicates, confidence=confidence)
        for rates, size in ((counts.tpr, counts.positives), (counts.fpr, counts.negatives))
    )
    return CurveBands(places, counts.threshold[places], tpr, fpr)


def replicated_bands(
    cases: ScoredCases, sample: Sample, at: npt.ArrayLike | None = None, *, replication: Replication | None = None
) -> CurveBands:
    """Bands that allow for strata and clusters, with the sample's weights.

    `at`: places of the curve that `counts_of` gives with the same weights; up to 1,000 of them by default.
    """
    weighted = with_weights_of(cases, sample)
    counts = counts_of(weighted)
    places = thinned(counts, DEFAULT_POINTS) if at is None else _check_places(counts, at)
    entered = places_of(weighted, counts, places)
    tpr, fpr = (
        replicated_rates(Entries(entered, within, places.size), sample, replication)
        for within in (cases.positive, ~cases.positive)
    )
    return CurveBands(places, counts.threshold[places], tpr, fpr)


def places_of(cases: ScoredCases, counts: ThresholdCounts, at: IntArray) -> IntArray:
    """The first of the places at which each case is accepted; the number of places if there is none."""
    sign = 1.0 if counts.larger_is_better else -1.0
    # Place 0 accepts nothing, not even a score of plus infinity.
    nothing, order = int(np.count_nonzero(at == 0)), cases.order
    scores = np.searchsorted(-order.better, -sign * counts.threshold[at[nothing:]], side="right")
    accepted = np.concatenate(([-1], order.ends))[scores] + 1
    entered = np.empty(cases.better.size, dtype=np.intp)
    members = np.diff(accepted, prepend=0, append=entered.size)
    entered[order.cases] = np.repeat(np.arange(nothing, nothing + members.size), members)
    return entered


def _check_places(counts: ThresholdCounts, at: npt.ArrayLike) -> IntArray:
    places = np.asarray(at, dtype=np.intp)
    inside = places.ndim == 1 and places.size > 0 and places[0] >= 0 and places[-1] < counts.threshold.size
    if not inside or (np.diff(places) <= 0).any():
        raise ValueError(f"places {places!r}: expected ascending places of the curve's {counts.threshold.size} points")
    return places


def simultaneous_confidence(
    cases: ScoredCases,
    sample: Sample | None,
    at: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> float:
    """The pointwise confidence at which both rates are within their limits at all of these places at once."""
    normal_quantile(confidence)  # checks the confidence
    known = make_sample(cases.better.size, weights=cases.weights) if sample is None else sample
    places = np.asarray(at, dtype=np.intp)
    weighted = ScoredCases(cases.better, cases.positive, known.weights, cases.larger_is_better)
    entered = places_of(weighted, counts_of(weighted), places)
    draws = max(_MIN_DRAWS, min(DRAWS, _MAX_WORK // max(known.cases, 1)))
    classes = (cases.positive, ~cases.positive)
    shifts = np.empty((draws, 2, places.size))
    for draw in range(draws):
        perturbed = known.weights * _multipliers(known, rng)[known.unit_of_case]
        shifts[draw] = [_rate_shift(known, entered, of, perturbed, places.size) for of in classes]
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
    drawn = rng.standard_normal(sample.units)
    means = np.bincount(sample.stratum_of_unit, weights=drawn, minlength=sample.strata) / sizes
    scale = np.sqrt(sizes / np.maximum(sizes - 1, 1))
    return np.asarray((drawn - means[sample.stratum_of_unit]) * scale[sample.stratum_of_unit])


def _rate_shift(sample: Sample, entered: IntArray, of: BoolArray, perturbed: FloatArray, points: int) -> FloatArray:
    """How far perturbed weights shift the rate of a class at every place."""
    weights, change = np.where(of, sample.weights, 0.0), np.where(of, perturbed, 0.0)
    whole, shift = (np.cumsum(np.bincount(entered, weights=w, minlength=points + 1)) for w in (weights, change))
    total = weights.sum()
    return np.asarray((shift[:-1] - whole[:-1] / total * change.sum()) / total)
