"""Runs broken down by a column, for people: every group, the worst of them, and what changes between them."""

from collections.abc import Sequence

from harness.analysis.breakdown import Breakdown, Gap, distinct_columns
from harness.analysis.turning import LeadSpan, is_significant, lead_spans
from harness.measures import Measure
from harness.report.blocks import Block, Cell, Heading, Limits, Paragraphs, Table
from harness.report.numbers import (
    DIFFERENCE,
    difference_cells,
    distance,
    estimate_cells,
    p_cell,
    p_is,
    percent,
    why_untested,
)
from harness.stats.replication.method import Replication

# Runs whose intervals by group fit side by side.
MOST_WITH_INTERVALS = 3


def group_blocks(
    by: Breakdown,
    names: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    measure: Measure,
    replication: Replication,
    correction: str = "Holm",
) -> list[Block]:
    """Every run and every pair in every group, and what follows from them."""
    blocks: list[Block] = [Heading(f"By {by.column}: {measure.words}"), value_table(by, names, replication)]
    if pairs:
        blocks.append(_pair_table(by, names, pairs, replication, correction))
    lines = [
        *_lacking(by, measure),
        *gap_lines(by, names, measure, replication),
        *_interactions(by, names, pairs, replication),
        *_turns(by, names, pairs, measure, replication),
        *_gap_differences(by, names, pairs, measure, replication),
    ]
    lines += [f"p {correction} is corrected for all groups and pairs."] if pairs else []
    return [*blocks, Paragraphs(lines)] if lines else blocks


def value_table(by: Breakdown, names: Sequence[str], replication: Replication) -> Table:
    """A column for each run, with intervals if there is room for them."""
    level, wide = percent(replication.confidence), len(names) <= MOST_WITH_INTERVALS
    columns = [column for name in names for column in ([name, f"{name} {level}"] if wide else [name])]
    rows: list[list[Cell]] = [
        [group.label, group.cases, *(cell for one in group.runs for cell in estimate_cells(one)[: 2 if wide else 1])]
        for group in by.groups
    ]
    return Table([by.column, "cases", *columns], rows)


def tidy_group_table(
    breakdowns: Sequence[Breakdown], names: Sequence[str], pairs: Sequence[tuple[int, int]], measure: str
) -> Table:
    """Every pair in every group, for programs; a column that groups are by is empty in the rows of the others."""
    columns = distinct_columns(breakdowns)
    rows: list[list[Cell]] = [
        [names[a], names[b], *place, group.cases, *difference_cells(one), measure]
        for by in breakdowns
        for group, place in zip(by.groups, by.places(columns), strict=True)
        for (a, b), one in zip(pairs, group.pairs, strict=True)
    ]
    return Table(["a", "b", *columns, "cases", *DIFFERENCE, "measure"], rows)


def _pair_table(
    by: Breakdown, names: Sequence[str], pairs: Sequence[tuple[int, int]], replication: Replication, correction: str
) -> Table:
    rows: list[list[Cell]] = []
    for group in by.groups:
        for (a, b), one in zip(pairs, group.pairs, strict=True):
            value, interval = estimate_cells(one)
            p_values = (None, None) if one is None else (one.p_value, one.p_adjusted)
            rows.append([group.label, f"{names[a]} - {names[b]}", value, interval, *map(p_cell, p_values)])
    return Table(
        [by.column, "pair", "difference", f"{percent(replication.confidence)} interval", "p", f"p {correction}"], rows
    )


def _lacking(by: Breakdown, measure: Measure) -> list[str]:
    empty = [group.label for group in by.groups if not any(group.runs)]
    return [f"No {measure.name} in these groups: {', '.join(empty)}."] if empty else []


def gap_lines(by: Breakdown, names: Sequence[str], measure: Measure, replication: Replication) -> list[str]:
    """The worst group of each run, and how far it is from the best."""
    gaps = zip(names, by.gaps, strict=True)
    return [_gap(by.column, name, gap, measure, replication) for name, gap in gaps if gap is not None]


