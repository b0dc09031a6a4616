"""Runs that were looked at while they grew, in words and tables."""

from harness.analysis.sequential import SequentialComparison, SequentialPair, SequentialRate
from harness.report.blocks import Audience, Block, Column, Heading, Paragraphs, Table, table_of, tidy_table_of
from harness.report.numbers import distance, interval_cell, interval_text, percent, shown_name
from harness.report.verdicts import error_lines

# Limits this near to each other are one number.
POINT = 1e-6


def sequential_blocks(found: SequentialComparison) -> list[Block]:
    """Verdicts, then the pairs and rates that support them."""
    blocks: list[Block] = [Heading(f"{found.test.name} {found.test.version}: intervals that hold at every moment")]
    if found.pairs:
        verdicts = Paragraphs([_verdict(found, pair) for pair in found.pairs])
        blocks += [verdicts, table_of(found.pairs, _pair_columns(found))]
    failed = error_lines([found.aligned])
    blocks += [Paragraphs(failed)] if failed else []
    return [*blocks, table_of(found.rates, _rate_columns(found)), Paragraphs(_basis(found))]


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


def _pair_columns(found: SequentialComparison) -> list[Column[SequentialPair]]:
    return [
        Column("pair", lambda one: f"{one.a} - {one.b}", Audience.PEOPLE),
        Column("a", lambda one: one.a, Audience.PROGRAMS),
        Column("b", lambda one: one.b, Audience.PROGRAMS),
        Column("units", lambda one: one.units, head=found.unit),
        Column("difference", lambda one: one.difference),
        Column("interval", lambda one: interval_cell(one.interval), head=_at_every_moment(found)),
        Column("decided_after", lambda one: one.decided_after, head="decided after"),
    ]


def _rate_columns(found: SequentialComparison) -> list[Column[SequentialRate]]:
    marked = {
        one.name: shown_name(one.name, why) for one, why in zip(found.rates, found.aligned.self_reported, strict=True)
    }
    columns: list[Column[SequentialRate]] = [
        Column("name", lambda one: marked[one.name], Audience.PEOPLE),
        Column("transcript", lambda one: one.name, Audience.PROGRAMS),
        Column("units", lambda one: one.units, head=found.unit),
        Column("rate", lambda one: one.rate),
        Column("interval", lambda one: interval_cell(one.interval), head=_at_every_moment(found)),
    ]
    if any(one.stop_when for one in found.rates):
        columns.append(Column("stopped when", lambda one: one.stop_when or "", Audience.PEOPLE))
    return columns


def _at_every_moment(found: SequentialComparison) -> str:
    return f"{percent(found.confidence)} at every moment"


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
    if found.pairs:
        return tidy_table_of(found.pairs, _pair_columns(found))
    return tidy_table_of(found.rates, _rate_columns(found))


def stopped_sentence(found: SequentialComparison) -> str:
    """What a run that could stop early came to."""
    (one,) = found.rates
    return (
        f"{one.units:,} of {found.whole.units:,} {found.unit} were asked, in random order, until {one.stop_when}: rate "
        f"{one.rate:.4f}, {percent(found.confidence)} interval {interval_text(one.interval)} for the whole test"
    )
