"""Runs broken down by a column: how they react to changes in the properties of their inputs.

A group is part of one sample, not a sample of its own: its error is computed over all units of its strata, so the
number of its cases may vary too.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from harness.analysis.cells import Cells, GroupCells, Measurement
from harness.analysis.groups import CaseGroups, groups_of
from harness.errors import UsageError
from harness.files.conditions import number
from harness.measures import Measure
from harness.model import finite
from harness.stats.arrays import BoolArray
from harness.stats.cochran import WaldTest
from harness.stats.estimate import Estimate, with_adjusted
from harness.stats.gaps import GapDifference, difference_of_gaps, widened
from harness.stats.multiplicity import Multiplicity, holm
from harness.stats.rates import Interval
from harness.stats.replication.estimates import Estimates

MAX_PAIRS = 66
# Columns whose numbers, if they are numbers, are names.
CLASSES = ("id", "truth", "expect", "stratum", "psu", "original")
# Cases times groups that are held in memory at once, to compare groups.
MAX_CELLS = 1 << 27
# The contrasts grow with the fourth power, and of so many the interval says nothing any more.
MAX_CONTRASTED = 30


@dataclass(frozen=True)
class Group:
    """Some of the cases, with estimates for all runs and for the differences of all pairs, or None."""

    label: str
    cases: int
    runs: list[Estimate | None]
    pairs: list[Estimate | None]
    # Its value in each column, if columns were crossed.
    values: dict[str, str] = field(default_factory=dict)
    # Its records: with --repeat, a case has several.
    answers: int = 0

    @property
    def key(self) -> tuple[str, ...]:
        """What no other group has: crossed labels may be the same where values contain an x."""
        return tuple(self.values.values()) or (self.label,)


@dataclass(frozen=True)
class Gap:
    """The difference between the best and the worst group of one run.

    If nobody has said what is better, `best` is the group with most and `worst` the one with least: not `directed`.
    The interval holds for all pairs of groups at once, since the two were chosen after seeing the data; `p_value` tests
    that all groups are equal; without one, `untested` is the test that the sample cannot carry, if that is why.
    """

    best: str
    worst: str
    estimate: Estimate
    p_value: float | None
    untested: WaldTest | None = None
    directed: bool = True


@dataclass(frozen=True)
class Interaction:
    """Whether a difference changes from group to group; the p-value is Wald's, corrected for the number of pairs.

    Both are None if the sample cannot carry the test.
    """

    groups: int
    test: WaldTest
    p_adjusted: float | None = None

    @property
    def p_value(self) -> float | None:
        """Of the pair by itself."""
        return finite(self.test.p_value)


@dataclass(frozen=True)
class GapContrast:
    """The gap of one run minus that of another, with its p-value corrected for the number of pairs."""

    groups: int
    gaps: tuple[float, float]
    difference: GapDifference
    p_adjusted: float


@dataclass(frozen=True)
class Breakdown:
    """All groups in the order of their values, the gap of each run, and the interaction of each pair."""

    column: str
    groups: list[Group]
    gaps: list[Gap | None]
    interactions: list[Interaction | None]
    # The difference of the gaps of each pair.
    gap_contrasts: list[GapContrast | None] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """The columns that were crossed, or the only one."""
        return list(self.groups[0].values) or [self.column]

    def group_values(self, columns: Sequence[str]) -> list[list[str | None]]:
        """For a table with these columns: for each group its values, None in those that it is not by."""
        values = [group.values or {self.column: group.label} for group in self.groups]
        return [[value.get(column) for column in columns] for value in values]

    @property
    def positions(self) -> list[float] | None:
        """Where the groups are on the scale of the column; None if it is not a number. Classes are names."""
        values = [number(group.label) for group in self.groups]
        known = [value for value in values if value is not None]
        is_scale = len(set(known)) == len(values) and self.column not in CLASSES
        return known if is_scale else None


def distinct_columns(breakdowns: Sequence[Breakdown]) -> list[str]:
    """The columns of several breakdowns, each once."""
    return list(dict.fromkeys(column for breakdown in breakdowns for column in breakdown.columns))


def break_down(measurement: Measurement, pairs: Sequence[tuple[int, int]], by: str) -> Breakdown:
    """Break runs, and pairs of them, down by a column."""
    if len(pairs) > MAX_PAIRS:
        raise UsageError(f"--by with {len(pairs):,} pairs is too much to read; compare with one run: --baseline NAME")
    groups, rows = group_rows(measurement, pairs, by)
    if not any(value for row in rows for value in row.runs):
        words = measurement.measure.words
        raise UsageError(f"--by {by}: no group by itself has a value for {words}; group by something else")
    cells = GroupCells(measurement, groups.members)
    gaps = [_gap(cells, rows, run) for run in range(len(measurement.aligned.names))]
    # Pair by pair, since both tests are of the same cells.
    interactions, contrasts = [], []
    for k, pair in enumerate(pairs):
        interactions.append(_interaction(cells, rows, pair, k))
        contrasts.append(_gap_contrast(cells, rows, pair))
    of_interactions = holm([None if test is None else test.test.p_value for test in interactions]).tolist()
    of_contrasts = holm([None if contrast is None else contrast.difference.p_value for contrast in contrasts]).tolist()
    return Breakdown(
        column=groups.column,
        groups=with_corrected(rows),
        gaps=gaps,
        interactions=[
            None if test is None else replace(test, p_adjusted=finite(p))
            for test, p in zip(interactions, of_interactions, strict=True)
        ],
        gap_contrasts=[
            None if contrast is None else replace(contrast, p_adjusted=p)
            for contrast, p in zip(contrasts, of_contrasts, strict=True)
        ],
    )


def group_rows(measurement: Measurement, pairs: Sequence[tuple[int, int]], by: str) -> tuple[CaseGroups, list[Group]]:
    """The groups of a column, and what is estimated of each by itself."""
    groups = groups_of(measurement.aligned, by)
    values = groups.crossed or [{} for _ in groups.labels]
    return groups, [
        replace(_group(measurement, label, inside, pairs), values=in_columns)
        for label, inside, in_columns in zip(groups.labels, groups.members, values, strict=True)
    ]


def side_by_side(parts: Sequence[Sequence[Group]], count: Callable[[Iterable[int]], int]) -> list[Group]:
    """The groups of runs that were broken down each by itself, in the order of the first that has them.

    `count` makes one number of cases of those of all runs.
    """
    by_key = [{group.key: group for group in groups} for groups in parts]
    rows = []
    for key in dict.fromkeys(key for groups in by_key for key in groups):
        same = [groups.get(key) for groups in by_key]
        known = [group for group in same if group is not None]
        cases, answers = count(group.cases for group in known), count(group.answers for group in known)
        runs = [None if group is None else group.runs[0] for group in same]
        rows.append(replace(known[0], cases=cases, answers=answers, runs=runs, pairs=[]))
    return rows


def with_corrected(rows: Sequence[Group]) -> list[Group]:
    """The groups with p-values of pairs that are corrected for all pairs of all groups, by Holm."""
    flat = iter(with_adjusted([gap for row in rows for gap in row.pairs], Multiplicity.HOLM))
    return [replace(row, pairs=list(islice(flat, len(row.pairs)))) for row in rows]


def _group(measurement: Measurement, label: str, inside: BoolArray, pairs: Sequence[tuple[int, int]]) -> Group:
    runs, cases, answers = len(measurement.aligned.names), measurement.aligned.case_count(inside), int(inside.sum())
    try:
        cells = measurement.cells([(run, inside) for run in range(runs)])
    except UsageError:
        # The replicates of all cases have a value, those of this small group do not.
        return Group(label, cases, [None] * runs, [None] * len(pairs), answers=answers)
    values = [cells.estimate(run) for run in range(runs)]
    return Group(label, cases, values, cells.differences(pairs), answers=answers)


def _varying(rows: Sequence[Group], run: int) -> list[int]:
    """The groups in which the run's value has an interval."""
    return [i for i, row in enumerate(rows) if (value := row.runs[run]) is not None and value.interval is not None]


