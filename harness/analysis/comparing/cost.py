"""What the answers cost: seconds and memory a case, with intervals, and how many times as much one run takes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.comparing.align import FloatArray
from harness.stats.rates import Interval
from harness.stats.replication.intervals import t_interval, t_p_value
from harness.stats.replication.plan import Plan
from harness.stats.replication.sample import Sample
from harness.stats.replication.several import Several, several
from harness.stats.replication.statistic import ratio


@dataclass(frozen=True)
class Cost:
    """The mean over the cases that have it; no interval where it never varies."""

    cases: int
    mean: float
    se: float
    df: float
    interval: Interval | None


@dataclass(frozen=True)
class CostRatio:
    """One mean over another, with an interval on the scale of ratios and a p-value of their being equal."""

    ratio: float
    interval: Interval | None
    p_value: float | None


@dataclass(frozen=True)
class Costs:
    """Seconds, or bytes of memory, of every run that has them, and of the pairs in the order asked for."""

    runs: list[Cost | None]
    pairs: list[CostRatio | None]


def costs(values: FloatArray, pairs: Sequence[tuple[int, int]], sample: Sample, plan: Plan) -> Costs | None:
    """From (runs, cases), not a number where nothing was recorded; None where no run has anything."""
    recorded = ~np.isnan(values)
    # Cases of weight 0 do not count, so a run may have recorded nothing that does.
    having = [run for run in range(len(values)) if (recorded[run] & (sample.weights > 0)).any()]
    if not having:
        return None
    means = [ratio(np.where(recorded[i], values[i], 0.0), recorded[i], bounds=(0.0, math.inf)) for i in having]
    found = several(sample, means, plan)
    place = {run: number for number, run in enumerate(having)}
    return Costs(
        runs=[
            _mean(found, place[run], int(recorded[run].sum()), plan) if run in place else None
            for run in range(len(values))
        ],
        pairs=[_ratio(found, place[a], place[b], plan) if a in place and b in place else None for a, b in pairs],
    )


def _mean(found: Several, place: int, cases: int, plan: Plan) -> Cost:
    contrast = np.eye(len(found.estimates))[place]
    mean, se, df = float(found.estimates[place]), math.sqrt(found.variance(contrast)), found.df(contrast)
    known = se > 0 and df > 0
    bounds = (0.0, math.inf)
    interval = t_interval(mean, se, df, bounds=bounds, confidence=plan.confidence) if known else None
    return Cost(cases, mean, se, df, interval)


def _ratio(found: Several, a: int, b: int, plan: Plan) -> CostRatio | None:
    """By the logarithm, in which twice and half as much are equally far away."""
    one, other = float(found.estimates[a]), float(found.estimates[b])
    if not (one > 0 and other > 0):
        return None
    each = np.eye(len(found.estimates))
    # The derivative of log(one / other).
    contrast = each[a] / one - each[b] / other
    se, df, log = math.sqrt(found.variance(contrast)), found.df(contrast), math.log(one / other)
    if not (se > 0 and df > 0):
        return CostRatio(one / other, None, None)
    limits = t_interval(log, se, df, bounds=(-700.0, 700.0), confidence=plan.confidence)
    interval = Interval(math.exp(limits.low), math.exp(limits.high))
    return CostRatio(one / other, interval, t_p_value(log, se, df))
