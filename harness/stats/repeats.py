"""Random algorithms and repeated trainings: how much of a rate's variance is due to cases, training and chance.

The cases are what was sampled, so the standard error comes from the cases' means, and more answers per case reduce it
only as far as the cases allow. If cases come in units (several of an image), the units are what was sampled.

An algorithm is trained K times, each time without another fold of its training material, and answers every case R
times. A two-way analysis of variance with random effects separates the components. The variance over other training
samples follows by the delete-a-group jackknife, since trainings that share all but two folds are nearly the same.
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

__all__ = [
    "CrossedVariance",
    "Repeats",
    "TrainingVariance",
    "crossed_variance",
    "repeats",
    "satterthwaite",
    "training_variance",
]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Rate of n cases with K answers each, and the components of its variance (unbiased, hence maybe below 0).

    `between_cases`: cases differ in difficulty, within their stratum; `between_units` is the part of it that the cases
    of a unit share. `between_runs`: the same case gets different answers in different runs. `run_effect`: the part of
    it that a whole run has in common (one seed for all cases), which more cases do not average out; near 0 if each
    answer is drawn independently. `se` is for new units with answers like these, on `df` degrees of freedom (units
    minus strata), `se_new_runs` also for new runs, on `df_new_runs`. `share_cases` and `share_runs` are shares of the
    variance of a single answer, clipped to 0..1. `unanimous`: the share of cases on which all runs agree. Values that
    one run or one unit cannot give are NaN.
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

    `of_mean` is the variance of the overall mean for new units. `of_run` is the variance between the runs' means,
    `residual` the part of it due to units that answer differently in each run; the rest is `run_effect`. Components of
    a single value: `case`, of which `unit` is the part that the cases of a unit share, and `case_by_run`, what differs
    between runs for one case but not for all of them. Values that one run or one unit cannot give are NaN.
    """

    runs: int
    units: int
    strata: int
    of_mean: float
    of_run: float
    residual: float
    unit: float
    case: float
    case_by_run: float

    @property
    def run_effect(self) -> float:
        """The component that all cases of a run have in common."""
        return self.of_run - self.residual

    @property
    def of_cases(self) -> float:
        """The part of `of_mean` that is due to the cases and not to the runs."""
        return self.of_mean - self.residual / self.runs

    @property
    def df(self) -> int:
        """Degrees of freedom of `of_mean`."""
        return self.units - self.strata


def repeats(
    successes: npt.ArrayLike, *, units: npt.ArrayLike | None = None, strata: npt.ArrayLike | None = None
) -> Repeats:
    """Analyse an (n cases, K runs) array of successes.

    `units` and `strata` are labels, one per case: cases of a unit were sampled together, strata would be the same in a
    repetition. Without `units`, each case is one. The degrees of freedom of `se_new_runs` are Satterthwaite's, from the
    mean squares of units, runs and residuals: near K - 1 if the run effect dominates.
    """
    table = check_successes(successes, axes="(cases, runs)").astype(np.float64)
    if table.size == 0:
        raise ValueError(f"no answers: successes have shape {table.shape}, expected at least one case and one run")
    n, k = table.shape
    components = crossed_variance(table, units=units, strata=strata)
    between_runs = float(table.var(axis=1, ddof=1).mean()) if k > 1 else math.nan
    # NaN if one of the components is.
    cases = max(components.case, 0.0)
    share = cases / (cases + between_runs) if cases + between_runs else math.nan
    return Repeats(
        cases=n,
        runs=k,
        rate=float(table.mean()),
        se=math.sqrt(components.of_mean),
        se_new_runs=math.sqrt(components.of_mean + max(components.run_effect, 0.0) / k) if k > 1 else math.nan,
        between_cases=components.case,
        between_runs=between_runs,
        run_effect=components.run_effect,
        share_cases=share,
        share_runs=1 - share,
        unanimous=float((table == table[:, :1]).all(axis=1).mean()),
        units=components.units,
        strata=components.strata,
        between_units=components.unit,
        df=components.df,
        df_new_runs=_df_new_runs(components),
    )


def crossed_variance(
    values: FloatArray, *, units: npt.ArrayLike | None = None, strata: npt.ArrayLike | None = None
) -> CrossedVariance:
    """Variance components of values (cases, K), with units as the random factor crossed with runs."""
    n, k = values.shape
    of_case, of_run = values.mean(axis=1), values.mean(axis=0)
    labels = None if units is None else np.asarray(units)
    if labels is not None and labels.shape != (n,):
        raise ValueError(f"units: shape {labels.shape} for {n} cases; expected one label per case")
    if (count := n if labels is None else np.unique(labels).size) < 2:
        return CrossedVariance(k, count, 1, *[math.nan] * 6)
    sample = make_sample(n, units=units, strata=strata)
    # Residuals from the case means and run means: 0 if runs do not differ.
    residuals = values - of_case[:, None] - of_run + values.mean()
    mean, residual = float(_variances(sample, of_case[:, None])[0]), _over_runs(_variances(sample, residuals), k)
    (unit, within), (unit_by_run, _) = _nested(sample, of_case[:, None]), _nested(sample, residuals)
    of_runs = float(of_run.var(ddof=1)) if k > 1 else math.nan
    case_by_run = float(values.var(axis=1, ddof=1).mean()) - (of_runs - residual) if k > 1 else math.nan
    return CrossedVariance(
        runs=k,
        units=sample.units,
        strata=sample.strata,
        of_mean=mean,
        of_run=of_runs,
        residual=residual,
        unit=float(unit[0]) - _over_runs(unit_by_run, k) / k,
        case=float(unit[0] + within[0]) - case_by_run / k,
        case_by_run=case_by_run,
    )


