"""The formats that results are written in: one entry of `WRITERS` each.

To add a format, name it in `Format` and define in `WRITERS` how it writes a table, a heading and paragraphs: every
command that prints tables then offers it.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from harness.files.external_sort import in_batches
from harness.report.blocks import (
    ROWS,
    Block,
    Cell,
    CommandText,
    ExactNumber,
    Heading,
    Limits,
    Number,
    Table,
    ValueText,
    are_numbers,
    cell_text,
    column_texts,
    in_columns,
)
from harness.report.terminal import padded, padded_column, terminal_table, widest
from harness.report.tex import tex_document
from harness.report.text import html, json_text, last_field, markdown, one_word, safe, spreadsheet, width, wrapped

# Piped text is not cut to the width of a terminal.
_UNLIMITED = 400
_PLAIN_NUMBERS = {float, int}
_HARMLESS = {float, int, type(None)}
# Limits for a line of prose, however wide the terminal is.
_MAX_LINE_BYTES, _MIN_LINE_LENGTH = 100, 40


class Format(StrEnum):
    """How results are written."""

    TABLE = "table"
    PLAIN = "plain"
    JSON = "json"
    CSV = "csv"
    TEX = "tex"
    MD = "md"
    HTML = "html"
    TRANSCRIPT = "transcript"


@dataclass(frozen=True)
class Writer:
    """How a format writes the parts of a report.

    table       a table printed by itself, in one text or in parts; the number is the width of the terminal
    heading     nothing for a format that has only tables
    paragraphs  likewise
    inner       a table between paragraphs, if that is written differently
    document    all parts together, if they depend on one another
    offered     whether commands offer the format; the others are for pages
    """

    table: Callable[[Table, int], str | Iterator[str]]
    heading: Callable[[str], str] = lambda _text: ""
    paragraphs: Callable[[Sequence[str], int], str] = lambda _texts, _width: ""
    inner: Callable[[Table, int], str | Iterator[str]] | None = None
    document: Callable[[Sequence[Block], int], str] | None = None
    offered: bool = True


def render(table: Table, style: Format, *, terminal_width: int = 100) -> str:
    """A table by itself."""
    return "".join(render_parts(table, style, terminal_width=terminal_width))


def render_parts(table: Table, style: Format, *, terminal_width: int = 100) -> Iterator[str]:
    """The same in parts, for long tables; a format that needs all rows at once gives one part."""
    text = WRITERS[style].table(table, terminal_width)
    yield from [text] if isinstance(text, str) else text


def render_document(blocks: Sequence[Block], style: Format, *, terminal_width: int = 100) -> str:
    """All blocks, with blank lines between them; CSV has only the tables."""
    writer = WRITERS[style]
    if writer.document is not None:
        return writer.document(blocks, terminal_width)
    parts = [_render_block(block, writer, terminal_width) for block in blocks]
    return "\n".join(part.strip("\n") + "\n" for part in parts if part)


def _render_block(block: Block, writer: Writer, terminal_width: int) -> str:
    if isinstance(block, Table):
        return "".join((writer.inner or writer.table)(block, terminal_width))
    if isinstance(block, Heading):
        return writer.heading(block.text)
    return writer.paragraphs(block.texts, terminal_width)


def json_lines(payload: Any) -> str:
    """JSON for a terminal or a file, indented."""
    return json_text(msgspec.json.format(encode_json(payload), indent=1).decode()) + "\n"


def json_parts(payload: Mapping[str, Any], key: str, items: Iterable[Any]) -> Iterator[str]:
    """JSON in parts: the payload, and under one of its keys a list that may be too long to be held at once."""
    # Only keys of the payload itself follow a line break and a single blank.
    head, begin, tail = json_lines({**payload, key: []}).partition(f'\n "{key}": []')
    separator = ""
    yield head + begin.removesuffix("]")
    for block in in_batches(iter(items), ROWS):
        # Without the brackets, and one step further to the right.
        yield separator + json_lines(block)[1:-3].replace("\n", "\n ")
        separator = ","
    yield ("\n ]" if separator else "]") + tail


def encode_json(payload: Any) -> bytes:
    """JSON on one line: plain values, numpy's numbers and arrays, enumerations, dataclasses and structs by field.

    What is not finite is null.
    """
    return msgspec.json.encode(payload, enc_hook=_plain_value)


def _plain_value(value: Any) -> Any:
    """numpy's numbers and arrays as Python's, without importing it; numbers and texts of a class of their own."""
    for kind in (float, str):
        if isinstance(value, kind):
            return kind(value)
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def notebook_html(blocks: Sequence[Block]) -> str:
    """Blocks for a notebook cell, in the notebook's own colours, light or dark; no style sheet is needed."""
    parts = [_render_block(block, _NOTEBOOK, _MAX_LINE_BYTES) for block in blocks]
    return f"<div>\n{''.join(parts)}</div>\n"


# For gnuplot and R, and for terminals


def _plain(table: Table, _width: int) -> Iterator[str]:
    """A # header and aligned columns of single words."""
    narrow = table.narrow()
    header = [one_word(name) for name in narrow.columns]
    header[0] = f"# {header[0]}"
    widths, right = list(map(width, header)), [True] * len(header)
    for cells in in_columns(narrow):
        right = [known and are_numbers(column) for known, column in zip(right, cells, strict=True)]
        widths = [max(size, widest(texts)) for size, texts in zip(widths, _plain_texts(cells), strict=True)]
    yield "  ".join(padded(header, widths, right)).rstrip() + "\n"
    # No blanks at the ends of lines.
    widths[-1] = widths[-1] if right[-1] else 0
    for cells in in_columns(narrow):
        columns = map(padded_column, _plain_texts(cells), widths, right)
        yield "\n".join(map("  ".join, zip(*columns, strict=True))) + "\n"


