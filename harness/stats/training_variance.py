"""How much of a rate's variance is the training, how much the cases, how much the dice.

An algorithm is trained K times, each time without another fold of its training material, and asked every case, R times
each. A two-way analysis of variance with random effects parts what is seen; what another training sample would do
follows from it by the delete-a-group jackknife, since trainings that share all but two folds are nearly the same.
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
    """Variance components of a single answer, unbiased (below 0 by chance), and standard errors of the rate.

    `case`: cases differ in difficulty, within their stratum; `unit` is the part of it that the cases of a unit share.
    `interaction`: another training succeeds on other cases. `run`: the same case
    and training get another answer; not a number with one answer, and then a part of `interaction`. `training`: what a
    training sample of this size has in common over all cases, from `between_folds`, the component that is seen between
    trainings on overlapping material, times (K - 1)^2 / K.

    `se_cases` is for new units with these trainings, on `df_cases` degrees of freedom (units minus strata);
    `se_training`, by the jackknife, for another training sample and these cases, on `df_training`, K - 1; `se` for
    both, on `df`, Satterthwaite's of the two. With one answer a case the dice cannot be told from the training and are
    taken for it.
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

    `units` and `strata` are labels, one a case: cases of a unit were sampled together, strata would be the same in a
    repetition. Without `units`, each case is one.
    """
    y = _checked(successes)
    n, k, r = y.shape
    cell = y.mean(axis=2)
    found = crossed_variance(cell, units=units, strata=strata)
    if math.isnan(found.of_mean):
        raise ValueError("all cases are of one unit: expected two units at least")
    run = float(((y - cell[:, :, None]) ** 2).sum()) / (n * k * (r - 1)) if r > 1 else math.nan
    other_training = _of_other_training(found, run / (n * r) if r > 1 else 0.0)
    return TrainingVariance(
        cases=n,
        folds=k,
        runs=r,
        rate=float(y.mean()),
        rates=tuple(cell.mean(axis=0).tolist()),
        between_folds=found.run_effect,
        training=found.run_effect * (k - 1) ** 2 / k,
        case=found.case,
        interaction=found.case_by_run - (run / r if r > 1 else 0.0),
        run=run,
        se_cases=math.sqrt(found.of_mean),
        se_training=math.sqrt(other_training),
        # By chance the case component may come out low; both together are never surer than one of them.
        se=math.sqrt(max(other_training + max(found.of_cases, 0.0), found.of_mean)),
        units=found.units,
        strata=found.strata,
        unit=found.unit,
        df_cases=found.df,
        df_training=k - 1,
        df=_df(found, other_training),
    )


def _checked(successes: npt.ArrayLike) -> FloatArray:
    y = np.asarray(successes, dtype=np.float64)
    if y.ndim != 3 or y.shape[0] < 2 or y.shape[1] < 2 or y.shape[2] < 1:
        raise ValueError(f"successes have shape {y.shape}: expected two cases, two trainings and a run at least")
    return y


def _of_other_training(found: CrossedVariance, dice: float) -> float:
    """The delete-a-group jackknife of the rate: (K - 1)/K times the sum of squares, the dice taken out of it."""
    k = found.runs
    return max(found.of_run - dice, 0.0) * (k - 1) ** 2 / k + dice


def _df(found: CrossedVariance, other_training: float) -> float:
    k = found.runs
    if not found.of_cases > 0:
        return float(k - 1)
    cases, left = (found.of_mean, found.df), (-found.left / k, found.df * (k - 1))
    return satterthwaite((other_training, k - 1), cases, left)
