"""Algorithms that roll dice: K answers for every case, and how much of the variance is dice.

The cases are what was sampled, so the standard error comes from the cases' means, and more answers a case make it only
as small as the cases allow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.paired import check_successes

__all__ = ["Repeats", "repeats"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Rate of n cases with K answers each, and where its variance comes from (unbiased, hence below 0 by chance).

    `between_cases`: cases differ in difficulty. `between_runs`: the same case gets other answers in another run.
    `run_effect`: the part of it that a whole run has in common (one seed for all cases), which more cases do not
    average out; near 0 when each answer rolls its own dice. `se` is for new cases with answers like these,
    `se_new_runs` also for new runs. `share_cases` and `share_runs` are of the variance of a single answer, clipped to
    0..1. `unanimous`: the share of cases on which all runs agree. Not a number where one run or case is not enough.
    """

    cases: int
    runs: int
    rate: float
    se: float
    se_new_runs: float
    between_cases: float
    between_runs: float
    run_effect: float
    share_cases: float
    share_runs: float
    unanimous: float


def repeats(successes: npt.ArrayLike) -> Repeats:
    """Analyse an (n cases, K runs) array of successes."""
    table = check_successes(successes, axes="(cases, runs)").astype(np.float64)
    if table.size == 0:
        raise ValueError(f"no answer: successes have shape {table.shape}, expected one case and one run at least")
    n, k = table.shape
    of_case = table.mean(axis=1)
    between_runs = float(((table - of_case[:, None]) ** 2).sum()) / (n * (k - 1)) if k > 1 else math.nan
    variance = float(of_case.var(ddof=1)) if n > 1 else math.nan
    run_effect = _run_effect(table)
    # What neither case nor run explains; not all of `between_runs`, since a run's common part moves every case alike.
    between_cases = variance - (between_runs - run_effect) / k
    share = _share(between_cases, between_runs)
    return Repeats(
        cases=n,
        runs=k,
        rate=float(of_case.mean()),
        se=math.sqrt(variance / n),
        se_new_runs=math.sqrt(variance / n + max(run_effect, 0.0) / k) if k > 1 else math.nan,
        between_cases=between_cases,
        between_runs=between_runs,
        run_effect=run_effect,
        share_cases=share,
        share_runs=1 - share,
        unanimous=float((table == table[:, :1]).all(axis=1).mean()),
    )


def _run_effect(table: FloatArray) -> float:
    """(MS of runs - MS of what is left) / n in the two-way analysis of variance without replication."""
    n, k = table.shape
    if n < 2 or k < 2:
        return math.nan
    of_case, of_run, mean = table.mean(axis=1), table.mean(axis=0), table.mean()
    left = table - of_case[:, None] - of_run + mean
    ms_left = float((left**2).sum()) / ((n - 1) * (k - 1))
    return float(of_run.var(ddof=1) - ms_left / n)


def _share(between_cases: float, between_runs: float) -> float:
    if math.isnan(between_cases + between_runs):
        return math.nan
    cases = max(between_cases, 0.0)
    return cases / (cases + between_runs) if cases + between_runs else math.nan
