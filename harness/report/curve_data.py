"""Points of curves as data: blocks for gnuplot, a table for spreadsheets."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.report.table import Cell, Table
from harness.report.text import one_word, safe

Columns = Mapping[str, Sequence[float | str]]


@dataclass(frozen=True)
class Data:
    """The points of one curve: columns of equal length, and what to say above them."""

    name: str
    columns: Columns
    remarks: Sequence[str] = ()


def plain(data: Sequence[Data]) -> str:
    """A block a curve, two blank lines between: `plot "file" index 1 using 3:2`."""
    return "\n\n".join(_block(one) for one in data)


def _block(data: Data) -> str:
    head = [f"# {safe(data.name)}", *(f"# {safe(remark)}" for remark in data.remarks)]
    columns = [[one_word(name), *map(digits, values)] for name, values in data.columns.items()]
    widths = [max(map(len, column)) for column in columns]
    rows = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in zip(*columns, strict=True)]
    return "\n".join([*head, f"# {rows[0]}", *(f"  {row}" for row in rows[1:])]) + "\n"


def digits(value: float | str) -> str:
    """A number for gnuplot and R; nine digits are more than any plot shows."""
    if isinstance(value, str):
        return one_word(value)
    if math.isnan(value):
        return "NaN"
    return f"{value:.9g}" if math.isfinite(value) else ("Inf" if value > 0 else "-Inf")


def table(data: Sequence[Data]) -> Table:
    """All points in one table, the curve's name first."""
    columns = list(data[0].columns) if data else []
    rows: list[list[Cell]] = [
        [one.name, *(_cell(value) for value in row)] for one in data for row in zip(*one.columns.values(), strict=True)
    ]
    return Table(["curve", *columns], rows)


def _cell(value: float | str) -> Cell:
    return None if isinstance(value, float) and math.isnan(value) else value
