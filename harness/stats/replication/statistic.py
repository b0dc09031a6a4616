"""Statistics of a weighted sample, several of one kind at a time, and their values for units and replicates.

A statistic here has `size` members: the rates of m algorithms on the same cases, say, or one rate in m groups of
cases. All members go through the same replicates, so that every contrast between them has an error. There are two
kinds: functions of weighted totals, which are fast, and any function of the case weights.

A measure of outcomes sees only the outcome of a case and the group that it is in, so that a million cases are of a
dozen kinds. Whatever depends on sums over cases is then computed from the weight of each kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.estimate import UNBOUNDED, Bounds, IntervalKind
from harness.stats.replication.replicates import Replicates
from harness.stats.replication.sample import Sample, unit_sums

# Real or complex numbers, for formulas.
Numbers = npt.NDArray[Any]
Formula = Callable[[Numbers], Numbers]
T = TypeVar("T")
# So small that its square vanishes beside 1; the derivative still keeps all digits.
_STEP = 1e-40
# The kind of each case, in few bytes, which sorts fast.
Kinds = npt.NDArray[np.uint16]
# With fewer units and kinds than this, the weight of each kind in each unit is added up at once.
_CELLS_PER_CASE = 4


@dataclass(frozen=True, eq=False)
class TotalsStatistic(ABC):
    """A smooth function of weighted totals of case columns (cases, c).

    `counted` (cases, 1 or m): how much of a case counts for a member, such as whether it is in a group; by default all
    of it. `fragile`: it may not exist for part of a sample (such as a true positive rate with few positives). `kinds`
    (cases,): the kind of each case, if cases are of a few kinds; then the columns and what is counted are (kinds, c)
    and (kinds, 1 or m), and there is a case of each kind.
    """

    columns: FloatArray
    bounds: Bounds = UNBOUNDED
    fragile: bool = False
    counted: FloatArray | None = None
    kinds: Kinds | None = None

    @property
    def cases(self) -> int:
        return len(self.columns if self.kinds is None else self.kinds)

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of members."""

    @property
    def kind(self) -> IntervalKind:
        """Which limits it gets."""
        return IntervalKind.BOUNDED if np.isfinite(self.bounds).all() else IntervalKind.PLAIN

    @abstractmethod
    def combine(self, totals: FloatArray) -> FloatArray:
        """Totals (..., c) to the members (..., m)."""

    @abstractmethod
    def member_columns(self, member: int) -> list[int]:
        """The columns that one member depends on; another member's are in the same order."""

    @abstractmethod
    def member(self, totals: FloatArray) -> FloatArray:
        """Totals (..., k) of one member's columns to its value (...)."""

    @abstractmethod
    def derivative(self, totals: FloatArray, values: FloatArray) -> FloatArray:
        """How the members at totals (c,) change along values (..., c): (..., m)."""


@dataclass(frozen=True, eq=False)
class Total(TotalsStatistic):
    """The weighted totals of the columns."""

    @property
    def size(self) -> int:
        return int(self.columns.shape[1])

    def combine(self, totals: FloatArray) -> FloatArray:
        return totals

    def member_columns(self, member: int) -> list[int]:
        return [member]

    def member(self, totals: FloatArray) -> FloatArray:
        return totals[..., 0]

    def derivative(self, totals: FloatArray, values: FloatArray) -> FloatArray:
        return values


