"""Summaries of a curve with replication, for cases in strata and clusters: area, equal error rate, operating points.

Each is a function of the case weights, evaluated anew in every replicate from one sort; the harness of replication
(`harness.stats.replication`) does the rest. Fay's 0.5 is the default there for such statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from harness.stats.curves.auc import area
from harness.stats.curves.cases import Cases, FloatArray, Order, require_both, require_same_cases
from harness.stats.curves.clustered import smaller_class
from harness.stats.curves.cumulative import target_of, with_weights_of
from harness.stats.curves.equal_error import equal_error_rates
from harness.stats.rates import wilson
from harness.stats.replication.estimate import Estimate, replicate
from harness.stats.replication.intervals import t_p_value
from harness.stats.replication.plan import Method, Plan
from harness.stats.replication.sample import Sample
from harness.stats.replication.statistic import OfWeights

__all__ = [
    "AREA",
    "EQUAL_ERROR",
    "Replicated",
    "Summary",
    "curve_statistic",
    "fnr_at_fpr",
    "replicated_difference",
    "replicated_summary",
]


@dataclass(frozen=True, slots=True)
class Summary:
    """A number that sums up a curve, from its true- and false-positive rates, (0, 0) and (1, 1) included.

    `smooth`: it changes little when one case goes. Where a curve meets a line is not smooth, as a median is not, and
    the delete-one jackknife is wrong for it: by 35 % for equal error rates of 100 subjects.
    """

    name: str
    of_rates: Callable[[FloatArray, FloatArray], float]
    smooth: bool


AREA = Summary("auc", lambda tpr, fpr: float(area(tpr, fpr)), smooth=True)
EQUAL_ERROR = Summary("eer", lambda tpr, fpr: float(equal_error_rates(tpr, fpr)), smooth=False)


def fnr_at_fpr(limit: float) -> Summary:
    """False-negative rate at the laxest threshold whose false-positive rate is within a limit."""
    if not 0 <= limit <= 1:
        raise ValueError(f"limit {limit!r}: expected a rate between 0 and 1")

    def of_rates(tpr: FloatArray, fpr: FloatArray) -> float:
        # Rates of a replicate are sums of weights: a limit met exactly may be missed by a rounding error.
        return float(1 - tpr[np.searchsorted(fpr, limit + 1e-12, side="right") - 1])

    return Summary(f"fnr at fpr {limit:g}", of_rates, smooth=False)


@dataclass(frozen=True, slots=True)
class Replicated:
    """A replicated estimate of a summary and what it speaks of, such as "these strata, new units"."""

    of: str
    estimate: Estimate
    target: str


def curve_statistic(summary: Summary, cases: Cases) -> OfWeights:
    """A summary of the curve as a function of the case weights; the sort is done once."""
    require_both(cases)
    order = Order.of(cases.better)
    hit = cases.positive[order.cases]

    def of_weights(weights: FloatArray) -> float:
        w = weights[order.cases]
        tp = np.cumsum(np.where(hit, w, 0.0))[order.ends]
        fp = np.cumsum(np.where(hit, 0.0, w))[order.ends]
        if not (tp[-1] > 0 and fp[-1] > 0):
            return float("nan")
        start = np.zeros(1)
        return summary.of_rates(np.concatenate((start, tp / tp[-1])), np.concatenate((start, fp / fp[-1])))

    return OfWeights(of_weights, bounds=(0.0, 1.0))


def replicated_summary(summary: Summary, cases: Cases, sample: Sample, *, plan: Plan | None = None) -> Replicated:
    """A summary of the curve with its replicated interval.

    By balanced replicates where there are strata; without any, by the jackknife if the summary is smooth, and by the
    bootstrap if it is not.
    """
    statistic = curve_statistic(summary, with_weights_of(cases, sample))
    found = replicate(sample, statistic, _suitable(summary, sample, plan))
    if found.se == 0:
        size = smaller_class(cases.positive, sample)
        found = replace(found, interval=wilson(found.estimate * size, size, confidence=found.confidence))
    return Replicated(summary.name, found, target_of(sample))


def replicated_difference(
    summary: Summary, a: Cases, b: Cases, sample: Sample, *, plan: Plan | None = None
) -> Replicated:
    """Difference a - b of a summary on the same cases, with interval and two-sided p; 1 where nothing differs."""
    require_same_cases(a, b)
    one, other = (curve_statistic(summary, with_weights_of(cases, sample)) for cases in (a, b))
    statistic = OfWeights(lambda weights: one.function(weights) - other.function(weights), bounds=(-1.0, 1.0))
    found = replicate(sample, statistic, _suitable(summary, sample, plan))
    return Replicated(summary.name, replace(found, p_value=_p_value(found)), target_of(sample))


def _suitable(summary: Summary, sample: Sample, plan: Plan | None) -> Plan:
    plan = plan or Plan()
    if summary.smooth:
        return plan
    if plan.method == Method.JACKKNIFE:
        raise ValueError(f"the delete-one jackknife is wrong for {summary.name}; use the bootstrap, or brr with strata")
    if plan.method == Method.AUTO and not sample.stratified:
        return replace(plan, method=Method.BOOTSTRAP)
    return plan


def _p_value(found: Estimate) -> float | None:
    if found.se > 0:
        return t_p_value(found.estimate, found.se, found.df)
    return 1.0 if abs(found.estimate) < 1e-12 else None
