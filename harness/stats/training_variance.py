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

__all__ = ["TrainingVariance", "training_variance"]


@dataclass(frozen=True, slots=True)
class TrainingVariance:
    """Variance components of a single answer, unbiased (below 0 by chance), and standard errors of the rate.

    `case`: cases differ in difficulty. `interaction`: another training succeeds on other cases. `run`: the same case
    and training get another answer; not a number with one answer, and then a part of `interaction`. `training`: what a
    training sample of this size has in common over all cases, from `between_folds`, the component that is seen between
    trainings on overlapping material, times (K - 1)^2 / K.

    `se_cases` is for new cases with these trainings; `se_training`, by the jackknife, for another training sample and
    these cases; `se` for both. With one answer a case the dice cannot be told from the training and are taken for it.
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


def training_variance(successes: npt.ArrayLike) -> TrainingVariance:
    """Analyse an array (cases, trainings, runs) of successes."""
    y = np.asarray(successes, dtype=np.float64)
    if y.ndim != 3 or y.shape[0] < 2 or y.shape[1] < 2 or y.shape[2] < 1:
        raise ValueError(f"successes have shape {y.shape}: expected two cases, two trainings and a run at least")
    n, k, r = y.shape
    cell, mean = y.mean(axis=2), float(y.mean())
    of_fold, of_case = cell.mean(axis=0), cell.mean(axis=1)
    ms_fold = n * r * float(((of_fold - mean) ** 2).sum()) / (k - 1)
    ms_case = k * r * float(((of_case - mean) ** 2).sum()) / (n - 1)
    rest = cell - of_fold - of_case[:, None] + mean
    ms_both = r * float((rest**2).sum()) / ((n - 1) * (k - 1))
    run = float(((y - cell[:, :, None]) ** 2).sum()) / (n * k * (r - 1)) if r > 1 else math.nan
    both = (ms_both - (run if r > 1 else 0.0)) / r
    folds, case = (ms_fold - ms_both) / (n * r), (ms_case - ms_both) / (k * r)
    dice = run / (n * r) if r > 1 else 0.0
    # The delete-a-group jackknife of the rate: (K - 1)/K times the sum of squares, the dice taken out of it.
    seen = max(float(of_fold.var(ddof=1)) - dice, 0.0)
    other_training = seen * (k - 1) ** 2 / k + dice
    return TrainingVariance(
        cases=n,
        folds=k,
        runs=r,
        rate=mean,
        rates=tuple(of_fold.tolist()),
        between_folds=folds,
        training=folds * (k - 1) ** 2 / k,
        case=case,
        interaction=both,
        run=run,
        se_cases=math.sqrt(float(of_case.var(ddof=1)) / n),
        se_training=math.sqrt(other_training),
        se=math.sqrt(other_training + max(case, 0.0) / n),
    )
