"""Estimates of the members of a statistic, and of contrasts between them: the one place where they are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from harness.stats.clustering import intraclass_of_differences
from harness.stats.cochran import WaldTest, equal_rates
from harness.stats.differences import newcombe_limits
from harness.stats.estimate import Estimate, Kind, Scale, p_of_limits, scale_limits, t_p_values
from harness.stats.limits import cases_without_variance, difference_limits, paired_limits
from harness.stats.paired import mcnemar_all
from harness.stats.rates import Interval, Intervals
from harness.stats.replication.arrays import FloatArray, IntArray, kish
from harness.stats.replication.linearised import (
    independent_covariance,
    linearised_covariance,
    satterthwaite_df,
)
from harness.stats.replication.plan import TEXTBOOK, Choice, Method, Plan, choose
from harness.stats.replication.sample import Sample, domain_df, unit_sums
from harness.stats.replication.statistic import (
    Contrast,
    OfTotals,
    OfWeights,
    Ratio,
    Statistic,
    case_scores,
    checked,
    full_values,
    influences,
    replicate_estimates,
)
from harness.stats.sign_flip import sign_flip

__all__ = ["Estimates", "make_estimate", "make_estimates"]

# Standard errors below this share of the scale are rounding errors of the transforms.
_ROUNDING = 1e-12
# Pairs beyond which nobody reads exact tests of each.
_MOST_FLIPPED = 66


def make_estimate(
    sample: Sample, statistic: Statistic | Contrast | Callable[[FloatArray], float], plan: Plan | None = None
) -> Estimate:
    """Estimate a statistic of one member, or a contrast, with its standard error and interval.

    The statistic is a `rate`, `difference`, `ratio` or `total`, or any function of the case weights.
    """
    if isinstance(statistic, Contrast):
        return make_estimates(sample, statistic.of, plan).difference(0, 1)
    if not isinstance(statistic, OfTotals | OfWeights):
        statistic = OfWeights(statistic)
    return make_estimates(sample, statistic, plan).one(0)


def make_estimates(sample: Sample, statistic: Statistic, plan: Plan | None = None) -> Estimates:
    """Estimate all members of a statistic together; a ValueError where one has no value."""
    plan = plan or Plan()
    if not 0 < plan.confidence < 1:
        raise ValueError(f"confidence={plan.confidence}: give a number between 0 and 1, such as 0.95")
    with np.errstate(over="ignore", invalid="ignore"):
        return _made(sample, statistic, plan)


def _made(sample: Sample, statistic: Statistic, plan: Plan) -> Estimates:
    values = checked(full_values(sample, statistic))
    choice = choose(sample, statistic, plan)
    try:
        return _estimates(sample, statistic, plan, choice, values)
    except ValueError:
        # Where a part of the sample has no value, such as half of few positives, the linear form is left.
        has_linear = isinstance(statistic, OfTotals) or statistic.linear is not None
        if plan.method != Method.AUTO or choice.replicates is None or not has_linear:
            raise
        return _estimates(sample, statistic, plan, TEXTBOOK, values)


def _estimates(sample: Sample, statistic: Statistic, plan: Plan, choice: Choice, values: FloatArray) -> Estimates:
    if choice.replicates is not None:
        drawn = replicate_estimates(choice.replicates, sample, statistic)
        covariance = choice.replicates.covariance(drawn, values, centre=plan.centre)
        found = Estimates(sample, statistic, plan, choice, values, covariance, choice.replicates.df)
    else:
        covariance, df = _textbook(sample, statistic)
        found = Estimates(sample, statistic, plan, choice, values, covariance, df)
    if plan.df == "satterthwaite":
        _influences(sample, statistic)
    # Products of long sums differ in their last digits from their mirror images.
    return replace(found, covariance=(covariance + covariance.T) / 2)


def _textbook(sample: Sample, statistic: Statistic) -> tuple[FloatArray, float]:
    """The covariance over units of linearised values, and its degrees of freedom.

    Of independent cases of two classes the number of each is taken as given and the reference is normal, as DeLong,
    DeLong and Clarke-Pearson (1988) have it.
    """
    classes = statistic.classes if isinstance(statistic, OfWeights) else None
    if classes is None or sample.stratified or sample.clustered:
        return linearised_covariance(sample, _influences(sample, statistic)), float(sample.units - sample.strata)
    scores = case_scores(sample, statistic)
    if scores is None:
        raise ValueError("no linear form, and so no textbook variance; use the bootstrap")
    covariance = np.zeros((scores.shape[1], scores.shape[1]))
    for name, of in (("positive", classes), ("negative", ~classes)):
        counting = of & (sample.weights > 0)
        number = int(np.count_nonzero(counting))
        if number < 2:
            raise ValueError(f"{number} {name} cases: DeLong's variance needs two or more of each class")
        own = scores[counting] * sample.weights[counting, None]
        own -= own.mean(axis=0)
        covariance += number / (number - 1) * (own.T @ own)
    return covariance, np.inf


def _influences(sample: Sample, statistic: Statistic) -> FloatArray:
    found = influences(sample, statistic)
    if found is None:
        words = statistic.words if isinstance(statistic, OfWeights) else "this statistic"
        raise ValueError(f"df satterthwaite: {words} has no linear form, and so no such degrees of freedom; use design")
    return found


@dataclass(frozen=True, eq=False)
class Estimates:
    """Values (m,) of the members of a statistic and their covariance (m, m)."""

    sample: Sample
    statistic: Statistic
    plan: Plan
    choice: Choice
    values: FloatArray
    covariance: FloatArray
    design_df: float

    def __len__(self) -> int:
        return len(self.values)

    def one(self, member: int) -> Estimate:
        """A member by itself."""
        return self._singles([member])[0]

    def all(self) -> list[Estimate]:
        """Every member by itself."""
        return self._singles(range(len(self)))

    def at(self, confidence: float) -> Estimates:
        """The same with intervals at another confidence."""
        return replace(self, plan=replace(self.plan, confidence=confidence))

    def difference(self, first: int, second: int) -> Estimate:
        """One member less another."""
        return self.differences([first], [second])[0]

    def differences(
        self, first: Sequence[int], second: Sequence[int], adjust: Callable[[FloatArray], FloatArray] | None = None
    ) -> list[Estimate]:
        """Members less others, pair by pair; one covariance serves them all. `adjust` corrects p-values for many."""
        i, j = np.asarray(first, dtype=np.intp), np.asarray(second, dtype=np.intp)
        gaps, variances = self.values[i] - self.values[j], self._variances(i, j)
        se, df = np.sqrt(variances), self._df(i, j)
        limits, flips = self._difference_limits(i, j, gaps, se, df), self._sign_flips(i, j)
        p_values = self._p_values(i, j, gaps, se, df, flips)
        effects, iccs = self._design_effects(variances, i, j), self._iccs_of(i, j)
        shared = self._shared(Scale(Kind.PLAIN, self._width))
        # One unit says nothing of an error: no interval then, and no p-value.
        p_values = np.where(df >= 1, p_values, np.nan)
        corrected = np.full(len(i), np.nan) if adjust is None else adjust(p_values)
        columns = (gaps, se, df, limits.low, limits.high, p_values, corrected, effects, iccs)
        rows = zip(*(column.tolist() for column in columns), flips, first, second, strict=True)
        return [
            Estimate(
                value, error, freedom, Interval(low, high) if freedom >= 1 else None,
                p_value=_known(p), p_adjusted=_known(q), p_sign_flip=flip, design_effect=_known(effect),
                icc=_known(icc), limits=partial(self._gap_at, a, b), **shared,
            )
            for value, error, freedom, low, high, p, q, effect, icc, flip, a, b in rows
        ]  # fmt: skip

    def _p_values(
        self,
        i: IntArray,
        j: IntArray,
        gaps: FloatArray,
        se: FloatArray,
        df: FloatArray,
        flips: Sequence[float | None],
    ) -> FloatArray:
        """Student's t; where nothing varies, 1 of no difference, else the sign-flip test, else what the limits say."""
        if self._scale.kind is Kind.INDEPENDENT and self._paired:
            _, only_i, only_j, _ = self._table(i, j)
            return mcnemar_all(only_i, only_j).p_exact
        found = np.where(se > 0, t_p_values(gaps, se, df), 1.0)
        for k in np.flatnonzero((se == 0) & (np.abs(gaps) > _ROUNDING)).tolist():
            flip = flips[k] if flips[k] is not None else self._sign_flip(int(i[k]), int(j[k]))
            found[k] = self.p_by_limits(int(i[k]), int(j[k])) if flip is None else flip
        return found

    def p_by_limits(self, i: int, j: int) -> float:
        """The p-value of a difference that goes with its limits: of members of which one or both do not vary."""
        if self.statistic.kind is Kind.PLAIN:
            return np.nan

        def limits(confidence: float) -> Interval:
            one = self.at(confidence)._difference_limits(
                np.array([i]), np.array([j]), self.values[[i]] - self.values[[j]], np.zeros(1), self._df()[[i]]
            )
            return Interval(float(one.low[0]), float(one.high[0]))

        return p_of_limits(limits)

    def _gap_at(self, first: int, second: int, confidence: float) -> Interval:
        """Limits of one difference at another confidence."""
        i, j = np.array([first]), np.array([second])
        gap, se = self.values[i] - self.values[j], np.sqrt(self._variances(i, j))
        found = self.at(confidence)._difference_limits(i, j, gap, se, self._df(i, j))
        return Interval(float(found.low[0]), float(found.high[0]))

    def ratio(self, first: int, second: int) -> Estimate | None:
        """One member over another, both above 0, by the logarithm: twice and half as much are equally far away."""
        one, other = float(self.values[first]), float(self.values[second])
        if not (one > 0 and other > 0):
            return None
        weights = np.zeros(len(self))
        weights[first] += 1 / one
        weights[second] -= 1 / other
        variance = float(weights @ self.covariance @ weights)
        log, df = float(np.log(one / other)), float(self._df(np.array([first]), np.array([second]))[0])
        se = float(np.sqrt(variance)) if variance > _ROUNDING**2 else 0.0
        interval, p_value = None, None
        if se > 0 and df >= 1:
            interval = _ratio_limits(log, se, df, self.plan.confidence)
            p_value = float(t_p_values(log, se, df))
        shared = self._shared(Scale(Kind.PLAIN))
        limits_at = partial(_ratio_limits, log, se, df)
        return Estimate(one / other, one / other * se, df, interval, p_value=p_value, limits=limits_at, **shared)

    def equality(self, contrasts: FloatArray | None = None, *, shared: bool = True) -> WaldTest:
        """Whether all members, or all of some contrasts (r, m) between them, could be equal.

        `shared`: they are of the same cases, so that the units tell how far the covariance itself may be off; groups of
        cases lie in units of their own.

        Not a number where one of them lies in a single unit, which says nothing of its error.
        """
        weights = np.eye(len(self)) if contrasts is None else contrasts
        df = float(self._df()[(weights != 0).any(axis=0)].min())
        if df < 1:
            return WaldTest(np.nan, len(weights) - 1, np.nan, df, np.nan, np.nan)
        units = influences(self.sample, self.statistic)
        return equal_rates(
            weights @ self.values,
            weights @ self.covariance @ weights.T,
            df=df,
            unit_values=None if units is None or not shared else self._centred(units) @ weights.T,
        )

    @cached_property
    def limits(self) -> Intervals:
        """Of every member."""
        return scale_limits(self._scale, self.values, self.se, self._df(), self.plan.confidence)

    @cached_property
    def se(self) -> FloatArray:
        """Standard errors of the members."""
        return np.sqrt(self._clean(np.diag(self.covariance), np.diag(self.covariance)))

    @cached_property
    def domain_df(self) -> FloatArray:
        """Degrees of freedom of each member: of the units that count for it."""
        return self._wide(domain_df(self.sample, self._counted_by_unit, self.design_df))

    def _singles(self, members: Sequence[int]) -> list[Estimate]:
        df, limits, i = self._df(), self.limits, np.asarray(members, dtype=np.intp)
        effects, iccs = self._design_effects(self.se[i] ** 2, i), self._iccs_of(i)
        return [
            Estimate(
                float(self.values[k]), float(self.se[k]), float(df[k]),
                Interval(float(limits.low[k]), float(limits.high[k])) if df[k] >= 1 else None,
                design_effect=_known(float(effect)), icc=_known(float(icc)), **self._shared(self._scale.of(int(k))),
            )
            for k, effect, icc in zip(i, effects, iccs, strict=True)
        ]  # fmt: skip

    def _shared(self, scale: Scale) -> dict[str, Any]:
        """What all estimates of one making have in common."""
        sample, plan, choice = self.sample, self.plan, self.choice
        return {
            "confidence": plan.confidence,
            "method": str(choice.method),
            "target": sample.target,
            "cases": sample.cases,
            "strata": sample.strata,
            "units": sample.units,
            "replicates": choice.replicates.count if choice.replicates else None,
            "groupings": choice.groupings,
            "collapsed": sample.collapsed,
            "lone": str(sample.lone),
            "fay": choice.fay,
            "centre": plan.centre,
            "seed": plan.seed,
            "scale": scale,
        }

    def _df(self, i: IntArray | None = None, j: IntArray | None = None) -> FloatArray:
        """Of the members, or of the differences between them."""
        if self.plan.df == "satterthwaite":
            units = _influences(self.sample, self.statistic)
            columns = units if i is None or j is None else units[:, i] - units[:, j]
            return np.array([satterthwaite_df(self.sample, column) for column in columns.T])
        if i is None or j is None:
            return self.domain_df
        return np.minimum(self.domain_df[i], self.domain_df[j])

    def _variances(self, i: IntArray, j: IntArray) -> FloatArray:
        own = np.diag(self.covariance)
        return self._clean(own[i] + own[j] - 2 * self.covariance[i, j], own[i] + own[j])

    def _clean(self, variances: FloatArray, scale: FloatArray) -> FloatArray:
        """What is left of rounding is no variance."""
        bounded = np.isfinite(self.statistic.bounds).all()
        size = 1.0 if bounded else np.maximum(np.abs(self.values).max(initial=0.0), 1e-300)
        with np.errstate(over="ignore"):
            floor = np.maximum(np.square(_ROUNDING * size), _ROUNDING * scale)
        # A variance beyond all numbers is no certainty.
        return np.where(np.isfinite(variances), np.where(variances > floor, variances, 0.0), np.inf)

    @cached_property
    def _counted_by_unit(self) -> FloatArray:
        counted = self.statistic.counted
        return unit_sums(self.sample, np.ones((self.sample.cases, 1)) if counted is None else counted)

    @cached_property
    def _scale(self) -> Scale:
        """What intervals of the members are made on: bounds, and how many independent cases and units count."""
        statistic, sample = self.statistic, self.sample
        counted = np.ones((sample.cases, 1)) if statistic.counted is None else np.asarray(statistic.counted, float)
        classes = statistic.classes if isinstance(statistic, OfWeights) else None
        both = None
        if classes is not None:
            both = (
                self._wide(self._worth(counted * classes[:, None])),
                self._wide(self._worth(counted * ~classes[:, None])),
            )
        cases, units = self._kish_cases(counted), kish(self._counted_by_unit)
        kind = Kind.INDEPENDENT if self._independent_cases else statistic.kind
        return Scale(kind, statistic.bounds, self._wide(cases), self._wide(units), both, self.plan.design_effect)

    def _worth(self, counted: FloatArray) -> FloatArray:
        """What cases of a class are worth where they show no variance."""
        by_unit = unit_sums(self.sample, counted)
        return cases_without_variance(self._kish_cases(counted), kish(by_unit))

    def _kish_cases(self, counted: FloatArray) -> FloatArray:
        return kish(self.sample.weights[:, None] * counted) / self.sample.answers

    def _wide(self, numbers: FloatArray) -> FloatArray:
        return np.broadcast_to(numbers, (len(self),))

    @property
    def _independent_cases(self) -> bool:
        """Whether these are shares of cases that have nothing in common and weigh the same."""
        if self.sample.stratified or self.sample.clustered or self.plan.design_effect is not None:
            return False
        return self._binary_shares

    @cached_property
    def _binary_shares(self) -> bool:
        """Whether these are shares of cases that are right or wrong, and nothing between, and weigh the same."""
        sample, statistic = self.sample, self.statistic
        if not (isinstance(statistic, Ratio) and statistic.share):
            return False
        columns = statistic.columns
        return bool((sample.weights == sample.weights[0]).all() and ((columns == 0) | (columns == 1)).all())

    @property
    def _plain_shares(self) -> bool:
        """Whether these are binary shares of all cases."""
        return self.statistic.counted is None and self._binary_shares

    @property
    def _width(self) -> tuple[float, float]:
        low, high = self.statistic.bounds
        return (low - high, high - low)

    def _difference_limits(
        self, i: IntArray, j: IntArray, gaps: FloatArray, se: FloatArray, df: FloatArray
    ) -> Intervals:
        if self.statistic.kind is Kind.PLAIN:
            return scale_limits(Scale(Kind.PLAIN, self._width), gaps, se, df, self.plan.confidence)
        if (table := self._discordant) is not None:
            scale = self._scale
            if scale.kind is Kind.INDEPENDENT:
                return newcombe_limits(*self._table(i, j), confidence=self.plan.confidence)
            return paired_limits(
                table[i, j], table[j, i], se, df, cases=np.asarray(scale.cases)[i], units=np.asarray(scale.units)[i],
                design_effect=self.plan.design_effect, confidence=self.plan.confidence,
            )  # fmt: skip
        product = self.se[i] * self.se[j]
        correlation = np.where(product > 0, self.covariance[i, j] / np.where(product > 0, product, 1.0), 0.0)
        a, b = (Intervals(self.limits.low[of], self.limits.high[of]) for of in (i, j))
        return difference_limits(self.values[i], a, self.values[j], b, correlation=correlation, bounds=self._width)

    @property
    def _paired(self) -> bool:
        """Whether the members are shares of the same cases, so that they differ case by case."""
        statistic = self.statistic
        if not (isinstance(statistic, Ratio) and statistic.share):
            return False
        return bool(statistic.columns.shape[1] == statistic.members + 1)

    @cached_property
    def _discordant(self) -> FloatArray | None:
        """The share of cases (m, m) that the one has right and not the other."""
        if not self._paired or not isinstance(self.statistic, Ratio):
            return None
        hits, weights = self.statistic.columns[:, : self.statistic.members], self.sample.weights
        both = hits.T @ (hits * weights[:, None])
        below = float(weights @ self.statistic.columns[:, -1])
        return np.maximum((weights @ hits)[:, None] - both, 0.0) / below

    def _table(self, i: IntArray, j: IntArray) -> list[FloatArray]:
        """Cases by who has them right: neither, only i, only j, both."""
        cases = np.asarray(self._scale.cases)[i]
        apart = np.zeros((len(self), len(self))) if self._discordant is None else self._discordant
        only_i, only_j = apart[i, j] * cases, apart[j, i] * cases
        both = self.values[i] * cases - only_i
        # Counts, but for the rounding of shares.
        return [np.maximum(np.round(c, 6), 0.0) for c in (cases - only_i - only_j - both, only_i, only_j, both)]

    @cached_property
    def _independent(self) -> FloatArray | None:
        if not isinstance(self.statistic, OfTotals):
            return None
        if self._discordant is not None and self._plain_shares:
            # What the long way comes to for shares of all cases, each of weight one.
            both, n = self.values[:, None] - self._discordant, self.sample.cases
            return (both - np.outer(self.values, self.values)) / (n - 1) if n > 1 else np.zeros_like(both)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = case_scores(self.sample, self.statistic)
            return None if scores is None else independent_covariance(self.sample, scores)

    def _design_effects(self, variances: FloatArray, i: IntArray, j: IntArray | None = None) -> FloatArray:
        """Variances over those of independent cases; not a number where these would have none either."""
        own = self._independent
        if own is None:
            return np.full(len(variances), np.nan)
        alone = np.diag(own)
        independent = alone[i] if j is None else alone[i] + alone[j] - 2 * own[i, j]
        known = (independent > _ROUNDING**2) & np.isfinite(variances) & np.isfinite(independent)
        return np.where(known, variances / np.where(known, independent, 1.0), np.nan)

    @cached_property
    def _iccs(self) -> FloatArray | None:
        """Intraclass correlations of differences, the last row and column of the members themselves."""
        statistic, sample = self.statistic, self.sample
        if not (self._paired and isinstance(statistic, Ratio) and sample.clustered):
            return None
        inside = statistic.columns[:, -1] > 0
        rows = statistic.columns[inside, : statistic.members].T
        return intraclass_of_differences(np.vstack([rows, np.zeros(rows.shape[1])]), sample.unit_of_case[inside])

    def _iccs_of(self, i: IntArray, j: IntArray | None = None) -> FloatArray:
        if self._iccs is None:
            return np.full(len(i), np.nan)
        return np.asarray(self._iccs[i, -1 if j is None else j])

    def _sign_flips(self, i: IntArray, j: IntArray) -> list[float | None]:
        """Exact p-values over units, for differences of shares of the same cases."""
        if len(i) > _MOST_FLIPPED:
            return [None] * len(i)
        return [self._sign_flip(int(a), int(b)) for a, b in zip(i, j, strict=True)]

    def _sign_flip(self, i: int, j: int) -> float | None:
        if self._unit_hits is None:
            return None
        test = sign_flip(self._unit_hits[:, i] - self._unit_hits[:, j])
        return None if test is None else test.p_value

    @cached_property
    def _unit_hits(self) -> FloatArray | None:
        """What each unit adds above (units, m), where the members are shares of the same cases."""
        if not (self._paired and isinstance(self.statistic, Ratio)):
            return None
        return unit_sums(self.sample, self.statistic.columns[:, : self.statistic.members])

    def _centred(self, units: FloatArray) -> FloatArray:
        """Deviations of the units from their stratum's mean."""
        sizes = self.sample.stratum_sizes
        means = np.add.reduceat(units, np.cumsum(sizes) - sizes, axis=0) / sizes[:, None]
        return np.asarray(units - means[self.sample.stratum_of_unit])


def _known(value: float) -> float | None:
    return None if value != value else value


def _ratio_limits(log: float, se: float, df: float, confidence: float) -> Interval:
    found = scale_limits(Scale(Kind.PLAIN), log, se, df, confidence)
    with np.errstate(over="ignore"):
        return Interval(float(np.exp(found.low)), float(np.exp(found.high)))
