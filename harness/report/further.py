"""The further parts of a comparison for people: operating points, costs, margins, groups, items."""

import math

from harness.analysis.comparing.comparison import Comparison
from harness.analysis.comparing.further import Costs, Further
from harness.analysis.comparing.items import Item, Items
from harness.analysis.comparing.operating import Operated
from harness.analysis.curves.operating import few_errors
from harness.report.document import Block, Heading, Lines
from harness.report.groups import group_blocks
from harness.report.numbers import interval_text, p_text
from harness.report.table import Cell, Table
from harness.report.verdicts import margin_verdict
from harness.stats.estimate import Estimate

# Cases at either end of the list that are shown; JSON has all.
MOST_ITEMS = 10
# Runs whose intervals by group fit beside one another.
MOST_WITH_INTERVALS = 3
_MEGABYTE = 1e6


def further_blocks(found: Comparison, further: Further, *, pairs: bool) -> list[Block]:
    """Costs, groups and items."""
    blocks = cost_blocks(found, further, pairs=pairs)
    if further.by is not None:
        pairs_of = [(pair.a, pair.b) for pair in found.pairs]
        blocks += group_blocks(further.by, found.aligned.names, pairs_of, found.measure, found.plan)
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
                "All outcomes were decided anew. McNemar's test takes these thresholds as given; intervals by design "
                "know that they were set on the same cases.",
                *few_errors(str(operated.point), operated.point.at, operated.point.limit, found.aligned.positive),
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


def _cost(cost: Estimate | None, scale: float) -> tuple[Cell, Cell]:
    if cost is None:
        return "-", "-"
    return f"{cost.value / scale:.4g}", interval_text(cost.interval if cost.se > 0 else None, ".4g", scale)


def _ratios(found: Comparison, recorded: list[tuple[str, Costs]]) -> Table:
    level = f"{found.plan.confidence * 100:g} %"
    columns = ["pair"] + [c for what, _ in recorded for c in (f"ratio of {what}", f"{what} {level}", f"p {what}")]
    rows: list[list[Cell]] = []
    for number, pair in enumerate(found.pairs):
        row: list[Cell] = [f"{found.aligned.names[pair.a]} / {found.aligned.names[pair.b]}"]
        for _, costs in recorded:
            one = costs.pairs[number]
            value = "-" if one is None else f"{one.value:.3f}"
            interval, p_value = (None, None) if one is None else (one.interval, one.p_value)
            row += [value, interval_text(interval, ".3f"), p_text(p_value)]
        rows.append(row)
    return Table(columns, rows)


def margin_blocks(found: Comparison, further: Further) -> list[Block]:
    """What is within the margin."""
    if further.margins is None:
        return []
    lines = [margin_verdict(found, pair, one) for pair, one in zip(found.pairs, further.margins, strict=True)]
    known = next((one.found for one in further.margins if one is not None), None)
    head = "As good as" if known is None else f"As good as, within {known.margin:g}"
    return [Heading(head), Lines([*lines, "Choose the margin before you see the data."])]


def item_blocks(found: Comparison, items: Items) -> list[Block]:
    """Which cases tell the runs apart, and how stable their order is."""
    level = f"{found.plan.confidence * 100:g} %"
    ranks: list[list[Cell]] = [
        [one.name, one.rank, f"{one.low} to {one.high}", one.first]
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
        return [*blocks, Lines(["How well a single case tells them apart takes at least three transcripts."])]
    blocks.append(_item_table("best", known[:MOST_ITEMS]))
    against = [item for item in reversed(known) if item.discrimination is not None and item.discrimination < 0]
    if against:
        blocks.append(_item_table("worst", against[:MOST_ITEMS]))
        count = len(against)
        blocks.append(
            Lines([f"{count:,} cases are more often solved by the worse algorithms: is their ground truth right?"])
        )
    return blocks


def _item_table(which: str, items: list[Item]) -> Table:
    rows: list[list[Cell]] = [[item.id, item.solved, item.discrimination] for item in items]
    return Table([f"{which} discriminating case", "solved by", "discrimination"], rows)
