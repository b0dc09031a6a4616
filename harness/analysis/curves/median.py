"""The median of the ranks, censored or not, and how sure one can be of it."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.analysis.as_json import interval_json
from harness.analysis.curves.ranked import Ranked
from harness.stats.estimate import Estimate
from harness.stats.rank_median import bootstrap_median_rank, median_rank_statistic
from harness.stats.ranks import censored, median_rank
from harness.stats.rates import Interval
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.plan import Plan


@dataclass(frozen=True)
class Median:
    """The median rank, and the rank at which ranks were cut off; infinite where half was not found."""

    estimate: Estimate
    censored_at: int | None


def find_median(ranked: Ranked, limit: int | None, plan: Plan) -> Median:
    """By replication where the design is known, else by the bootstrap; no interval where half was not found."""
    sampling, last = ranked.sampling, limit or ranked.gallery + 1
    weights = None if sampling.weights == "cases" else sampling.sample.weights
    value = median_rank(ranked.rank, limit=limit, weights=weights)
    if not np.isfinite(value):
        return Median(Estimate(value, math.nan, math.nan, None), limit)
    # A replicate may find fewer than half where the sample finds just half: ranks must have an end.
    cut = censored(ranked.rank, last)
    if not sampling.known:
        rng = np.random.default_rng(plan.seed)
        return Median(replace(bootstrap_median_rank(cut, rng=rng, confidence=plan.confidence), value=value), limit)
    found = make_estimate(sampling.sample, median_rank_statistic(cut), plan)
    still = found.interval is None or found.se == 0
    interval = (
        None if found.interval is None or still else Interval(found.interval.low, min(found.interval.high, float(last)))
    )
    return Median(replace(found, value=value, interval=interval), limit)


def median_json(found: Median, gallery: int) -> dict[str, Any]:
    """Under the names that the documentation promises."""
    value = found.estimate.value
    known = math.isfinite(value)
    return {
        "median_rank": value if known else None,
        "median_interval": interval_json(found.estimate.interval),
        "median_relative_rank": value / gallery if known else None,
        "censored_at": found.censored_at,
    }
