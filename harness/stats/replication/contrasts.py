"""Differences between members of a statistic, pair by pair: errors, limits and tests, single or simultaneous."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.arrays import FloatArray, IntArray
from harness.stats.differences import newcombe_limits
from harness.stats.estimate import Estimate, IntervalKind, Scale, p_of_limits, scale_limits, t_p_values
from harness.stats.limits import difference_limits, paired_limits
from harness.stats.multiplicity import max_t
from harness.stats.paired import mcnemar_all
from harness.stats.rates import Interval, Intervals
from harness.stats.replication.evidence import ROUNDING
from harness.stats.sign_flip import EXCHANGES, SignFlip

if TYPE_CHECKING:
    from harness.stats.replication.estimates import Estimates

__all__ = ["Contrasts", "SimultaneousTest", "none_if_nan"]

# With more pairs than this, exact tests of each are left out: nobody reads so many.
_MAX_FLIPPED_PAIRS = 66
# Signs that are drawn for exchange tests of all pairs together, which takes about a second; fewer flips per pair than
# this would say too little.
_MAX_SIGNS, _MIN_FLIPS = 200_000_000, 999


@dataclass(frozen=True, slots=True, eq=False)
class SimultaneousTest:
    """The p-value of each pair, and the confidence that its interval needs for all intervals to hold at once."""

    p_values: FloatArray
    confidence: FloatArray


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Pairs (k,) of members i and j, by number; a contrast is the value of i minus that of j."""

    of: Estimates
    i: IntArray
    j: IntArray

    def estimates(self, adjust: Callable[[FloatArray], FloatArray] | None = None) -> list[Estimate]:
        """The contrasts with their errors; `adjust` corrects p-values for multiple tests."""
        limits, evidence = self._limits(self.of, self._se, self._df), self.of.evidence
        # A single unit says nothing about an error: then there is no interval and no p-value.
        p_values = np.where(self._df >= 1, self._p_values(), np.nan)
        adjusted = np.full(len(self.i), np.nan) if adjust is None else adjust(p_values)
        effects, iccs = evidence.design_effects(self._variances, self.i, self.j), evidence.intraclass(self.i, self.j)
        columns = (self._gaps, self._se, self._df, limits.low, limits.high, p_values, adjusted, effects, iccs)
        rows = zip(*(column.tolist() for column in columns), self._sign_flips, strict=True)
        shared = self.of.shared(Scale(IntervalKind.PLAIN, self._width))
        return [
            Estimate(
                value,
                error,
                freedom,
                Interval(low, high) if freedom >= 1 else None,
                p_value=none_if_nan(p),
                p_adjusted=none_if_nan(q),
                p_sign_flip=flip,
                design_effect=none_if_nan(effect),
                icc=none_if_nan(icc),
                limits=partial(self._limits_at, k),
                **shared,
            )
            for k, (value, error, freedom, low, high, p, q, effect, icc, flip) in enumerate(rows)
        ]

    def simultaneous(self) -> list[Estimate]:
        """The contrasts with adjusted p-values and intervals that hold for all of them at once."""
        estimates, test = self.estimates(), self.max_t()
        for level in np.unique(test.confidence):
            at = np.flatnonzero(test.confidence == level)
            wider = self._limits(self.of.at(float(level)), self._se, self._df)
            for k in at.tolist():
                p_value, interval = estimates[k].p_value, estimates[k].interval
                # Bonferroni's correction if there is no t.
                bonferroni = np.nan if p_value is None else min(1.0, len(estimates) * p_value)
                p = bonferroni if np.isnan(test.p_values[k]) else float(test.p_values[k])
                if interval is not None:
                    interval = Interval(float(wider.low[k]), float(wider.high[k]))
                estimates[k] = replace(estimates[k], p_adjusted=none_if_nan(p), interval=interval)
        return estimates

    def exchanges(self) -> list[SignFlip | None]:
        """Randomisation tests over units, of any number of totals; None if there are too many units and pairs."""
        signs = max(self.of.evidence.sample.units * len(self.i), 1)
        flips, seed = min(EXCHANGES, _MAX_SIGNS // signs), self.of.replication.seed
        if flips < _MIN_FLIPS or len(self.i) > _MAX_FLIPPED_PAIRS:
            return [None] * len(self.i)
        pairs = zip(self.i.tolist(), self.j.tolist(), strict=True)
        return [self.of.evidence.exchange(i, j, flips=flips, rng=np.random.default_rng(seed)) for i, j in pairs]

    def max_t(self, df: float | None = None) -> SimultaneousTest:
        """P-values and confidences by the largest t of all pairs: see `Estimates.max_t`."""
        level, pairs = self.of.replication.confidence, len(self.i)
        p_values, confidence = np.full(pairs, np.nan), np.full(pairs, 1 - (1 - level) / max(pairs, 1))
        varying = np.flatnonzero((self._se > 0) & (self._df >= 1))
        if varying.size:
            shared = float(self._df[varying].min()) if df is None else df
            pairs_of, t = np.stack([self.i, self.j], axis=1)[varying], self._gaps[varying] / self._se[varying]
            rng = np.random.default_rng(self.of.replication.seed)
            largest = max_t(self.of.covariance, pairs_of, t, df=shared, confidence=level, rng=rng)
            p_values[varying] = largest.p_values
            confidence[varying] = 1 - float(t_p_values(largest.critical, 1.0, shared))
        return SimultaneousTest(p_values, confidence)

    def p_by_limits(self, k: int) -> float:
        """The p-value that matches a contrast's limits, for members of which one or both do not vary."""
        if self.of.evidence.statistic.kind in (IntervalKind.PLAIN, IntervalKind.ROOT):
            return np.nan
        se, df = np.zeros(1), self.of.df()[self.i[[k]]]
        return p_of_limits(lambda confidence: self._one(k)._interval(se, df, confidence))

    @cached_property
    def _gaps(self) -> FloatArray:
        return np.asarray(self.of.values[self.i] - self.of.values[self.j])

    @cached_property
    def _variances(self) -> FloatArray:
        variances = np.diag(self.of.covariance)
        both = variances[self.i] + variances[self.j]
        return self.of.without_rounding(both - 2 * self.of.covariance[self.i, self.j], both)

    @cached_property
    def _se(self) -> FloatArray:
        return np.sqrt(self._variances)

    @cached_property
    def _df(self) -> FloatArray:
        return self.of.df(self.i, self.j)

    @cached_property
    def _sign_flips(self) -> list[float | None]:
        """Exact p-values over units, for differences of shares and means of the same cases."""
        if len(self.i) > _MAX_FLIPPED_PAIRS:
            return [None] * len(self.i)
        return [self._sign_flip(k) for k in range(len(self.i))]

    def _sign_flip(self, k: int) -> float | None:
        return self.of.evidence.sign_flip(int(self.i[k]), int(self.j[k]))

    def _p_values(self) -> FloatArray:
        """Student's t; if nothing varies, 1 for no difference, else by sign flips, else derived from the limits."""
        evidence, flips = self.of.evidence, self._sign_flips
        if evidence.scale.kind is IntervalKind.INDEPENDENT and evidence.discordant is not None:
            _, only_i, only_j, _ = evidence.pair_counts(self.i, self.j)
            return mcnemar_all(only_i, only_j).p_exact
        p_values = np.where(self._se > 0, t_p_values(self._gaps, self._se, self._df), 1.0)
        for k in np.flatnonzero((self._se == 0) & (np.abs(self._gaps) > ROUNDING)).tolist():
            flip = self._sign_flip(k) if flips[k] is None else flips[k]
            p_values[k] = self.p_by_limits(k) if flip is None else flip
        return p_values

    def _limits(self, at: Estimates, se: FloatArray, df: FloatArray) -> Intervals:
        """Limits at the confidence of the estimates `at`, which may differ from that of `of`."""
        evidence, confidence, i, j = at.evidence, at.replication.confidence, self.i, self.j
        if evidence.statistic.kind is IntervalKind.PLAIN:
            return scale_limits(Scale(IntervalKind.PLAIN, self._width), self._gaps, se, df, confidence)
        if (differing := evidence.discordant) is not None:
            scale = evidence.scale
            if scale.kind is IntervalKind.INDEPENDENT:
                return newcombe_limits(*evidence.pair_counts(i, j), confidence=confidence)
            return paired_limits(
                differing[i, j],
                differing[j, i],
                se,
                df,
                cases=np.asarray(scale.cases)[i],
                units=np.asarray(scale.units)[i],
                design_effect=scale.design_effect,
                confidence=confidence,
            )
        product = at.se[i] * at.se[j]
        correlation = np.where(product > 0, at.covariance[i, j] / np.where(product > 0, product, 1.0), 0.0)
        a, b = (Intervals(at.limits.low[side], at.limits.high[side]) for side in (i, j))
        return difference_limits(at.values[i], a, at.values[j], b, correlation=correlation, bounds=self._width)

    @property
    def _width(self) -> tuple[float, float]:
        low, high = self.of.evidence.statistic.bounds
        return (low - high, high - low)

    def _one(self, k: int) -> Contrasts:
        return Contrasts(self.of, self.i[[k]], self.j[[k]])

    def _limits_at(self, k: int, confidence: float) -> Interval:
        """Limits of one contrast at another confidence."""
        contrast = self._one(k)
        return contrast._interval(contrast._se, contrast._df, confidence)

    def _interval(self, se: FloatArray, df: FloatArray, confidence: float) -> Interval:
        limits = self._limits(self.of.at(confidence), se, df)
        return Interval(float(limits.low[0]), float(limits.high[0]))


def none_if_nan(value: float) -> float | None:
    """The value, or None if it is NaN."""
    return None if value != value else value
