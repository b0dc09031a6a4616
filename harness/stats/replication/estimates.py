"""Estimates of the members of a statistic, and of contrasts between them, with errors by design."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from harness.stats.arrays import FloatArray, IntArray
from harness.stats.cochran import WaldTest, equal_rates
from harness.stats.estimate import Estimate, IntervalKind, Scale, scale_limits, t_p_values
from harness.stats.rates import Interval, Intervals
from harness.stats.replication.contrasts import Contrasts, SimultaneousTest, none_if_nan
from harness.stats.replication.evidence import ROUNDING, Evidence
from harness.stats.replication.linearised import satterthwaite_df, textbook_covariance
from harness.stats.replication.method import TEXTBOOK, Method, Replication, VarianceMethod, variance_method
from harness.stats.replication.sample import Sample, domain_df
from harness.stats.replication.statistic import (
    MemberDifference,
    Statistic,
    TotalsStatistic,
    WeightsStatistic,
    full_values,
    replicate_estimates,
    require_values,
)
from harness.stats.sign_flip import SignFlip

__all__ = ["Estimates", "make_estimate", "make_estimates"]

# Members by number.
Numbers = Sequence[int] | IntArray


def make_estimate(
    sample: Sample,
    statistic: Statistic | MemberDifference | Callable[[FloatArray], float],
    replication: Replication | None = None,
) -> Estimate:
    """Estimate a statistic of one member, or a contrast, with its standard error and interval.

    The statistic is a `rate`, `difference`, `ratio` or `total`, or any function of the case weights.
    """
    if isinstance(statistic, MemberDifference):
        return make_estimates(sample, statistic.of, replication).difference(0, 1)
    if not isinstance(statistic, TotalsStatistic | WeightsStatistic):
        statistic = WeightsStatistic(statistic)
    return make_estimates(sample, statistic, replication).estimate(0)


def make_estimates(sample: Sample, statistic: Statistic, replication: Replication | None = None) -> Estimates:
    """Estimate all members of a statistic together; raises a ValueError if one has no value."""
    replication = replication or Replication()
    if not 0 < replication.confidence < 1:
        raise ValueError(f"confidence {replication.confidence}: expected a number between 0 and 1, such as 0.95")
    with np.errstate(over="ignore", invalid="ignore"):
        values = require_values(full_values(sample, statistic))
        evidence = Evidence(sample, statistic, values, replication.design_effect)
        if replication.df == "satterthwaite" and evidence.influences is None:
            words = statistic.words if isinstance(statistic, WeightsStatistic) else "this statistic"
            raise ValueError(f"df satterthwaite: {words} has no linear form, which such a df needs; use design")
        method = variance_method(sample, statistic, replication)
        try:
            return _estimates(evidence, replication, method)
        except ValueError:
            # If part of the sample has no value, such as half of few positives, fall back to the linear form.
            has_linear = isinstance(statistic, TotalsStatistic) or statistic.linear is not None
            if replication.method != Method.AUTO or method.replicates is None or not has_linear:
                raise
            return _estimates(evidence, replication, TEXTBOOK)


def _estimates(evidence: Evidence, replication: Replication, method: VarianceMethod) -> Estimates:
    if method.replicates is not None:
        replicated = replicate_estimates(method.replicates, evidence.sample, evidence.statistic)
        covariance = method.replicates.covariance(replicated, evidence.values, centre=replication.centre)
        df = method.replicates.df
    else:
        covariance, df = textbook_covariance(evidence.sample, evidence.statistic)
    # Mirrored products of long sums differ in their last digits.
    return Estimates(evidence, replication, method, (covariance + covariance.T) / 2, df)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Values (m,) of the members of a statistic and their covariance (m, m)."""

    evidence: Evidence
    replication: Replication
    method: VarianceMethod
    covariance: FloatArray
    design_df: float

    def __len__(self) -> int:
        return len(self.values)

    @property
    def values(self) -> FloatArray:
        """The members (m,) of the whole sample."""
        return self.evidence.values

    def estimate(self, member: int) -> Estimate:
        return self._singles([member])[0]

    def all(self) -> list[Estimate]:
        return self._singles(range(len(self)))

    def at(self, confidence: float) -> Estimates:
        """The same with intervals at another confidence."""
        return replace(self, replication=replace(self.replication, confidence=confidence))

    def difference(self, first: int, second: int) -> Estimate:
        """One member minus another."""
        return self.differences([first], [second])[0]

    def differences(
        self, first: Numbers, second: Numbers, adjust: Callable[[FloatArray], FloatArray] | None = None
    ) -> list[Estimate]:
        """Differences between members, pair by pair, from one covariance; `adjust` corrects p-values for many."""
        return self._pairs(first, second).estimates(adjust)

    def simultaneous_differences(self, first: Numbers, second: Numbers) -> list[Estimate]:
        """Differences whose adjusted p-values and intervals hold for all pairs at once, by `max_t`."""
        return self._pairs(first, second).simultaneous()

    def max_t(self, first: Numbers, second: Numbers, *, df: float | None = None) -> SimultaneousTest:
        """P-values and confidences by the largest t of all pairs; with one member in all of them, Dunnett's test.

        Each pair's interval is computed as usual, at its confidence. A pair without variance has no t, hence no
        p-value here, and the confidence of Bonferroni's correction. `df`: by default the smallest of the pairs.
        """
        return self._pairs(first, second).max_t(df)

    def exchanges(self, first: Numbers, second: Numbers) -> list[SignFlip | None]:
        """Tests of differences by exchanging the two members within units, exact or at random."""
        return self._pairs(first, second).exchanges()

    def p_by_limits(self, first: int, second: int) -> float:
        """The p-value that matches a difference's limits, for members of which one or both do not vary."""
        return self._pairs([first], [second]).p_by_limits(0)

    def ratio(self, first: int, second: int) -> Estimate | None:
        """One member over another; None if one is not above 0."""
        return self.ratios([first], [second])[0]

    def ratios(self, first: Numbers, second: Numbers) -> list[Estimate | None]:
        """Members over others, pair by pair, on the log scale: twice and half as much are equally far from 1.

        None for a pair of which one is not above 0.
        """
        i, j = np.asarray(first, dtype=np.intp), np.asarray(second, dtype=np.intp)
        squares, level = np.diag(self.covariance), self.replication.confidence
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            a, b = self.values[i], self.values[j]
            variances = squares[i] / a**2 + squares[j] / b**2 - 2 * self.covariance[i, j] / (a * b)
            logs, df = np.log(a / b), self.df(i, j)
            se = np.sqrt(np.where(variances > ROUNDING**2, variances, 0.0))
            certain = (se > 0) & (df >= 1)
            limits = _ratio_limits(logs, np.where(certain, se, 1.0), np.maximum(df, 1.0), level)
            p_values = np.where(certain, t_p_values(logs, np.where(certain, se, 1.0), np.maximum(df, 1.0)), np.nan)
        shared = self.shared(Scale(IntervalKind.PLAIN))
        columns = (a, b, logs, se, df, certain, limits.low, limits.high, p_values)
        return [
            None
            if not (above > 0 and below > 0)
            else Estimate(
                above / below,
                above / below * error,
                freedom,
                Interval(low, high) if known else None,
                p_value=none_if_nan(p),
                limits=partial(_ratio_limits_of, log, error, freedom),
                **shared,
            )
            for above, below, log, error, freedom, known, low, high, p in zip(
                *(c.tolist() for c in columns), strict=True
            )
        ]

    def equality(self, contrasts: FloatArray | None = None) -> WaldTest:
        """Test whether all members, or all of some contrasts (r, m) between them, are equal.

        The units show how uncertain the covariance is. NaN if a member lies in a single unit, which says nothing about
        its error, or if there are too few units for so many members.
        """
        weights = np.eye(len(self)) if contrasts is None else contrasts
        df = float(self.df()[(weights != 0).any(axis=0)].min())
        if df < 1:
            return WaldTest(np.nan, len(weights) - 1, np.nan, df, np.nan, np.nan, df)
        units, unit_values = self.evidence.influences, None
        if units is not None:
            sample, sizes = self.evidence.sample, self.evidence.sample.stratum_sizes
            means = np.add.reduceat(units, np.cumsum(sizes) - sizes, axis=0) / sizes[:, None]
            unit_values = (units - means[sample.stratum_of_unit]) @ weights.T
        return equal_rates(
            weights @ self.values,
            weights @ self.covariance @ weights.T,
            df=df,
            unit_values=unit_values,
            design_df=self.design_df,
        )

    @cached_property
    def limits(self) -> Intervals:
        """The limits of every member."""
        return scale_limits(self.evidence.scale, self.values, self.se, self.df(), self.replication.confidence)

    @cached_property
    def se(self) -> FloatArray:
        return np.sqrt(self.without_rounding(np.diag(self.covariance), np.diag(self.covariance)))

    @cached_property
    def domain_df(self) -> FloatArray:
        """Degrees of freedom of each member: of the units that count for it."""
        evidence = self.evidence
        return evidence.wide(domain_df(evidence.sample, evidence.counted_by_unit, self.design_df))

    def df(self, i: IntArray | None = None, j: IntArray | None = None) -> FloatArray:
        """Degrees of freedom of the members, or of the differences between some and others."""
        units = self.evidence.influences if self.replication.df == "satterthwaite" else None
        if units is not None:
            columns = units if i is None or j is None else units[:, i] - units[:, j]
            return np.array([satterthwaite_df(self.evidence.sample, column) for column in columns.T])
        if i is None or j is None:
            return self.domain_df
        return np.minimum(self.domain_df[i], self.domain_df[j])

    def without_rounding(self, variances: FloatArray, scale: FloatArray) -> FloatArray:
        """The variances, with rounding errors set to 0."""
        bounded = np.isfinite(self.evidence.statistic.bounds).all()
        size = 1.0 if bounded else np.maximum(np.abs(self.values).max(initial=0.0), 1e-300)
        with np.errstate(over="ignore"):
            floor = np.maximum(np.square(ROUNDING * size), ROUNDING * scale)
        # A variance that overflows is infinite, not 0.
        return np.where(np.isfinite(variances), np.where(variances > floor, variances, 0.0), np.inf)

    def shared(self, scale: Scale) -> dict[str, Any]:
        """The fields that all estimates of this statistic have in common."""
        sample, replication, method = self.evidence.sample, self.replication, self.method
        return {
            "confidence": replication.confidence,
            "method": str(method.method),
            "target": sample.target,
            "cases": sample.cases,
            "strata": sample.strata,
            "units": sample.units,
            "replicates": method.replicates.count if method.replicates else None,
            "groupings": method.groupings,
            "collapsed": sample.collapsed,
            "lone": str(sample.lone),
            "fay": method.fay,
            "centre": replication.centre,
            "seed": replication.seed,
            "scale": scale,
        }

    def _pairs(self, first: Numbers, second: Numbers) -> Contrasts:
        return Contrasts(self, np.asarray(first, dtype=np.intp), np.asarray(second, dtype=np.intp))

    def _singles(self, members: Sequence[int]) -> list[Estimate]:
        df, i = self.df(), np.asarray(members, dtype=np.intp)
        limits = self._limits_here
        moved = self.evidence.excess is not None
        effects, iccs = self.evidence.design_effects(self.se[i] ** 2, i), self.evidence.intraclass(i)
        return [
            Estimate(
                float(self.values[k]),
                float(self.se[k]),
                float(df[k]),
                Interval(float(limits.low[k]), float(limits.high[k])) if df[k] >= 1 else None,
                design_effect=none_if_nan(float(effect)),
                icc=none_if_nan(float(icc)),
                limits=partial(self._limits_of, int(k)) if moved else None,
                **self.shared(self.evidence.scale.of(int(k))),
            )
            for k, effect, icc in zip(i, effects, iccs, strict=True)
        ]

    @cached_property
    def _limits_here(self) -> Intervals:
        return self._own_limits(self.replication.confidence)

    def _own_limits(self, confidence: float) -> Intervals:
        """The limits of members by themselves: the lower one allows for what an optimistic statistic has too much."""
        evidence, errors = self.evidence, (self.se, self.df(), confidence)
        plain = scale_limits(evidence.scale, self.values, *errors)
        if evidence.excess is None:
            return plain
        lowered = scale_limits(evidence.scale, self.values - evidence.excess, *errors)
        return Intervals(np.minimum(lowered.low, plain.low), plain.high)

    def _limits_of(self, member: int, confidence: float) -> Interval:
        limits = self._own_limits(confidence)
        return Interval(float(limits.low[member]), float(limits.high[member]))


def _ratio_limits(logs: FloatArray, se: FloatArray, df: FloatArray, confidence: float) -> Intervals:
    limits = scale_limits(Scale(IntervalKind.PLAIN), logs, se, df, confidence)
    with np.errstate(over="ignore"):
        return Intervals(np.exp(limits.low), np.exp(limits.high))


def _ratio_limits_of(log: float, se: float, df: float, confidence: float) -> Interval:
    limits = _ratio_limits(np.array([log]), np.array([se]), np.array([df]), confidence)
    return Interval(float(limits.low[0]), float(limits.high[0]))
