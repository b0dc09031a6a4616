"""Runs broken down by a column: how they react to changes in the properties of their inputs.

A group is a part of one sample, not a sample of its own: its error is taken over all units of the strata that it lies
in, so that the number of its cases may vary too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from harness.analysis.comparing.align import Aligned, BoolArray, FloatArray
from harness.analysis.comparing.cells import Cells, measure_cells
from harness.analysis.comparing.grouping import groups_of
from harness.analysis.comparing.sampling import Sampling
from harness.errors import UsageError
from harness.measures import Measure
from harness.stats.estimate import Estimate, t_p_values, with_adjusted
from harness.stats.multiplicity import Multiplicity, adjusted, max_t
from harness.stats.replication.estimates import Estimates
from harness.stats.replication.plan import Plan

MOST_PAIRS = 66
# Cases times groups that are held at once, to compare groups with one another.
MOST_CELLS = 1 << 27
# What is below is left of rounding.
_NO_VARIANCE = 1e-24


@dataclass(frozen=True)
class Basis:
    """What is broken down: runs, how their cases were sampled, what is measured, and how."""

    aligned: Aligned
    sampling: Sampling
    measure: Measure
    plan: Plan


@dataclass(frozen=True)
class Group:
    """Some of the cases: estimates of all runs and of the differences of all pairs, None where there is none."""

    label: str
    cases: int
    runs: list[Estimate | None]
    pairs: list[Estimate | None]


@dataclass(frozen=True)
class Gap:
    """How far the best and the worst group of one run are apart.

    The interval holds for all pairs of groups at once, since the two were chosen after looking; `p_value` is of all
    groups being equal. No estimate where fewer than two groups show how much they vary.
    """

    best: str
    worst: str
    estimate: Estimate
    p_value: float | None


@dataclass(frozen=True)
class Interaction:
    """Whether a difference changes from group to group; the p-value is Wald's, corrected for the number of pairs."""

    groups: int
    p_value: float
    p_adjusted: float


@dataclass(frozen=True)
class ByGroup:
    """All groups in the order of their values; for each run its gap, for each pair whether it depends on the group."""

    column: str
    groups: list[Group]
    gaps: list[Gap | None]
    interactions: list[Interaction | None]


def by_group(basis: Basis, pairs: Sequence[tuple[int, int]], asked: str) -> ByGroup:
    """Break runs, and pairs of them, down by a column."""
    if len(pairs) > MOST_PAIRS:
        raise UsageError(f"--by with {len(pairs):,} pairs is more than anyone reads; choose one: --baseline NAME")
    found = groups_of(basis.aligned, asked)
    members = [found.codes == code for code in range(len(found.labels))]
    rows = [_group(basis, label, inside, pairs) for label, inside in zip(found.labels, members, strict=True)]
    if not any(value for row in rows for value in row.runs):
        words = basis.measure.words
        raise UsageError(f"--by {asked}: no group by itself has a value of {words}; group by something else")
    runs = range(len(basis.aligned.names))
    return ByGroup(
        column=found.column,
        groups=_with_holm(rows, len(pairs)),
        gaps=[_gap(basis, members, rows, run) for run in runs],
        interactions=_interactions(basis, members, rows, pairs),
    )


def _group(basis: Basis, label: str, inside: BoolArray, pairs: Sequence[tuple[int, int]]) -> Group:
    runs = len(basis.aligned.names)
    try:
        cells = _cells(basis, [(run, inside) for run in range(runs)])
    except UsageError:
        # Replicates of all cases have the measure, those of this small group do not.
        return Group(label, int(inside.sum()), [None] * runs, [None] * len(pairs))
    return Group(label, int(inside.sum()), [cells.one(run) for run in range(runs)], cells.differences(pairs))


def _cells(basis: Basis, cells: Sequence[tuple[int, BoolArray | None]]) -> Cells:
    return measure_cells(basis.measure, basis.aligned, cells, basis.sampling.sample, basis.plan)


def _with_holm(rows: Sequence[Group], pairs: int) -> list[Group]:
    """P-values of all groups and pairs, corrected for their number."""
    flat = with_adjusted([gap for row in rows for gap in row.pairs])
    return [replace(row, pairs=flat[i * pairs : (i + 1) * pairs]) for i, row in enumerate(rows)]


def _varying(rows: Sequence[Group], members: Sequence[BoolArray], run: int) -> list[int]:
    """Groups of which a run's value has an interval."""
    return [i for i in range(len(members)) if (one := rows[i].runs[run]) is not None and one.interval is not None]


