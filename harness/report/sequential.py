"""Runs that were looked at while they grew, in words and tables."""

from harness.analysis.sequential import SequentialComparison, SequentialPair, SequentialRate
from harness.report.blocks import Audience, Block, Column, Heading, Paragraphs, Table, table_of, tidy_table_of
from harness.report.numbers import distance, interval_cell, interval_text, percent, shown_name
from harness.report.verdicts import error_lines

# Limits this near to each other are one number.
POINT = 1e-6


def sequential_blocks(comparison: SequentialComparison) -> list[Block]:
    """Verdicts, then the pairs and rates that support them."""
    blocks: list[Block] = [
        Heading(f"{comparison.test.name} {comparison.test.version}: intervals that hold at every moment")
    ]
    if comparison.pairs:
        verdicts = Paragraphs([_verdict(comparison, pair) for pair in comparison.pairs])
        blocks += [verdicts, table_of(comparison.pairs, _pair_columns(comparison))]
    failed = error_lines([comparison.aligned])
    several = " Several pairs hold together (Bonferroni)." if len(comparison.pairs) > 1 else ""
    basis = [
        f"The intervals are for this whole test of {comparison.whole.units:,} {comparison.unit}, of which some were "
        f"asked in random order (seed {comparison.whole.seed}); they stay valid however often one looks, and whenever "
        f"one stops.{several}",
        "They are not for new inputs: for that, run the whole test, and leave it to hate rate or hate compare.",
    ]
    blocks += [Paragraphs(failed)] if failed else []
    return [*blocks, table_of(comparison.rates, _rate_columns(comparison)), Paragraphs(basis)]


def _verdict(comparison: SequentialComparison, pair: SequentialPair) -> str:
    if pair.decided_after is None:
        seen = f"{pair.units:,} of {comparison.whole.units:,} {comparison.unit}"
        return f"{pair.a} and {pair.b} cannot be told apart yet, after {seen}."
    better, worse = (pair.a, pair.b) if pair.interval.low > 0 else (pair.b, pair.a)
    low, high = sorted(abs(end) for end in (pair.interval.low, pair.interval.high))
    lead = distance(low) if high - low < POINT else distance(low, high)
    return (
        f"{better} is better than {worse} on this test by {lead}; that was known after {pair.decided_after:,} of "
        f"{comparison.whole.units:,} {comparison.unit}."
    )


def _pair_columns(comparison: SequentialComparison) -> list[Column[SequentialPair]]:
    return [
        Column("pair", lambda pair: f"{pair.a} - {pair.b}", Audience.PEOPLE),
        Column("a", lambda pair: pair.a, Audience.PROGRAMS),
        Column("b", lambda pair: pair.b, Audience.PROGRAMS),
        Column("units", lambda pair: pair.units, head=comparison.unit),
        Column("difference", lambda pair: pair.difference),
        Column("interval", lambda pair: interval_cell(pair.interval), head=_at_every_moment(comparison)),
        Column("decided_after", lambda pair: pair.decided_after, head="decided after"),
    ]


def _rate_columns(comparison: SequentialComparison) -> list[Column[SequentialRate]]:
    marked = {
        rate.name: shown_name(rate.name, why)
        for rate, why in zip(comparison.rates, comparison.aligned.self_reported, strict=True)
    }
    columns: list[Column[SequentialRate]] = [
        Column("name", lambda rate: marked[rate.name], Audience.PEOPLE),
        Column("transcript", lambda rate: rate.name, Audience.PROGRAMS),
        Column("units", lambda rate: rate.units, head=comparison.unit),
        Column("rate", lambda rate: rate.rate),
        Column("interval", lambda rate: interval_cell(rate.interval), head=_at_every_moment(comparison)),
    ]
    if any(rate.stop_when for rate in comparison.rates):
        columns.append(Column("stopped when", lambda rate: rate.stop_when or "", Audience.PEOPLE))
    return columns


def _at_every_moment(comparison: SequentialComparison) -> str:
    return f"{percent(comparison.confidence)} at every moment"


def tidy_table(comparison: SequentialComparison) -> Table:
    """A row for each pair, or for each run by itself; numbers only."""
    if comparison.pairs:
        return tidy_table_of(comparison.pairs, _pair_columns(comparison))
    return tidy_table_of(comparison.rates, _rate_columns(comparison))


def stopped_sentence(comparison: SequentialComparison) -> str:
    """What a run that could stop early came to."""
    (run,) = comparison.rates
    return (
        f"{run.units:,} of {comparison.whole.units:,} {comparison.unit} were asked, in random order, until "
        f"{run.stop_when}: rate {run.rate:.4f}, {percent(comparison.confidence)} interval "
        f"{interval_text(run.interval)} for the whole test"
    )
