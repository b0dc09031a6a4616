"""Pointwise bands of a ROC curve: both rates at each threshold, by Wilson, by bootstrap or by replication."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.curves.cases import Cases, FloatArray, IntArray
from harness.stats.curves.counts import Counts, counts_of
from harness.stats.curves.cumulative import RateBands, bootstrap_rates, replicated_rates, wilson_rates
from harness.stats.curves.entries import Entries
from harness.stats.curves.points import thinned
from harness.stats.curves.summaries import with_weights_of
from harness.stats.replication.plan import Plan
from harness.stats.replication.sample import Sample

__all__ = ["DEFAULT_POINTS", "CurveBands", "bootstrap_bands", "places_of", "replicated_bands", "wilson_bands"]

DEFAULT_POINTS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class CurveBands:
    """Bands of the true- and the false-positive rate at some places of a curve."""

    at: IntArray
    threshold: FloatArray
    tpr: RateBands
    fpr: RateBands


def wilson_bands(counts: Counts, at: npt.ArrayLike | None = None, *, confidence: float = 0.95) -> CurveBands:
    """Bands for independent cases, at all thresholds or at some places of the curve."""
    places = np.arange(counts.threshold.size) if at is None else _checked(counts, at)
    tpr = wilson_rates(counts.tpr[places], counts.positives.effective, confidence=confidence)
    fpr = wilson_rates(counts.fpr[places], counts.negatives.effective, confidence=confidence)
    return CurveBands(places, counts.threshold[places], tpr, fpr)


def bootstrap_bands(
    counts: Counts,
    at: npt.ArrayLike | None = None,
    *,
    rng: np.random.Generator,
    replicates: int = 1000,
    confidence: float = 0.95,
) -> CurveBands:
    """Percentile bands for independent cases of equal weight, resampled within each class.

    For weights, strata or clusters: `replicated_bands` with the bootstrap as its plan's method.
    """
    for size in (counts.positives, counts.negatives):
        if size.effective < size.cases * (1 - 1e-9):
            raise ValueError("cases of different weight: use replicated_bands with Plan(method='bootstrap')")
    places = thinned(counts, DEFAULT_POINTS) if at is None else _checked(counts, at)
    tpr, fpr = (
        bootstrap_rates(rates[places], size.cases, rng=rng, replicates=replicates, confidence=confidence)
        for rates, size in ((counts.tpr, counts.positives), (counts.fpr, counts.negatives))
    )
    return CurveBands(places, counts.threshold[places], tpr, fpr)


def replicated_bands(
    cases: Cases, sample: Sample, at: npt.ArrayLike | None = None, *, plan: Plan | None = None
) -> CurveBands:
    """Bands that know strata and clusters, with the sample's weights.

    `at`: places of the curve that `counts_of` gives with the same weights; 1,000 of them by default.
    """
    weighted = with_weights_of(cases, sample)
    counts = counts_of(weighted)
    places = thinned(counts, DEFAULT_POINTS) if at is None else _checked(counts, at)
    entered = places_of(weighted, counts, places)
    tpr, fpr = (
        replicated_rates(Entries(entered, within, places.size), sample, plan)
        for within in (cases.positive, ~cases.positive)
    )
    return CurveBands(places, counts.threshold[places], tpr, fpr)


def places_of(cases: Cases, counts: Counts, at: IntArray) -> IntArray:
    """The first of the places at which each case is accepted; the number of places where none does."""
    sign = 1.0 if counts.larger_is_better else -1.0
    better = sign * counts.threshold[at]
    # Place 0 accepts nothing, not even a score of plus infinity.
    nothing = int(np.count_nonzero(at == 0))
    return np.searchsorted(-better[nothing:], -cases.better, side="left") + nothing


def _checked(counts: Counts, at: npt.ArrayLike) -> IntArray:
    places = np.asarray(at, dtype=np.intp)
    inside = places.ndim == 1 and places.size > 0 and places[0] >= 0 and places[-1] < counts.threshold.size
    if not inside or (np.diff(places) <= 0).any():
        raise ValueError(f"places {places!r}: expected ascending places of the curve's {counts.threshold.size} points")
    return places
