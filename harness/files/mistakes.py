"""The mistakes in a file, collected to be reported together, and the lines of TOML keys."""

import re
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from harness.errors import HateError, ScriptError, UsageError

Item = TypeVar("Item")
Made = TypeVar("Made")

_HEADER = re.compile(r"^\s*+\[{1,2}+([^\]]++)\]")
_KEY = re.compile(r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
# The line of each key, by its dotted path.
KeyLines = dict[tuple[str, ...], int]


def key_lines(text: str) -> KeyLines:
    """The line of each table and key, by its dotted path; the first, if a table is repeated."""
    lines: KeyLines = {}
    table: tuple[str, ...] = ()
    quotes = ""
    for number, line in enumerate(text.split("\n"), 1):
        if quotes:
            quotes = "" if quotes in line else quotes
            continue
        if header := _HEADER.match(line):
            table = _path(header[1])
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            lines.setdefault((*table, *_path(key[1])), number)
            quotes = _opened(line[key.end() :])
    return lines


def line_of(lines: KeyLines, path: Sequence[str | int]) -> int | None:
    """The line of a key, or of the nearest table above it that has one."""
    names = tuple(str(part) for part in path if not isinstance(part, int))
    while names:
        if names in lines:
            return lines[names]
        names = names[:-1]
    return None


def bad_line(data: bytes) -> int:
    """The first line that is not UTF-8; parsers only report a byte, counted from their current block."""
    lines = enumerate(data.split(b"\n"), 1)
    return next((number for number, line in lines if line.decode(errors="ignore").encode() != line), 1)


def _path(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _opened(value: str) -> str:
    """The quotes of a multi-line string that begins here and does not end here."""
    for quotes in ('"""', "'''"):
        if value.lstrip().startswith(quotes) and value.count(quotes) == 1:
            return quotes
    return ""


def made_of_all(items: Collection[Item], make: Callable[[Item], Made], *, cannot: str) -> list[Made]:
    """What is made of each; the mistakes in all of them are one error, which says what they cannot be."""
    made: list[Made] = []
    mistakes: list[HateError] = []
    for item in items:
        try:
            made.append(make(item))
        except HateError as error:
            mistakes.append(error)
    if len(mistakes) == 1:
        raise mistakes[0]
    if mistakes:
        raise UsageError("\n  ".join([f"{len(mistakes)} of {len(items)} cannot be {cannot}", *map(str, mistakes)]))
    return made


MAX_SHOWN = 20


class Mistakes:
    """Mistakes in the order they were found; the first 20 are shown, the rest counted."""

    def __init__(self, about: str) -> None:
        self.about = about
        self.shown: list[str] = []
        self.count = 0

    def add(self, text: str, *, location: str = "") -> None:
        """Add a mistake; `location` is a file and line, a key, or both."""
        self.count += 1
        if len(self.shown) < MAX_SHOWN:
            shown = f"{location}: {text}" if location else text
            # A value may have line breaks; a mistake is a line.
            self.shown.append(shown.replace("\n", "\\n"))

    def extend(self, others: "Mistakes") -> None:
        self.count += others.count
        self.shown = [*self.shown, *others.shown][:MAX_SHOWN]

    def raise_if_any(self, kind: type[HateError] = ScriptError) -> None:
        """Raise an error of this kind with all of them, if there are any."""
        if self.count:
            raise kind(self.report())

    def report(self) -> str:
        """One mistake on the same line; several on a line each."""
        if self.count == 1:
            return f"{self.about}: {self.shown[0]}"
        lines = [f"{self.about}: {self.count:,} mistakes", *(f"  {text}" for text in self.shown)]
        if self.count > len(self.shown):
            lines.append(f"  and {self.count - len(self.shown):,} more")
        return "\n".join(lines)
