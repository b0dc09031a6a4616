"""Operating points that were asked for, with the interval of the rate that was not given."""

import math

import numpy as np

from harness.analysis.curves.certainty import Ground
from harness.analysis.curves.curve import Asked
from harness.analysis.curves.wishes import At, Cost
from harness.stats.curves.cases import BoolArray, Cases
from harness.stats.curves.counts import Counts
from harness.stats.curves.fixed_fpr import fixed_fpr_bands
from harness.stats.curves.operating import (
    DetectionCost,
    OperatingPoint,
    at_threshold,
    detection_cost,
    fmr_at_fnmr,
    fnmr_at_fmr,
)
from harness.stats.estimate import Estimate
from harness.stats.rates import Interval
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.statistic import rate

# Errors that a rate needs so as to lie within 30 % of the true one with 90 % confidence (Doddington and others 2000).
RULE_OF_30 = 30


def operating_point(counts: Counts, at: At) -> OperatingPoint:
    """Where a rate is within its limit, or at a threshold."""
    if at.of == "fpr":
        return fnmr_at_fmr(counts, at.value)
    return fmr_at_fnmr(counts, at.value) if at.of == "fnr" else at_threshold(counts, at.value)


def ask(ground: Ground, counts: Counts, at: At) -> Asked:
    """An operating point with an interval that knows, for a given rate, that the threshold was set on these cases."""
    point = operating_point(counts, at)
    if at.of == "threshold":
        return Asked(at, point, "fnr", _at_threshold(ground, counts, at.value))
    return Asked(at, point, "fnr" if at.of == "fpr" else "fpr", _at_rate(ground, at))


def few_errors(text: str, of: str, rate: float, positive: BoolArray) -> list[str]:
    """Rates that are asked for on too few cases: Doddington's rule of 30, and the rule of three for none at all."""
    if of not in ("fpr", "fnr"):
        return []
    kind, error = ("negative", "false positives") if of == "fpr" else ("positive", "false negatives")
    cases = int(np.count_nonzero(positive if of == "fnr" else ~positive))
    errors, none = rate * cases, f"may still be {3 / max(cases, 1):.2g} (rule of three)"
    if errors < 1:
        takes = f"; it takes {math.ceil(3 / rate):,} to show it" if rate > 0 else ""
        return [
            f"--at {text}: {cases:,} {kind} cases allow no error at that rate, and with none the rate {none}{takes}"
        ]
    if errors < RULE_OF_30:
        return [
            f"--at {text}: rests on {errors:.0f} {error}; to be within 30 % of the true rate takes {RULE_OF_30} "
            f"(rule of 30), that is {math.ceil(RULE_OF_30 / rate):,} {kind} cases"
        ]
    return []


def least_cost(counts: Counts, cost: Cost | None) -> DetectionCost | None:
    """The threshold that costs least."""
    if cost is None:
        return None
    return detection_cost(counts, prior=cost.prior, cost_miss=cost.fn, cost_false_alarm=cost.fp)


def _at_rate(ground: Ground, at: At) -> Estimate | None:
    if ground.subjects is not None:
        # There is no error for a point that moves with the subjects on both sides.
        return None
    cases = ground.cases if at.of == "fpr" else _turned(ground.cases)
    sample = ground.sample if ground.sampling.known else None
    try:
        found = fixed_fpr_bands(cases, sample, [at.value], confidence=ground.wishes.confidence)
    except ValueError:
        return None
    limits = Interval(1 - float(found.high[0]), 1 - float(found.low[0]))
    return Estimate(1 - float(found.tpr[0]), math.nan, found.df, limits, ground.wishes.confidence, "linearised")


def _turned(cases: Cases) -> Cases:
    """Refusing in place of accepting: the false-positive rate becomes the false-negative one, and the other way."""
    return Cases(-cases.better, ~cases.positive, cases.weights, cases.larger_is_better)


def _at_threshold(ground: Ground, counts: Counts, threshold: float) -> Estimate:
    """A rate at a threshold that was there before the data."""
    sign = 1.0 if counts.larger_is_better else -1.0
    refused = np.asarray(ground.cases.better < sign * threshold)
    return make_estimate(ground.sample, rate(refused, within=ground.cases.positive), ground.plan)
