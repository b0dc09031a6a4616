"""Win rates: how often one run's answer has the better value than another's to the same case, ties counting half."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.cells import Measurement
from harness.measures import Reads
from harness.measures.values import VALUES
from harness.stats.arrays import FloatArray
from harness.stats.estimate import Estimate, p_of_limits, with_adjusted
from harness.stats.multiplicity import Multiplicity
from harness.stats.rates import Interval
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.statistic import ratio

EVEN = 0.5


@dataclass(frozen=True)
class WinRate:
    """On how many cases the first of two runs wins, ties and loses, and P(win) + P(tie) / 2 by the design."""

    wins: int
    ties: int
    losses: int
    # Its p-value is for an even chance.
    estimate: Estimate


def win_rates(
    study: Measurement, places: Sequence[tuple[int, int]], multiplicity: Multiplicity
) -> list[WinRate | None] | None:
    """Of every pair; None if the measure is not a value of each record, or nobody has said which value wins."""
    measure, aligned = study.measure, study.aligned
    name = measure.name.removeprefix(VALUES)
    is_value = measure.reads is Reads.VALUES and name in aligned.value_names()
    if not (is_value and measure.directed and places):
        return None
    values = aligned.value(name) * (1.0 if measure.larger_is_better else -1.0)
    points = [_points(values[a], values[b]) for a, b in places]
    estimates = with_adjusted([_estimate(study, one) for one in points], _of_p_values(multiplicity))
    return [None if made is None else _counted(one, made) for one, made in zip(points, estimates, strict=True)]


def _counted(points: FloatArray, estimate: Estimate) -> WinRate:
    wins, ties, losses = (int(np.count_nonzero(points == point)) for point in (1.0, EVEN, 0.0))
    return WinRate(wins, ties, losses, estimate)


def _of_p_values(multiplicity: Multiplicity) -> Multiplicity:
    return Multiplicity.HOLM if multiplicity is Multiplicity.MAX_T else multiplicity


def _points(first: FloatArray, second: FloatArray) -> FloatArray:
    """1 for a win, a half for a tie, 0 for a loss; not a number where a run has no value."""
    points = np.where(first > second, 1.0, np.where(first < second, 0.0, EVEN))
    return np.asarray(np.where(np.isnan(first) | np.isnan(second), np.nan, points))


def _estimate(study: Measurement, points: FloatArray) -> Estimate | None:
    known = ~np.isnan(points)
    if not known.any():
        return None
    counted = known.astype(np.float64)[:, None]
    statistic = ratio(np.nan_to_num(points)[:, None], counted, bounds=(0.0, 1.0), counted=counted)
    try:
        one = make_estimates(study.sampling.sample, statistic, study.replication).one(0)
    except ValueError:
        # Half of the units may have no value at all.
        return None
    return one if one.interval is None else replace(one, p_value=p_of_limits(lambda level: _from_even(one, level)))


def _from_even(one: Estimate, confidence: float) -> Interval:
    """The limits of the distance from an even chance."""
    limits = one.at(confidence) or Interval(0.0, 1.0)
    return Interval(limits.low - EVEN, limits.high - EVEN)