@dataclass(frozen=True, eq=False)
class Ratio(TotalsStatistic):
    """Ratios of totals: the columns are m numerators, then one denominator for all of them or one for each.

    A `share` has cases in the denominator and some of them in the numerator.
    """

    members: int = 1
    share: bool = False

    @property
    def size(self) -> int:
        return self.members

    @property
    def kind(self) -> IntervalKind:
        return IntervalKind.SHARE if self.share else super().kind

    def combine(self, totals: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(totals[..., : self.members] / totals[..., self.members :])

    def member_columns(self, member: int) -> list[int]:
        """Its numerator, and its denominator or that of all."""
        shared = self.columns.shape[1] == self.members + 1
        return [member, self.members if shared else self.members + member]

    def member(self, totals: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(totals[..., 0] / totals[..., 1])

    def derivative(self, totals: FloatArray, values: FloatArray) -> FloatArray:
        """The derivative of x / y: (dx - dy x / y) / y."""
        rates, denominators = self.combine(totals), totals[self.members :]
        return np.asarray((values[..., : self.members] - rates * values[..., self.members :]) / denominators)


@dataclass(frozen=True, eq=False)
class SmoothFormula(TotalsStatistic):
    """A formula of arithmetic, roots and logarithms over `parts` totals per member: it takes (..., parts).

    `root`: it is the root of a mean of squares, which has limits of its own.
    """

    formula: Formula = lambda totals: totals[..., 0]
    parts: int = 1
    root: bool = False

    @property
    def kind(self) -> IntervalKind:
        return IntervalKind.ROOT if self.root else super().kind

    @property
    def size(self) -> int:
        return int(self.columns.shape[1]) // self.parts

    def combine(self, totals: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.formula(self._by_member(totals)), dtype=np.float64)

    def member_columns(self, member: int) -> list[int]:
        return list(range(member * self.parts, (member + 1) * self.parts))

    def member(self, totals: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.formula(totals), dtype=np.float64)

    def derivative(self, totals: FloatArray, values: FloatArray) -> FloatArray:
        """By a complex step, exact to rounding: Squire and Trapp (1998)."""
        by_member = self._by_member(totals)
        scale = max(float(np.abs(by_member).max()), 1.0)
        # A leading axis is added: one step along each part.
        steps = by_member + 1j * _STEP * scale * np.eye(self.parts)[:, None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            gradient = np.asarray(self.formula(steps).imag / (_STEP * scale)).T
        return np.asarray((self._by_member(values) * gradient).sum(axis=-1))

    def _by_member(self, totals: FloatArray) -> FloatArray:
        return totals.reshape(*totals.shape[:-1], self.size, self.parts)


@dataclass(frozen=True, eq=False)
class WeightsStatistic:
    """Any function of the case weights (cases,) to a number or to m numbers, evaluated once per replicate.

    `linear` gives what each case adds per unit of weight to the members, to first order (cases, m), for given weights;
    `linear_first` if that is better than replicates even with strata. `smooth`: it changes little if one case is left
    out; the point where a curve meets a line is not smooth, nor is a median, and the delete-one jackknife is wrong for
    them. `classes`: which cases are positive, for statistics of both classes. `optimistic`: it is too large on average,
    the more so the fewer units there are, because it chooses the best of something; the lower limit allows for that.
    """

    function: Callable[[FloatArray], float | FloatArray]
    bounds: Bounds = UNBOUNDED
    size: int = 1
    linear: Callable[[FloatArray], FloatArray] | None = None
    linear_first: bool = False
    smooth: bool = True
    counted: FloatArray | None = None
    classes: BoolArray | None = None
    optimistic: bool = False
    # Its name in messages.
    words: str = "this statistic"

    @property
    def kind(self) -> IntervalKind:
        """Which limits it gets."""
        return IntervalKind.BOUNDED if np.isfinite(self.bounds).all() else IntervalKind.PLAIN

    @property
    def fragile(self) -> bool:
        """It may not exist for half a sample."""
        return True

    def members(self, weights: FloatArray) -> FloatArray:
        """The members (m,) for these weights."""
        return np.atleast_1d(np.asarray(self.function(weights), dtype=np.float64))


def statistic_of_cells(
    cells: Sequence[tuple[T, BoolArray | None]],
    value: Callable[[T, FloatArray], float],
    slopes: Callable[[T, FloatArray], FloatArray] | None = None,
    *,
    smooth: bool = True,
    classes: BoolArray | None = None,
    optimistic: bool = False,
    words: str,
) -> WeightsStatistic:
    """A member from 0 to 1 for each cell: what it is computed from, and which cases count for it, None if all do.

    `value` computes it from the weights of these cases, `slopes` what each case adds to it, to first order.
    """
    return WeightsStatistic(
        lambda weights: np.array([value(of, _within(weights, inside)) for of, inside in cells]),
        bounds=(0.0, 1.0),
        size=len(cells),
        linear=None if slopes is None else partial(_slopes_of_cells, cells, slopes),
        smooth=smooth,
        counted=counted_cases([inside for _, inside in cells]),
        classes=classes,
        optimistic=optimistic,
        words=words,
    )


def _slopes_of_cells(
    cells: Sequence[tuple[T, BoolArray | None]], slopes: Callable[[T, FloatArray], FloatArray], weights: FloatArray
) -> FloatArray:
    return np.stack([_within(slopes(of, _within(weights, inside)), inside) for of, inside in cells], axis=1)


def _within(numbers: FloatArray, inside: BoolArray | None) -> FloatArray:
    return numbers if inside is None else numbers * inside


def counted_cases(groups: Sequence[BoolArray | None]) -> FloatArray | None:
    """How much of each case counts for each cell (cases, m), from the cases inside it; None if all do for all."""
    size = next((inside.size for inside in groups if inside is not None), None)
    if size is None:
        return None
    whole = np.ones(size, dtype=np.bool_)
    return np.stack([whole if inside is None else inside for inside in groups], axis=1).astype(np.float64)


Statistic = TotalsStatistic | WeightsStatistic


@dataclass(frozen=True, eq=False)
class MemberDifference:
    """The first of two members minus the second."""

    of: Statistic


def rate(successes: npt.ArrayLike, *, within: npt.ArrayLike | None = None) -> Ratio:
    """Weighted rates of success, (cases,) or (cases, m), among the cases in `within` (all by default)."""
    values = _values(successes, "successes", (0.0, 1.0))
    inside = None if within is None else _values(within, "within", (0.0, 1.0))
    if inside is not None:
        _same_length(values, inside)
    return _shares(list(values.T), None if inside is None else list(inside.T))


def shares(hits: Sequence[npt.ArrayLike], counted: Sequence[npt.ArrayLike], kinds: Kinds | None = None) -> Ratio:
    """Shares of hits among the cases that count for each member; one denominator if the same cases count for all.

    With `kinds`, the kind of each case, hits and what is counted are those of each kind.
    """
    first = np.asarray(counted[0])
    if not all(of is counted[0] or np.array_equal(first, of) for of in counted[1:]):
        return _shares(hits, counted, kinds)
    return _shares(hits, None if first.all() else [first], kinds)


def _shares(
    hits: Sequence[npt.ArrayLike], counted: Sequence[npt.ArrayLike] | None, kinds: Kinds | None = None
) -> Ratio:
    """Shares of the cases that count for each member or, if there is one of them, for all; None if all cases count."""
    members = len(hits)
    if counted is None:
        return Ratio(columns_from([*hits, 1.0]), (0.0, 1.0), kinds=kinds, members=members, share=True)
    inside = [np.asarray(of) for of in counted] * (members if len(counted) == 1 else 1)
    numerators = [np.asarray(hit) * of for hit, of in zip(hits, inside, strict=True)]
    columns, weights = columns_from([*numerators, *counted]), columns_from(counted)
    return Ratio(columns, (0.0, 1.0), fragile=True, counted=weights, kinds=kinds, members=members, share=True)


def columns_from(parts: Sequence[npt.ArrayLike]) -> FloatArray:
    """Columns (cases, c) from parts (cases,), the first of them no single number.

    Each column is in one piece of memory, since they are read one at a time.
    """
    first = np.asarray(parts[0])
    columns = np.empty((len(first), len(parts)), order="F")
    for number, part in enumerate(parts):
        columns[:, number] = part
    return columns


def difference(successes_a: npt.ArrayLike, successes_b: npt.ArrayLike) -> MemberDifference:
    """The weighted rate of A minus that of B, on the same cases."""
    a, b = _values(successes_a, "successes_a", (0.0, 1.0)), _values(successes_b, "successes_b", (0.0, 1.0))
    _same_length(a, b)
    return MemberDifference(rate(np.hstack([a, b])))


def ratio(
    numerator: npt.ArrayLike,
    denominator: npt.ArrayLike,
    *,
    bounds: Bounds = UNBOUNDED,
    counted: FloatArray | None = None,
) -> Ratio:
    """Ratios of weighted totals: numerators (cases,) or (cases, m), a denominator for all or one for each."""
    x, y = _values(numerator, "numerator"), _values(denominator, "denominator")
    _same_length(x, y)
    return Ratio(columns_from([*x.T, *y.T]), bounds=bounds, fragile=True, counted=counted, members=x.shape[1])


def total(values: npt.ArrayLike, *, bounds: Bounds = UNBOUNDED) -> Total:
    return Total(_values(values, "values"), bounds=bounds)


def _values(values: npt.ArrayLike, what: str, bounds: Bounds = UNBOUNDED) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in (1, 2):
        raise ValueError(f"{what}: {array.ndim} dimensions; expected one value per case")
    # A not-a-number is within no bounds.
    within = array.size == 0 or (bounds[0] <= array.min() and array.max() <= bounds[1])
    if not (within and np.isfinite(array).all()):
        valid = np.isfinite(array) & (array >= bounds[0]) & (array <= bounds[1])
        case = np.argwhere(~valid)[0]
        limits = "" if bounds == UNBOUNDED else f" from {bounds[0]:g} to {bounds[1]:g}"
        raise ValueError(f"{what}: case {case[0]} has {array[tuple(case)]}; expected finite values{limits}")
    return array[:, None] if array.ndim == 1 else array


def _same_length(first: FloatArray, second: FloatArray) -> None:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} values: expected both for the same cases")


def kind_weights(kinds: Kinds, weights: FloatArray, number: int) -> FloatArray:
    """The weight of all cases of each kind."""
    return np.bincount(kinds, weights=weights, minlength=number).astype(np.float64)


def kind_unit_sums(sample: Sample, kinds: Kinds, columns: FloatArray) -> FloatArray:
    """Weighted sums over the cases of each unit (units, c), for columns (kinds, c)."""
    if not (sample.stratified or sample.clustered):
        # Every case is a unit, in the order of the cases.
        return np.asarray(columns[kinds] * sample.weights[:, None])
    units, weights = sample.unit_of_case, sample.weights
    adds = np.asarray(columns.any(axis=1))
    if not adds.all():
        # Cases of other groups add nothing.
        cases = np.flatnonzero(adds[kinds])
        units, weights, columns = units[cases], weights[cases], columns[adds]
        kinds = (np.cumsum(adds, dtype=np.uint16) - np.uint16(1))[kinds[cases]]
    number = len(columns)
    if sample.units * number <= _CELLS_PER_CASE * len(kinds):
        by_kind = np.bincount(units * number + kinds, weights=weights, minlength=sample.units * number)
        return np.asarray(by_kind.reshape(sample.units, number) @ columns)
    order = np.argsort(kinds, kind="stable")
    units, weights = units[order], weights[order]
    ends = np.cumsum(np.bincount(kinds, minlength=number)).tolist()
    # Each column is in one piece of memory, since they are written and summed one at a time.
    sums = np.zeros((sample.units, columns.shape[1]), order="F")
    for number_of_column, column in enumerate(columns.T):
        used = [(slice(ends[kind - 1] if kind else 0, ends[kind]), column[kind]) for kind in np.flatnonzero(column)]
        if used:
            members = np.concatenate([units[part] for part, _ in used])
            values = np.concatenate([weights[part] * value for part, value in used])
            sums[:, number_of_column] = np.bincount(members, weights=values, minlength=sample.units)
    return sums


# For the sample that was asked for last: the members of a statistic, and what the units add to its totals.
_full_values: WeakKeyDictionary[WeightsStatistic, tuple[Sample, FloatArray]] = WeakKeyDictionary()
_unit_totals: WeakKeyDictionary[TotalsStatistic, tuple[Sample, FloatArray]] = WeakKeyDictionary()


def full_values(sample: Sample, statistic: Statistic) -> FloatArray:
    """The members (m,) for the whole sample; NaN if one has no value."""
    if not isinstance(statistic, WeightsStatistic):
        return np.atleast_1d(statistic.combine(full_totals(sample, statistic)))
    kept = _full_values.get(statistic)
    if kept is None or kept[0] is not sample:
        kept = _full_values[statistic] = (sample, statistic.members(sample.weights))
    return kept[1].copy()


def require_values(values: FloatArray) -> FloatArray:
    """The members; raises a ValueError if one has no value."""
    missing = values[~np.isfinite(values)]
    if missing.size:
        raise ValueError(f"the whole sample's estimate is {missing[0]}: no case with weight is in its denominator")
    return values


def full_totals(sample: Sample, statistic: TotalsStatistic) -> FloatArray:
    """The weighted totals (c,) of the statistic's columns."""
    if statistic.cases != sample.cases:
        raise ValueError(f"the statistic has {statistic.cases} cases, but the sample has {sample.cases}")
    return np.asarray(row_weights(statistic, sample.weights) @ statistic.columns)


def row_weights(statistic: Statistic, weights: FloatArray) -> FloatArray:
    """The weights of the statistic's rows, from those of the cases: the same, unless its rows are kinds of cases."""
    if isinstance(statistic, WeightsStatistic) or statistic.kinds is None:
        return weights
    return kind_weights(statistic.kinds, weights, len(statistic.columns))


def sums_by_unit(sample: Sample, statistic: Statistic, columns: FloatArray) -> FloatArray:
    """Weighted sums (units, c) over the cases of each unit, of columns (cases, c) or (kinds, c)."""
    if isinstance(statistic, WeightsStatistic) or statistic.kinds is None:
        return unit_sums(sample, columns)
    return kind_unit_sums(sample, statistic.kinds, columns)


def unit_totals(sample: Sample, statistic: TotalsStatistic) -> FloatArray:
    """What each unit adds to the totals (units, c); it is kept, since errors, limits and tests all need it."""
    kept = _unit_totals.get(statistic)
    if kept is None or kept[0] is not sample:
        kept = _unit_totals[statistic] = (sample, sums_by_unit(sample, statistic, statistic.columns))
    return kept[1]


def replicate_values(replicates: Replicates, sample: Sample, statistic: Statistic) -> FloatArray:
    """The members (k, m) of every replicate; NaN if one has no value."""
    if isinstance(statistic, WeightsStatistic):
        rows = [
            statistic.members(factors[sample.unit_of_case] * sample.weights)
            for block in replicates.weights()
            for factors in block
        ]
        return np.array(rows)
    return statistic.combine(replicates.totals(unit_totals(sample, statistic)))


def replicate_estimates(replicates: Replicates, sample: Sample, statistic: Statistic) -> FloatArray:
    """The members (k, m) of every replicate; raises a ValueError if one has no value."""
    estimates = replicate_values(replicates, sample, statistic)
    missing = np.argwhere(~np.isfinite(estimates))
    if missing.size:
        row, column = missing[0].tolist()
        raise ValueError(
            f"replicate {row} of {replicates.count} has no estimate ({estimates[row, column]}): this part of the "
            "sample is too small for the statistic; use Fay's rho of 0.5, or the jackknife"
        )
    return estimates
