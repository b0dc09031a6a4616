"""Area under the curve for clustered and stratified cases, linearised: DeLong's placements summed by unit.

Obuchowski (1997) for clusters, here with strata and weights too. It costs one sort, however many units there are;
`replicated` evaluates the area anew in every replicate instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.curves.counts import Cases, FloatArray
from harness.stats.curves.cumulative import target_of
from harness.stats.curves.delong import placements
from harness.stats.rates import Interval
from harness.stats.replication.intervals import t_interval, t_p_value
from harness.stats.replication.linearised import stratum_variances
from harness.stats.replication.sample import Sample, unit_sums

__all__ = ["ClusteredAuc", "clustered_auc", "clustered_difference"]


@dataclass(frozen=True, slots=True)
class ClusteredAuc:
    """An area, or the difference of two on the same cases, with a Student-t interval and what it speaks of.

    `p_value` is two-sided and only there for a difference. A standard error of 0 leaves the whole range open.
    """

    estimate: float
    se: float
    df: float
    interval: Interval
    p_value: float | None
    confidence: float
    target: str
    method: str = "linearised"


def clustered_auc(
    scores: npt.ArrayLike,
    positive: npt.ArrayLike,
    sample: Sample,
    *,
    larger_is_better: bool = True,
    confidence: float = 0.95,
) -> ClusteredAuc:
    """Area with its interval, with the sample's weights, strata and units."""
    area, influence = _influence(scores, positive, sample, larger_is_better)
    return _wrap(area, influence, sample, (0.0, 1.0), confidence, paired=False)


def clustered_difference(
    scores_a: npt.ArrayLike,
    scores_b: npt.ArrayLike,
    positive: npt.ArrayLike,
    sample: Sample,
    *,
    larger_is_better: bool = True,
    confidence: float = 0.95,
) -> ClusteredAuc:
    """Difference a - b of two areas on the same cases."""
    area_a, influence_a = _influence(scores_a, positive, sample, larger_is_better)
    area_b, influence_b = _influence(scores_b, positive, sample, larger_is_better)
    return _wrap(area_a - area_b, influence_a - influence_b, sample, (-1.0, 1.0), confidence, paired=True)


def _influence(
    scores: npt.ArrayLike, positive: npt.ArrayLike, sample: Sample, larger_is_better: bool
) -> tuple[float, FloatArray]:
    """The area, and what each case adds to it for each unit of its weight."""
    cases = Cases.checked(scores, positive, weights=sample.weights, larger_is_better=larger_is_better)
    placed = placements(cases)
    totals = np.where(cases.positive, sample.weights @ cases.positive, sample.weights @ ~cases.positive)
    return placed.auc, (placed.values - placed.auc) / totals


def _wrap(
    estimate: float,
    influence: FloatArray,
    sample: Sample,
    bounds: tuple[float, float],
    confidence: float,
    *,
    paired: bool,
) -> ClusteredAuc:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence!r}: expected a number between 0 and 1")
    se = float(np.sqrt(stratum_variances(sample, unit_sums(sample, influence)).sum()))
    df = float(sample.units - sample.strata)
    if se < 1e-12:
        same = 1.0 if abs(estimate) < 1e-12 else None
        return ClusteredAuc(
            estimate, 0.0, df, Interval(*bounds), same if paired else None, confidence, target_of(sample)
        )
    interval = t_interval(estimate, se, df, bounds=bounds, confidence=confidence)
    p_value = t_p_value(estimate, se, df) if paired else None
    return ClusteredAuc(estimate, se, df, interval, p_value, confidence, target_of(sample))
