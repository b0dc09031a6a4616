"""The further parts of a comparison for people: operating points, costs, margins, groups, items."""

import math

from harness.analysis.comparing.by_group import ByGroup, Gap, Value
from harness.analysis.comparing.comparison import Comparison
from harness.analysis.comparing.cost import Cost, Costs
from harness.analysis.comparing.further import Further
from harness.analysis.comparing.items import Item, Items
from harness.analysis.comparing.margins import margin_verdict
from harness.analysis.comparing.operating import Operated
from harness.analysis.comparing.statistic_verdicts import statistic_lines
from harness.report.document import Block, Heading, Lines
from harness.report.numbers import p_is, p_text, span
from harness.report.table import Cell, Table

# Cases at either end of the list that are shown; JSON has all.
MOST_ITEMS = 10
# Runs whose intervals by group fit beside one another.
MOST_WITH_INTERVALS = 3
_MEGABYTE = 1e6


def statistic_blocks(found: Comparison) -> list[Block]:
    """What is compared, where it is not the rate of success."""
    return [Lines(statistic_lines(found))] if found.form is not None else []


def further_blocks(found: Comparison, further: Further, *, pairs: bool) -> list[Block]:
    """Costs, groups and items."""
    blocks = cost_blocks(found, further, pairs=pairs)
    if further.by is not None:
        blocks += group_blocks(found, further.by)
    if further.items is not None:
        blocks += item_blocks(found, further.items)
    return blocks


def operating_blocks(found: Comparison, operated: Operated | None) -> list[Block]:
    """Where every threshold was set."""
    if operated is None:
        return []
    rows: list[list[Cell]] = [
        [name, _threshold(threshold), fpr, fnr]
        for name, threshold, fpr, fnr in zip(
            found.aligned.names, operated.thresholds, operated.fpr, operated.fnr, strict=True
        )
    ]
    return [
        Heading(f"Thresholds set at {operated.point}"),
        Table(["name", "threshold", "fpr", "fnr"], rows),
        Lines(
            [
                "All outcomes were decided anew. McNemar's test takes these thresholds as given; replication sets them "
                "anew in every replicate, so that its intervals know that they were set on the same cases."
            ]
        ),
    ]


