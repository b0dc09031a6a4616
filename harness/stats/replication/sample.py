"""The sample: which case belongs to which unit, which unit to which stratum, and what each case weighs."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray, IntArray, Labels, columns_of

_WHOLE = "all cases"


class LoneStrata(StrEnum):
    """What happens to strata of one unit; all but the first are the choices of R's survey.lonely.psu."""

    COLLAPSE = "collapse"
    FAIL = "fail"
    REMOVE = "remove"
    CERTAINTY = "certainty"
    ADJUST = "adjust"
    AVERAGE = "average"


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A validated sample; `make_sample` builds it.

    Units are numbered stratum by stratum, so that the units of a stratum are neighbours. Strata are those that the
    variance is taken over: lone ones are joined already where `lone` says so, and `collapsed` names them.
    """

    weights: FloatArray
    unit_of_case: IntArray
    stratum_of_unit: IntArray
    stratum_names: tuple[str, ...]
    collapsed: tuple[tuple[str, ...], ...] = ()
    lone: LoneStrata = LoneStrata.COLLAPSE
    stratified: bool = True
    clustered: bool = True
    # How many of the cases are answers to one and the same question: more answers are not more cases.
    answers: int = 1

    @property
    def cases(self) -> int:
        """Number of cases."""
        return len(self.weights)

    @property
    def units(self) -> int:
        """Number of units, over all strata."""
        return len(self.stratum_of_unit)

    @property
    def strata(self) -> int:
        """Number of strata that the variance is taken over."""
        return len(self.stratum_names)

    @property
    def target(self) -> str:
        """What an interval speaks of: groups that stay, and groups that would be drawn anew."""
        new = "new units" if self.clustered else "new cases"
        return f"these strata, {new}" if self.stratified else new

    @property
    def stratum_sizes(self) -> IntArray:
        """Number of units in each stratum."""
        return np.bincount(self.stratum_of_unit, minlength=self.strata).astype(np.int64)


class UnitInTwoStrata(ValueError):
    """A unit whose cases lie in two strata, by their labels: they are not independent across them."""

    def __init__(self, unit: str, strata: tuple[str, str]) -> None:
        super().__init__(
            f"unit {unit} lies in strata {strata[0]} and {strata[1]}: its cases are not independent; use the unit's "
            "own column as stratum, drop the stratum, or say that units are nested (their labels start afresh in every "
            "stratum)"
        )
        self.unit, self.strata = unit, strata


def make_sample(
    cases: int,
    *,
    strata: npt.ArrayLike | None = None,
    units: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    order: npt.ArrayLike | None = None,
    nested: bool = False,
    lone: LoneStrata | str = LoneStrata.COLLAPSE,
) -> Sample:
    """Build a sample from one label, weight and so on for each case.

    Without `units` every case is a unit of its own; without `strata` all units form one stratum. `nested` says that
    unit labels start afresh in every stratum; otherwise a unit that lies in two strata is an error. `order` is a
    column, constant within a stratum, by which lone strata are joined (otherwise by name).
    """
    if cases < 1:
        raise ValueError("a sample needs at least one case")
    treatment = _lone(lone)
    names, stratum = _ordered_strata(strata, order, cases)
    unit = None if units is None else _numbered_units(units, stratum, names, nested=nested)
    joins, joined = _join(stratum, unit, names, treatment)
    unit_of_case, stratum_of_unit = _sorted_units(stratum, unit, joined)
    return Sample(
        weights=_weights(weights, cases),
        unit_of_case=unit_of_case,
        stratum_of_unit=stratum_of_unit,
        stratum_names=_titles(names, joins),
        collapsed=tuple(tuple(names[i] for i in join) for join in joins),
        lone=treatment,
        stratified=strata is not None,
        clustered=units is not None,
    )


def unit_sums(sample: Sample, values: npt.ArrayLike) -> FloatArray:
    """Weighted sums over the cases of each unit: (cases,) gives (units,), (cases, m) gives (units, m)."""
    columns, single = columns_of(values)
    if len(columns) != sample.cases:
        raise ValueError(f"{len(columns)} values for {sample.cases} cases; give one value for each case")
    if not (sample.stratified or sample.clustered):
        # Every case is a unit of its own, in the order of the cases.
        weighed = columns * sample.weights[:, None]
        return weighed[:, 0] if single else weighed
    sums = np.empty((sample.units, columns.shape[1]))
    for column in range(columns.shape[1]):
        sums[:, column] = np.bincount(
            sample.unit_of_case, weights=sample.weights * columns[:, column], minlength=sample.units
        )
    return sums[:, 0] if single else sums


def domain_df(sample: Sample, by_unit: FloatArray, design_df: float) -> FloatArray:
    """Degrees of freedom (m,) of parts of a sample, from what counts of each unit (units, m).

    Units that have anything in the part, less the strata that these are in, as R's survey package counts them; never
    more than the design has.
    """
    having = by_unit > 0
    if having.all() or np.isinf(design_df):
        return np.full(by_unit.shape[1], design_df)
    starts = np.cumsum(sample.stratum_sizes) - sample.stratum_sizes
    strata = np.logical_or.reduceat(having, starts, axis=0).sum(axis=0)
    found = np.where(having.all(axis=0), design_df, having.sum(axis=0) - strata)
    return np.asarray(np.minimum(found, design_df), dtype=np.float64)


def _labels(values: npt.ArrayLike, cases: int, what: str) -> Labels:
    array = np.asarray(values)
    if array.shape != (cases,):
        raise ValueError(f"{what}: shape {array.shape} for {cases} cases; give one label for each case")
    return array.astype(str) if array.dtype == object else array


def _lone(name: LoneStrata | str) -> LoneStrata:
    if name not in list(LoneStrata):
        raise ValueError(f"treatment {name!r} of lone strata: choose one of {', '.join(LoneStrata)}")
    return LoneStrata(name)


def _weights(weights: npt.ArrayLike | None, cases: int) -> FloatArray:
    if weights is None:
        return np.ones(cases)
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (cases,):
        raise ValueError(f"weights: shape {array.shape} for {cases} cases; give one weight for each case")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise ValueError(f"weights: case {bad[0]} weighs {array[bad[0]]}; weights are finite and not negative")
    if not array.any():
        raise ValueError("weights: all are zero; at least one case must weigh something")
    return array


def _numbered_units(units: npt.ArrayLike, stratum: IntArray, names: list[str], *, nested: bool) -> IntArray:
    labels = _labels(units, len(stratum), "units")
    unit = np.unique(labels, return_inverse=True)[1]
    if not nested:
        _check_units_in_one_stratum(stratum, unit, names, labels)
    return unit


def _sorted_units(stratum: IntArray, unit: IntArray | None, joined: IntArray) -> tuple[IntArray, IntArray]:
    """The unit of each case and the stratum of each unit; units are sorted by joined stratum.

    Within a joined stratum they are sorted by the stratum that they came from.
    """
    came_from = np.argsort(joined, kind="stable")
    place = np.argsort(came_from)[stratum]
    if unit is None:
        # Every case is a unit: one sort of strata, which are small numbers, and no search for equal labels.
        order = np.argsort(place, kind="stable")
        unit_of_case = np.empty(len(stratum), dtype=np.int64)
        unit_of_case[order] = np.arange(len(stratum))
        return unit_of_case, joined[came_from[place[order]]]
    span = int(unit.max()) + 1
    keys, unit_of_case = np.unique(place * span + unit, return_inverse=True)
    return unit_of_case, joined[came_from[keys // span]]


def _check_units_in_one_stratum(stratum: IntArray, unit: IntArray, names: list[str], unit_labels: Labels) -> None:
    first = np.full(unit.max() + 1, -1)
    first[unit[::-1]] = stratum[::-1]
    strays = np.flatnonzero(first[unit] != stratum)
    if strays.size:
        case = strays[0]
        raise UnitInTwoStrata(str(unit_labels[case]), (names[first[unit[case]]], names[stratum[case]]))


def _ordered_strata(
    strata: npt.ArrayLike | None, order: npt.ArrayLike | None, cases: int
) -> tuple[list[str], IntArray]:
    """The strata's names in the declared order, else sorted, and each case's position among them."""
    if strata is None:
        return [_WHOLE], np.zeros(cases, dtype=np.int64)
    values, stratum = np.unique(_labels(strata, cases, "strata"), return_inverse=True)
    names = [str(value) for value in values]
    if order is None:
        return names, stratum
    place = _places(_labels(order, cases, "order"), stratum, names)
    rank = np.argsort(place)
    return [names[i] for i in place], rank[stratum]


def _places(order: Labels, stratum: IntArray, names: list[str]) -> IntArray:
    """The permutation that sorts strata by the order column, by name where it ties."""
    values, code = np.unique(order, return_inverse=True)
    first = np.zeros(len(names), dtype=np.int64)
    first[stratum[::-1]] = code[::-1]
    strays = np.flatnonzero(first[stratum] != code)
    if strays.size:
        case = strays[0]
        raise ValueError(
            f"order: stratum {names[stratum[case]]} has the values {values[first[stratum[case]]]!s} and "
            f"{values[code[case]]!s}; the column that orders strata must be constant within each"
        )
    return np.argsort(first, kind="stable").astype(np.int64)


def _join(
    stratum: IntArray, unit: IntArray | None, names: list[str], lone: LoneStrata
) -> tuple[list[tuple[int, ...]], IntArray]:
    """The joins of lone strata, and the number of each stratum after them."""
    if unit is None:
        sizes = np.bincount(stratum, minlength=len(names))
    else:
        span = int(unit.max()) + 1
        sizes = np.bincount(np.unique(stratum * span + unit) // span, minlength=len(names))
    joins = joins_of_strata(sizes, names, lone)
    target = np.arange(len(names))
    for join in joins:
        target[list(join)] = join[0]
    return joins, np.unique(target, return_inverse=True)[1]


def joins_of_strata(sizes: IntArray, names: Sequence[str], lone: LoneStrata) -> list[tuple[int, ...]]:
    """Which strata are to be joined, as positions in the order given; outcomes never decide it."""
    alone = np.flatnonzero(sizes == 1).tolist()
    if len(alone) == len(sizes) and (len(sizes) == 1 or lone is not LoneStrata.COLLAPSE):
        raise ValueError(
            f"no stratum has two units (the first is {names[0]}); a variance needs at least one such stratum: "
            "drop the stratum, or let lone strata be joined (collapse)"
        )
    if alone and lone is LoneStrata.FAIL:
        raise ValueError(
            f"stratum {names[alone[0]]} has a single unit ({len(alone)} such strata): choose another treatment of lone "
            "strata, such as collapse"
        )
    return _joins(alone, len(sizes)) if lone is LoneStrata.COLLAPSE else []


def _joins(alone: list[int], strata: int) -> list[tuple[int, ...]]:
    """Pairs, a triple if they are odd in number, and a single one with its neighbour."""
    if len(alone) == 1:
        neighbour = alone[0] + 1 if alone[0] + 1 < strata else alone[0] - 1
        return [(min(alone[0], neighbour), max(alone[0], neighbour))]
    pairs = [tuple(alone[i : i + 2]) for i in range(0, len(alone) - 1, 2)]
    if len(alone) % 2 and pairs:
        pairs[-1] = (*pairs[-1], alone[-1])
    return pairs


def _titles(names: list[str], joins: list[tuple[int, ...]]) -> tuple[str, ...]:
    joined = {join[0]: "+".join(names[i] for i in join) for join in joins}
    absorbed = {i for join in joins for i in join[1:]}
    return tuple(joined.get(i, name) for i, name in enumerate(names) if i not in absorbed)
