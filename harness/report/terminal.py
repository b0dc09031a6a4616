"""A table on a terminal: within its width, and without splitting a number.

If it is too wide, its longest column of words is folded; if that is not enough, the table is split into parts, one
below the other, each starting with the first column.
"""

from collections.abc import Sequence

from harness.report.text import width, wrapped_lines

GAP = "  "
# A column of words is not folded narrower than this.
NARROWEST = 24


def terminal_table(rows: Sequence[Sequence[str]], right: Sequence[bool], terminal_width: int) -> str:
    """Rows of harmless text, the header first; `right` marks the columns that are right-aligned."""
    widths = [max(width(row[i]) for row in rows) for i in range(len(right))]
    words = [max(width(word) for row in rows for word in (row[i].split() or [""])) for i in range(len(right))]
    folded = _folded(widths, words, terminal_width)
    parts = [list(range(len(right)))] if folded is not None else _parts(widths, terminal_width)
    return "\n".join(_part(rows, right, folded or _capped(widths, terminal_width), part) for part in parts)


def _total(widths: Sequence[int]) -> int:
    return 1 + sum(widths) + len(GAP) * (len(widths) - 1)


def _folded(widths: Sequence[int], words: Sequence[int], limit: int) -> list[int] | None:
    """Widths that fit, with at most one column folded between words; None if there are none."""
    over = _total(widths) - limit
    if over <= 0:
        return list(widths)
    foldable = [i for i, size in enumerate(widths) if size - over >= max(NARROWEST, words[i])]
    if not foldable:
        return None
    longest = max(foldable, key=lambda i: widths[i])
    return [size - over if i == longest else size for i, size in enumerate(widths)]


def _capped(widths: Sequence[int], limit: int) -> list[int]:
    """Widths for a table split into parts: a column that is too wide by itself is folded."""
    first = min(widths[0], max(NARROWEST, limit // 2))
    room = max(NARROWEST, limit - first - len(GAP) - 1)
    return [first, *(min(size, room) for size in widths[1:])]


def _parts(widths: Sequence[int], limit: int) -> list[list[int]]:
    capped = _capped(widths, limit)
    parts, current = [], [0]
    for i in range(1, len(widths)):
        if len(current) > 1 and _total([capped[j] for j in (*current, i)]) > limit:
            parts.append(current)
            current = [0]
        current.append(i)
    return [*parts, current]


def _part(rows: Sequence[Sequence[str]], right: Sequence[bool], widths: Sequence[int], part: Sequence[int]) -> str:
    chosen = [widths[i] for i in part]
    lines: list[str] = []
    for number, row in enumerate(rows):
        lines += _row([row[i] for i in part], [right[i] for i in part], chosen)
        if number == 0:
            lines.append(" " + "─" * (_total(chosen) - 1))
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str], right: Sequence[bool], widths: Sequence[int]) -> list[str]:
    """The lines of one row: more than one if a cell is folded."""
    folded = [_lines(cell, size) for cell, size in zip(cells, widths, strict=True)]
    lines = []
    for number in range(max(map(len, folded))):
        texts = [cell[number] if number < len(cell) else "" for cell in folded]
        lines.append((" " + GAP.join(padded(texts, widths, right))).rstrip())
    return lines


def padded(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> list[str]:
    """Each text padded to its width, on the left if it is right-aligned."""
    return [
        " " * (size - width(text)) + text if aligned else text + " " * (size - width(text))
        for text, size, aligned in zip(texts, widths, right, strict=True)
    ]


def _lines(cell: str, size: int) -> list[str]:
    return [cell] if width(cell) <= size else wrapped_lines(cell, size, cut=True)
