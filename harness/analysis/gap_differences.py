"""Whether one run's gap between groups is larger than another's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.analysis.cells import Measurement
from harness.analysis.sampling import finite, interval_json
from harness.errors import UsageError
from harness.stats.arrays import BoolArray
from harness.stats.gaps import GapDifference, difference_of_gaps, widened
from harness.stats.multiplicity import Multiplicity, adjusted

# The contrasts grow with the fourth power, and of so many the interval says nothing any more.
MOST_GROUPS = 30


@dataclass(frozen=True)
class GapContrast:
    """The gap of one run minus that of another, with its p-value corrected for the number of pairs."""

    groups: int
    gaps: tuple[float, float]
    difference: GapDifference
    p_adjusted: float


def gap_contrasts(
    study: Measurement, members: Sequence[BoolArray], known: Sequence[Sequence[int]], pairs: Sequence[tuple[int, int]]
) -> list[GapContrast | None]:
    """For each pair of runs, in the groups that are known for both; None with fewer than two of them, or too many."""
    found = [_contrast(study, [members[i] for i in sorted(set(known[a]) & set(known[b]))], (a, b)) for a, b in pairs]
    p_values = np.array([np.nan if one is None else one[1].p_value for one in found], dtype=np.float64)
    corrected = adjusted(p_values, Multiplicity.HOLM) if found else p_values
    return [
        None if one is None else GapContrast(one[2], one[0], one[1], float(p))
        for one, p in zip(found, corrected, strict=True)
    ]


def _contrast(
    study: Measurement, members: Sequence[BoolArray], pair: tuple[int, int]
) -> tuple[tuple[float, float], GapDifference, int] | None:
    if not 2 <= len(members) <= MOST_GROUPS:
        return None
    try:
        cells = study.cells([(run, inside) for run in pair for inside in members])
    except UsageError:
        return None
    estimates = cells.estimates
    if estimates is None or len(cells.place) < 2 * len(members) or not (estimates.df() >= 1).all():
        return None
    values, level = estimates.values, study.replication.confidence
    half = (estimates.limits.high - estimates.limits.low) / 2
    # No group is more certain than its own interval says, which knows what no errors mean.
    covariance = widened(estimates.covariance, half, estimates.df(), level)
    if not np.isfinite(covariance).all():
        return None
    found = difference_of_gaps(
        values, covariance, float(estimates.df().min()), confidence=level,
        rng=np.random.default_rng(study.replication.seed),
    )  # fmt: skip
    gaps = [float(np.ptp(part)) for part in np.split(values, 2)]
    return (gaps[0], gaps[1]), found, len(members)


def gap_contrast_json(names: Sequence[str], pair: tuple[int, int], one: GapContrast | None) -> dict[str, Any]:
    """A pair of runs: both gaps, their difference, and how certain it is."""
    found = None if one is None else one.difference
    return {
        "a": names[pair[0]],
        "b": names[pair[1]],
        "groups": None if one is None else one.groups,
        "gap_a": None if one is None else one.gaps[0],
        "gap_b": None if one is None else one.gaps[1],
        "estimate": None if found is None else found.value,
        "se": None if found is None else finite(found.se),
        "interval": None if found is None else interval_json(found.interval),
        "p_value": None if found is None else found.p_value,
        "p_adjusted": None if one is None else one.p_adjusted,
    }
