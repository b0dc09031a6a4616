"""Runs on different inputs by groups: each side has its own cases in every group, and variances add."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from harness.analysis.breakdown import Breakdown, Group
from harness.analysis.groups import BINS, CROSS, crossed_columns, groups_of
from harness.errors import UsageError
from harness.stats.estimate import Estimate, independent_difference, with_adjusted
from harness.stats.multiplicity import Multiplicity

if TYPE_CHECKING:
    from harness.analysis.unpaired import UnpairedRun


def difference_of(one: Estimate | None, other: Estimate | None) -> Estimate | None:
    """The difference of two samples that have nothing in common; None if one of them has no value."""
    return None if one is None or other is None else independent_difference(one, other)


def by_group(runs: Sequence["UnpairedRun"], multiplicity: Multiplicity, by: str) -> Breakdown:
    """The runs, and their differences, in every group that any of them has."""
    whole = runs[0].aligned.column(by) is not None
    for part in [] if whole else crossed_columns(by):
        if BINS.fullmatch(part) and runs[0].aligned.column(part) is None:
            raise UsageError(f"--by {part}: bins of different inputs must have the same edges; write COLUMN=0,10,20")
    parts = [_groups(run, by) for run in runs]
    # In the order of the first run that has them, in which bins of a number are sorted.
    values = list(dict.fromkeys(value for groups in parts for value in groups))
    columns = [name for name, _ in values[0]]
    pairs = list(combinations(range(len(runs)), 2))
    rows = []
    for value in values:
        estimates, cases, answers = zip(*(groups.get(value, (None, 0, 0)) for groups in parts), strict=True)
        gaps = [difference_of(estimates[a], estimates[b]) for a, b in pairs]
        label, crossed = CROSS.join(text for _, text in value), dict(value) if len(value) > 1 else {}
        rows.append(Group(label, sum(cases), list(estimates), gaps, crossed, sum(answers)))
    flat = with_adjusted([gap for row in rows for gap in row.pairs], multiplicity)
    rows = [replace(row, pairs=flat[i * len(pairs) : (i + 1) * len(pairs)]) for i, row in enumerate(rows)]
    return Breakdown(CROSS.join(columns), rows, [None] * len(runs), [None] * len(pairs))


def _groups(run: "UnpairedRun", by: str) -> dict[tuple[tuple[str, str], ...], tuple[Estimate | None, int, int]]:
    """The estimate of each group, and the numbers of its cases and answers, by its value in each column."""
    groups, result = groups_of(run.aligned, by), {}
    for code in range(len(groups.labels)):
        inside = groups.codes == code
        result[tuple(groups.values(code).items())] = (
            run.study.cells([(0, inside)]).one(0),
            run.aligned.case_count(inside),
            int(inside.sum()),
        )
    return result
