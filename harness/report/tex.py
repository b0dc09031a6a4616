"""Tables for papers: booktabs rules, and never wider than the column of a two-column page.

A table that is too wide is folded or split as on a terminal. Sentences become comments, for the author to take or
leave.
"""

import re
from collections.abc import Sequence
from math import ceil

from harness.report.blocks import NONE, Block, Cell, Heading, Limits, Paragraphs, Table, cell_text, kind_of
from harness.report.terminal import Layout, Page, key_columns, layout
from harness.report.text import tex, wrapped

PREAMBLE = r"""% Needs \usepackage{booktabs} in the preamble. The captions are for you to edit.
% Names in other scripts than Latin need LuaLaTeX or XeLaTeX and a font that has them."""
# The column of a two-column article has 229 points, those of most journals more. The layout counts in quarters of a
# digit's width: what is between two columns, its `gap`, is twice \tabcolsep.
COLUMN, UNIT, GAP = 229.0, 1.0625, 8.0
# Widths in Computer Modern at 8 points, \footnotesize: rounded up from its metrics.
_POINTS = {
    point: width
    for width, points in {
        2.4: "!',.:;[]il`",
        2.9: " ",
        3.4: "()-Irstfj",
        4.25: '0123456789acegkoqvxyz/$*?^{}~\\J"',
        4.8: "Sbdhnpu_",
        6.6: "ABCDEFHLNPRTUVXYZw\u2212",
        7.1: "&+=@GKOQ<>%#m",
        8.8: "MW|",
    }.items()
    for point in points
}
# Where a long word may be broken, and after how many letters it is.
_MAX_WORD_LENGTH = 10


def tex_document(blocks: Sequence[Block], _width: int) -> str:
    """All tables, each with the heading above it as its caption, and the sentences as comments."""
    parts, caption = [PREAMBLE], ""
    for block in blocks:
        if isinstance(block, Heading):
            caption = block.text
        elif isinstance(block, Paragraphs):
            parts.append("\n".join(wrapped(_words(text), 100, indent="% ") for text in block.texts))
        else:
            parts.append(_float(block, caption))
    return "\n".join(f"{part}\n" for part in parts)


def _float(table: Table, caption: str) -> str:
    fitted = _layout(table)
    if len(fitted.parts) > 1 and not fitted.keys:
        rows = [[number, *row] for number, row in enumerate(table.rows, 1)]
        return _float(Table(["", *table.columns], rows, spare=table.spare), caption)
    lines = [
        r"\begin{table}",
        r"\centering\footnotesize\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{_words(caption) or 'What the table shows'}}}",
        "\n\\par\\medskip\n".join(_tabular(table, fitted, part) for part in fitted.parts),
        r"\end{table}",
    ]
    return "\n".join(lines)


def _layout(table: Table) -> Layout:
    """How it fits; columns that it can do without are left out if it does not fit with them."""
    lines = [list(table.columns), *([_text_as_set(cell) for cell in row] for row in table.rows)]
    columns = range(len(table.columns))
    widths = [max(_size(line[i]) for line in lines) for i in columns]
    words = [
        max(_size(word[:_MAX_WORD_LENGTH]) for line in lines for word in (line[i].split() or [""])) for i in columns
    ]
    page = Page(int(COLUMN / UNIT), gap=int(GAP / UNIT), narrowest=int(100 / UNIT), margin=0)
    fitted = layout(widths, words, page, key_columns(lines[1:], widths, page))
    if len(fitted.parts) == 1 or not table.spare:
        return fitted
    kept = [i for i in columns if table.columns[i] not in table.spare]
    keys = key_columns([[line[i] for i in kept] for line in lines[1:]], [widths[i] for i in kept], page)
    inner = layout([widths[i] for i in kept], [words[i] for i in kept], page, keys)
    sizes = {kept[i]: size for i, size in enumerate(inner.widths)}
    return Layout(
        [sizes.get(i, widths[i]) for i in columns],
        frozenset(kept[i] for i in inner.folded),
        [[kept[i] for i in part] for part in inner.parts],
        keys,
    )


def _text_as_set(cell: Cell) -> str:
    """A cell with as many characters as TeX sets; a true minus is wider than a hyphen."""
    limits = cell.texts if isinstance(cell, Limits) else None
    text = cell_text(cell) if limits is None else f"[{limits[0]}, {limits[1]}]"
    return text.replace("-", "\u2212") if _is_figure(cell) else text


def _size(text: str) -> int:
    return ceil(sum(_POINTS.get(char, 8.8) for char in text) / UNIT)


def _tabular(table: Table, fitted: Layout, part: Sequence[int]) -> str:
    align = "".join("r" if all(_is_figure(row[i]) for row in table.rows) else "l" for i in part)
    widths = [fitted.widths[i] if i in fitted.folded else None for i in part]
    head = [_words(table.columns[i]) for i in part]
    lines = [rf"\begin{{tabular}}{{@{{}}{align}@{{}}}}", r"\toprule", _row(head, widths), r"\midrule"]
    lines += [_row([tex_cell(row[i]) for i in part], widths) for row in table.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _row(cells: Sequence[str], widths: Sequence[int | None]) -> str:
    boxed = [
        cell if size is None else rf"\parbox[t]{{{size * UNIT:.0f}pt}}{{\raggedright {_breakable(cell)}\strut}}"
        for cell, size in zip(cells, widths, strict=True)
    ]
    text = " & ".join(boxed) + r" \\"
    # After a row break, a [ or * would be read as its argument.
    return "{}" + text if text.lstrip().startswith(("[", "*")) else text


def _breakable(text: str) -> str:
    """Long words may be broken: TeX would let them stick out of the column."""
    return " ".join(
        word if len(word) <= _MAX_WORD_LENGTH else re.sub(r"(\\[a-z]+\{\}|\\.|[^\\])", r"\1\\allowbreak{}", word)
        for word in text.split(" ")
    )


def _is_figure(cell: Cell) -> bool:
    return not issubclass(kind_of(cell), str) or cell in ("", NONE)


def tex_cell(cell: Cell) -> str:
    """A cell for TeX: numbers with a true minus, intervals in brackets."""
    if isinstance(cell, Limits) and cell.texts is not None:
        return f"[{', '.join(map(_figure, cell.texts))}]"
    text = cell_text(cell)
    if text == NONE:
        return "--"
    return _figure(text) if _is_figure(cell) else _words(text)


def _figure(text: str) -> str:
    """A number as Python writes it, perhaps after < or a sign, and with a power of ten."""
    for mark, written in (("<", "$<$"), ("-", "$-$"), ("+", "+")):
        if text.startswith(mark):
            return written + _figure(text[1:])
    number, _, power = text.partition("e")
    number = r"$\infty$" if number == "inf" else tex(number).replace(r" \%", r"\,\%")
    return number + (rf"$\cdot10^{{{int(power)}}}$" if power else "")


def _words(text: str) -> str:
    """Text, with the thin space that a percent sign takes, and the italic p of a p-value."""
    return re.sub(r"^p(?= |$)", "$p$", tex(text).replace(r" \%", r"\,\%"))
