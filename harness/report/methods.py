"""Methods of replication side by side, for people."""

from collections.abc import Sequence

from harness.analysis.curves.methods import IGNORES, SideBySide
from harness.report.document import Block, Heading, Lines
from harness.report.table import Cell, Table

# Ranks that a person is shown; the other formats have all.
RANKS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def method_blocks(found: Sequence[SideBySide]) -> list[Block]:
    """Standard errors by method, and with a unit less in each stratum."""
    blocks: list[Block] = []
    for one in found:
        shown = [rank for rank in RANKS if rank <= one.rates.size]
        blocks += [Heading(f"{one.name}: standard errors over the rank"), method_table(one, shown)]
        if one.fewer:
            blocks += [Heading(f"By BRR, with {one.per_stratum} units a stratum and one less"), unit_table(one, shown)]
        blocks.append(Lines(_lines(one)))
    return blocks


def method_table(found: SideBySide, ranks: Sequence[int]) -> Table:
    """A row a rank, a column a method."""
    rows: list[list[Cell]] = [
        [rank, float(found.rates[rank - 1]), *(_se(float(se[rank - 1])) for se in found.se.values())] for rank in ranks
    ]
    return Table(["rank", "rate", *found.se], rows)


def unit_table(found: SideBySide, ranks: Sequence[int]) -> Table:
    """A row a rank: all units, and each sample without one of them."""
    columns = ["rank", f"{found.per_stratum} units", *(f"without unit {n + 1}" for n in range(len(found.fewer)))]
    all_units = found.se["brr"]
    rows: list[list[Cell]] = [[rank, *(_se(float(se[rank - 1])) for se in (all_units, *found.fewer))] for rank in ranks]
    return Table(columns, rows)


def _se(value: float) -> str:
    return f"{value:.5f}"


def long_table(found: Sequence[SideBySide]) -> Table:
    """Every rank, for programs."""
    most = max(len(one.fewer) for one in found)
    columns = ["name", "rank", "rate", *found[0].se, *(f"brr without unit {n + 1}" for n in range(most))]
    rows: list[list[Cell]] = []
    for one in found:
        for at, rank in enumerate(one.ranks):
            fewer: list[Cell] = [float(se[at]) for se in one.fewer]
            known: list[Cell] = [float(one.rates[at]), *(float(se[at]) for se in one.se.values())]
            rows.append([one.name, rank, *known, *fewer, *[None] * (most - len(fewer))])
    return Table(columns, rows)


def _lines(found: SideBySide) -> list[str]:
    known = {name.replace(",", ""): count for name, count in found.replicates.items() if count is not None}
    counts = ", ".join(f"{name} {count:,}" for name, count in known.items())
    text = f"{found.strata:,} strata, {found.units:,} units. Replicates: {counts}."
    return [
        text,
        "A rate is linear: knowing the strata, BRR and the jackknife give one number and the bootstrap nearly so. What "
        f"differs is '{IGNORES[2:]}': it counts the differences between the strata as error.",
    ]
