"""Rates of several algorithms on the same cases, with their covariance: what a joint test of equality rests on."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from harness.stats.replication.arrays import FloatArray
from harness.stats.replication.linearised import linearised_covariance
from harness.stats.replication.plan import Method, Plan, choose
from harness.stats.replication.sample import Sample, unit_sums
from harness.stats.replication.statistic import rate


@dataclass(frozen=True, slots=True, eq=False)
class JointRates:
    """Weighted rates (m,) and their covariance (m, m)."""

    estimates: FloatArray
    covariance: FloatArray
    df: float
    method: Method
    replicates: int | None
    groupings: int | Literal["all"] | None


def joint_rates(sample: Sample, successes: npt.ArrayLike, plan: Plan | None = None) -> JointRates:
    """The rates of m algorithms from their successes (cases, m), all in the same replicates."""
    plan, outcomes = plan or Plan(), np.asarray(successes, dtype=np.float64)
    if outcomes.ndim != 2 or outcomes.shape[1] < 1:
        raise ValueError(f"successes have shape {outcomes.shape}; give (cases, algorithms)")
    for column in outcomes.T:
        rate(column)  # refuses what is no success
    sums = unit_sums(sample, np.column_stack([outcomes, np.ones(sample.cases)]))
    full = _rates(sums.sum(axis=0))
    choice = choose(sample, rate(outcomes[:, 0]), plan)
    if choice.replicates is None:
        influences = (sums[:, :-1] - sums[:, -1:] * full) / sums[:, -1].sum()
        covariance, df = linearised_covariance(sample, influences), float(sample.units - sample.strata)
    else:
        estimates = _rates(choice.replicates.totals(sums))
        if not np.isfinite(estimates).all():
            raise ValueError("a replicate has no case with a weight above 0: too many cases weigh nothing; use fay=0.5")
        covariance, df = choice.replicates.covariance(estimates, full, centre=plan.centre), choice.replicates.df
    count = choice.replicates.count if choice.replicates else None
    return JointRates(full, covariance, df, choice.method, count, choice.groupings)


def _rates(totals: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(totals[..., :-1] / totals[..., -1:])