def satterthwaite(*parts: tuple[float, float]) -> float:
    """Degrees of freedom of a sum of mean squares, each with its own; a subtracted one is negative (1946).

    Never fewer than the fewest of the added parts.
    """
    total = sum(part for part, _ in parts)
    fewest = min((df for part, df in parts if part > 0), default=math.nan)
    spread = sum(part**2 / df for part, df in parts if df > 0)
    return max(total**2 / spread, fewest) if spread > 0 else fewest


def _df_new_runs(components: CrossedVariance) -> float:
    if components.runs < 2 or math.isnan(components.of_mean):
        return math.nan
    if not components.run_effect > 0:
        return float(components.df)
    k, runs = components.runs, components.runs - 1
    residual = (-components.residual / k, components.df * runs)
    return satterthwaite((components.of_mean, components.df), (components.of_run / k, runs), residual)


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
    # The common size that represents unequal ones; 1 if every case is a unit.
    size = (sample.cases - (by_unit.sizes**2 / by_stratum.sizes[sample.stratum_of_unit]).sum()) / df
    return (ms_units - ms_within) / size, ms_within


def _over_runs(of_residuals: FloatArray, runs: int) -> float:
    """Sums over K columns that have K - 1 degrees of freedom between them."""
    return float(of_residuals.sum()) / (runs - 1) if runs > 1 else math.nan


@dataclass(frozen=True, slots=True)
class TrainingVariance:
    """Variance components of a single answer, unbiased (maybe below 0), and standard errors of the rate.

    `case`: cases differ in difficulty, within their stratum; `unit` is the part of it that the cases of a unit share.
    `interaction`: another training succeeds on other cases. `run`: the same case and training get another answer; NaN
    with one answer, and then part of `interaction`. `training`: the effect of a training sample of this size on all
    cases, from `between_folds`, the component observed between trainings on overlapping material, times (K - 1)^2 / K.

    `se_cases` is for new units with these trainings, on `df_cases` degrees of freedom (units minus strata);
    `se_training`, by the jackknife, for another training sample and these cases, on `df_training`, K - 1; `se` for
    both, on `df`, Satterthwaite's of the two. With one answer per case, chance in the algorithm cannot be separated
    from the training and is counted as part of it.
    """

    cases: int
    folds: int
    runs: int
    rate: float
    rates: tuple[float, ...]
    between_folds: float
    training: float
    case: float
    interaction: float
    run: float
    se_cases: float
    se_training: float
    se: float
    units: int
    strata: int
    unit: float
    df_cases: int
    df_training: int
    df: float


def training_variance(
    successes: npt.ArrayLike, *, units: npt.ArrayLike | None = None, strata: npt.ArrayLike | None = None
) -> TrainingVariance:
    """Analyse an array (cases, trainings, runs) of successes.

    `units` and `strata` are labels, one per case: cases of a unit were sampled together, strata would be the same in a
    repetition. Without `units`, each case is one.
    """
    y = np.asarray(successes, dtype=np.float64)
    if y.ndim != 3 or y.shape[0] < 2 or y.shape[1] < 2 or y.shape[2] < 1:
        raise ValueError(f"successes have shape {y.shape}: expected at least two cases, two trainings and one run")
    n, k, r = y.shape
    cell = y.mean(axis=2)
    components = crossed_variance(cell, units=units, strata=strata)
    if math.isnan(components.of_mean):
        raise ValueError("all cases belong to one unit: expected at least two units")
    run = float(((y - cell[:, :, None]) ** 2).sum()) / (n * k * (r - 1)) if r > 1 else math.nan
    # The delete-a-group jackknife of the rate: (K - 1)/K times the sum of squares, without the variance of runs.
    of_runs = run / (n * r) if r > 1 else 0.0
    training_sample = max(components.of_run - of_runs, 0.0) * (k - 1) ** 2 / k + of_runs
    return TrainingVariance(
        cases=n,
        folds=k,
        runs=r,
        rate=float(y.mean()),
        rates=tuple(cell.mean(axis=0).tolist()),
        between_folds=components.run_effect,
        training=components.run_effect * (k - 1) ** 2 / k,
        case=components.case,
        interaction=components.case_by_run - (run / r if r > 1 else 0.0),
        run=run,
        se_cases=math.sqrt(components.of_mean),
        se_training=math.sqrt(training_sample),
        # By chance the case component may be low; the error for both is never below that for cases alone.
        se=math.sqrt(max(training_sample + max(components.of_cases, 0.0), components.of_mean)),
        units=components.units,
        strata=components.strata,
        unit=components.unit,
        df_cases=components.df,
        df_training=k - 1,
        df=_df_for_both(components, training_sample),
    )


def _df_for_both(components: CrossedVariance, training_sample: float) -> float:
    k = components.runs
    if not components.of_cases > 0:
        return float(k - 1)
    cases, residual = (components.of_mean, components.df), (-components.residual / k, components.df * (k - 1))
    return satterthwaite((training_sample, k - 1), cases, residual)