def _plain_texts(columns: Sequence[Sequence[Cell]]) -> Iterator[Sequence[str]]:
    """The texts of some columns. The last may have blanks: splitting a line at blanks still gives all the others."""
    for index, cells in enumerate(columns):
        texts = column_texts(cells)
        together = "".join(texts)
        if ({*map(type, cells)} <= _PLAIN_NUMBERS or (together.isascii() and together.isalnum())) and "" not in texts:
            yield texts
            continue
        field = last_field if index == len(columns) - 1 else one_word
        # The same few occur again and again, and there may be millions of them.
        known = {text: field(text) for text in set(texts)}
        yield list(map(known.__getitem__, texts))


def _terminal(table: Table, terminal_width: int) -> str:
    header = [safe(name) for name in table.columns]
    body = [[safe(cell_text(cell)) for cell in row] for row in table.rows]
    return terminal_table([header, *body], table.numeric(), terminal_width)


def _underlined(text: str) -> str:
    return f"{safe(text)}\n{'-' * len(safe(text))}"


def _folded(texts: Sequence[str], terminal_width: int) -> str:
    size = max(_MIN_LINE_LENGTH, min(terminal_width, _MAX_LINE_BYTES))
    return "\n".join(safe(text) if isinstance(text, CommandText) else wrapped(safe(text), size) for text in texts)


# For spreadsheets


def _csv(table: Table, _width: int) -> Iterator[str]:
    yield _csv_lines([list(map(spreadsheet, _distinct(table.columns)))])
    for columns in in_columns(table):
        yield _csv_lines(zip(*map(_csv_cells, columns), strict=True))


def _csv_lines(rows: Iterable[Sequence[Cell]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _distinct(names: Sequence[str]) -> list[str]:
    """Column names of which no two are the same: a column of the cases may be called like one of ours."""
    distinct: list[str] = []
    for name in names:
        number = 2
        candidate = name
        while candidate in distinct:
            candidate, number = f"{name}_{number}", number + 1
        distinct.append(candidate)
    return distinct


def _csv_cells(cells: Sequence[Cell]) -> Sequence[Cell]:
    """A column; most are harmless as they are."""
    kinds = {*map(type, cells)}
    if kinds == {str}:
        together = "".join(cells)  # type: ignore[arg-type]
        if together.isascii() and together.isalnum():
            return cells
    return cells if kinds <= _HARMLESS else list(map(_csv_cell, cells))


def _csv_cell(cell: Cell) -> Cell:
    if isinstance(cell, (ExactNumber, Limits, ValueText)):
        return str(cell)
    if isinstance(cell, str):
        return cell if cell.isascii() and cell.isalnum() else spreadsheet(cell)
    return cell.value if isinstance(cell, Number) else cell


# For papers and pages


def _markdown(table: Table, _width: int) -> str:
    rule = ["---:" if right else "---" for right in table.numeric()]
    lines = [[markdown(name) for name in table.columns], rule]
    lines += [[markdown(cell_text(cell)) for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _html(table: Table, _width: int) -> str:
    """A table in a box of its own, which scrolls on a narrow screen."""
    kinds = [' class="number"' if table.rows and right else "" for right in table.numeric()]
    return f'<div class="table" tabindex="0">{_html_table(table, kinds)}</div>\n'


def _notebook_table(table: Table, _width: int) -> str:
    kinds = [f' style="text-align: {"right" if table.rows and right else "left"}"' for right in table.numeric()]
    return f'<div style="overflow-x: auto; margin-bottom: 0.8em">{_html_table(table, kinds)}</div>\n'


def _html_table(table: Table, attributes: Sequence[str]) -> str:
    head = "".join(f"<th{kind}>{html(name)}</th>" for name, kind in zip(table.columns, attributes, strict=True))
    rows = (zip(row, attributes, strict=True) for row in table.rows)
    body = "".join(
        f"<tr>{''.join(f'<td{kind}>{html(cell_text(cell))}</td>' for cell, kind in row)}</tr>\n" for row in rows
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"


def _html_paragraphs(texts: Sequence[str], _width: int) -> str:
    return "\n".join(f"<p>{html(text)}</p>" for text in texts)


WRITERS = {
    Format.TABLE: Writer(_terminal, _underlined, _folded),
    # The # of a plain table is for gnuplot; between paragraphs an aligned table reads better.
    Format.PLAIN: Writer(
        _plain,
        _underlined,
        lambda texts, _width: "\n".join(map(safe, texts)),
        inner=lambda table, _width: _terminal(table, _UNLIMITED),
    ),
    Format.CSV: Writer(_csv),
    Format.TEX: Writer(lambda table, width: tex_document([table], width), document=tex_document),
    Format.MD: Writer(
        _markdown, lambda text: f"## {markdown(text)}", lambda texts, _width: "\n\n".join(map(markdown, texts))
    ),
    Format.HTML: Writer(_html, lambda text: f"<h2>{html(text)}</h2>", _html_paragraphs, offered=False),
}
_NOTEBOOK = Writer(_notebook_table, lambda text: f"<h4>{html(text)}</h4>\n", _html_paragraphs)
# What a command that prints tables offers.
TABULAR = tuple(style for style in Format if style is Format.JSON or (style in WRITERS and WRITERS[style].offered))