def _gap(basis: Basis, members: Sequence[BoolArray], rows: Sequence[Group], run: int) -> Gap | None:
    having = _varying(rows, members, run)
    if len(having) < 2 or len(having) * basis.aligned.n > MOST_CELLS:
        return None
    try:
        cells = _cells(basis, [(run, members[i]) for i in having])
    except UsageError:
        return None
    if cells.found is None or len(cells.place) < len(having):
        return None
    values = cells.found.values if basis.measure.larger_is_better else -cells.found.values
    best, worst = int(np.argmax(values)), int(np.argmin(values))
    if best == worst:
        return None
    one = _simultaneous(cells.found, cells.found.difference(best, worst), (best, worst), basis.plan)
    labels = [rows[i].label for i in having]
    return Gap(labels[best], labels[worst], one, _p_equal(cells))


def equal_groups(basis: Basis, members: Sequence[BoolArray]) -> float | None:
    """The p-value of all groups of the first run being equal; None where too few of them show how much they vary."""
    if len(members) * basis.aligned.n > MOST_CELLS:
        return None
    try:
        cells = _cells(basis, [(0, inside) for inside in members])
        if cells.found is not None and (cells.found.domain_df < 1).any():
            # Groups within one unit have no error, and leave the others without replicates.
            kept = [cell for cell, place in cells.place.items() if cells.found.domain_df[place] >= 1]
            cells = _cells(basis, [(0, members[cell]) for cell in kept]) if kept else Cells(None, {})
    except UsageError:
        return None
    return _p_equal(cells)


def _p_equal(cells: Cells) -> float | None:
    """Of all groups being equal: Wald's test of those that vary, and the ends by their limits if some do not."""
    found = cells.found
    if found is None:
        return None
    known = found.domain_df >= 1
    varying = known & (found.se > 0)
    p_values = []
    if varying.sum() > 1:
        p_values.append(found.equality(np.eye(len(found))[varying], shared=False).p_value)
    if known.sum() > 1 and not varying[known].all():
        most, least = (int(part(np.where(known, found.values, np.nan))) for part in (np.nanargmax, np.nanargmin))
        p_values.append(math.comb(int(known.sum()), 2) * found.p_by_limits(most, least))
    p_values = [p for p in p_values if not math.isnan(p)]
    return min(1.0, len(p_values) * min(p_values)) if p_values else None


def _simultaneous(found: Estimates, one: Estimate, pair: tuple[int, int], plan: Plan) -> Estimate:
    """The difference with an interval that allows for the choice of the two among all groups."""
    pairs = list(combinations(range(len(found)), 2))
    if one.interval is None or len(pairs) < 2:
        return one
    level = 1 - (1 - plan.confidence) / len(pairs)
    i, j = np.array(pairs).T
    variances = np.diag(found.covariance)[i] + np.diag(found.covariance)[j] - 2 * found.covariance[i, j]
    kept = variances > _NO_VARIANCE
    if one.se > 0:
        t = (found.values[i] - found.values[j])[kept] / np.sqrt(variances[kept])
        largest = max_t(
            found.covariance, np.array(pairs)[kept], t, df=one.df, confidence=plan.confidence,
            rng=np.random.default_rng(plan.seed),
        )  # fmt: skip
        level = 1 - float(t_p_values(largest.critical, 1.0, one.df))
    return replace(one, interval=found.at(level).difference(*pair).interval)


def _interactions(
    basis: Basis, members: Sequence[BoolArray], rows: Sequence[Group], pairs: Sequence[tuple[int, int]]
) -> list[Interaction | None]:
    raw = [_interaction(basis, members, rows, pairs, k) for k in range(len(pairs))]
    p_values = np.array([math.nan if one is None else one[1] for one in raw])
    corrected = adjusted(p_values, Multiplicity.HOLM)
    return [
        None if one is None else Interaction(one[0], one[1], float(p)) for one, p in zip(raw, corrected, strict=True)
    ]


def _interaction(
    basis: Basis, members: Sequence[BoolArray], rows: Sequence[Group], pairs: Sequence[tuple[int, int]], k: int
) -> tuple[int, float] | None:
    """Wald's test that a difference is the same in all groups that show how much it varies."""
    having = [i for i in range(len(members)) if (gap := rows[i].pairs[k]) is not None and gap.se > 0 and gap.df >= 1]
    if len(having) < 2 or 2 * len(having) * basis.aligned.n > MOST_CELLS:
        return None
    try:
        cells = _cells(basis, [(run, members[i]) for run in pairs[k] for i in having])
    except UsageError:
        return None
    if cells.found is None or len(cells.place) < 2 * len(having):
        return None
    test = cells.found.equality(_differences(len(having)), shared=False)
    return None if math.isnan(test.p_value) else (len(having), test.p_value)


def _differences(groups: int) -> FloatArray:
    """Contrasts (groups, 2 groups): the first run's value in a group less the second's."""
    return np.hstack([np.eye(groups), -np.eye(groups)])
