"""Operating points that were asked for, with the interval of the rate that was not given."""

from dataclasses import replace

import numpy as np

from harness.analysis.curves.certainty import Ground, sure_summary
from harness.analysis.curves.curve import Asked
from harness.analysis.curves.wishes import At, Cost
from harness.stats.curves.cases import Cases
from harness.stats.curves.counts import Counts
from harness.stats.curves.operating import (
    DetectionCost,
    OperatingPoint,
    at_threshold,
    detection_cost,
    fmr_at_fnmr,
    fnmr_at_fmr,
)
from harness.stats.curves.replicated import fnr_at_fpr
from harness.stats.rates import Interval, wilson
from harness.stats.replication.estimate import replicate
from harness.stats.replication.statistic import rate


def operating_point(counts: Counts, at: At) -> OperatingPoint:
    """Where a rate is within its limit, or at a threshold."""
    if at.of == "fpr":
        return fnmr_at_fmr(counts, at.value)
    return fmr_at_fnmr(counts, at.value) if at.of == "fnr" else at_threshold(counts, at.value)


def ask(ground: Ground, counts: Counts, at: At) -> Asked:
    """An operating point with an interval that knows, for a given rate, that the threshold was set on these cases."""
    point = operating_point(counts, at)
    if at.of == "threshold":
        interval, method = _at_threshold(ground, counts, at.value, point.fnmr)
        return Asked(at, point, "fnr", interval, method)
    found = _at_rate(ground, at)
    interval_or_none, method = (None, "") if found is None else found
    return Asked(at, point, "fnr" if at.of == "fpr" else "fpr", interval_or_none, method)


def least_cost(counts: Counts, cost: Cost | None) -> DetectionCost | None:
    """The threshold that costs least."""
    if cost is None:
        return None
    return detection_cost(counts, prior=cost.prior, cost_miss=cost.fn, cost_false_alarm=cost.fp)


def _at_rate(ground: Ground, at: At) -> tuple[Interval, str] | None:
    if ground.subjects is not None:
        # Replicates of subjects on both sides are not there for a point that moves with them.
        return None
    cases = ground.cases if at.of == "fpr" else _turned(ground.cases)
    return sure_summary(replace(ground, cases=cases), fnr_at_fpr(at.value))


def _turned(cases: Cases) -> Cases:
    """Refusing in place of accepting: the false-positive rate becomes the false-negative one, and the other way."""
    return Cases(-cases.better, ~cases.positive, cases.weights, cases.larger_is_better)


def _at_threshold(ground: Ground, counts: Counts, threshold: float, fnr: float) -> tuple[Interval, str]:
    """A rate at a threshold that was there before the data."""
    if not ground.sampling.known:
        size = counts.positives.effective
        return wilson(fnr * size, size, confidence=ground.wishes.confidence), "wilson"
    sign = 1.0 if counts.larger_is_better else -1.0
    refused = np.asarray(ground.cases.better < sign * threshold)
    found = replicate(ground.sample, rate(refused, within=ground.cases.positive), ground.plan)
    return found.interval, str(found.method)
