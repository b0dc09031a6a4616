"""The sample: which unit each case belongs to, which stratum each unit belongs to, and the weight of each case."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray, IntArray, Labels, columns_of, numbered

_WHOLE = "all cases"


class LoneStrata(StrEnum):
    """How to treat strata of one unit; all but the first are the choices of R's survey.lonely.psu."""

    COLLAPSE = "collapse"
    FAIL = "fail"
    REMOVE = "remove"
    CERTAINTY = "certainty"
    ADJUST = "adjust"
    AVERAGE = "average"


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A validated sample; `make_sample` builds it.

    Units are numbered stratum by stratum, so the units of a stratum are consecutive. Strata are those used for the
    variance: lone ones have been joined if `lone` says so, and `collapsed` names them.
    """

    weights: FloatArray
    unit_of_case: IntArray
    stratum_of_unit: IntArray
    stratum_names: tuple[str, ...]
    collapsed: tuple[tuple[str, ...], ...] = ()
    lone: LoneStrata = LoneStrata.COLLAPSE
    stratified: bool = True
    clustered: bool = True
    # How many answers each case of the test has: more answers are not more cases.
    answers: int = 1

    @property
    def cases(self) -> int:
        return len(self.weights)

    @property
    def units(self) -> int:
        """Number of units, over all strata."""
        return len(self.stratum_of_unit)

    @property
    def strata(self) -> int:
        """Number of strata used for the variance."""
        return len(self.stratum_names)

    @property
    def target(self) -> str:
        """What an interval generalises to: fixed groups, and groups that would be drawn anew."""
        new = "new units" if self.clustered else "new cases"
        return f"these strata, {new}" if self.stratified else new

    @property
    def stratum_sizes(self) -> IntArray:
        """Number of units in each stratum."""
        return np.bincount(self.stratum_of_unit, minlength=self.strata).astype(np.int64)


class UnitInTwoStrata(ValueError):
    """A unit has cases in two strata, which are then not independent; unit and strata are given by label."""

    def __init__(self, unit: str, strata: tuple[str, str]) -> None:
        super().__init__(
            f"unit {unit} lies in strata {strata[0]} and {strata[1]}: its cases are not independent; use the unit's "
            "own column as stratum, drop the stratum, or say that units are nested (labels are reused in every "
            "stratum)"
        )
        self.unit, self.strata = unit, strata


class LoneStratum(ValueError):
    """Strata have a single unit, and nothing is to be done about it; the first of them is given by label."""

    def __init__(self, stratum: str, problem: str) -> None:
        super().__init__(f"stratum {stratum} {problem}")
        self.stratum, self.problem = stratum, problem


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
    """Build a sample from labels and weights, one for each case.

    Without `units` every case is a unit; without `strata` all units form one stratum. `nested` says that unit labels
    are reused in every stratum; otherwise a unit that lies in two strata is an error. Lone strata are joined with
    neighbours in the order of the column `order`, which is constant within a stratum (by default, by name).
    """
    if cases < 1:
        raise ValueError("a sample needs at least one case")
    if lone not in list(LoneStrata):
        raise ValueError(f"treatment {lone!r} of lone strata: expected one of {', '.join(LoneStrata)}")
    treatment = LoneStrata(lone)
    names, stratum = _ordered_strata(strata, order, cases)
    # Without units every case is one.
    unit, home = (None, stratum) if units is None else _numbered_units(units, stratum, names, nested=nested)
    joins, joined = _join(home, names, treatment)
    unit_of_case, stratum_of_unit = _sorted_units(unit, home, joined)
    return Sample(
        weights=_weights(weights, cases),
        unit_of_case=unit_of_case,
        stratum_of_unit=stratum_of_unit,
        stratum_names=_joined_names(names, joins),
        collapsed=tuple(tuple(names[i] for i in join) for join in joins),
        lone=treatment,
        stratified=strata is not None,
        clustered=units is not None,
    )


def unit_sums(sample: Sample, values: npt.ArrayLike) -> FloatArray:
    """Weighted sums over the cases of each unit: (cases,) gives (units,), (cases, m) gives (units, m)."""
    columns, single = columns_of(values)
    if len(columns) != sample.cases:
        raise ValueError(f"{len(columns)} values for {sample.cases} cases: expected one value per case")
    if not (sample.stratified or sample.clustered):
        # Every case is a unit, in the order of the cases.
        weighted = columns * sample.weights[:, None]
        return weighted[:, 0] if single else weighted
    sums = np.empty((sample.units, columns.shape[1]), order="F")
    for column in range(columns.shape[1]):
        sums[:, column] = np.bincount(
            sample.unit_of_case, weights=sample.weights * columns[:, column], minlength=sample.units
        )
    return sums[:, 0] if single else sums


def domain_df(sample: Sample, by_unit: FloatArray, design_df: float) -> FloatArray:
    """Degrees of freedom (m,) of parts of a sample, from how much of each unit (units, m) is in the part.

    The number of units in the part minus the number of their strata, as R's survey package counts them; never more
    than the design has.
    """
    in_part = by_unit > 0
    if in_part.all() or np.isinf(design_df):
        return np.full(by_unit.shape[1], design_df)
    starts = np.cumsum(sample.stratum_sizes) - sample.stratum_sizes
    strata = np.logical_or.reduceat(in_part, starts, axis=0).sum(axis=0)
    df = np.where(in_part.all(axis=0), design_df, in_part.sum(axis=0) - strata)
    return np.asarray(np.minimum(df, design_df), dtype=np.float64)


def _labels(values: npt.ArrayLike, cases: int, what: str) -> Labels:
    array = np.asarray(values)
    if array.shape != (cases,):
        raise ValueError(f"{what}: shape {array.shape} for {cases} cases; expected one label per case")
    return array.astype(str) if array.dtype == object else array


def _weights(weights: npt.ArrayLike | None, cases: int) -> FloatArray:
    if weights is None:
        return np.ones(cases)
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (cases,):
        raise ValueError(f"weights: shape {array.shape} for {cases} cases; expected one weight per case")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise ValueError(f"weights: case {bad[0]} has weight {array[bad[0]]}; expected finite numbers of 0 or more")
    if not array.any():
        raise ValueError("weights: all are zero; expected at least one above 0")
    return array


def _numbered_units(
    units: npt.ArrayLike, stratum: IntArray, names: list[str], *, nested: bool
) -> tuple[IntArray, IntArray]:
    """The unit of each case, numbered by label, and the stratum of each unit."""
    labels = _labels(units, len(stratum), "units")
    unit = numbered(labels)[1]
    if nested:
        unit = numbered(stratum * (int(unit.max()) + 1) + unit)[1]
    home = np.empty(int(unit.max()) + 1, dtype=np.int64)
    home[unit[::-1]] = stratum[::-1]
    strays = np.flatnonzero(home[unit] != stratum)
    if strays.size:
        case = strays[0]
        raise UnitInTwoStrata(str(labels[case]), (names[home[unit[case]]], names[stratum[case]]))
    return unit, home


def _sorted_units(unit: IntArray | None, home: IntArray, joined: IntArray) -> tuple[IntArray, IntArray]:
    """The unit of each case and the stratum of each unit; units are sorted by joined stratum.

    Within a joined stratum they are sorted by their original stratum, `home`, and there by their number.
    """
    position = np.argsort(np.argsort(joined, kind="stable"))[home]
    # Small numbers are sorted in one pass.
    order = np.argsort(position.astype(np.uint16) if len(joined) <= 1 << 16 else position, kind="stable")
    rank = np.empty(len(home), dtype=np.int64)
    rank[order] = np.arange(len(home))
    return rank if unit is None else rank[unit], joined[home[order]]


def _ordered_strata(
    strata: npt.ArrayLike | None, order: npt.ArrayLike | None, cases: int
) -> tuple[list[str], IntArray]:
    """The names of the strata in the given order, or sorted, and each case's position among them."""
    if strata is None:
        return [_WHOLE], np.zeros(cases, dtype=np.int64)
    values, stratum = numbered(_labels(strata, cases, "strata"))
    names = [str(value) for value in values]
    if order is None:
        return names, stratum
    order_of_strata = _sorted_by(_labels(order, cases, "order"), stratum, names)
    rank = np.argsort(order_of_strata)
    return [names[i] for i in order_of_strata], rank[stratum]


