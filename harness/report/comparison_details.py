"""The other parts of a comparison for people: operating points, resources, margins, groups, items, the tutorial."""

import math
from collections.abc import Sequence

from harness.analysis.comparison import Comparison
from harness.analysis.curves.bands import few_errors
from harness.analysis.item_analysis import ItemAnalysis, ItemStatistics
from harness.analysis.operating_point import OperatingResult
from harness.analysis.pairs import Pair
from harness.analysis.run_identity import machine_lines
from harness.analysis.value_errors import AGREEING
from harness.model import join_names
from harness.report.blocks import Block, Cell, Heading, Limits, Number, Paragraphs, Table
from harness.report.comparison_pairs import PairOutput, pair_table_of
from harness.report.comparison_runs import cost_table
from harness.report.groups import group_blocks
from harness.report.numbers import interval_cell, percent
from harness.report.verdicts import IF_INDEPENDENT, margin_verdict

# Cases at either end of the list that are shown; JSON has all.
MAX_ITEMS = 10


def detail_blocks(comparison: Comparison, *, pairs: bool) -> list[Block]:
    """Agreement, win rates, costs, groups and items."""
    wins = win_blocks(comparison) if pairs else []
    costs = resource_blocks(comparison, pairs=pairs)
    return [*agreement_blocks(comparison), *wins, *costs, *requested_blocks(comparison)]


def requested_blocks(comparison: Comparison) -> list[Block]:
    """Groups and items, where they were asked for."""
    blocks: list[Block] = []
    for by in comparison.breakdowns:
        blocks += group_blocks(by, comparison.names, comparison.run_pairs, comparison.measure, comparison.replication)
    if comparison.items is not None:
        blocks += item_blocks(comparison, comparison.items)
    return blocks


def win_blocks(comparison: Comparison) -> list[Block]:
    """How often the first of a pair has the better value."""
    pairs = [pair for pair in comparison.pairs if pair.win_rate is not None]
    if not pairs:
        return []
    return [Heading("Win rates, ties counting half"), pair_table_of(comparison, PairOutput.WINS, pairs)]


def operating_blocks(comparison: Comparison) -> list[Block]:
    """Where every threshold was set."""
    operating = comparison.operating
    return [] if operating is None else threshold_blocks([operating], comparison.names)


def threshold_blocks(operating: Sequence[OperatingResult], names: Sequence[str]) -> list[Block]:
    """The thresholds of runs that were decided again together, or each by itself."""
    rows: list[list[Cell]] = []
    for result in operating:
        for number, threshold in enumerate(result.thresholds):
            source = [result.development[number]] if result.development else []
            shown = f"{threshold:.6g}" if math.isfinite(threshold) else "none"
            rows.append([names[len(rows)], shown, result.fpr[number], result.fnr[number], *source])
    first = operating[0]
    criterion, apart = first.criterion, bool(first.development)
    if apart:
        lines = [
            "All outcomes were decided again at these thresholds, which were set on the development runs. Intervals "
            "are for these thresholds: they do not allow for other development data."
        ]
    else:
        lines = [
            "All outcomes were decided again at these thresholds. McNemar's test treats them as fixed; intervals "
            "by design allow for thresholds that were set on the same cases.",
            *few_errors(str(criterion), criterion.at, criterion.limit, first.aligned.positive, first.aligned.answers),
        ]
    return [
        Heading(f"Thresholds set at {criterion}{' of the development runs' if apart else ''}"),
        Table(["name", "threshold", "fpr", "fnr", *(["set on"] if apart else [])], rows),
        Paragraphs(lines),
    ]


def resource_blocks(comparison: Comparison, *, pairs: bool) -> list[Block]:
    """Time and memory per case, where they were recorded."""
    known = [what for name, what in (("seconds", "time"), ("memory", "memory")) if name in comparison.further]
    if not known:
        return []
    blocks: list[Block] = [Heading(f"{join_names(known).capitalize()} per case"), cost_table(comparison)]
    if pairs:
        blocks.append(pair_table_of(comparison, PairOutput.COSTS))
    lines = machine_lines(comparison.names, comparison.aligned.headers)
    return [*blocks, Paragraphs(lines)] if lines else blocks


def agreement_blocks(comparison: Comparison) -> list[Block]:
    """How far the numbers of two runs agree."""
    agreement = comparison.agreement
    if agreement is None:
        return []
    a, b = agreement.names
    limits = {"mean difference": agreement.bias, "lower limit": agreement.low, "upper limit": agreement.high}
    rows: list[list[Cell]] = [
        [what, Number(estimate.value, ".4g"), Number(estimate.se, ".4g"), interval_cell(estimate.interval, ".4g")]
        for what, estimate in limits.items()
    ]
    meaning = (
        f"The limits of agreement are 1.96 standard deviations ({agreement.sd:.4g}) from the mean difference of "
        f"{agreement.differences.size:,} answers: {percent(AGREEING)} of the differences lie between them if they are "
        "roughly normal (Bland and Altman 1986)."
    )
    table = Table(["", "value", "se", f"{percent(comparison.confidence)} interval"], rows)
    return [Heading(f"Agreement of the answers: {a} - {b}"), table, Paragraphs([meaning])]


