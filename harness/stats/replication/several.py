"""Several statistics of one sample with their covariance, so that every difference between them has its error."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.stats.replication.arrays import FloatArray
from harness.stats.replication.linearised import linearised_covariance, satterthwaite_df
from harness.stats.replication.plan import Choice, Method, Plan, choose
from harness.stats.replication.sample import Sample, unit_sums
from harness.stats.replication.statistic import (
    OfTotals,
    OfWeights,
    Statistic,
    full_estimate,
    influences,
    replicate_estimates,
)


@dataclass(frozen=True, slots=True, eq=False)
class Several:
    """Estimates (m,) and their covariance (m, m). `influences` (units, m) where Satterthwaite's df are wanted."""

    estimates: FloatArray
    covariance: FloatArray
    design_df: float
    method: Method
    replicates: int | None
    groupings: int | Literal["all"] | None
    fay: float
    sample: Sample
    influences: FloatArray | None = None

    def variance(self, contrast: FloatArray) -> float:
        """Of a weighted sum of the estimates; what is left of rounding is no variance."""
        found = float(contrast @ self.covariance @ contrast)
        scale = float(contrast**2 @ np.diag(self.covariance))
        return found if found > 1e-12 * scale and found > 1e-24 else 0.0

    def df(self, contrast: FloatArray) -> float:
        """Degrees of freedom of that variance."""
        return self.design_df if self.influences is None else satterthwaite_df(self.sample, self.influences @ contrast)


def several(sample: Sample, statistics: Sequence[Statistic], plan: Plan) -> Several:
    """Replicate statistics of one kind together."""
    choice = choose(sample, statistics[0], plan)
    full = np.array([full_estimate(sample, statistic) for statistic in statistics])
    own = _influences(sample, statistics) if plan.df == "satterthwaite" or choice.replicates is None else None
    if choice.replicates is None:
        covariance = linearised_covariance(sample, own if own is not None else _influences(sample, statistics))
        df = float(sample.units - sample.strata)
    else:
        columns = [replicate_estimates(choice.replicates, sample, statistic) for statistic in statistics]
        covariance = choice.replicates.covariance(np.stack(columns, axis=1), full, centre=plan.centre)
        df = choice.replicates.df
    return _wrapped(sample, full, covariance, df, choice, own if plan.df == "satterthwaite" else None)


def several_linear(sample: Sample, estimates: FloatArray, deviations: FloatArray, plan: Plan) -> Several:
    """The same from linear forms: what each case (cases, m) adds to the estimates, its weight left out."""
    own = unit_sums(sample, deviations)
    choice = Choice(Method.LINEARISED, None, None, 0.0)
    covariance, df = linearised_covariance(sample, own), float(sample.units - sample.strata)
    return _wrapped(sample, estimates, covariance, df, choice, own if plan.df == "satterthwaite" else None)


def _influences(sample: Sample, statistics: Sequence[Statistic]) -> FloatArray:
    columns = [influences(sample, statistic) for statistic in statistics if isinstance(statistic, OfTotals)]
    if any(isinstance(statistic, OfWeights) for statistic in statistics):
        raise ValueError("a statistic that is no function of totals is not linearised; use df='design'")
    return np.stack(columns, axis=1)


def _wrapped(
    sample: Sample, full: FloatArray, covariance: FloatArray, df: float, choice: Choice, own: FloatArray | None
) -> Several:
    count = choice.replicates.count if choice.replicates else None
    # Products of long sums differ in their last digits from their mirror images.
    even = (covariance + covariance.T) / 2
    return Several(full, even, df, choice.method, count, choice.groupings, choice.fay, sample, own)
