"""An estimate with its error, from a sample and a statistic."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.stats.rates import Interval
from harness.stats.replication.arrays import FloatArray
from harness.stats.replication.intervals import (
    effective_cases,
    interval_without_variance,
    p_without_variance,
    t_interval,
    t_p_value,
)
from harness.stats.replication.linearised import independent_variance, satterthwaite_df, stratum_variances
from harness.stats.replication.plan import Choice, Method, Plan, choose
from harness.stats.replication.replicates import Centre
from harness.stats.replication.sample import Sample
from harness.stats.replication.statistic import (
    Difference,
    OfTotals,
    OfWeights,
    Statistic,
    full_estimate,
    influences,
    replicate_estimates,
)

# Standard errors below this share of the scale are rounding errors of the transforms.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate, its error, and how that was found.

    `strata` are those after lone ones were joined (`collapsed` names them). `replicates` is nothing where the variance
    was written down without any, `groupings` nothing where none were needed. `design_effect` is the variance over that
    of independent cases, for functions of totals.
    """

    estimate: float
    se: float
    df: float
    interval: Interval
    confidence: float
    p_value: float | None
    method: Method
    cases: int
    strata: int
    units: int
    replicates: int | None
    groupings: int | Literal["all"] | None
    collapsed: tuple[tuple[str, ...], ...]
    lone: str
    fay: float
    centre: Centre
    seed: int
    design_effect: float | None


def replicate(
    sample: Sample, statistic: Statistic | Callable[[FloatArray], float], plan: Plan | None = None
) -> Estimate:
    """Estimate a statistic of a sample, with its standard error and Student-t interval.

    The statistic is a `rate`, `difference`, `ratio` or `total`, or any function of the case weights.
    """
    plan = plan or Plan()
    if not isinstance(statistic, OfTotals | OfWeights):
        statistic = OfWeights(statistic)
    if not 0 < plan.confidence < 1:
        raise ValueError(f"confidence={plan.confidence}: give a number between 0 and 1, such as 0.95")
    choice = choose(sample, statistic, plan)
    estimate = full_estimate(sample, statistic)
    variance = _variance(sample, statistic, choice, estimate, plan.centre)
    return _wrap(sample, statistic, plan, choice, estimate, variance)


def _variance(sample: Sample, statistic: Statistic, choice: Choice, estimate: float, centre: Centre) -> float:
    if choice.replicates is not None:
        estimates = replicate_estimates(choice.replicates, sample, statistic)
        variance = float(choice.replicates.variance(estimates, estimate, centre=centre))
    else:
        variance = float(stratum_variances(sample, _influences(sample, statistic)).sum())
    return variance if variance > _negligible(statistic, estimate) else 0.0


def _negligible(statistic: Statistic, estimate: float) -> float:
    scale = max(abs(estimate), 1.0 if np.isfinite(statistic.bounds).all() else 0.0)
    return (_ROUNDING * scale) ** 2


def _influences(sample: Sample, statistic: Statistic) -> FloatArray:
    if isinstance(statistic, OfWeights):
        raise ValueError("a statistic that is no function of totals is not linearised; use df='design'")
    return influences(sample, statistic)


def _df(sample: Sample, statistic: Statistic, plan: Plan, choice: Choice) -> float:
    if plan.df == "satterthwaite":
        return satterthwaite_df(sample, _influences(sample, statistic))
    return choice.replicates.df if choice.replicates else float(sample.units - sample.strata)


def _wrap(
    sample: Sample, statistic: Statistic, plan: Plan, choice: Choice, estimate: float, variance: float
) -> Estimate:
    se, df = float(np.sqrt(variance)), _df(sample, statistic, plan, choice)
    interval, p_value = _interval_and_p(sample, statistic, plan, (estimate, se, df))
    return Estimate(
        estimate=estimate,
        se=se,
        df=df,
        interval=interval,
        confidence=plan.confidence,
        p_value=p_value,
        method=choice.method,
        cases=sample.cases,
        strata=sample.strata,
        units=sample.units,
        replicates=choice.replicates.count if choice.replicates else None,
        groupings=choice.groupings,
        collapsed=sample.collapsed,
        lone=str(sample.lone),
        fay=choice.fay,
        centre=plan.centre,
        seed=plan.seed,
        design_effect=_design_effect(sample, statistic, estimate, variance),
    )


def _interval_and_p(
    sample: Sample, statistic: Statistic, plan: Plan, found: tuple[float, float, float]
) -> tuple[Interval, float | None]:
    estimate, se, df = found
    if se > 0:
        interval = t_interval(estimate, se, df, bounds=statistic.bounds, confidence=plan.confidence)
        return interval, t_p_value(estimate, se, df) if isinstance(statistic, Difference) else None
    size = effective_cases(sample, statistic, plan.design_effect)
    interval = interval_without_variance(sample, statistic, estimate, size, plan.confidence)
    return interval, p_without_variance(sample, statistic, size) if isinstance(statistic, Difference) else None


def _design_effect(sample: Sample, statistic: Statistic, estimate: float, variance: float) -> float | None:
    if isinstance(statistic, OfWeights):
        return None
    independent = independent_variance(sample, statistic)
    return variance / independent if independent > _negligible(statistic, estimate) else None
