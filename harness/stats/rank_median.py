"""How sure one can be of a median rank: by the bootstrap, or by balanced replicates where probes come in groups."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from harness.stats.estimate import Estimate
from harness.stats.ranks import FloatArray, censored, median_rank, weighted_median
from harness.stats.rates import Interval
from harness.stats.replication.statistic import OfWeights

__all__ = ["bootstrap_median_rank", "median_rank_statistic", "medians_of_counts"]


def bootstrap_median_rank(
    rank: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    limit: int | None = None,
    replicates: int = 10_000,
    confidence: float = 0.95,
) -> Estimate:
    """Median rank of independent probes with its bootstrap interval (002, section 6.2)."""
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
        median_rank(values), float(medians.std()), math.inf, limits, confidence, "bootstrap", cases=values.size,
        units=values.size, replicates=replicates,
    )  # fmt: skip


def medians_of_counts(levels: FloatArray, times: npt.NDArray[np.integer]) -> FloatArray:
    """Median of each row of a table of how often each level occurs, all rows of one total."""
    upto = np.cumsum(times, axis=1)
    n = int(upto[0, -1])
    below, above = ((upto >= place).argmax(axis=1) for place in ((n + 1) // 2, n // 2 + 1))
    return np.asarray((levels[below] + levels[above]) / 2)


def median_rank_statistic(rank: npt.ArrayLike, *, limit: int | None = None) -> OfWeights:
    """The median as a function of the probes' weights, for `make_estimate`.

    By balanced replicates or the bootstrap: a median is not smooth, and the delete-one jackknife is wrong for it.
    """
    r = np.asarray(rank, dtype=np.float64)
    known = ~np.isnan(r)
    values = _known(rank, limit)
    return OfWeights(
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