def _threshold(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else "none"


def cost_blocks(found: Comparison, further: Further, *, pairs: bool) -> list[Block]:
    """Time and memory a case, where they were recorded."""
    recorded = [
        (what, unit, scale, costs)
        for what, unit, scale, costs in (
            ("seconds", "seconds", 1.0, further.seconds),
            ("memory", "MB", _MEGABYTE, further.memory),
        )
        if costs is not None
    ]
    if not recorded:
        return []
    level = f"{found.plan.confidence * 100:g} %"
    columns = ["name"] + [column for _, unit, _, _ in recorded for column in (f"{unit} a case", f"{unit} {level}")]
    rows: list[list[Cell]] = []
    for number, name in enumerate(found.aligned.names):
        rows.append([name, *(cell for _, _, scale, costs in recorded for cell in _cost(costs.runs[number], scale))])
    blocks: list[Block] = [Heading("Time and memory a case"), Table(columns, rows)]
    return [*blocks, _ratios(found, [(what, costs) for what, _, _, costs in recorded])] if pairs else blocks


def _cost(cost: Cost | None, scale: float) -> tuple[Cell, Cell]:
    if cost is None:
        return "-", "-"
    interval = cost.interval
    limits = "-" if interval is None else span(interval.low / scale, interval.high / scale, ".4g")
    return f"{cost.mean / scale:.4g}", limits


def _ratios(found: Comparison, recorded: list[tuple[str, Costs]]) -> Table:
    level = f"{found.plan.confidence * 100:g} %"
    columns = ["pair"] + [c for what, _ in recorded for c in (f"ratio of {what}", f"{what} {level}", f"p {what}")]
    rows: list[list[Cell]] = []
    for number, pair in enumerate(found.pairs):
        row: list[Cell] = [f"{found.aligned.names[pair.a]} / {found.aligned.names[pair.b]}"]
        for _, costs in recorded:
            one = costs.pairs[number]
            if one is None:
                row += ["-", "-", "-"]
                continue
            limits = "-" if one.interval is None else span(one.interval.low, one.interval.high, ".3f")
            row += [f"{one.ratio:.3f}", limits, p_text(one.p_value)]
        rows.append(row)
    return Table(columns, rows)


def margin_blocks(found: Comparison, further: Further) -> list[Block]:
    """What is within the margin."""
    if further.margins is None:
        return []
    lines = [margin_verdict(found, pair, one) for pair, one in zip(found.pairs, further.margins, strict=True)]
    known = next((one.found for one in further.margins if one is not None), None)
    head = "As good as" if known is None else f"As good as, within {known.margin:g}"
    return [Heading(head), Lines([*lines, "The margin is to be chosen before the data are seen."])]


def group_blocks(found: Comparison, by: ByGroup) -> list[Block]:
    """Every run and every pair in every group."""
    level, names = f"{found.plan.confidence * 100:g} %", found.aligned.names
    gaps: list[list[Cell]] = [
        [group.label, group.cases, f"{names[pair.a]} - {names[pair.b]}", *_gap(gap)]
        for group in by.groups
        for pair, gap in zip(found.pairs, group.pairs, strict=True)
    ]
    return [
        Heading(f"By {by.column}"),
        _value_table(found, by),
        Table([by.column, "cases", "pair", "difference", f"{level} interval", "p", "p Holm"], gaps),
        Lines([*_lacking(found, by), *_interactions(found, by), "p Holm is corrected for all groups and pairs."]),
    ]


def _value_table(found: Comparison, by: ByGroup) -> Table:
    """A column for each run, with intervals where there is room for them."""
    names, level = found.aligned.names, f"{found.plan.confidence * 100:g} %"
    wide = len(names) <= MOST_WITH_INTERVALS
    columns = [column for name in names for column in ([name, f"{name} {level}"] if wide else [name])]
    rows: list[list[Cell]] = [
        [group.label, group.cases, *(cell for value in group.runs for cell in _value(value)[: 2 if wide else 1])]
        for group in by.groups
    ]
    return Table([by.column, "cases", *columns], rows)


def _value(value: Value | None) -> list[Cell]:
    if value is None:
        return [None, "-"]
    interval = value.interval
    return [value.estimate, "-" if interval is None else span(interval.low, interval.high)]


def _gap(gap: Gap | None) -> list[Cell]:
    if gap is None:
        return [None, "-", "-", "-"]
    limits = "-" if gap.interval is None else span(gap.interval.low, gap.interval.high)
    return [gap.estimate, limits, p_text(gap.p_value), p_text(gap.p_adjusted)]


def _lacking(found: Comparison, by: ByGroup) -> list[str]:
    empty = [group.label for group in by.groups if not any(group.runs)]
    return [f"Without a {found.statistic} by themselves: {', '.join(empty)}."] if empty else []


def _interactions(found: Comparison, by: ByGroup) -> list[str]:
    lines = []
    for pair, one in zip(found.pairs, by.interactions, strict=True):
        a, b = found.aligned.names[pair.a], found.aligned.names[pair.b]
        if one is None:
            continue
        said = "changes with" if one.p_adjusted <= found.alpha else "was not shown to change with"
        lines.append(f"The difference between {a} and {b} {said} {by.column} (Wald's test, {p_is(one.p_adjusted)}).")
    return lines


def item_blocks(found: Comparison, items: Items) -> list[Block]:
    """Which cases tell the runs apart, and how stable their order is."""
    level = f"{found.plan.confidence * 100:g} %"
    ranks: list[list[Cell]] = [
        [one.name, one.rank, f"{one.low}..{one.high}", one.first]
        for one in sorted(items.standings, key=lambda one: (one.rank, -one.first))
    ]
    blocks: list[Block] = [
        Heading("Which cases tell them apart"),
        Lines(
            [
                f"{items.all_solve:,} cases are solved by all and {items.none_solves:,} by none: they carry no "
                f"information about the order. {len(items.items):,} are solved by some."
            ]
        ),
        Table(["name", "rank", f"rank {level}", "share first"], ranks),
        Lines([f"Ranks in {items.draws:,} bootstrap draws of units within strata, seed {items.seed}."]),
    ]
    known = [item for item in items.items if item.discrimination is not None]
    if not known:
        return [*blocks, Lines(["How well a single case discriminates can be told from three transcripts on."])]
    blocks.append(_item_table("best", known[:MOST_ITEMS]))
    against = [item for item in reversed(known) if item.discrimination is not None and item.discrimination < 0]
    if against:
        blocks.append(_item_table("worst", against[:MOST_ITEMS]))
        count = len(against)
        blocks.append(
            Lines([f"{count:,} cases are solved rather by the worse than by the better: is their ground truth right?"])
        )
    return blocks


def _item_table(which: str, items: list[Item]) -> Table:
    rows: list[list[Cell]] = [[item.id, item.solved, item.discrimination] for item in items]
    return Table([f"{which} discriminating case", "solved by", "discrimination"], rows)
