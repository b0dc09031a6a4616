"""How much of a rate's variance is due to the training, the cases, and chance in the algorithm.

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
from harness.stats.repeats import CrossedVariance, crossed_variance, satterthwaite

__all__ = ["TrainingVariance", "training_variance"]


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
    y = _check_successes(successes)
    n, k, r = y.shape
    cell = y.mean(axis=2)
    components = crossed_variance(cell, units=units, strata=strata)
    if math.isnan(components.of_mean):
        raise ValueError("all cases belong to one unit: expected at least two units")
    run = float(((y - cell[:, :, None]) ** 2).sum()) / (n * k * (r - 1)) if r > 1 else math.nan
    training_sample = _training_sample_variance(components, run / (n * r) if r > 1 else 0.0)
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
        df=_df(components, training_sample),
    )


def _check_successes(successes: npt.ArrayLike) -> FloatArray:
    y = np.asarray(successes, dtype=np.float64)
    if y.ndim != 3 or y.shape[0] < 2 or y.shape[1] < 2 or y.shape[2] < 1:
        raise ValueError(f"successes have shape {y.shape}: expected at least two cases, two trainings and one run")
    return y


def _training_sample_variance(components: CrossedVariance, run: float) -> float:
    """The delete-a-group jackknife of the rate: (K - 1)/K times the sum of squares, without the variance of runs."""
    k = components.runs
    return max(components.of_run - run, 0.0) * (k - 1) ** 2 / k + run


def _df(components: CrossedVariance, training_sample: float) -> float:
    k = components.runs
    if not components.of_cases > 0:
        return float(k - 1)
    cases, residual = (components.of_mean, components.df), (-components.residual / k, components.df * (k - 1))
    return satterthwaite((training_sample, k - 1), cases, residual)
