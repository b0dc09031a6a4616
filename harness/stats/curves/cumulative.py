"""Rates that accumulate along a curve, with pointwise bands: the part that ROC and cumulative match curves share.

A case enters at one place of the curve and stays: it is accepted at the first threshold that its score passes, or
found at its rank. So one number a case, its place, says all, and sums by unit and place, accumulated, give the rate
of every unit at every point without an array of cases by points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.curves.counts import BoolArray, FloatArray, IntArray
from harness.stats.rates import Intervals, wilson_all
from harness.stats.replication.linearised import stratum_variances
from harness.stats.replication.plan import Choice, Method, Plan, choose
from harness.stats.replication.sample import Sample
from harness.stats.replication.statistic import rate

__all__ = [
    "Entries",
    "RateBands",
    "binned",
    "bootstrap_rates",
    "column_blocks",
    "replicated_rates",
    "target_of",
    "wilson_rates",
]

_BLOCK_ELEMENTS = 1 << 22
INDEPENDENT = "new independent cases"
# Variances below the square of this are rounding errors of the transforms.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class RateBands:
    """Rates with pointwise limits, how they were found and what they speak of.

    Pointwise: each point alone is covered with this confidence, not all of them at once.
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


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Where each case enters (`points` for never), and which cases the rate is taken over."""

    place: IntArray
    within: BoolArray
    points: int


def column_blocks(groups: int, points: int) -> Iterator[tuple[int, int]]:
    """Ranges of points such that groups times points stays of a size."""
    width = max(1, _BLOCK_ELEMENTS // max(1, groups))
    for start in range(0, points, width):
        yield start, min(start + width, points)


def binned(
    group: npt.NDArray[np.integer], groups: int, place: IntArray, weights: FloatArray, columns: tuple[int, int]
) -> FloatArray:
    """Weight that has entered by each of the points start to stop, for each group: (groups, stop - start)."""
    start, stop = columns
    width = stop - start + 1
    cell = group * width + np.clip(place - start, 0, width - 1)
    sums = np.bincount(cell, weights=weights, minlength=groups * width).reshape(groups, width)
    return np.cumsum(sums[:, :-1], axis=1)


def wilson_rates(rates: FloatArray, effective: float, *, confidence: float = 0.95) -> RateBands:
    """Wilson's limits, for independent cases; with weights, by Kish's effective number."""
    limits = wilson_all(rates * effective, effective, confidence=confidence)
    se = np.sqrt(rates * (1 - rates) / effective)
    return RateBands(rates, se, limits.low, limits.high, confidence, "wilson", INDEPENDENT)


def bootstrap_rates(
    rates: FloatArray, cases: int, *, rng: np.random.Generator, replicates: int = 1000, confidence: float = 0.95
) -> RateBands:
    """Percentile limits over resamples of independent, equally weighted cases.

    Resampling cases is drawing how many of them enter at each point, so no resample is ever formed.
    """
    if replicates < 2:
        raise ValueError(f"replicates {replicates!r}: expected two or more")
    steps = np.diff(rates, prepend=0.0, append=1.0)
    shares = np.maximum(steps, 0.0) / np.maximum(steps, 0.0).sum()
    drawn = np.cumsum(rng.multinomial(cases, shares, size=replicates)[:, :-1], axis=1) / cases
    limits = _percentiles(drawn, rates, drawn.std(axis=0), float(cases), confidence)
    return RateBands(
        rates, drawn.std(axis=0), limits.low, limits.high, confidence, "bootstrap", INDEPENDENT, replicates=replicates
    )


def replicated_rates(entries: Entries, sample: Sample, plan: Plan | None = None) -> RateBands:
    """Limits that know strata and clusters: balanced replicates, jackknife, bootstrap, as the plan says.

    Fay's 0.5 by default, since half of a sample may hold no case of a class. Strata without balanced replicates take
    the textbook variance, which is what replication gives on average over all groupings.
    """
    plan = plan or Plan()
    weights = np.where(entries.within, sample.weights, 0.0)
    by_unit = np.bincount(sample.unit_of_case, weights=weights, minlength=sample.units).astype(np.float64)
    if not by_unit.any():
        raise ValueError("no case with a weight above 0 to take a rate over")
    choice = choose(sample, rate(entries.within, within=entries.within), plan)
    parts = []
    for columns in column_blocks(max(sample.units, _count(choice)), entries.points):
        sums = binned(sample.unit_of_case, sample.units, entries.place, weights, columns)
        parts.append(_block_limits(sums, by_unit, sample, choice, plan))
    estimates, se, low, high = (np.concatenate([p[i] for p in parts]) for i in range(4))
    return RateBands(
        estimates,
        se,
        low,
        high,
        plan.confidence,
        str(choice.method),
        target_of(sample),
        df=_df(choice, sample),
        replicates=_count(choice) or None,
        fay=choice.fay,
        seed=plan.seed,
    )


def target_of(sample: Sample) -> str:
    """What a replicated interval speaks of: groups that stay, and groups that would be drawn anew."""
    new = "new units" if sample.clustered else "new cases"
    return f"these strata, {new}" if sample.stratified else new


def _count(choice: Choice) -> int:
    return choice.replicates.count if choice.replicates is not None else 0


def _df(choice: Choice, sample: Sample) -> float:
    return choice.replicates.df if choice.replicates is not None else float(sample.units - sample.strata)


def _block_limits(
    sums: FloatArray, by_unit: FloatArray, sample: Sample, choice: Choice, plan: Plan
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Rates, standard errors and limits of a block of points."""
    # Sums of the same weights in another order may pass the total by a rounding error.
    rates = np.minimum(sums.sum(axis=0) / by_unit.sum(), 1.0)
    drawn = _replicate_rates(sums, by_unit, choice)
    if drawn is None or choice.replicates is None:
        linear = (sums - by_unit[:, None] * rates) / by_unit.sum()
        variance = np.array([stratum_variances(sample, column).sum() for column in linear.T])
    else:
        variance = choice.replicates.variance(drawn, rates, centre=plan.centre)
    se = np.sqrt(np.where(variance > _ROUNDING**2, variance, 0.0))
    effective = _effective(by_unit, plan)
    if drawn is not None and choice.method is Method.BOOTSTRAP:
        limits = _percentiles(drawn, rates, se, effective, plan.confidence)
    else:
        limits = _student(rates, se, _df(choice, sample), effective, plan.confidence)
    return rates, se, limits.low, limits.high


