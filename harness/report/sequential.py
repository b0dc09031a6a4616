"""Runs that were looked at while they grew, in words and tables."""

from harness.analysis.sequential import SequentialComparison, SequentialPair
from harness.report.blocks import Block, Cell, Heading, Paragraphs, Table
from harness.report.numbers import distance, interval_cell, interval_text, percent, shown_name
from harness.report.verdicts import error_lines

# Limits this near to each other are one number.
POINT = 1e-6


def sequential_blocks(found: SequentialComparison) -> list[Block]:
    """Verdicts, then the pairs and rates that support them."""
    level = percent(found.confidence)
    blocks: list[Block] = [Heading(f"{found.test.name} {found.test.version}: intervals that hold at every moment")]
    if found.pairs:
        blocks += [Paragraphs([_verdict(found, pair) for pair in found.pairs]), _pairs(found, level)]
    failed = error_lines([found.aligned])
    return [*blocks, *([Paragraphs(failed)] if failed else []), _rates(found, level), Paragraphs(_basis(found))]


def _verdict(found: SequentialComparison, pair: SequentialPair) -> str:
    if pair.decided_after is None:
        seen = f"{pair.units:,} of {found.whole.units:,} {found.unit}"
        return f"{pair.a} and {pair.b} cannot be told apart yet, after {seen}."
    better, worse = (pair.a, pair.b) if pair.interval.low > 0 else (pair.b, pair.a)
    low, high = sorted(abs(end) for end in (pair.interval.low, pair.interval.high))
    lead = distance(low) if high - low < POINT else distance(low, high)
    return (
        f"{better} is better than {worse} on this test by {lead}; that was known after {pair.decided_after:,} of "
        f"{found.whole.units:,} {found.unit}."
    )


def _pairs(found: SequentialComparison, level: str) -> Table:
    rows: list[list[Cell]] = [
        [f"{one.a} - {one.b}", one.units, one.difference, interval_cell(one.interval), one.decided_after]
        for one in found.pairs
    ]
    return Table(["pair", found.unit, "difference", f"{level} at every moment", "decided after"], rows)


def _rates(found: SequentialComparison, level: str) -> Table:
    rows: list[list[Cell]] = [
        [shown_name(one.name, why), one.units, one.rate, interval_cell(one.interval), one.stop_when or ""]
        for one, why in zip(found.rates, found.aligned.self_reported, strict=True)
    ]
    columns = ["name", found.unit, "rate", f"{level} at every moment", "stopped when"]
    if not any(row[-1] for row in rows):
        return Table(columns[:-1], [row[:-1] for row in rows])
    return Table(columns, rows)


def _basis(found: SequentialComparison) -> list[str]:
    several = " Several pairs hold together (Bonferroni)." if len(found.pairs) > 1 else ""
    return [
        f"The intervals are for this whole test of {found.whole.units:,} {found.unit}, of which some were asked in "
        f"random order (seed {found.whole.seed}); they stay valid however often one looks, and whenever one stops."
        f"{several}",
        "They are not for new inputs: run the whole test and leave out --sequential for that.",
    ]


def tidy_table(found: SequentialComparison) -> Table:
    """A row for each pair, or for each run by itself; numbers only."""
    if not found.pairs:
        rows: list[list[Cell]] = [
            [one.name, one.units, one.rate, one.interval.low, one.interval.high] for one in found.rates
        ]
        return Table(["transcript", "units", "rate", "low", "high"], rows)
    rows = [
        [one.a, one.b, one.units, one.difference, one.interval.low, one.interval.high, one.decided_after]
        for one in found.pairs
    ]
    return Table(["a", "b", "units", "difference", "low", "high", "decided_after"], rows)


def stopped_sentence(found: SequentialComparison) -> str:
    """What a run that could stop early came to."""
    (one,) = found.rates
    return (
        f"{one.units:,} of {found.whole.units:,} {found.unit} were asked, in random order, until {one.stop_when}: rate "
        f"{one.rate:.4f}, {percent(found.confidence)} interval {interval_text(one.interval)} for the whole test"
    )