def _sorted_by(order: Labels, stratum: IntArray, names: list[str]) -> IntArray:
    """The permutation that sorts strata by the order column, ties by name."""
    values, code = numbered(order)
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


def _join(home: IntArray, names: list[str], lone: LoneStrata) -> tuple[list[tuple[int, ...]], IntArray]:
    """The joins of lone strata, and each stratum's number after joining; `home` is the stratum of each unit."""
    joins = joins_of_strata(np.bincount(home, minlength=len(names)), names, lone)
    target = np.arange(len(names))
    for join in joins:
        target[list(join)] = join[0]
    return joins, numbered(target)[1]


def joins_of_strata(sizes: IntArray, names: Sequence[str], lone: LoneStrata) -> list[tuple[int, ...]]:
    """Which strata to join, as positions in the given order; this never depends on outcomes."""
    lone_strata = np.flatnonzero(sizes == 1).tolist()
    if len(lone_strata) == len(sizes) and (len(sizes) == 1 or lone is not LoneStrata.COLLAPSE):
        raise LoneStratum(
            names[0],
            "has a single unit, and no stratum has two units, which a variance needs: drop the stratum, or join lone "
            "strata (collapse)",
        )
    if lone_strata and lone is LoneStrata.FAIL:
        more = f" (and {len(lone_strata) - 1} more)" if len(lone_strata) > 1 else ""
        raise LoneStratum(
            names[lone_strata[0]],
            f"has a single unit{more}: choose another treatment of lone strata, such as collapse",
        )
    if lone is not LoneStrata.COLLAPSE:
        return []
    # Pairs, with a triple if the number is odd; a single one is joined with its neighbour.
    if len(lone_strata) == 1:
        neighbour = lone_strata[0] + 1 if lone_strata[0] + 1 < len(sizes) else lone_strata[0] - 1
        return [(min(lone_strata[0], neighbour), max(lone_strata[0], neighbour))]
    pairs = [tuple(lone_strata[i : i + 2]) for i in range(0, len(lone_strata) - 1, 2)]
    if len(lone_strata) % 2 and pairs:
        pairs[-1] = (*pairs[-1], lone_strata[-1])
    return pairs


def _joined_names(names: list[str], joins: list[tuple[int, ...]]) -> tuple[str, ...]:
    if not joins:
        return tuple(names)
    joined = {join[0]: "+".join(names[i] for i in join) for join in joins}
    absorbed = {i for join in joins for i in join[1:]}
    return tuple(joined.get(i, name) for i, name in enumerate(names) if i not in absorbed)
