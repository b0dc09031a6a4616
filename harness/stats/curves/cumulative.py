"""Rates that accumulate along a curve, with pointwise bands: shared by ROC and cumulative match curves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from harness.stats.arrays import FloatArray, kish
from harness.stats.curves.entries import Entries, binned, column_blocks, textbook_variances
from harness.stats.limits import end_limit, share_limits
from harness.stats.rates import Intervals, normal_quantile, wilson
from harness.stats.replication.method import Method, Replication, VarianceMethod, variance_method
from harness.stats.replication.replicates import Replicates
from harness.stats.replication.sample import Sample, domain_df
from harness.stats.replication.statistic import rate

__all__ = ["RateBands", "bootstrap_rates", "replicated_rates", "wilson_rates"]


INDEPENDENT = "new independent cases"
# With more units times points than this, replicates are formed only on request.
_MANY = 1 << 27
# Variances below the square of this are rounding errors of the transforms.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class RateBands:
    """Rates with pointwise limits, how these were obtained and what they generalise to.

    Pointwise: each point by itself is covered with this confidence, not all of them at once.
    """

    rate: FloatArray
    se: FloatArray
    low: FloatArray
    high: FloatArray
    confidence: float
    method: str
    target: str
    df: float | None = None
    replicates: int | None = None
    fay: float | None = None
    seed: int | None = None


def wilson_rates(rates: FloatArray, effective: float, *, confidence: float = 0.95) -> RateBands:
    """Wilson's limits, for independent cases; with weights, by Kish's effective number."""
    limits = wilson(rates * effective, effective, confidence=confidence)
    se = np.sqrt(rates * (1 - rates) / effective)
    return RateBands(rates, se, limits.low, limits.high, confidence, "wilson", INDEPENDENT)


def bootstrap_rates(
    rates: FloatArray, cases: int, *, rng: np.random.Generator, replicates: int = 1000, confidence: float = 0.95
) -> RateBands:
    """Percentile limits over resamples of independent, equally weighted cases.

    Resampling cases amounts to drawing how many of them enter at each point, so no resamples are formed.
    """
    if replicates < 2:
        raise ValueError(f"replicates {replicates!r}: expected two or more")
    steps = np.diff(rates, prepend=0.0, append=1.0)
    shares = np.maximum(steps, 0.0) / np.maximum(steps, 0.0).sum()
    drawn = np.cumsum(rng.multinomial(cases, shares, size=replicates)[:, :-1], axis=1) / cases
    se = drawn.std(axis=0)
    fallback = wilson(rates * cases, cases, confidence=confidence)
    end = wilson(cases, cases, confidence=confidence).low
    limits = _never_certain(_percentiles(drawn, confidence), fallback, se, end)
    return RateBands(rates, se, limits.low, limits.high, confidence, "bootstrap", INDEPENDENT, replicates=replicates)


def replicated_rates(entries: Entries, sample: Sample, replication: Replication | None = None) -> RateBands:
    """Limits that allow for strata and clusters: balanced replicates, jackknife, bootstrap, as the replication says.

    Fay's 0.5 by default, since half of a sample may hold no case of a class. Strata without balanced replicates use the
    textbook variance, which is what replication gives on average over all groupings. So do samples with more than 2^27
    units times points, unless the replication names a method.
    """
    replication = replication or Replication()
    normal_quantile(replication.confidence)  # checks the confidence
    weights = np.where(entries.within, sample.weights, 0.0)
    by_unit = np.bincount(sample.unit_of_case, weights=weights, minlength=sample.units).astype(np.float64)
    if not by_unit.any():
        raise ValueError("no case has a weight above 0: a rate needs at least one")
    choice = _choose(entries, sample, replication)
    # Sums of the same weights in another order may exceed the total by a rounding error.
    entered = binned(np.zeros_like(entries.place), 1, entries.place, weights, (0, entries.points))[0]
    rates = np.minimum(entered / weights.sum(), 1.0)
    design_df = float(sample.units - sample.strata) if choice.replicates is None else choice.replicates.df
    df = float(domain_df(sample, by_unit[:, None], design_df)[0])
    size = _EffectiveSize(float(kish(weights)), float(kish(by_unit)), max(df, 1.0), replication.design_effect)
    if choice.replicates is None:
        se = np.sqrt(textbook_variances(entries, sample))
        limits = _limits(rates, se, size, replication.confidence)
    else:
        se, limits = _by_replicates(entries, sample, rates, by_unit, choice.replicates, replication, size)
    return _wrap(rates, se, _monotone(limits), sample, choice, replication, df)


def _choose(entries: Entries, sample: Sample, replication: Replication) -> VarianceMethod:
    statistic = rate(entries.within, within=entries.within)
    if replication.method == Method.AUTO and sample.units * entries.points > _MANY:
        return variance_method(sample, statistic, replace(replication, method=Method.LINEARISED))
    return variance_method(sample, statistic, replication)


def _by_replicates(
    entries: Entries,
    sample: Sample,
    rates: FloatArray,
    by_unit: FloatArray,
    replicates: Replicates,
    replication: Replication,
    size: _EffectiveSize,
) -> tuple[FloatArray, Intervals]:
    """Standard errors and limits from the rates of all replicates, a block of points at a time."""
    weights, confidence = np.where(entries.within, sample.weights, 0.0), replication.confidence
    totals = replicates.totals(by_unit)
    if (totals <= 0).any():
        raise ValueError(
            f"replicate {int((totals <= 0).argmax())} of {replicates.count} holds no case of this class: "
            "use Fay's rho of 0.5, or the jackknife"
        )
    se, low, high = np.empty((3, rates.size))
    for columns in column_blocks(max(sample.units, replicates.count), rates.size):
        part = slice(*columns)
        sums = binned(sample.unit_of_case, sample.units, entries.place, weights, columns)
        drawn = replicates.totals(sums) / totals[:, None]
        variance = replicates.variance(drawn, rates[part], centre=replication.centre)
        se[part] = np.sqrt(np.where(variance > _ROUNDING**2, variance, 0.0))
        limits = _limits(rates[part], se[part], size, confidence)
        if replication.method == Method.BOOTSTRAP:
            limits = _never_certain(_percentiles(drawn, confidence), limits, se[part], _end(size, confidence))
        low[part], high[part] = limits.low, limits.high
    return se, Intervals(low, high)


def _wrap(
    rates: FloatArray,
    se: FloatArray,
    limits: Intervals,
    sample: Sample,
    choice: VarianceMethod,
    replication: Replication,
    df: float,
) -> RateBands:
    replicates = choice.replicates
    return RateBands(
        rates,
        se,
        limits.low,
        limits.high,
        replication.confidence,
        str(choice.method),
        sample.target,
        df=df,
        replicates=replicates.count if replicates is not None else None,
        fay=choice.fay,
        seed=replication.seed,
    )


@dataclass(frozen=True, slots=True)
class _EffectiveSize:
    """Kish's effective numbers of cases and of units, and the degrees of freedom of the design."""

    cases: float
    units: float
    df: float
    design_effect: float | None


