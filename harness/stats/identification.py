"""Identification: cumulative match curves and median ranks, with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray, IntArray, kish
from harness.stats.curves.cumulative_rates import Entries, RateBands, bootstrap_rates, replicated_rates, wilson_rates
from harness.stats.estimate import Estimate
from harness.stats.gallery_ranks import censored, median_rank, weighted_median
from harness.stats.rates import Interval
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample
from harness.stats.replication.statistic import WeightsStatistic

__all__ = [
    "Cmc",
    "bootstrap_cmc",
    "bootstrap_median_rank",
    "cmc",
    "median_rank_statistic",
    "medians_of_counts",
    "replicated_cmc",
]


@dataclass(frozen=True, slots=True, eq=False)
class Cmc:
    """Rates at the ranks 1, 2, ... with their bands; `probes` is the number of probes that have a rank."""

    ranks: IntArray
    bands: RateBands
    probes: int


@dataclass(frozen=True, slots=True, eq=False)
class _RankedProbes:
    """Where each probe enters the curve (its rank minus 1, or `limit` for never) and its weight (0 without a rank)."""

    point: IntArray
    weights: FloatArray
    limit: int
    probes: int

    @property
    def rates(self) -> FloatArray:
        entered = np.bincount(self.point, weights=self.weights, minlength=self.limit + 1)
        return np.asarray(np.minimum(np.cumsum(entered)[:-1] / self.weights.sum(), 1.0))

    @property
    def ranks(self) -> IntArray:
        return np.arange(1, self.limit + 1)


def cmc(
    rank: npt.ArrayLike,
    *,
    limit: int | None = None,
    weights: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> Cmc:
    """Curve up to a rank (the largest by default) with Wilson's bands, for independent probes.

    An infinite rank means that the probe was not found at all; nan means that its identity is not in the gallery, and
    it is left out.
    """
    ranked = _ranked_probes(rank, weights, limit)
    effective = float(kish(ranked.weights))
    return Cmc(ranked.ranks, wilson_rates(ranked.rates, effective, confidence=confidence), ranked.probes)


def bootstrap_cmc(
    rank: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    limit: int | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
) -> Cmc:
    """Curve with percentile bands over resamples of independent, equally weighted probes."""
    ranked = _ranked_probes(rank, None, limit)
    bands = bootstrap_rates(ranked.rates, ranked.probes, rng=rng, replicates=replicates, confidence=confidence)
    return Cmc(ranked.ranks, bands, ranked.probes)


def replicated_cmc(
    rank: npt.ArrayLike, sample: Sample, *, limit: int | None = None, replication: Replication | None = None
) -> Cmc:
    """Curve with bands that allow for strata, clusters (several images of a person) and weights of the probes."""
    ranked = _ranked_probes(rank, sample.weights, limit)
    known = ~np.isnan(np.asarray(rank, dtype=np.float64))
    bands = replicated_rates(Entries(ranked.point, known, ranked.limit), sample, replication)
    return Cmc(ranked.ranks, bands, ranked.probes)


def _ranked_probes(rank: npt.ArrayLike, weights: npt.ArrayLike | None, limit: int | None) -> _RankedProbes:
    r = np.asarray(rank, dtype=np.float64)
    w = np.ones(r.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    _check(r, w)
    known = ~np.isnan(r)
    within = np.where(known, w, 0.0)
    if not within.any():
        raise ValueError("no probe has a rank and a weight above 0: a curve needs at least one")
    last = limit if limit is not None else int(r[np.isfinite(r)].max(initial=1))
    if last < 1:
        raise ValueError(f"limit {limit!r}: the smallest rank is 1")
    point = np.where(known, np.minimum(r, last + 1) - 1, last).astype(np.intp)
    return _RankedProbes(point, within, last, int(np.count_nonzero(known)))


def _check(rank: FloatArray, weights: FloatArray) -> None:
    if rank.ndim != 1 or weights.shape != rank.shape:
        raise ValueError(f"ranks {rank.shape} and weights {weights.shape}: expected one of each per probe")
    finite = rank[np.isfinite(rank)]
    wrong = (finite < 1) | (finite != np.floor(finite))
    if wrong.any() or (rank == -np.inf).any():
        value = float(finite[wrong][0]) if wrong.any() else -np.inf
        raise ValueError(f"rank {value!r}: expected 1, 2, ..., infinity (not found) or nan (not in the gallery)")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("weights: expected finite numbers of 0 or more")


def bootstrap_median_rank(
    rank: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    limit: int | None = None,
    replicates: int = 10_000,
    confidence: float = 0.95,
) -> Estimate:
    """Median rank of independent probes with its bootstrap interval.

    After "Parametric and Nonparametric Methods for the Statistical Evaluation of Human ID Algorithms" (2001), 6.2.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence!r}: expected a number between 0 and 1")
    values = _known(rank, limit)
    levels, times = np.unique(values, return_counts=True)
    # A resample of the probes is a draw of how often each rank occurs.
    medians = medians_of_counts(levels, rng.multinomial(values.size, times / values.size, size=replicates))
    tail = (1 - confidence) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    limits = Interval(float(low), float(high))
    return Estimate(
        median_rank(values),
        float(medians.std()),
        math.inf,
        limits,
        confidence,
        "bootstrap",
        cases=values.size,
        units=values.size,
        replicates=replicates,
    )


def medians_of_counts(levels: FloatArray, times: npt.NDArray[np.integer]) -> FloatArray:
    """Median of each row of a table that counts how often each level occurs; all rows have the same total."""
    upto = np.cumsum(times, axis=1)
    n = int(upto[0, -1])
    below, above = ((upto >= middle).argmax(axis=1) for middle in ((n + 1) // 2, n // 2 + 1))
    return np.asarray((levels[below] + levels[above]) / 2)


def median_rank_statistic(rank: npt.ArrayLike, *, limit: int | None = None) -> WeightsStatistic:
    """The median as a function of the probes' weights, for `make_estimate`.

    Use balanced replicates or the bootstrap: a median is not smooth, and the delete-one jackknife is wrong for it.
    """
    r = np.asarray(rank, dtype=np.float64)
    known = ~np.isnan(r)
    values = _known(rank, limit)
    return WeightsStatistic(
        lambda weights: weighted_median(values, weights[known]),
        bounds=(1.0, math.inf),
        smooth=False,
        words="median rank",
    )


def _known(rank: npt.ArrayLike, limit: int | None) -> FloatArray:
    r = np.asarray(rank, dtype=np.float64)
    known = r[~np.isnan(r)]
    if known.size == 0:
        raise ValueError("no probe has a rank: none is in the gallery")
    return known if limit is None else censored(known, limit)
