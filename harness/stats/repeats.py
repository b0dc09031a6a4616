"""Algorithms that roll dice: K answers for every case, and how much of the variance is dice.

The cases are what was sampled, so the standard error comes from the cases' means, and more answers a case make it only
as small as the cases allow. Where cases come in units (several of an image), the units are what was sampled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray
from harness.stats.designs import GroupMoments
from harness.stats.paired import check_successes
from harness.stats.replication.linearised import stratum_variances
from harness.stats.replication.sample import Sample, make_sample, unit_sums

__all__ = ["CrossedVariance", "Repeats", "crossed_variance", "repeats", "satterthwaite"]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Rate of n cases with K answers each, and where its variance comes from (unbiased, hence below 0 by chance).

    `between_cases`: cases differ in difficulty, within their stratum; `between_units` is the part of it that the cases
    of a unit share. `between_runs`: the same case gets other answers in another run. `run_effect`: the part of it that
    a whole run has in common (one seed for all cases), which more cases do not average out; near 0 when each answer
    rolls its own dice. `se` is for new units with answers like these, on `df` degrees of freedom (units minus strata),
    `se_new_runs` also for new runs, on `df_new_runs`. `share_cases` and `share_runs` are of the variance of a single
    answer, clipped to 0..1. `unanimous`: the share of cases on which all runs agree. Not a number where one run or unit
    is not enough.
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
    units: int
    strata: int
    between_units: float
    df: int
    df_new_runs: float


@dataclass(frozen=True, slots=True)
class CrossedVariance:
    """Units crossed with K runs (or trainings), from the values (cases, K): variances of means, and components.

    `of_mean` is the variance of the mean of all for new units. `of_run` is the variance between the runs' means,
    `left` the part of it that the units alone bring about, by answering otherwise in each run; without them it is
    `run_effect`. Components of a single value: `case`, of which `unit` is what the cases of a unit share, and
    `case_by_run`, all that differs between runs for one case and not for all of them. Not a number where one run or
    unit is not enough.
    """

    runs: int
    units: int
    strata: int
    of_mean: float
    of_run: float
    left: float
    unit: float
    case: float
    case_by_run: float

    @property
    def run_effect(self) -> float:
        """The component that all cases of a run have in common."""
        return self.of_run - self.left

    @property
    def of_cases(self) -> float:
        """The part of `of_mean` that the cases bring about and not the runs that they were in."""
        return self.of_mean - self.left / self.runs

    @property
    def df(self) -> int:
        """Degrees of freedom of `of_mean`."""
        return self.units - self.strata


def repeats(
    successes: npt.ArrayLike, *, units: npt.ArrayLike | None = None, strata: npt.ArrayLike | None = None
) -> Repeats:
    """Analyse an (n cases, K runs) array of successes.

    `units` and `strata` are labels, one a case: cases of a unit were sampled together, strata would be the same in a
    repetition. Without `units`, each case is one. The degrees of freedom of `se_new_runs` are Satterthwaite's, of the
    mean squares of units, runs and what is left: near K - 1 where the run effect is what varies.
    """
    table = check_successes(successes, axes="(cases, runs)").astype(np.float64)
    if table.size == 0:
        raise ValueError(f"no answer: successes have shape {table.shape}, expected one case and one run at least")
    n, k = table.shape
    found = crossed_variance(table, units=units, strata=strata)
    between_runs = float(table.var(axis=1, ddof=1).mean()) if k > 1 else math.nan
    share = _share(found.case, between_runs)
    return Repeats(
        cases=n,
        runs=k,
        rate=float(table.mean()),
        se=math.sqrt(found.of_mean),
        se_new_runs=math.sqrt(found.of_mean + max(found.run_effect, 0.0) / k) if k > 1 else math.nan,
        between_cases=found.case,
        between_runs=between_runs,
        run_effect=found.run_effect,
        share_cases=share,
        share_runs=1 - share,
        unanimous=float((table == table[:, :1]).all(axis=1).mean()),
        units=found.units,
        strata=found.strata,
        between_units=found.unit,
        df=found.df,
        df_new_runs=_df_new_runs(found),
    )


def crossed_variance(
    values: FloatArray, *, units: npt.ArrayLike | None = None, strata: npt.ArrayLike | None = None
) -> CrossedVariance:
    """Part the variance of values (cases, K), with the unit as the random factor that runs are crossed with."""
    n, k = values.shape
    of_case, of_run = values.mean(axis=1), values.mean(axis=0)
    if (count := _count(units, n)) < 2:
        return CrossedVariance(k, count, 1, *[math.nan] * 6)
    sample = make_sample(n, units=units, strata=strata)
    # What is left of a value when its case's and its run's mean are taken away: 0 where runs do not differ.
    rest = values - of_case[:, None] - of_run + values.mean()
    mean, left = float(_variances(sample, of_case[:, None])[0]), _over_runs(_variances(sample, rest), k)
    (unit, within), (unit_by_run, _) = _nested(sample, of_case[:, None]), _nested(sample, rest)
    of_runs = float(of_run.var(ddof=1)) if k > 1 else math.nan
    both = float(values.var(axis=1, ddof=1).mean()) - (of_runs - left) if k > 1 else math.nan
    return CrossedVariance(
        runs=k,
        units=sample.units,
        strata=sample.strata,
        of_mean=mean,
        of_run=of_runs,
        left=left,
        unit=float(unit[0]) - _over_runs(unit_by_run, k) / k,
        case=float(unit[0] + within[0]) - both / k,
        case_by_run=both,
    )


def satterthwaite(*parts: tuple[float, float]) -> float:
    """Degrees of freedom of a sum of mean squares, each with its own; one that is subtracted is below 0 (1946).

    Never fewer than the fewest of the parts that are added.
    """
    total = sum(part for part, _ in parts)
    fewest = min((df for part, df in parts if part > 0), default=math.nan)
    spread = sum(part**2 / df for part, df in parts if df > 0)
    return max(total**2 / spread, fewest) if spread > 0 else fewest


def _count(units: npt.ArrayLike | None, cases: int) -> int:
    if units is None:
        return cases
    labels = np.asarray(units)
    if labels.shape != (cases,):
        raise ValueError(f"units: shape {labels.shape} for {cases} cases; give one label for each case")
    return int(np.unique(labels).size)


def _df_new_runs(found: CrossedVariance) -> float:
    if found.runs < 2 or math.isnan(found.of_mean):
        return math.nan
    if not found.run_effect > 0:
        return float(found.df)
    k, runs = found.runs, found.runs - 1
    return satterthwaite((found.of_mean, found.df), (found.of_run / k, runs), (-found.left / k, found.df * runs))


def _variances(sample: Sample, columns: FloatArray) -> FloatArray:
    """The variance of each column's mean over cases, for new units: linearised, since units may differ in size."""
    influences = unit_sums(sample, (columns - columns.mean(axis=0)) / sample.cases)
    return np.asarray(stratum_variances(sample, influences).sum(axis=0))


def _nested(sample: Sample, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Components of units within strata, and of cases within units, by the analysis of variance for unequal sizes."""
    by_unit = GroupMoments.of(columns, sample.unit_of_case)
    by_stratum = GroupMoments.of(columns, sample.stratum_of_unit[sample.unit_of_case])
    within, df = by_unit.within.sum(axis=0), sample.units - sample.strata
    ms_within = within / max(sample.cases - sample.units, 1)
    ms_units = (by_stratum.within.sum(axis=0) - within) / df
    # The size that stands for unequal ones; 1 where every case is a unit.
    size = (sample.cases - (by_unit.sizes**2 / by_stratum.sizes[sample.stratum_of_unit]).sum()) / df
    return (ms_units - ms_within) / size, ms_within


def _over_runs(of_rest: FloatArray, runs: int) -> float:
    """Sums over K columns that have K - 1 degrees of freedom between them."""
    return float(of_rest.sum()) / (runs - 1) if runs > 1 else math.nan


def _share(between_cases: float, between_runs: float) -> float:
    if math.isnan(between_cases + between_runs):
        return math.nan
    cases = max(between_cases, 0.0)
    return cases / (cases + between_runs) if cases + between_runs else math.nan
