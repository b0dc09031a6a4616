"""Rates that accumulate along a curve, with their errors and pointwise bands: of ROC and cumulative match curves.

A case enters at one point of the curve and stays: it is accepted at the first threshold that its score passes, or
found at its rank. So one number per case, its point, is enough: cumulated sums by group and point give every group's
total at every point without an array of cases by points.

With A a unit's weight that has entered by a point, B its whole weight and p the rate there, the linearised values are
(A - p B) / sum B. Their covariances within strata need only sums of A A', A B' and B B' over units and over strata,
which grow by a step at every case that enters: the work is one sort, whatever the number of units, strata and points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import BoolArray, FloatArray, IntArray, kish
from harness.stats.limits import end_limit, share_limits
from harness.stats.rates import Intervals, normal_quantile, wilson
from harness.stats.replication.method import Method, Replication, variance_method
from harness.stats.replication.replicates import Replicates
from harness.stats.replication.sample import LoneStrata, Sample, domain_df
from harness.stats.replication.statistic import rate

__all__ = [
    "Entries",
    "RateBands",
    "RateErrors",
    "binned",
    "bootstrap_rates",
    "column_blocks",
    "replicated_rates",
    "square_steps",
    "textbook_variances",
    "wilson_rates",
]

_BLOCK_ELEMENTS = 1 << 22
# A variance is a difference of sums of squares here: below this share of them it is a rounding error. A single
# different case in a thousand million is above it.
_ROUNDING_OF_SQUARES = 1e-10
INDEPENDENT = "new independent cases"
# With more units times points than this, replicates are formed only on request.
_MANY = 1 << 27
# Variances below the square of this are rounding errors of the transforms.
_ROUNDING_OF_TRANSFORMS = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Where each case enters (`points` for never), and which cases the rate is taken over."""

    point: IntArray
    within: BoolArray
    points: int