def _limits(rates: FloatArray, se: FloatArray, size: _EffectiveSize, confidence: float) -> Intervals:
    return share_limits(
        rates,
        se,
        size.df,
        cases=size.cases,
        units=size.units,
        design_effect=size.design_effect,
        confidence=confidence,
    )


def _end(size: _EffectiveSize, confidence: float) -> float:
    return float(end_limit(size.cases, size.units, design_effect=size.design_effect, confidence=confidence))


def _percentiles(drawn: FloatArray, confidence: float) -> Intervals:
    tail = (1 - confidence) / 2
    low, high = np.clip(np.quantile(drawn, [tail, 1 - tail], axis=0), 0, 1)
    return Intervals(low, high)


def _never_certain(limits: Intervals, fallback: Intervals, se: FloatArray, end: float) -> Intervals:
    """Limits with a fallback where the variance is 0.

    The first error does not narrow them: no lower limit exceeds `end`, the one when all cases are right.
    """
    low, high = np.where(se == 0, fallback.low, limits.low), np.where(se == 0, fallback.high, limits.high)
    return Intervals(np.minimum(low, end), np.maximum(high, 1 - end))


def _monotone(limits: Intervals) -> Intervals:
    """A rate that only rises along a curve is not below an earlier lower limit, nor above a later upper limit."""
    return Intervals(np.maximum.accumulate(limits.low), np.minimum.accumulate(limits.high[::-1])[::-1])