def margin_blocks(comparison: Comparison) -> list[Block]:
    """Which pairs are within the margin."""
    if "equivalence" not in comparison.further:
        return []
    lines = [margin_verdict(comparison, pair) for pair in comparison.pairs]
    known = next((pair.equivalence.equivalence for pair in comparison.pairs if pair.equivalence is not None), None)
    head = "Equivalence" if known is None or not comparison.paired else f"Equivalence within {known.margin:g}"
    return [Heading(head), Paragraphs([*lines, "Choose the margin before you see the data."])]


def item_blocks(comparison: Comparison, items: ItemAnalysis) -> list[Block]:
    """Which cases tell the runs apart, and how stable their order is."""
    ranks: list[list[Cell]] = [
        [run.name, run.rank, Limits(*run.interval, "d"), run.first]
        for run in sorted(items.ranks, key=lambda run: (run.rank, -run.first))
    ]
    solved = (
        f"{items.all_solve:,} cases are solved by all and {items.none_solves:,} by none: they carry no information "
        f"about the order. {items.some_solve:,} are solved by some."
    )
    blocks: list[Block] = [
        Heading("Which cases tell them apart"),
        Paragraphs([solved]),
        Table(["name", "rank", f"rank {percent(comparison.confidence)}", "share first"], ranks),
        Paragraphs([f"Ranks in {items.draws:,} bootstrap draws of units within strata, seed {items.seed}."]),
    ]
    known = [item for item in items.cases if item.discrimination is not None]
    if not known:
        few = "It takes at least three transcripts to say how well a single case tells them apart."
        return [*blocks, Paragraphs([few])]
    blocks.append(_item_table("best", known))
    against = [item for item in reversed(known) if item.discrimination is not None and item.discrimination < 0]
    if against:
        wrong = f"{len(against):,} cases are more often solved by the worse algorithms: check their ground truth."
        blocks += [_item_table("worst", against), Paragraphs([wrong])]
    return blocks


def _item_table(which: str, items: list[ItemStatistics]) -> Table:
    rows: list[list[Cell]] = [[item.id, item.solved, item.discrimination] for item in items[:MAX_ITEMS]]
    return Table([f"{which} discriminating case", "solved by", "discrimination"], rows)


def better_table(comparison: Comparison) -> Table:
    """Which was better, and on how many cases."""
    names = comparison.aligned.names
    rows: list[list[Cell]] = [
        [f"{names[i]} better", *("x" if count is None else count for count in row)]
        for i, row in enumerate(comparison.better)
    ]
    return Table(["", *(f"{name} worse" for name in names)], rows)


def pair_table(comparison: Comparison, pair: Pair) -> Table:
    """The 2 x 2 table of a pair."""
    a, b = comparison.aligned.names[pair.a], comparison.aligned.names[pair.b]
    rows: list[list[Cell]] = [
        [f"{b} failed", pair.n_ff, pair.n_sf],
        [f"{b} succeeded", pair.n_fs, pair.n_ss],
    ]
    return Table(["", f"{a} failed", f"{a} succeeded"], rows)


def tutorial_lines(comparison: Comparison, pair: Pair) -> list[str]:
    """The tutorial's three lines, which treat cases as independent; none if another measure than success decides."""
    if comparison.other_measure:
        return []
    a, b = comparison.aligned.names[pair.a], comparison.aligned.names[pair.b]
    lines = [f"Z score is {pair.z:.3f}"]
    condition = "" if comparison.sampling.psu is None else f", {IF_INDEPENDENT}"
    if pair.confidence_differ is None or pair.confidence_better is None or pair.better is None:
        return [*lines, f"less than 90% confident that {a} and {b} do not give equivalent results{condition}"]
    better = comparison.aligned.names[pair.better]
    worse = b if pair.better == pair.a else a
    return [
        *lines,
        f"{pair.confidence_differ * 100:g}% confident that {a} and {b} do not give equivalent results{condition}",
        f"{pair.confidence_better * 100:g}% confident that {better} was superior to {worse}{condition}",
    ]


def tutorial_blocks(comparison: Comparison, *, better: bool, tables: bool) -> list[Block]:
    """Figure 5 of Clark and Clark's tutorial: who succeeded where another failed, and McNemar's test of each pair."""
    blocks: list[Block] = []
    if better and comparison.baseline is None:
        heading = f"{comparison.aligned.counted.capitalize()} on which one succeeded and another failed"
        blocks += [Heading(heading), better_table(comparison)]
    for pair in comparison.pairs if tables else []:
        blocks.append(pair_table(comparison, pair))
        blocks += [Paragraphs(lines)] if (lines := tutorial_lines(comparison, pair)) else []
    return blocks