def column_blocks(groups: int, points: int) -> Iterator[tuple[int, int]]:
    """Ranges of points such that groups times points stays within a block's size."""
    width = max(1, _BLOCK_ELEMENTS // max(1, groups))
    for start in range(0, points, width):
        yield start, min(start + width, points)


def binned(
    group: npt.NDArray[np.integer], groups: int, point: IntArray, weights: FloatArray, columns: tuple[int, int]
) -> FloatArray:
    """Weight that has entered by each of the points start to stop, for each group: (groups, stop - start)."""
    start, stop = columns
    width = stop - start + 1
    cell = group * width + np.clip(point - start, 0, width - 1)
    sums = np.bincount(cell, weights=weights, minlength=groups * width).reshape(groups, width)
    return np.cumsum(sums[:, :-1], axis=1)


def square_steps(group: npt.NDArray[np.integer], point: IntArray, weights: FloatArray) -> FloatArray:
    """By how much each case raises the square of its group's total when it enters.

    Summed over all cases that have entered, the steps give the sum of squared group totals at every point, without an
    array of groups by points.
    """
    return weights * (2 * _EntryOrder.of(group, point).before(weights) + weights)


@dataclass(frozen=True, slots=True, eq=False)
class _EntryOrder:
    """The cases sorted by group, and within a group by point; where each group starts, and how many it has."""

    cases: IntArray
    first: IntArray
    members: IntArray

    @classmethod
    def of(cls, group: npt.NDArray[np.integer], point: IntArray) -> _EntryOrder:
        """Sort the cases; those of a group are often consecutive already, which a stable sort makes use of."""
        cases = np.argsort(group * (int(point.max(initial=0)) + 1) + point, kind="stable")
        sorted_groups = group[cases]
        first = np.flatnonzero(np.diff(sorted_groups, prepend=-1))
        return cls(cases, first, np.diff(first, append=cases.size))

    def before(self, weights: FloatArray) -> FloatArray:
        """The weight of the cases of the same group that enter before each case."""
        w = weights[self.cases]
        upto = np.cumsum(w) - w
        before = np.empty(w.size)
        before[self.cases] = upto - np.repeat(upto[self.first], self.members)
        return before


@dataclass(frozen=True, slots=True, eq=False)
class _Growth:
    """Sums that grow as cases enter: how much they have grown by each point, and how much is still to come."""

    entered: FloatArray
    left: FloatArray

    @classmethod
    def of(cls, steps: FloatArray, point: IntArray, points: int) -> _Growth:
        """From each case's step."""
        by_place = np.bincount(point, weights=steps, minlength=points + 1).astype(np.float64)
        return cls(np.cumsum(by_place)[:-1], np.cumsum(by_place[::-1])[::-1][1:])


@dataclass(frozen=True, eq=False)
class _RateSums:
    """What one rate's cases add, with the weights (cases,) that they have in it."""

    weights: FloatArray
    # Of each case: the weight of its unit and of its stratum, and of the cases of these that enter before it.
    in_unit: FloatArray
    in_stratum: FloatArray
    before_in_unit: FloatArray
    before_in_stratum: FloatArray
    shares: _Growth


@dataclass(frozen=True, eq=False)
class RateErrors:
    """Textbook covariances of rates at every point of a curve, from differences between the units of each stratum."""

    sample: Sample
    # The unit of each case, and where it enters; of all cases, or of those that the rates are taken over.
    unit: IntArray
    point: IntArray
    points: int

    def sums(self, weights: FloatArray) -> _RateSums:
        """What the errors of a rate are made of; the weights are 0 for cases that it is not taken over."""
        return _RateSums(
            weights,
            np.bincount(self.unit, weights=weights).astype(np.float64)[self.unit],
            np.bincount(self._stratum, weights=weights).astype(np.float64)[self._stratum],
            self._by_unit.before(weights),
            self._by_stratum.before(weights),
            _Growth.of(weights / weights.sum(), self.point, self.points),
        )

    def variance(self, rate: _RateSums) -> FloatArray:
        """Of one rate, at every point; 0 where it is a rounding error."""
        variance, scale = self._moments(rate, rate)
        return np.where(variance > _ROUNDING_OF_SQUARES * scale, variance, 0.0)

    def covariance(self, a: _RateSums, b: _RateSums) -> FloatArray:
        """Of two rates, at every point."""
        return self._moments(a, b)[0]

    def _moments(self, a: _RateSums, b: _RateSums) -> tuple[FloatArray, FloatArray]:
        """The covariance, and the size of the sums that it is a difference of.

        Few cases that have entered, or few that have not, are what it is computed from, so that both ends of a curve
        have all digits.
        """
        raised, lowered = self._factors
        products = a.weights * b.weights
        grown = _products(a, b, products, a.before_in_unit, b.before_in_unit) * raised
        centred = grown - _products(a, b, products, a.before_in_stratum, b.before_in_stratum) * lowered
        along_b = a.weights * (raised * b.in_unit - lowered * b.in_stratum)
        along_a = b.weights * (raised * a.in_unit - lowered * a.in_stratum)
        plain = raised * a.weights * b.in_unit
        whole, whole_plain = float(along_b.sum()), float(plain.sum())
        q, g, m, k, u = (
            _Growth.of(steps, self.point, self.points) for steps in (centred, grown, along_b, along_a, plain)
        )
        x, y = a.shares, b.shares
        early = q.entered - y.entered * m.entered - x.entered * k.entered + x.entered * y.entered * whole
        late = m.left + k.left - q.left - y.left * m.left - x.left * k.left + x.left * y.left * whole
        first = x.entered + y.entered <= 1
        scale = np.where(
            first,
            g.entered + x.entered * y.entered * whole_plain,
            2 * u.left - g.left + x.left * y.left * whole_plain,
        )
        totals = self._scale / (float(a.weights.sum()) * float(b.weights.sum()))
        return np.where(first, early, late) * totals, scale * totals

    @cached_property
    def _stratum(self) -> IntArray:
        return np.asarray(self.sample.stratum_of_unit[self.unit])

    @cached_property
    def _by_unit(self) -> _EntryOrder:
        return _EntryOrder.of(self.unit, self.point)

    @cached_property
    def _by_stratum(self) -> _EntryOrder:
        return _EntryOrder.of(self._stratum, self.point)

    @cached_property
    def _factors(self) -> tuple[FloatArray, FloatArray]:
        """By what sums over units, and over strata, are multiplied, for each case: n / (n - 1) and 1 / (n - 1).

        `stratum_variances` has the rules for lone strata: the square about zero for `adjust`, else nothing.
        """
        sizes = self.sample.stratum_sizes
        lone = 1.0 if self.sample.lone is LoneStrata.ADJUST else 0.0
        raised = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), lone)
        return raised[self._stratum], np.where(sizes > 1, 1 / np.maximum(sizes - 1, 1), 0.0)[self._stratum]

    @property
    def _scale(self) -> float:
        """With `average`, lone strata vary as much as the others on average."""
        lone = int((self.sample.stratum_sizes == 1).sum())
        average = self.sample.lone is LoneStrata.AVERAGE
        return self.sample.strata / (self.sample.strata - lone) if average else 1.0


