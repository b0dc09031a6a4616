"""The comparison broken down by a column: how runs react to changes in the properties of their inputs.

A group is a part of one sample, not a sample of its own: its error is taken over all units of the strata that it lies
in, so that the number of its cases may vary too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.comparing.align import BoolArray
from harness.analysis.comparing.comparison import Comparison
from harness.analysis.comparing.grouping import groups_of
from harness.analysis.comparing.measured import Measured, gaps_together, measure
from harness.analysis.comparing.statistics import Form, outcome_form
from harness.errors import UsageError
from harness.stats.cochran import equal_rates
from harness.stats.differences import paired_difference
from harness.stats.multiplicity import holm
from harness.stats.paired import Table, mcnemar
from harness.stats.rates import Interval, wilson
from harness.stats.replication.sample import Sample, unit_sums

MOST_PAIRS = 66


@dataclass(frozen=True)
class Value:
    """A statistic of one run in one group; no interval where a single unit says nothing of its error."""

    estimate: float
    interval: Interval | None


@dataclass(frozen=True)
class Gap:
    """One run less another in one group. `p_adjusted`: Holm over all groups and pairs."""

    estimate: float
    interval: Interval | None
    p_value: float | None
    p_adjusted: float | None = None


@dataclass(frozen=True)
class Group:
    """Some of the cases: values of all runs and gaps of all pairs, None where there is none."""

    label: str
    cases: int
    runs: list[Value | None]
    pairs: list[Gap | None]


@dataclass(frozen=True)
class Interaction:
    """Whether a difference changes from group to group; the p-value is Wald's, corrected for the number of pairs."""

    groups: int
    p_value: float
    p_adjusted: float


@dataclass(frozen=True)
class ByGroup:
    """All groups, in the order of their values, and for each pair whether its difference depends on them."""

    column: str
    groups: list[Group]
    interactions: list[Interaction | None]


def by_group(found: Comparison, asked: str) -> ByGroup:
    """Break a comparison down."""
    if len(found.pairs) > MOST_PAIRS:
        raise UsageError(f"--by with {len(found.pairs):,} pairs is more than anyone reads; choose one: --baseline NAME")
    groups = groups_of(found.aligned, asked)
    form = found.form or outcome_form("rate", found.aligned)
    replicated = found.sampling.known or found.form is not None
    members = [groups.codes == code for code in range(len(groups.labels))]
    rows = [
        _replicated(found, form, label, inside) if replicated else _independent(found, label, inside)
        for label, inside in zip(groups.labels, members, strict=True)
    ]
    if not any(value for row in rows for value in row.runs):
        raise UsageError(f"--by {asked}: no group by itself has a value of {form.words}; group by something else")
    return ByGroup(groups.column, _with_holm(rows), _interactions(found, form, members, rows))


def _replicated(found: Comparison, form: Form, label: str, inside: BoolArray) -> Group:
    sample, runs = found.sampling.sample, len(found.aligned.names)
    try:
        measured = measure(form, runs, sample, found.plan, inside)
    except UsageError:
        # Replicates of all cases have the statistic, those of this small group do not.
        return Group(label, int(inside.sum()), [None] * runs, [None] * len(found.pairs))
    df = group_df(sample, inside)
    if measured is not None and df >= 1:
        measured = replace(measured, group_df=min(df, measured.found.design_df))
    sure = df >= 1
    return Group(
        label,
        int(inside.sum()),
        [_value(measured, run, sure=sure) for run in range(runs)],
        [_gap(measured, pair.a, pair.b, sure=sure) for pair in found.pairs],
    )


def group_df(sample: Sample, inside: BoolArray) -> float:
    """Units that have cases in the group, less the strata that these are in, as R's survey package counts them."""
    having = unit_sums(sample, inside) > 0
    strata = np.unique(sample.stratum_of_unit[having]).size
    return float(having.sum() - strata)


def _value(measured: Measured | None, run: int, *, sure: bool) -> Value | None:
    one = None if measured is None else measured.run(run)
    return None if one is None else Value(one.estimate, one.interval if sure else None)


def _gap(measured: Measured | None, a: int, b: int, *, sure: bool) -> Gap | None:
    one = None if measured is None else measured.pair(a, b)
    if one is None:
        return None
    return Gap(one.estimate, one.interval, one.p_value) if sure else Gap(one.estimate, None, None)


def _independent(found: Comparison, label: str, inside: BoolArray) -> Group:
    """Without a design: Wilson, Newcombe and McNemar's exact test."""
    success, confidence = found.aligned.success[:, inside], found.plan.confidence
    n = success.shape[1]
    runs: list[Value | None] = [
        Value(hits / n, wilson(hits, n, confidence=confidence)) for hits in success.sum(axis=1).tolist()
    ]
    pairs: list[Gap | None] = []
    for pair in found.pairs:
        table = Table.of(success[pair.a], success[pair.b])
        paired = paired_difference(table, confidence=confidence)
        pairs.append(Gap(paired.estimate, paired.interval, mcnemar(table).p_exact))
    return Group(label, n, runs, pairs)


def _with_holm(rows: Sequence[Group]) -> list[Group]:
    p_values = np.array([[_known(gap) for gap in row.pairs] for row in rows])
    adjusted = holm(p_values.ravel()).reshape(p_values.shape)
    return [
        replace(row, pairs=[_adjusted(gap, float(p)) for gap, p in zip(row.pairs, own, strict=True)])
        for row, own in zip(rows, adjusted, strict=True)
    ]


def _known(gap: Gap | None) -> float:
    return math.nan if gap is None or gap.p_value is None else gap.p_value


def _adjusted(gap: Gap | None, p_value: float) -> Gap | None:
    return gap if gap is None or math.isnan(p_value) else replace(gap, p_adjusted=p_value)


def _interactions(
    found: Comparison, form: Form, members: Sequence[BoolArray], rows: Sequence[Group]
) -> list[Interaction | None]:
    raw = [_interaction(found, form, members, rows, k) for k in range(len(found.pairs))]
    adjusted = holm(np.array([math.nan if one is None else one[1] for one in raw]))
    return [
        None if one is None else Interaction(one[0], one[1], float(p)) for one, p in zip(raw, adjusted, strict=True)
    ]


def _interaction(
    found: Comparison, form: Form, members: Sequence[BoolArray], rows: Sequence[Group], k: int
) -> tuple[int, float] | None:
    """Wald's test that a difference is the same in all groups that show how much it varies."""
    pair, sample = found.pairs[k], found.sampling.sample
    having = [
        inside
        for inside, row in zip(members, rows, strict=True)
        if (gap := row.pairs[k]) is not None and gap.interval is not None and group_df(sample, inside) >= 1
    ]
    if len(having) < 2:
        return None
    together = gaps_together(form, sample, found.plan, (pair.a, pair.b), having)
    varying = np.diag(together.covariance) > 1e-20
    if varying.sum() < 2:
        return None
    test = equal_rates(
        together.estimates[varying], together.covariance[np.ix_(varying, varying)], df=together.design_df
    )
    return None if math.isnan(test.p_value) else (int(varying.sum()), test.p_value)
