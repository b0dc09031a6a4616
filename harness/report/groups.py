"""Runs broken down by a column, for people: every group, the worst of them, and what changes between them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from harness.analysis.breakdown import (
    Breakdown,
    Gap,
    GapContrast,
    Group,
    LeadSpan,
    distinct_columns,
    is_significant,
    lead_spans,
)
from harness.analysis.sampling import estimate_json
from harness.measures import Measure
from harness.report.blocks import (
    Block,
    Cell,
    Column,
    Heading,
    Limits,
    Output,
    P,
    Paragraphs,
    Table,
    plain_table_of,
    records_of,
    table_of,
)
from harness.report.numbers import distance, estimate_cells, p_text, percent, why_untested
from harness.stats.estimate import Estimate
from harness.stats.replication.method import Replication

Pairs = Sequence[tuple[int, int]]

# Runs whose intervals by group fit side by side.
MAX_WITH_INTERVALS = 3


def group_blocks(
    breakdown: Breakdown,
    names: Sequence[str],
    pairs: Pairs,
    measure: Measure,
    replication: Replication,
) -> list[Block]:
    """Every run and every pair in every group, and what follows from them."""
    blocks: list[Block] = [
        Heading(f"By {breakdown.column}: {measure.words}"),
        value_table(breakdown, names, replication),
    ]
    if pairs:
        items = [item for group in breakdown.groups for item in _pairs_of(group, names, pairs)]
        columns = _group_columns(breakdown.column, percent(replication.confidence))
        blocks.append(table_of(items, columns, Output.TABLE))
    empty = [group.label for group in breakdown.groups if not any(group.runs)]
    lines = [
        *([f"No {measure.name} in these groups: {', '.join(empty)}."] if empty else []),
        *gap_lines(breakdown, names, measure, replication),
        *_interactions(breakdown, names, pairs, replication),
        *_lead_changes(breakdown, names, pairs, measure, replication),
        *_gap_differences(breakdown, names, pairs, measure, replication),
    ]
    lines += ["p Holm is corrected for all groups and pairs."] if pairs else []
    return [*blocks, Paragraphs(lines)] if lines else blocks


def value_table(breakdown: Breakdown, names: Sequence[str], replication: Replication) -> Table:
    """A column for each run, with intervals if there is room for them."""
    level, wide = percent(replication.confidence), len(names) <= MAX_WITH_INTERVALS
    columns = [column for name in names for column in ([name, f"{name} {level}"] if wide else [name])]
    rows: list[list[Cell]] = []
    for group in breakdown.groups:
        cells = (cell for estimate in group.runs for cell in estimate_cells(estimate)[: 2 if wide else 1])
        rows.append([group.label, group.cases, *cells])
    return Table([breakdown.column, "cases", *columns], rows)


class PairInGroup(NamedTuple):
    """The difference of two runs in a group, by their names; None if one of them has no value there."""

    group: Group
    a: str
    b: str
    estimate: Estimate | None
    # The values of the group in the columns of all breakdowns.
    group_values: Sequence[str | None] = ()


def _pairs_of(
    group: Group, names: Sequence[str], pairs: Pairs, group_values: Sequence[str | None] = ()
) -> list[PairInGroup]:
    return [
        PairInGroup(group, names[a], names[b], estimate, group_values)
        for (a, b), estimate in zip(pairs, group.pairs, strict=True)
    ]


def _group_columns(
    column: str = "", level: str = "", columns: Sequence[str] = (), measure: str = ""
) -> list[Column[PairInGroup]]:
    """All that is known of a pair in a group, in the order of every table that has it."""
    table, sheet, entry = Output.TABLE, Output.CSV, Output.JSON
    return [
        Column("group", "group.label", shown=table, head=column),
        Column("pair", lambda pair: f"{pair.a} - {pair.b}", shown=table),
        Column("a", shown=sheet | entry),
        Column("b", shown=sheet | entry),
        *(Column(name, value_in(index), shown=sheet) for index, name in enumerate(columns)),
        Column("cases", "group.cases", shown=sheet),
        Column("difference", "estimate.value", shown=table | sheet | entry),
        Column("se", "estimate.se", shown=sheet | entry),
        Column("interval", "estimate.interval", shown=table | entry, head=f"{level} interval", form=".4f"),
        Column("low", "estimate.interval.low", shown=sheet),
        Column("high", "estimate.interval.high", shown=sheet),
        Column("p_value", "estimate.p_value", shown=table | sheet | entry, head="p", form=P),
        Column("p_adjusted", "estimate.p_adjusted", shown=table | sheet | entry, head="p Holm", form=P),
        Column("method", "estimate.method", shown=sheet),
        Column("measure", lambda _: measure, shown=sheet),
    ]


def value_in(column: int) -> Callable[[Any], str | None]:
    """What a row has in one of the columns that groups are by; it is empty in the rows of other groups."""
    return lambda item: item.group_values[column]


def tidy_group_table(breakdowns: Sequence[Breakdown], names: Sequence[str], pairs: Pairs, measure: str) -> Table:
    """Every pair in every group, for programs; a column that groups are by is empty in the rows of the others."""
    columns = distinct_columns(breakdowns)
    items = [
        item
        for breakdown in breakdowns
        for group, group_values in zip(breakdown.groups, breakdown.group_values(columns), strict=True)
        for item in _pairs_of(group, names, pairs, group_values)
    ]
    return plain_table_of(items, _group_columns(columns=columns, measure=measure), Output.CSV)


def gap_lines(breakdown: Breakdown, names: Sequence[str], measure: Measure, replication: Replication) -> list[str]:
    """The worst group of each run, and how far it is from the best."""
    lines = []
    for name, gap in zip(names, breakdown.gaps, strict=True):
        if gap is None:
            continue
        estimate, sign = gap.estimate, 1 if gap.estimate.value >= 0 else -1
        worst, best = ("is worst", "best") if gap.directed else ("has least", "most")
        text = f"{name} {worst} where {breakdown.column} is {gap.worst} and {best} where it is {gap.best}: "
        text += f"{distance(abs(estimate.value), rate=measure.share)} apart"
        if estimate.interval is not None:
            limits = _limits_text(sorted((sign * estimate.interval.low, sign * estimate.interval.high)), measure)
            text += f" ({percent(replication.confidence)} interval {limits}, for all pairs of groups at once)"
        if gap.untested is not None:
            text += f". It was not tested whether all groups are equal: {why_untested(gap.untested, 'groups')}"
        elif gap.p_value is not None:
            text += f"; test that all groups are equal: {p_text(gap.p_value)}"
        lines.append(f"{text}.")
    return lines


def _limits_text(limits: Sequence[float], measure: Measure) -> str:
    """The limits of a difference, in points for rates."""
    low, high = limits
    return f"{Limits(100 * low, 100 * high, '.1f')} points" if measure.share else f"{Limits(low, high)}"


def _lead_changes(
    breakdown: Breakdown, names: Sequence[str], pairs: Pairs, measure: Measure, replication: Replication
) -> list[str]:
    """Where the order of two runs turns as the column grows."""
    if breakdown.positions is None:
        return []
    level, lines = 1 - replication.confidence, []
    for number, runs in enumerate(pairs):
        spans = lead_spans(breakdown, number, runs, measure, level)
        if len(spans) > 1:
            undecided = [group.label for group in breakdown.groups if not is_significant(group.pairs[number], level)]
            neither = f"; at {', '.join(undecided)} neither was shown to lead" if undecided else ""
            lines.append(f"{_lead_words(breakdown, names, spans)}{neither}.")
    return lines


def _lead_words(breakdown: Breakdown, names: Sequence[str], spans: Sequence[LeadSpan]) -> str:
    """A span from the first group on is `up to`, one to the last group `from ... on`."""
    first, *middle, last = spans
    beginning = "at" if first.last == breakdown.groups[0].label else "up to"
    words = [f"{names[first.leader]} leads {beginning} {breakdown.column} {first.last}"]
    words += [
        f"{names[span.leader]} at {span.first}"
        if span.first == span.last
        else f"{names[span.leader]} from {span.first} to {span.last}"
        for span in middle
    ]
    ending = f"at {last.first}" if last.first == breakdown.groups[-1].label else f"from {last.first} on"
    return "The order turns: " + ", ".join([*words, f"{names[last.leader]} {ending}"])


def _interactions(breakdown: Breakdown, names: Sequence[str], pairs: Pairs, replication: Replication) -> list[str]:
    lines = []
    for (a, b), interaction in zip(pairs, breakdown.interactions, strict=True):
        if interaction is None:
            continue
        between = f"the difference between {names[a]} and {names[b]}"
        if interaction.p_adjusted is None:
            reason = why_untested(interaction.test, "groups")
            lines.append(f"It was not tested whether {between} changes with {breakdown.column}: {reason}.")
            continue
        shown = interaction.p_adjusted <= 1 - replication.confidence
        verdict = "changes with" if shown else "was not shown to change with"
        lines.append(f"T{between[1:]} {verdict} {breakdown.column} (Wald's test, {p_text(interaction.p_adjusted)}).")
    return lines


def _gap_differences(
    breakdown: Breakdown, names: Sequence[str], pairs: Pairs, measure: Measure, replication: Replication
) -> list[str]:
    """Whose gap is larger, by how much, and how certain that is."""
    lines = []
    for (a, b), contrast in zip(pairs, breakdown.gap_contrasts, strict=False):
        if contrast is None:
            continue
        difference, level = contrast.difference, percent(replication.confidence)
        apart, gap_a, gap_b = (distance(abs(value), rate=measure.share) for value in (difference.value, *contrast.gaps))
        text = _limits_text(difference.interval, measure)
        more = "more" if difference.value >= 0 else "less"
        ends = "are best and worst" if measure.directed else "have most and least"
        lines.append(
            f"The gap of {names[a]} is {gap_a}, that of {names[b]} {gap_b}: {apart} {more} ({level} interval {text}, "
            f"whichever groups {ends}; {p_text(contrast.p_adjusted)})."
        )
    return lines


def breakdown_json(
    breakdown: Breakdown,
    names: Sequence[str],
    pairs: Pairs = (),
    measure: Measure | None = None,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """Groups of cases, what changes between them, and, of a number, which run of each pair leads where."""
    both = [{"a": names[a], "b": names[b]} for a, b in pairs]
    interactions = zip(both, breakdown.interactions, strict=True)
    contrasts = zip(both, breakdown.gap_contrasts, strict=False)
    tested = ("groups", "p_value", "p_adjusted")
    payload = {
        "column": breakdown.column,
        "groups": [_group_json(group, names, pairs) for group in breakdown.groups],
        "gaps": [_gap_json(name, gap) for name, gap in zip(names, breakdown.gaps, strict=True)],
        "interactions": [
            pair | {name: interaction and getattr(interaction, name) for name in tested}
            for pair, interaction in interactions
        ],
        "gap_differences": [pair | _contrast_json(contrast) for pair, contrast in contrasts],
    }
    if measure is None or breakdown.positions is None:
        return payload
    leads = []
    for number, runs in enumerate(pairs):
        spans = [
            {"leader": names[span.leader], "first": span.first, "last": span.last}
            for span in lead_spans(breakdown, number, runs, measure, 1 - confidence)
        ]
        leads.append({**both[number], "spans": spans})
    return {**payload, "leads": leads}


def _group_json(group: Group, names: Sequence[str], pairs: Pairs) -> dict[str, Any]:
    runs = list(zip(names, group.runs, strict=True))
    return {
        "group": group.label,
        "label": group.label,
        **({"values": group.values} if group.values else {}),
        "tests": group.answers,
        "cases": group.cases,
        "transcripts": [
            {"name": name, **estimate_json(estimate, "interval", value="value")} for name, estimate in runs
        ],
        "runs": [{"name": name, **estimate_json(estimate, "se", "interval")} for name, estimate in runs],
        "pairs": list(records_of(_pairs_of(group, names, pairs), _group_columns(), Output.JSON)),
    }


def _gap_json(name: str, gap: Gap | None) -> dict[str, Any]:
    """The best and the worst group of one run; those with most and least if nobody has said what is better."""
    best, worst = (None, None) if gap is None else (gap.best, gap.worst)
    ends = {"best": best, "worst": worst}
    if gap is not None and not gap.directed:
        ends = {"best": None, "worst": None, "most": best, "least": worst}
    numbers = estimate_json(None if gap is None else gap.estimate, "se", "interval")
    return {"name": name, **ends, **numbers, "p_value": gap and gap.p_value}


def _contrast_json(contrast: GapContrast | None) -> dict[str, Any]:
    """Both gaps, their difference, and how certain it is."""
    gap_a, gap_b = (None, None) if contrast is None else contrast.gaps
    numbers = estimate_json(None if contrast is None else contrast.difference, "se", "interval", "p_value")
    both = {"groups": contrast and contrast.groups, "gap_a": gap_a, "gap_b": gap_b}
    return {**both, **numbers, "p_adjusted": contrast and contrast.p_adjusted}
