"""A table on a terminal: within its width, and without splitting a number.

If it is too wide, its headings are folded, then its longest column of words; if that is not enough, the table is split
into parts, one below the other, each starting with the columns that tell the rows apart.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat

from harness.report.text import width, wrapped_lines

GAP = "  "


@dataclass(frozen=True)
class Layout:
    """How a table fits: the widths of its columns, which of them are folded, and which stand side by side."""

    widths: list[int]
    folded: frozenset[int]
    parts: list[list[int]]
    # How many columns begin every part.
    keys: int


@dataclass(frozen=True)
class Page:
    """Where a table must fit, in whatever the widths are counted in.

    limit      the width of the page
    gap        between two columns
    narrowest  a column of words is not folded narrower than this
    margin     left of the first column
    """

    limit: int
    gap: int = 2
    narrowest: int = 24
    margin: int = 1

    def total(self, widths: Sequence[int]) -> int:
        """How much of the page these columns take."""
        return self.margin + sum(widths) + self.gap * (len(widths) - 1)


def layout(widths: Sequence[int], words: Sequence[int], page: Page, keys: int = 1) -> Layout:
    """How columns of these widths fit on a page; `words` has the longest word of each, `keys` begin every part."""
    folded = _folded(widths, words, page)
    chosen = _capped(widths, page, keys) if folded is None else folded
    parts = [list(range(len(widths)))] if folded is not None else _parts(widths, page, keys)
    return Layout(chosen, frozenset(i for i, size in enumerate(widths) if chosen[i] < size), parts, keys)


def key_columns(rows: Sequence[Sequence[str]], widths: Sequence[int], page: Page) -> int:
    """How many of the first columns tell the rows apart, without taking more than half of the page; else 0."""
    for count in range(1, len(widths)):
        if page.total(widths[:count]) > page.limit // 2:
            return 0 if count > 1 else 1
        if len({tuple(row[:count]) for row in rows}) == len(rows):
            return count
    return 0


def numbered(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Rows, the header first, with their numbers in front."""
    return [["#" if number == 0 else str(number), *row] for number, row in enumerate(rows)]


def terminal_table(rows: Sequence[Sequence[str]], right: Sequence[bool], terminal_width: int) -> str:
    """Rows of harmless text, the header first; `right` marks the columns that are right-aligned."""
    widths, page = [max(width(row[i]) for row in rows) for i in range(len(right))], Page(terminal_width)
    if page.total(widths) > terminal_width:
        # Where "95 %" stands, no line of a heading is broken.
        headings = [wrapped_lines(" ".join(_heading_words(heading)), 1) for heading in rows[0]]
        widths = [max(map(width, [*headings[i], *(row[i] for row in rows[1:])])) for i in range(len(right))]
    words = [max(width(word) for row in rows for word in (row[i].split() or [""])) for i in range(len(right))]
    fitted = layout(widths, words, page, keys := key_columns(rows[1:], widths, page))
    if len(fitted.parts) > 1 and not keys:
        return terminal_table(numbered(rows), [True, *right], terminal_width)
    return "\n".join(_part(rows, right, fitted.widths, part) for part in fitted.parts)


def _folded(widths: Sequence[int], words: Sequence[int], page: Page) -> list[int] | None:
    """Widths that fit, with at most one column folded between words; None if there are none."""
    over = page.total(widths) - page.limit
    if over <= 0:
        return list(widths)
    foldable = [i for i, size in enumerate(widths) if size - over >= max(page.narrowest, words[i])]
    if not foldable:
        return None
    longest = max(foldable, key=lambda i: widths[i])
    return [size - over if i == longest else size for i, size in enumerate(widths)]


def _capped(widths: Sequence[int], page: Page, keys: int) -> list[int]:
    """Widths for a table split into parts: a column that is too wide by itself is folded."""
    max_key_width = max(page.narrowest, page.limit // 2)
    first = [min(size, max_key_width) for size in widths[:keys]]
    room = max(page.narrowest, page.limit - page.total(first) - page.gap)
    return [*first, *(min(size, room) for size in widths[keys:])]


def _parts(widths: Sequence[int], page: Page, keys: int) -> list[list[int]]:
    capped = _capped(widths, page, keys)
    parts, current = [], list(range(keys))
    for i in range(keys, len(widths)):
        if len(current) > keys and page.total([capped[j] for j in (*current, i)]) > page.limit:
            parts.append(current)
            current = list(range(keys))
        current.append(i)
    return [*parts, current]


def _part(rows: Sequence[Sequence[str]], right: Sequence[bool], widths: Sequence[int], part: Sequence[int]) -> str:
    chosen = [widths[i] for i in part]
    lines: list[str] = []
    for number, row in enumerate(rows):
        fold = _heading if number == 0 else _lines
        cells = [fold(row[i], size) for i, size in zip(part, chosen, strict=True)]
        # More than one line, if a cell is folded.
        for line in range(max(map(len, cells))):
            texts = [cell[line] if line < len(cell) else "" for cell in cells]
            lines.append((" " + GAP.join(padded(texts, chosen, [right[i] for i in part]))).rstrip())
        if number == 0:
            lines.append(" " + "─" * (sum(chosen) + len(GAP) * (len(chosen) - 1)))
    return "\n".join(lines) + "\n"


def _heading_words(text: str) -> list[str]:
    """The words of a column's name, which may be folded after an underscore too."""
    return text.replace("_", "_ ").split() or [""]


def _heading(text: str, size: int) -> list[str]:
    """A column's name in lines that fit."""
    if width(text) <= size:
        return [text]
    lines = wrapped_lines(" ".join(_heading_words(text)), size, cut=True)
    return [line.replace("_ ", "_") for line in lines]


def widest(texts: Sequence[str]) -> int:
    return max(map(len if "".join(texts).isascii() else width, texts))


def padded_column(texts: Sequence[str], size: int, right: bool) -> Iterable[str]:
    """The texts of a column, padded to a size."""
    if not "".join(texts).isascii():
        return [padded([text], [size], [right])[0] for text in texts]
    return map(str.rjust if right else str.ljust, texts, repeat(size))


def padded(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> list[str]:
    """Each text padded to its width, on the left if it is right-aligned."""
    return [
        " " * (size - width(text)) + text if aligned else text + " " * (size - width(text))
        for text, size, aligned in zip(texts, widths, right, strict=True)
    ]


def _lines(cell: str, size: int) -> list[str]:
    return [cell] if width(cell) <= size else wrapped_lines(cell, size, cut=True)
