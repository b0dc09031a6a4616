"""Whether one run's gap between groups is larger than another's."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.cells import GroupCells
from harness.stats.gaps import GapDifference, difference_of_gaps, widened
from harness.stats.multiplicity import Multiplicity, adjusted
from harness.stats.rates import Interval

# The contrasts grow with the fourth power, and of so many the interval says nothing any more.
MAX_GROUPS = 30


@dataclass(frozen=True)
class GapContrast:
    """The gap of one run minus that of another, with its p-value corrected for the number of pairs."""

    groups: int
    gaps: tuple[float, float]
    difference: GapDifference
    p_adjusted: float


def adjusted_contrasts(found: Sequence[GapContrast | None]) -> list[GapContrast | None]:
    """All pairs of runs, with p-values corrected for their number."""
    p_values = np.array([np.nan if one is None else one.difference.p_value for one in found], dtype=np.float64)
    corrected = adjusted(p_values, Multiplicity.HOLM) if len(found) else p_values
    return [None if one is None else replace(one, p_adjusted=float(p)) for one, p in zip(found, corrected, strict=True)]


def gap_contrast(of: GroupCells, groups: Sequence[int], pair: tuple[int, int]) -> GapContrast | None:
    """A pair of runs in some groups; None with fewer than two of them, too many, or one without an error."""
    cells = of.of(pair, groups) if 2 <= len(groups) <= MAX_GROUPS else None
    if cells is None or cells.estimates is None or not (cells.estimates.df() >= 1).all():
        return None
    estimates, replication = cells.estimates, of.study.replication
    values, level = estimates.values, replication.confidence
    half = (estimates.limits.high - estimates.limits.low) / 2
    # No group is more certain than its own interval says, which knows what no errors mean.
    covariance = widened(estimates.covariance, half, estimates.df(), level)
    if not np.isfinite(covariance).all():
        return None
    found = difference_of_gaps(
        values,
        covariance,
        float(estimates.df().min()),
        confidence=level,
        rng=np.random.default_rng(replication.seed),
    )
    least, most = of.study.measure.bounds
    low, high = (min(max(end, least - most), most - least) for end in (found.interval.low, found.interval.high))
    found = replace(found, interval=Interval(low, high))
    gaps = [float(np.ptp(part)) for part in np.split(values, 2)]
    return GapContrast(len(groups), (gaps[0], gaps[1]), found, found.p_value)
