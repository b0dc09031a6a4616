"""What a sample says about the members of a statistic besides their values and covariance.

How many effective cases and units each member rests on, what its error would be if all cases were independent, and,
for shares of the same cases, on which cases two members differ. None of it depends on the confidence of an interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.stats.arrays import FloatArray, IntArray, kish
from harness.stats.designs import intraclass_of_differences
from harness.stats.estimate import IntervalKind, Scale
from harness.stats.limits import cases_without_variance
from harness.stats.replication.linearised import independent_covariance, influences
from harness.stats.replication.sample import Sample, unit_sums
from harness.stats.replication.statistic import (
    Ratio,
    Statistic,
    TotalsStatistic,
    WeightsStatistic,
    row_weights,
    sums_by_unit,
    unit_totals,
)
from harness.stats.sign_flip import SignFlip, exchange_test, sign_flip

__all__ = ["ROUNDING", "Evidence"]

# Standard errors below this share of the scale are rounding errors of the transforms.
ROUNDING = 1e-12
# How often the units are split in two to see by how much an optimistic statistic is too large. The whole
# exceeds the truth by about twice as much as its halves exceed the whole: measured for average precision, see
# docs/how-to/boxes.md. In theory such an excess falls with the number of units to a power from -1/2 to -2/3: then
# halves exceed the whole by 0.4 to 0.6 of what the whole exceeds the truth by.
SPLITS = 10
EXCESS_OF_HALVES = 2.0


@dataclass(frozen=True, eq=False)
class Evidence:
    """A sample, a statistic with the values (m,) of its members, and what follows from these alone.

    `design_effect` is what to assume if nothing varies.
    """

    sample: Sample
    statistic: Statistic
    values: FloatArray
    design_effect: float | None = None

    @cached_property
    def scale(self) -> Scale:
        """What intervals of the members are based on: bounds, and effective numbers of cases and units."""
        statistic = self.statistic
        positive = statistic.classes if isinstance(statistic, WeightsStatistic) else None
        classes = None
        if positive is not None:
            classes = (
                self._size_without_variance(self._counted * positive[:, None]),
                self._size_without_variance(self._counted * ~positive[:, None]),
            )
        whole = statistic.counted is None
        cases = kish(self.sample.weights) / self.sample.answers if whole else self._kish_cases(self._counted)
        units = kish(self.counted_by_unit)
        kind = IntervalKind.INDEPENDENT if self._independent_cases else statistic.kind
        return Scale(kind, statistic.bounds, self.wide(cases), self.wide(units), classes, self.design_effect)

    @cached_property
    def counted_by_unit(self) -> FloatArray:
        """How much of each unit (units, 1 or m) counts for the members."""
        statistic = self.statistic
        if isinstance(statistic, Ratio) and statistic.share:
            # What counts for a share is its denominator.
            return unit_totals(self.sample, statistic)[:, statistic.members :]
        return sums_by_unit(self.sample, statistic, self._counted)

    @cached_property
    def influences(self) -> FloatArray | None:
        """What each unit (units, m) adds to the members to first order; None if there is no linear form."""
        return influences(self.sample, self.statistic)

    @cached_property
    def excess(self) -> FloatArray | None:
        """By how much the members of an optimistic statistic are too large on average; None for any other."""
        statistic, sample = self.statistic, self.sample
        if not (isinstance(statistic, WeightsStatistic) and statistic.optimistic):
            return None
        rng, positions = np.random.default_rng(0), np.arange(sample.units)
        values = []
        for _ in range(SPLITS):
            # Every second unit of each stratum, in random order.
            shuffled = np.lexsort((rng.random(sample.units), sample.stratum_of_unit))
            half = np.empty(sample.units)
            half[shuffled] = (positions + rng.integers(2)) % 2
            values += [statistic.members(sample.weights * side[sample.unit_of_case]) for side in (half, 1 - half)]
        halves = np.array(values)
        known = np.isfinite(halves)
        above = np.where(known, halves - self.values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        return np.asarray(np.maximum(EXCESS_OF_HALVES * above, 0.0))

    @cached_property
    def independent_covariance(self) -> FloatArray | None:
        """The covariance (m, m) of the members if all cases were independent; None if it is unknown."""
        if not isinstance(self.statistic, TotalsStatistic):
            return None
        if self.discordant is not None and self.statistic.counted is None and self._binary_shares:
            # The same in closed form, for shares of all cases with equal weights.
            both, n = self.values[:, None] - self.discordant, self.sample.cases
            return (both - np.outer(self.values, self.values)) / (n - 1) if n > 1 else np.zeros_like(both)
        with np.errstate(over="ignore", invalid="ignore"):
            return independent_covariance(self.sample, self.statistic)

    @cached_property
    def discordant(self) -> FloatArray | None:
        """The share of cases (m, m) that one member gets right and the other does not; None unless paired."""
        paired = self._paired
        if paired is None:
            return None
        hits, weights = paired.columns[:, : paired.members], row_weights(paired, self.sample.weights)
        both = hits.T @ (hits * weights[:, None])
        denominator = float(weights @ paired.columns[:, -1])
        return np.maximum((weights @ hits)[:, None] - both, 0.0) / denominator

    def pair_counts(self, i: IntArray, j: IntArray) -> list[FloatArray]:
        """Numbers of cases that neither, only i, only j, and both get right."""
        cases = np.asarray(self.scale.cases)[i]
        differing = np.zeros((len(self.values),) * 2) if self.discordant is None else self.discordant
        only_i, only_j = differing[i, j] * cases, differing[j, i] * cases
        both = self.values[i] * cases - only_i
        # Counts, up to the rounding of shares.
        return [np.maximum(np.round(c, 6), 0.0) for c in (cases - only_i - only_j - both, only_i, only_j, both)]

    def intraclass(self, i: IntArray, j: IntArray | None = None) -> FloatArray:
        """Intraclass correlations of members, or of differences between them; NaN if unknown."""
        if self._intraclass is None:
            return np.full(len(i), np.nan)
        return np.asarray(self._intraclass[i, -1 if j is None else j])

    def design_effects(self, variances: FloatArray, i: IntArray, j: IntArray | None = None) -> FloatArray:
        """Variances of members, or of differences, over those of independent cases; NaN if these are 0."""
        covariance = self.independent_covariance
        if covariance is None:
            return np.full(len(variances), np.nan)
        single = np.diag(covariance)
        independent = single[i] if j is None else single[i] + single[j] - 2 * covariance[i, j]
        known = (independent > ROUNDING**2) & np.isfinite(variances) & np.isfinite(independent)
        return np.where(known, variances / np.where(known, independent, 1.0), np.nan)

    def sign_flip(self, i: int, j: int) -> float | None:
        """The exact p-value over units of a difference between shares or means of the same cases, if there is one."""
        statistic = self.statistic
        if self._unit_totals is None or not isinstance(statistic, Ratio):
            return None
        # Shares or means of the same cases have the same denominator.
        first, second = (statistic.member_columns(member)[1] for member in (i, j))
        if first != second and not np.array_equal(statistic.columns[:, first], statistic.columns[:, second]):
            return None
        sums = self._unit_totals[:, i] - self._unit_totals[:, j]
        test = sign_flip(sums) if np.isfinite(sums).all() else None
        return None if test is None else test.p_value

    def exchange(self, i: int, j: int, *, flips: int, rng: np.random.Generator) -> SignFlip | None:
        """The same for any number of totals, with `flips` random exchanges of the two if there are many units."""
        statistic, totals = self.statistic, self._unit_totals
        if totals is None or not isinstance(statistic, TotalsStatistic) or not np.isfinite(totals).all():
            return None
        first, second = (totals[:, statistic.member_columns(member)] for member in (i, j))
        return exchange_test(first, second, statistic.member, rng=rng, flips=flips)

    def wide(self, numbers: FloatArray) -> FloatArray:
        """A number for each member, from one for each or one for all."""
        return np.broadcast_to(numbers, (len(self.values),))

    @property
    def _counted(self) -> FloatArray:
        """How much of each case (cases, 1 or m), or kind of cases, counts for the members."""
        statistic = self.statistic
        if statistic.counted is not None:
            return np.asarray(statistic.counted, dtype=np.float64)
        rows = self.sample.cases if isinstance(statistic, WeightsStatistic) else len(statistic.columns)
        return np.ones((rows, 1))

    def _size_without_variance(self, counted: FloatArray) -> FloatArray:
        """The effective number of cases of a class that show no variance."""
        by_unit = unit_sums(self.sample, counted)
        return self.wide(cases_without_variance(self._kish_cases(counted), kish(by_unit)))

    def _kish_cases(self, counted: FloatArray) -> FloatArray:
        weights = self.sample.weights
        total = row_weights(self.statistic, weights) @ counted
        squares = row_weights(self.statistic, weights**2) @ counted**2
        return np.asarray(total**2 / np.where(squares > 0, squares, 1.0) / self.sample.answers)

    @property
    def _independent_cases(self) -> bool:
        """Whether these are shares of independent cases with equal weights."""
        if self.sample.stratified or self.sample.clustered or self.design_effect is not None:
            return False
        return self._binary_shares

    @cached_property
    def _binary_shares(self) -> bool:
        """Whether these are shares of cases that are either right or wrong and have equal weights."""
        sample, statistic = self.sample, self.statistic
        if not (isinstance(statistic, Ratio) and statistic.share):
            return False
        columns = statistic.columns
        return bool((sample.weights == sample.weights[0]).all() and ((columns == 0) | (columns == 1)).all())

    @property
    def _paired(self) -> Ratio | None:
        """The statistic if its members are shares of the same cases, so that they can be compared case by case."""
        shares = self._shares
        return shares if shares is not None and shares.columns.shape[1] == shares.members + 1 else None

    @property
    def _shares(self) -> Ratio | None:
        """The statistic if its members are shares of cases."""
        statistic = self.statistic
        return statistic if isinstance(statistic, Ratio) and statistic.share else None

    @cached_property
    def _intraclass(self) -> FloatArray | None:
        """Intraclass correlations of differences between members; the last row and column are the members' own.

        Of shares of different cases, such as precisions, only the members' own are known.
        """
        shares = self._shares
        if shares is None or not self.sample.clustered:
            return None
        if self._paired is not None:
            return self._correlations(shares, list(range(shares.members)))
        correlations = np.full((shares.members + 1, shares.members + 1), np.nan)
        for member in range(shares.members):
            correlations[member, -1] = self._correlations(shares, [member])[0, -1]
        return correlations

    def _correlations(self, shares: Ratio, members: list[int]) -> FloatArray:
        """Of members with the same denominator."""
        rows, inside = shares.columns[:, members].T, shares.columns[:, shares.member_columns(members[0])[1]] > 0
        units = self.sample.unit_of_case
        kinds = np.arange(inside.size) if shares.kinds is None else shares.kinds
        if not inside.all():
            cases = np.flatnonzero(inside[kinds])
            kinds, units = kinds[cases], units[cases]
        return intraclass_of_differences(rows[:, kinds], units, singles=True)

    @property
    def _unit_totals(self) -> FloatArray | None:
        """What each unit adds to the totals (units, c), if the statistic is made of totals."""
        return unit_totals(self.sample, self.statistic) if isinstance(self.statistic, TotalsStatistic) else None