def _replicate_rates(sums: FloatArray, by_unit: FloatArray, choice: Choice) -> FloatArray | None:
    if choice.replicates is None:
        return None
    totals = choice.replicates.totals(by_unit)
    if (totals <= 0).any():
        missing = int((totals <= 0).argmax())
        raise ValueError(
            f"replicate {missing} of {choice.replicates.count} holds no case of this class; "
            "use fay=0.5 or the jackknife"
        )
    return choice.replicates.totals(sums) / totals[:, None]


def _student(rates: FloatArray, se: FloatArray, df: float, effective: float, confidence: float) -> Intervals:
    from scipy.special import stdtrit

    half = float(stdtrit(df, (1 + confidence) / 2)) * se
    return _never_certain(np.maximum(rates - half, 0), np.minimum(rates + half, 1), rates, se, effective, confidence)


def _percentiles(
    drawn: FloatArray, rates: FloatArray, se: FloatArray, effective: float, confidence: float
) -> Intervals:
    tail = (1 - confidence) / 2
    low, high = np.clip(np.quantile(drawn, [tail, 1 - tail], axis=0), 0, 1)
    return _never_certain(low, high, rates, se, effective, confidence)


def _never_certain(
    low: FloatArray, high: FloatArray, rates: FloatArray, se: FloatArray, effective: float, confidence: float
) -> Intervals:
    """Where the variance is 0, Wilson's limits with the effective number of cases."""
    still = se == 0
    wilson = wilson_all(rates * effective, effective, confidence=confidence)
    return Intervals(np.where(still, wilson.low, low), np.where(still, wilson.high, high))


def _effective(by_unit: FloatArray, plan: Plan) -> float:
    """Where the data shows no variance, the cases of a unit are taken to be one, unless a design effect is given."""
    return float(by_unit.sum() ** 2 / (by_unit**2).sum()) / (plan.design_effect or 1.0)
