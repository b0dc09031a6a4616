"""Cumulative match curves for people."""

from collections.abc import Sequence
from math import isfinite

from harness.analysis.curves.match import MatchCurve
from harness.report.document import Block, Lines
from harness.report.numbers import interval_text, method_words, span
from harness.report.table import Cell, Table

RANKS = (1, 5, 10, 20)


def match_blocks(curves: Sequence[MatchCurve], confidence: float) -> list[Block]:
    """Rates at a few ranks, and what a reader must know."""
    lines = list(
        dict.fromkeys(f"Pointwise bands by {method_words(c.bands)}, for {c.target}." for c in curves if c.bands)
    )
    lines += [f"{curve.name}: {_median(curve)}." for curve in curves]
    lines += [f"{curve.name}: {note}." for curve in curves for note in curve.notes]
    return [match_table(curves, confidence), *([Lines(lines)] if lines else [])]


def match_table(curves: Sequence[MatchCurve], confidence: float) -> Table:
    """A row a curve."""
    longest = max(int(curve.curve.ranks[-1]) for curve in curves)
    ranks = [rank for rank in RANKS[1:] if rank <= longest]
    columns = ["name", "probes", "gallery", "rank 1", f"{confidence * 100:g} %"]
    rows: list[list[Cell]] = []
    for curve in curves:
        first, low, high = curve.rank_one
        row: list[Cell] = [curve.name, curve.curve.probes, curve.gallery, first]
        row.append(span(low, high) if curve.bands else "-")
        rates = curve.curve.bands.rate
        rows.append([*row, *(float(rates[min(rank, rates.size) - 1]) for rank in ranks)])
    return Table([*columns, *(f"rank {rank}" for rank in ranks)], rows)


def _median(curve: MatchCurve) -> str:
    one, at = curve.median.estimate, curve.median.censored_at
    words = "median rank" if at is None else f"median rank, censored at {at},"
    if not isfinite(one.value):
        return f"half of the probes were not found: no {words.removesuffix(',')}"
    limits = f" ({interval_text(one.interval, '.3g')}, {one.method})" if one.interval else ""
    return f"{words} {one.value:g}{limits}, relative rank {one.value / curve.gallery:.3g} of {curve.gallery:,} people"
