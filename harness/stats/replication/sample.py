"""The sample: which case belongs to which unit, which unit to which stratum, and what each case weighs."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.replication.arrays import FloatArray, IntArray, Labels, columns_of
from harness.stats.replication.lone import Lone, groups_of_strata

_WHOLE = "all cases"


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
    lone: Lone = Lone.COLLAPSE
    stratified: bool = True
    clustered: bool = True

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
    def stratum_sizes(self) -> IntArray:
        """Number of units in each stratum."""
        return np.bincount(self.stratum_of_unit, minlength=self.strata).astype(np.int64)


def make_sample(
    cases: int,
    *,
    strata: npt.ArrayLike | None = None,
    units: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    order: npt.ArrayLike | None = None,
    nested: bool = False,
    lone: Lone | str = Lone.COLLAPSE,
) -> Sample:
    """Build a sample from one label, weight and so on for each case.

    Without `units` every case is a unit of its own; without `strata` all units form one stratum. `nested` says that
    unit labels start afresh in every stratum; otherwise a unit that lies in two strata is an error. `order` is a
    column, constant within a stratum, by which lone strata are joined (otherwise by name).
    """
    if cases < 1:
        raise ValueError("a sample needs at least one case")
    stratum_labels = _labels(strata, cases, "strata") if strata is not None else np.full(cases, _WHOLE)
    unit_labels = _labels(units, cases, "units") if units is not None else np.arange(cases)
    names, stratum = np.unique(stratum_labels, return_inverse=True)
    unit = np.unique(unit_labels, return_inverse=True)[1]
    if not nested:
        _check_units_in_one_stratum(stratum, unit, names, unit_labels)
    place = _stratum_order(_labels(order, cases, "order"), stratum, names) if order is not None else None
    return _assemble(
        _weights(weights, cases), stratum, unit, names, place, _lone(lone), strata is not None, units is not None
    )


def unit_sums(sample: Sample, values: npt.ArrayLike) -> FloatArray:
    """Weighted sums over the cases of each unit: (cases,) gives (units,), (cases, m) gives (units, m)."""
    columns, single = columns_of(values)
    if len(columns) != sample.cases:
        raise ValueError(f"{len(columns)} values for {sample.cases} cases; give one value for each case")
    sums = np.empty((sample.units, columns.shape[1]))
    for column in range(columns.shape[1]):
        sums[:, column] = np.bincount(
            sample.unit_of_case, weights=sample.weights * columns[:, column], minlength=sample.units
        )
    return sums[:, 0] if single else sums


def _labels(values: npt.ArrayLike, cases: int, what: str) -> Labels:
    array = np.asarray(values)
    if array.shape != (cases,):
        raise ValueError(f"{what}: shape {array.shape} for {cases} cases; give one label for each case")
    return array.astype(str) if array.dtype == object else array


def _lone(name: Lone | str) -> Lone:
    if name not in list(Lone):
        raise ValueError(f"lone={name!r}: choose one of {', '.join(Lone)}")
    return Lone(name)


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


def _check_units_in_one_stratum(stratum: IntArray, unit: IntArray, names: Labels, unit_labels: Labels) -> None:
    first = np.full(unit.max() + 1, -1)
    first[unit[::-1]] = stratum[::-1]
    strays = np.flatnonzero(first[unit] != stratum)
    if strays.size:
        case = strays[0]
        raise ValueError(
            f"unit {unit_labels[case]!s} lies in strata {names[first[unit[case]]]!s} and {names[stratum[case]]!s}: its "
            "cases are not independent; use the unit's own column as stratum, drop the stratum, or say nested=True "
            "if labels start afresh in every stratum"
        )


def _stratum_order(order: Labels, stratum: IntArray, names: Labels) -> IntArray:
    values, code = np.unique(order, return_inverse=True)
    first = np.zeros(len(names), dtype=np.int64)
    first[stratum[::-1]] = code[::-1]
    strays = np.flatnonzero(first[stratum] != code)
    if strays.size:
        case = strays[0]
        raise ValueError(
            f"order: stratum {names[stratum[case]]!s} has the values {values[first[stratum[case]]]!s} and "
            f"{values[code[case]]!s}; the column that orders strata must be constant within each"
        )
    return np.lexsort((np.arange(len(names)), first)).astype(np.int64)


def _assemble(
    weights: FloatArray,
    stratum: IntArray,
    unit: IntArray,
    names: Labels,
    place: IntArray | None,
    lone: Lone,
    stratified: bool,
    clustered: bool,
) -> Sample:
    span = int(unit.max()) + 1
    sizes = np.bincount(np.unique(stratum * span + unit) // span, minlength=len(names))
    by_order = place if place is not None else np.arange(len(names))
    groups = groups_of_strata(sizes[by_order], [str(names[i]) for i in by_order], lone)
    joined = np.empty(len(names), dtype=np.int64)
    for code, group in enumerate(groups):
        joined[by_order[list(group)]] = code
    # Within a joined stratum units keep the order of their old strata: the key has both.
    rank = np.empty(len(names), dtype=np.int64)
    rank[by_order] = np.arange(len(names))
    key = (joined[stratum] * len(names) + rank[stratum]) * span + unit
    keys, unit_of_case = np.unique(key, return_inverse=True)
    titles = tuple("+".join(str(names[by_order[i]]) for i in group) for group in groups)
    return Sample(
        weights=weights,
        unit_of_case=unit_of_case,
        stratum_of_unit=keys // (len(names) * span),
        stratum_names=titles,
        collapsed=tuple(tuple(str(names[by_order[i]]) for i in group) for group in groups if len(group) > 1),
        lone=lone,
        stratified=stratified,
        clustered=clustered,
    )
