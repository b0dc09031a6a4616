"""Area and equal error rate for clustered and stratified cases, linearised: the cases' deviations summed by unit.

For the area these are DeLong's placements, as Obuchowski (1997) has it for clusters, here with strata and weights too.
It costs one sort, however many units there are; `replicated` evaluates the summary anew in every replicate instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.stats.curves.cases import BoolArray, Cases, FloatArray, require_same_cases
from harness.stats.curves.cumulative import target_of, with_weights_of
from harness.stats.curves.influence import Of, influence
from harness.stats.rates import Interval, wilson
from harness.stats.replication.intervals import t_interval, t_p_value
from harness.stats.replication.linearised import stratum_variances
from harness.stats.replication.sample import Sample, unit_sums

__all__ = ["Linearised", "clustered_difference", "clustered_summary", "smaller_class"]


@dataclass(frozen=True, slots=True)
class Linearised:
    """A summary, or the difference of two on the same cases, with a Student-t interval and what it speaks of.

    `p_value` is two-sided and only there for a difference. Without variance, the interval of a single summary is
    Wilson's with the units of the smaller class, and that of a difference is open.
    """

    of: Of
    estimate: float
    se: float
    df: float
    interval: Interval
    p_value: float | None
    confidence: float
    target: str
    method: str = "linearised"


def clustered_summary(of: Of | str, cases: Cases, sample: Sample, *, confidence: float = 0.95) -> Linearised:
    """Area ("auc") or equal error rate ("eer"), with the sample's weights, strata and units."""
    weighted = with_weights_of(cases, sample)
    found = influence(of, weighted)
    se, df = _error(found.deviations, weighted, sample), float(sample.units - sample.strata)
    if se > 0:
        interval = t_interval(found.estimate, se, df, bounds=(0.0, 1.0), confidence=_checked(confidence))
    else:
        size = smaller_class(cases.positive, sample)
        interval = wilson(found.estimate * size, size, confidence=confidence)
    return Linearised(Of(of), found.estimate, se, df, interval, None, confidence, target_of(sample))


def clustered_difference(of: Of | str, a: Cases, b: Cases, sample: Sample, *, confidence: float = 0.95) -> Linearised:
    """Difference a - b of two areas or two equal error rates on the same cases."""
    require_same_cases(a, b)
    one, other = (influence(of, with_weights_of(cases, sample)) for cases in (a, b))
    gap = one.estimate - other.estimate
    se, df = _error(one.deviations - other.deviations, a, sample), float(sample.units - sample.strata)
    if se > 0:
        interval = t_interval(gap, se, df, bounds=(-1.0, 1.0), confidence=_checked(confidence))
        p_value: float | None = t_p_value(gap, se, df)
    else:
        interval, p_value = Interval(-1.0, 1.0), 1.0 if abs(gap) < 1e-12 else None
    return Linearised(Of(of), gap, se, df, interval, p_value, confidence, target_of(sample))


def smaller_class(positive: BoolArray, sample: Sample) -> float:
    """Effective number of units in the class that has fewer; the variance of an area is bounded by it."""
    sizes = []
    for of in (positive, ~positive):
        by_unit = unit_sums(sample, of)
        sizes.append(float(by_unit.sum() ** 2 / (by_unit**2).sum()))
    return min(sizes)


def _error(deviations: FloatArray, cases: Cases, sample: Sample) -> float:
    totals = np.where(cases.positive, sample.weights @ cases.positive, sample.weights @ ~cases.positive)
    se = float(np.sqrt(stratum_variances(sample, unit_sums(sample, deviations / totals)).sum()))
    return se if se > 1e-12 else 0.0


def _checked(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence!r}: expected a number between 0 and 1")
    return confidence