def _gap(column: str, name: str, gap: Gap, measure: Measure, replication: Replication) -> str:
    one, sign = gap.estimate, 1 if gap.estimate.value >= 0 else -1
    far = distance(abs(one.value), rate=measure.share)
    if gap.directed:
        text = f"{name} is worst where {column} is {gap.worst} and best where it is {gap.best}: {far} apart"
    else:
        text = f"{name} has least where {column} is {gap.worst} and most where it is {gap.best}: {far} apart"
    if one.interval is not None:
        low, high = sorted((sign * one.interval.low, sign * one.interval.high))
        limits = f"{Limits(100 * low, 100 * high, '.1f')} points" if measure.share else f"{Limits(low, high)}"
        text += f" ({percent(replication.confidence)} interval {limits}, for all pairs of groups at once)"
    if gap.untested is not None:
        return f"{text}. It was not tested whether all groups are equal: {why_untested(gap.untested, 'groups')}."
    return f"{text}; test that all groups are equal: {p_is(gap.p_value)}." if gap.p_value is not None else f"{text}."


def _turns(
    by: Breakdown, names: Sequence[str], pairs: Sequence[tuple[int, int]], measure: Measure, replication: Replication
) -> list[str]:
    """Where the order of two runs turns as the column grows."""
    if by.positions is None:
        return []
    level, lines = 1 - replication.confidence, []
    for number, runs in enumerate(pairs):
        spans = lead_spans(by, number, runs, measure, level)
        if len(spans) > 1:
            lines.append(f"{_lead_words(by, names, spans)}{_no_verdict(by, number, level)}.")
    return lines


def _lead_words(by: Breakdown, names: Sequence[str], spans: Sequence[LeadSpan]) -> str:
    """A span from the first group on is `up to`, one to the last group `from ... on`."""
    first, *middle, last = spans
    beginning = "at" if first.last == by.groups[0].label else "up to"
    words = [f"{names[first.leader]} leads {beginning} {by.column} {first.last}"]
    words += [
        f"{names[span.leader]} at {span.first}"
        if span.first == span.last
        else f"{names[span.leader]} from {span.first} to {span.last}"
        for span in middle
    ]
    ending = f"at {last.first}" if last.first == by.groups[-1].label else f"from {last.first} on"
    return "The order turns: " + ", ".join([*words, f"{names[last.leader]} {ending}"])


def _no_verdict(by: Breakdown, pair: int, level: float) -> str:
    """The groups in which neither was shown to lead."""
    labels = [group.label for group in by.groups if not is_significant(group.pairs[pair], level)]
    return f"; at {', '.join(labels)} neither was shown to lead" if labels else ""


def _interactions(
    by: Breakdown, names: Sequence[str], pairs: Sequence[tuple[int, int]], replication: Replication
) -> list[str]:
    lines = []
    for (a, b), one in zip(pairs, by.interactions, strict=True):
        if one is None:
            continue
        between = f"the difference between {names[a]} and {names[b]}"
        if one.p_adjusted is None:
            reason = why_untested(one.test, "groups")
            lines.append(f"It was not tested whether {between} changes with {by.column}: {reason}.")
            continue
        verdict = "changes with" if one.p_adjusted <= 1 - replication.confidence else "was not shown to change with"
        lines.append(f"T{between[1:]} {verdict} {by.column} (Wald's test, {p_is(one.p_adjusted)}).")
    return lines


def _gap_differences(
    by: Breakdown, names: Sequence[str], pairs: Sequence[tuple[int, int]], measure: Measure, replication: Replication
) -> list[str]:
    """Whose gap is larger, by how much, and how certain that is."""
    lines = []
    for (a, b), one in zip(pairs, by.gap_contrasts, strict=False):
        if one is None:
            continue
        found, level = one.difference, percent(replication.confidence)
        apart, own, other = (distance(abs(value), rate=measure.share) for value in (found.value, *one.gaps))
        limits = (found.interval.low, found.interval.high)
        text = f"{Limits(100 * limits[0], 100 * limits[1], '.1f')} points" if measure.share else f"{Limits(*limits)}"
        more = "more" if found.value >= 0 else "less"
        ends = "are best and worst" if measure.directed else "have most and least"
        lines.append(
            f"The gap of {names[a]} is {own}, that of {names[b]} {other}: {apart} {more} ({level} interval {text}, "
            f"whichever groups {ends}; {p_is(one.p_adjusted)})."
        )
    return lines