def _gap(of: GroupCells, rows: Sequence[Group], run: int) -> Gap | None:
    known = _varying(rows, run)
    if len(known) < 2 or len(known) * of.measurement.aligned.n > MAX_CELLS:
        return None
    cells = of.of([run], known)
    if cells is None or cells.estimates is None:
        return None
    values = of.measurement.measure.merit(cells.estimates.values)
    best, worst = int(np.argmax(values)), int(np.argmin(values))
    if best == worst:
        return None
    difference = _simultaneous(cells.estimates, best, worst)
    labels = [rows[i].label for i in known]
    return Gap(labels[best], labels[worst], difference, *_p_equal(cells), of.measurement.measure.directed)


def equal_groups(measurement: Measurement, members: Sequence[BoolArray]) -> tuple[float | None, WaldTest | None]:
    """The p-value that all groups of the first run are equal, else the test that the sample cannot carry.

    Neither, if too few groups have a variance.
    """
    if len(members) * measurement.aligned.n > MAX_CELLS:
        return None, None
    try:
        cells = measurement.cells([(0, inside) for inside in members])
        if cells.estimates is not None and (cells.estimates.domain_df < 1).any():
            # A group within one unit has no error, and would leave the others without replicates.
            known = [cell for cell, index in cells.index.items() if cells.estimates.domain_df[index] >= 1]
            cells = measurement.cells([(0, members[cell]) for cell in known]) if known else Cells(None, {})
    except UsageError:
        return None, None
    return _p_equal(cells)


