"""Number 5 of the tutorial: on how many cases each was better, and McNemar's test of a pair."""

from harness.analysis.comparison import Comparison
from harness.analysis.pairs import Pair
from harness.report.blocks import Block, Cell, Heading, Paragraphs, Table
from harness.report.verdicts import IF_INDEPENDENT


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
    """Number 5 of the tutorial: who succeeded where another failed, and McNemar's test of each pair."""
    blocks: list[Block] = []
    if better and comparison.baseline is None:
        heading = f"{comparison.aligned.counted.capitalize()} on which one succeeded and another failed"
        blocks += [Heading(heading), better_table(comparison)]
    for pair in comparison.pairs if tables else []:
        blocks.append(pair_table(comparison, pair))
        blocks += [Paragraphs(lines)] if (lines := tutorial_lines(comparison, pair)) else []
    return blocks