def _products(
    a: _RateSums, b: _RateSums, products: FloatArray, a_before: FloatArray, b_before: FloatArray
) -> FloatArray:
    """By how much each case raises the product of its group's totals when it enters."""
    return a.weights * b_before + b.weights * a_before + products


def textbook_variances(entries: Entries, sample: Sample) -> FloatArray:
    """Variance of the rate at every point."""
    inside = np.flatnonzero(entries.within)
    errors = RateErrors(sample, sample.unit_of_case[inside], entries.point[inside], entries.points)
    return errors.variance(errors.sums(sample.weights[inside]))


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
    resampled = np.cumsum(rng.multinomial(cases, shares, size=replicates)[:, :-1], axis=1) / cases
    se = resampled.std(axis=0)
    fallback = wilson(rates * cases, cases, confidence=confidence)
    end = wilson(cases, cases, confidence=confidence).low
    limits = _never_certain(_percentiles(resampled, confidence), fallback, se, end)
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
    is_large = replication.method == Method.AUTO and sample.units * entries.points > _MANY
    choice = variance_method(
        sample,
        rate(entries.within, within=entries.within),
        replace(replication, method=Method.LINEARISED) if is_large else replication,
    )
    # Sums of the same weights in another order may exceed the total by a rounding error.
    entered = binned(np.zeros_like(entries.point), 1, entries.point, weights, (0, entries.points))[0]
    rates = np.minimum(entered / weights.sum(), 1.0)
    design_df = float(sample.units - sample.strata) if choice.replicates is None else choice.replicates.df
    df = float(domain_df(sample, by_unit[:, None], design_df)[0])
    cases = float(kish(weights)) / sample.answers
    size = _EffectiveSize(cases, float(kish(by_unit)), max(df, 1.0), replication.design_effect)
    if choice.replicates is None:
        se = np.sqrt(textbook_variances(entries, sample))
        limits = _limits(rates, se, size, replication.confidence)
    else:
        se, limits = _by_replicates(entries, sample, rates, by_unit, choice.replicates, replication, size)
    return RateBands(
        rates,
        se,
        # A rate that only rises along a curve is not below an earlier lower limit, nor above a later upper limit.
        np.maximum.accumulate(limits.low),
        np.minimum.accumulate(limits.high[::-1])[::-1],
        replication.confidence,
        str(choice.method),
        sample.target,
        df=df,
        replicates=choice.replicates.count if choice.replicates is not None else None,
        fay=choice.fay,
        seed=replication.seed,
    )


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
        sums = binned(sample.unit_of_case, sample.units, entries.point, weights, columns)
        replicated = replicates.totals(sums) / totals[:, None]
        variance = replicates.variance(replicated, rates[part], centre=replication.centre)
        se[part] = np.sqrt(np.where(variance > _ROUNDING_OF_TRANSFORMS**2, variance, 0.0))
        limits = _limits(rates[part], se[part], size, confidence)
        if replication.method == Method.BOOTSTRAP:
            end = end_limit(size.cases, size.units, design_effect=size.design_effect, confidence=confidence)
            limits = _never_certain(_percentiles(replicated, confidence), limits, se[part], float(end))
        low[part], high[part] = limits.low, limits.high
    return se, Intervals(low, high)


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


def _percentiles(resampled: FloatArray, confidence: float) -> Intervals:
    tail = (1 - confidence) / 2
    low, high = np.clip(np.quantile(resampled, [tail, 1 - tail], axis=0), 0, 1)
    return Intervals(low, high)


def _never_certain(limits: Intervals, fallback: Intervals, se: FloatArray, end: float) -> Intervals:
    """Limits with a fallback where the variance is 0.

    The first error does not narrow them: no lower limit exceeds `end`, the one when all cases are right.
    """
    low, high = np.where(se == 0, fallback.low, limits.low), np.where(se == 0, fallback.high, limits.high)
    return Intervals(np.minimum(low, end), np.maximum(high, 1 - end))