def _p_equal(cells: Cells) -> tuple[float | None, WaldTest | None]:
    """That all groups are equal: Wald's test of those that vary, and the extremes by their limits if some do not."""
    estimates = cells.estimates
    if estimates is None:
        return None, None
    known = estimates.domain_df >= 1
    varying = known & (estimates.se > 0)
    wald, p_values = None, []
    if varying.sum() > 1:
        wald = estimates.equality(np.eye(len(estimates))[varying])
        p_values.append(wald.p_value)
    if known.sum() > 1 and not varying[known].all():
        most, least = (int(part(np.where(known, estimates.values, np.nan))) for part in (np.nanargmax, np.nanargmin))
        p_values.append(math.comb(int(known.sum()), 2) * estimates.p_by_limits(most, least))
    p_values = [p for p in p_values if not math.isnan(p)]
    return (min(1.0, len(p_values) * min(p_values)), None) if p_values else (None, wald)


def _simultaneous(estimates: Estimates, best: int, worst: int) -> Estimate:
    """The difference of two groups with an interval that allows for their choice among all groups."""
    difference = estimates.difference(best, worst)
    i, j = np.triu_indices(len(estimates), 1)
    if difference.interval is None or len(i) < 2:
        return difference
    here = (i == min(best, worst)) & (j == max(best, worst))
    level = float(estimates.max_t(i, j, df=difference.df).confidence[here][0])
    return replace(difference, interval=difference.at(level))


def _interaction(of: GroupCells, rows: Sequence[Group], pair: tuple[int, int], k: int) -> Interaction | None:
    """Wald's test that a difference is the same in all groups in which it has a variance."""
    known = [i for i, row in enumerate(rows) if (gap := row.pairs[k]) is not None and gap.se > 0 and gap.df >= 1]
    if len(known) < 2 or 2 * len(known) * of.measurement.aligned.n > MAX_CELLS:
        return None
    cells = of.of(pair, known)
    if cells is None or cells.estimates is None:
        return None
    # Contrasts (groups, 2 groups): the first run's value in a group minus the second's.
    differences = np.hstack([np.eye(len(known)), -np.eye(len(known))])
    return Interaction(len(known), cells.estimates.equality(differences))


def _gap_contrast(of: GroupCells, rows: Sequence[Group], pair: tuple[int, int]) -> GapContrast | None:
    """The difference of the gaps of two runs, in the groups that vary for both.

    None with fewer than two of them, too many, or one without an error.
    """
    groups = sorted(set(_varying(rows, pair[0])) & set(_varying(rows, pair[1])))
    if 2 * len(rows) * of.measurement.aligned.n > MAX_CELLS or not 2 <= len(groups) <= MAX_CONTRASTED:
        return None
    cells = of.of(pair, groups)
    if cells is None or cells.estimates is None or not (cells.estimates.df() >= 1).all():
        return None
    estimates, replication = cells.estimates, of.measurement.replication
    values, level = estimates.values, replication.confidence
    half = (estimates.limits.high - estimates.limits.low) / 2
    # No group is more certain than its interval says, which knows what no errors mean.
    covariance = widened(estimates.covariance, half, estimates.df(), level)
    if not np.isfinite(covariance).all():
        return None
    difference = difference_of_gaps(
        values,
        covariance,
        float(estimates.df().min()),
        confidence=level,
        rng=np.random.default_rng(replication.seed),
    )
    least, most = of.measurement.measure.bounds
    low, high = (min(max(end, least - most), most - least) for end in difference.interval)
    difference = replace(difference, interval=Interval(low, high))
    gaps = [float(np.ptp(part)) for part in np.split(values, 2)]
    return GapContrast(len(groups), (gaps[0], gaps[1]), difference, difference.p_value)


# Which run leads as a column grows, such as the noise of the inputs


@dataclass(frozen=True)
class LeadSpan:
    """Groups next to one another, apart from those without a verdict, in which one run of a pair leads."""

    leader: int
    first: str
    last: str


def is_significant(difference: Estimate | None, level: float) -> bool:
    """Whether a difference is shown: by its corrected p-value, and by an interval without 0."""
    if difference is None or difference.p_adjusted is None or not difference.p_adjusted <= level:
        return False
    return difference.interval is None or not difference.interval.low <= 0 <= difference.interval.high


def lead_spans(
    breakdown: Breakdown, pair: int, runs: tuple[int, int], measure: Measure, level: float
) -> list[LeadSpan]:
    """Which of two runs leads, from group to group; groups without a significant difference do not count.

    None leads if nobody has said what is better.
    """
    spans: list[LeadSpan] = []
    for group in breakdown.groups if measure.directed else ():
        a, b = (group.runs[run] for run in runs)
        if a is None or b is None or not is_significant(group.pairs[pair], level):
            continue
        leader = runs[0] if measure.merit(a.value) > measure.merit(b.value) else runs[1]
        if spans and spans[-1].leader == leader:
            spans[-1] = replace(spans[-1], last=group.label)
        else:
            spans.append(LeadSpan(leader, group.label, group.label))
    return spans
