"""A result in a few lines, for a Python prompt: a title, the first rows of a table, the first sentences."""

from collections.abc import Sequence
from itertools import islice

from harness.report.blocks import Block, Heading, Limits, Paragraphs, Table, cell_text
from harness.report.terminal import Page, padded
from harness.report.text import safe, shortened, width

WIDTH = 100
# Rows of a table, besides its header and the line that counts those left out; sentences, a line each.
MAX_ROWS, MAX_SENTENCES = 5, 3
MAX_CELL = 40
MORE = "..."


def brief_text(
    name: str, blocks: Sequence[Block], further: str, cautions: Sequence[str] = (), *, rows: int | None = None
) -> str:
    """Of a text for people its title, a table and its first sentences, below the kind of result.

    `further` says where there is more, `rows` how many the table would have if it has only the first of them.
    """
    title = blocks[0].text if blocks and isinstance(blocks[0], Heading) else ""
    lines = [_cut(safe(f"<{name}> {title}".rstrip()))]
    tables = [block for block in blocks if isinstance(block, Table)]
    # A table with intervals says more than one of counts.
    with_limits = (table for table in tables if any(isinstance(cell, Limits) for cell in next(iter(table.rows), ())))
    chosen = next(with_limits, tables[0] if tables else None)
    lines += [f" {row}" for row in ([] if chosen is None else _rows(chosen, rows))]
    texts = [*cautions, *next((block.texts for block in blocks if isinstance(block, Paragraphs)), ())]
    # The begin of every sentence says more than the whole of the first.
    lines += [_cut(f" {safe(text)}") for text in texts[:MAX_SENTENCES]]
    return "\n".join([*lines, f" more: {further}"])


def _rows(table: Table, total: int | None) -> list[str]:
    """The table without a rule below its header: some rows, and of a wide table the columns at both ends."""
    more = (len(table.rows) if total is None else total) - MAX_ROWS
    # One row more takes no more lines than a line that says so. Rows may be made while they are gone through.
    rows = list(islice(iter(table.rows), MAX_ROWS if more > 1 else MAX_ROWS + 1))
    texts = [list(table.columns), *([cell_text(cell) for cell in row] for row in rows)]
    texts = [[shortened(text, MAX_CELL) for text in row] for row in texts]
    right, page = Table(table.columns, rows).numeric(), Page(WIDTH)
    sizes = [max(width(row[index]) for row in texts) for index in range(len(right))]
    shown = list(range(len(right)))
    while len(shown) > 2 and page.total([sizes[i] for i in shown] + [len(MORE)] * (len(shown) < len(right))) > WIDTH:
        del shown[len(shown) // 2]
    gap = (len(shown) + 1) // 2 if len(shown) < len(right) else None
    lines = []
    for row in texts:
        cells = padded([row[i] for i in shown], [sizes[i] for i in shown], [right[i] for i in shown])
        if gap is not None:
            cells.insert(gap, MORE)
        lines.append(_cut("  ".join(cells).rstrip()))
    return [*lines, *([f"{MORE} and {more:,} more rows"] if more > 1 else [])]


def _cut(line: str) -> str:
    """The line within the width."""
    if width(line) <= WIDTH:
        return line
    while width(line) + len(MORE) > WIDTH:
        line = line[:-1]
    return f"{line.rstrip()}{MORE}"
