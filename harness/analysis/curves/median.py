"""The median of the ranks, censored or not, and how sure one can be of it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.analysis.curves.ranked import Ranked
from harness.stats.rank_median import bootstrap_median_rank, median_rank_statistic
from harness.stats.ranks import censored, median_rank
from harness.stats.rates import Interval
from harness.stats.replication.estimate import replicate
from harness.stats.replication.plan import Method, Plan


@dataclass(frozen=True)
class Median:
    """The median rank, its interval, and the rank at which ranks were cut off; infinite where half was not found."""

    value: float
    interval: Interval | None
    method: str
    censored_at: int | None


def sure_median(ranked: Ranked, limit: int | None, plan: Plan) -> Median:
    """By replication where the design is known, else by the bootstrap; no interval where half was not found."""
    sampling = ranked.sampling
    weights = None if sampling.weights == "cases" else sampling.sample.weights
    value = median_rank(ranked.rank, limit=limit, weights=weights)
    # A replicate may find fewer than half where the sample finds just half: ranks must have an end.
    cut = censored(ranked.rank, limit or ranked.gallery + 1)
    if not np.isfinite(value):
        return Median(value, None, "", limit)
    if not sampling.known:
        rng = np.random.default_rng(plan.seed)
        found = bootstrap_median_rank(cut, rng=rng, confidence=plan.confidence)
        return Median(value, found.interval, found.method, limit)
    if not sampling.sample.stratified:
        # The delete-one jackknife is wrong for a median.
        plan = replace(plan, method=Method.BOOTSTRAP)
    estimate = replicate(sampling.sample, median_rank_statistic(cut), plan)
    return Median(value, estimate.interval, str(estimate.method), limit)


def median_json(found: Median, gallery: int) -> dict[str, Any]:
    """Under the names that the documentation promises."""
    known = np.isfinite(found.value)
    return {
        "median_rank": found.value if known else None,
        "median_interval": None if found.interval is None else [found.interval.low, found.interval.high],
        "median_relative_rank": found.value / gallery if known else None,
        "censored_at": found.censored_at,
    }
