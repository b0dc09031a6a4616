"""A table, and its formats: for terminals, gnuplot and R, spreadsheets, TeX, Markdown and pages."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from harness.report.terminal import padded, terminal_table
from harness.report.text import html, last_words, markdown, one_word, safe, spreadsheet, tex, width

Cell = str | int | float | None


class Format(StrEnum):
    """How results are written."""

    TABLE = "table"
    PLAIN = "plain"
    JSON = "json"
    CSV = "csv"
    TEX = "tex"
    MD = "md"
    HTML = "html"
    R = "r"
    TRANSCRIPT = "transcript"


class Exact(float):
    """A number that was given, not computed: it is shown as it was given, whatever its digits."""

    def __str__(self) -> str:
        return str(int(self)) if self.is_integer() and abs(self) < 1e15 else float.__repr__(self)


@dataclass(frozen=True)
class Table:
    """Named columns and rows; numbers are right-aligned, floats shown with four digits after the point."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    # Columns that only a person wants to see.
    wide: frozenset[str] = field(default_factory=frozenset)

    def narrow(self) -> "Table":
        """Without the columns that are there for people."""
        kept = [number for number, name in enumerate(self.columns) if name not in self.wide]
        return Table([self.columns[i] for i in kept], [[row[i] for i in kept] for row in self.rows])


def render(table: Table, style: Format, *, terminal_width: int = 100) -> str:
    """The table in a format other than JSON, which every command has of its own."""
    if style is Format.TABLE:
        return _terminal(table, terminal_width)
    if style is Format.CSV:
        return _csv(table)
    if style is Format.TEX:
        return _tex(table)
    if style is Format.MD:
        return _markdown(table)
    if style is Format.HTML:
        return _html(table)
    return _plain(table.narrow())


def _shown(cell: Cell) -> str:
    if cell is None:
        return ""
    return f"{cell:.4f}" if isinstance(cell, float) and not isinstance(cell, Exact) else str(cell)


def _plain(table: Table) -> str:
    """A # header and aligned columns of single words."""
    header = [one_word(name) for name in table.columns]
    header[0] = f"# {header[0]}"
    last = len(table.columns) - 1
    # The last column may have blanks: whoever splits a line at them still finds all the others.
    body = [[(last_words if i == last else one_word)(_shown(cell)) for i, cell in enumerate(row)] for row in table.rows]
    return _aligned([header, *body], [_numeric(table, i) for i in range(len(table.columns))])


def _numeric(table: Table, column: int) -> bool:
    return all(isinstance(row[column], (int, float)) or row[column] is None for row in table.rows)


def _aligned(lines: list[list[str]], right: list[bool]) -> str:
    widths = [max(width(line[i]) for line in lines) for i in range(len(right))]
    text = ["  ".join(padded(line, widths, right)).rstrip() for line in lines]
    return "\n".join(text) + "\n"


def _terminal(table: Table, terminal_width: int) -> str:
    header = [safe(name) for name in table.columns]
    body = [[safe(_shown(cell)) for cell in row] for row in table.rows]
    return terminal_table([header, *body], [_numeric(table, i) for i in range(len(table.columns))], terminal_width)


def _csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(spreadsheet, table.columns))
    for row in table.rows:
        writer.writerow([_csv_cell(cell) for cell in row])
    return out.getvalue()


def _csv_cell(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return spreadsheet(cell)
    return str(cell) if isinstance(cell, Exact) else cell


def _tex(table: Table) -> str:
    """A tabular with booktabs rules."""
    align = "".join("r" if _numeric(table, i) else "l" for i in range(len(table.columns)))
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", " & ".join(map(tex, table.columns)) + r" \\", r"\midrule"]
    lines += [" & ".join(tex(_shown(cell)) for cell in row) + r" \\" for row in table.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _markdown(table: Table) -> str:
    rule = ["---:" if _numeric(table, i) else "---" for i in range(len(table.columns))]
    lines = [[markdown(name) for name in table.columns], rule]
    lines += [[markdown(_shown(cell)) for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _html(table: Table) -> str:
    """A table in a box of its own, which scrolls where a screen is too narrow for it."""
    kinds = [' class="number"' if table.rows and _numeric(table, i) else "" for i in range(len(table.columns))]
    head = "".join(f"<th{kind}>{html(name)}</th>" for name, kind in zip(table.columns, kinds, strict=True))
    body = "".join(f"<tr>{''.join(map(_html_cell, row, kinds))}</tr>\n" for row in table.rows)
    whole = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"
    return f'<div class="table" tabindex="0">{whole}</div>\n'


def _html_cell(cell: Cell, kind: str) -> str:
    return f"<td{kind}>{html(_shown(cell))}</td>"
