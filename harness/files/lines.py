"""Where in a file a key or a bad byte stands, for messages; the parsers themselves do not tell."""

import re
from collections.abc import Sequence

_HEADER = re.compile(r"^\s*\[{1,2}\s*([^\]]+?)\s*\]{1,2}")
_KEY = re.compile(r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
# The line of each key, by its dotted path.
Lines = dict[tuple[str, ...], int]


def key_lines(text: str) -> Lines:
    """The line of each table and key, by its dotted path; of repeated tables, the first."""
    found: Lines = {}
    table: tuple[str, ...] = ()
    quotes = ""
    for number, line in enumerate(text.split("\n"), 1):
        if quotes:
            quotes = "" if quotes in line else quotes
            continue
        if header := _HEADER.match(line):
            table = _path(header[1])
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault((*table, *_path(key[1])), number)
            quotes = _opened(line[key.end() :])
    return found


def line_of(lines: Lines, path: Sequence[str | int]) -> int | None:
    """The line of a key, or of the nearest table above it that has one."""
    names = tuple(str(part) for part in path if not isinstance(part, int))
    while names:
        if names in lines:
            return lines[names]
        names = names[:-1]
    return None


def bad_line(data: bytes) -> int:
    """The first line that is not UTF-8; the parsers tell a byte, and that of a block they read."""
    lines = enumerate(data.split(b"\n"), 1)
    return next((number for number, line in lines if line.decode(errors="ignore").encode() != line), 1)


def _path(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _opened(value: str) -> str:
    """The quotes of a multi-line string that this value opens and does not close."""
    for quotes in ('"""', "'''"):
        if value.lstrip().startswith(quotes) and value.count(quotes) == 1:
            return quotes
    return ""
