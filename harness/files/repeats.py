"""Find texts that come more than once, in little memory: only hashes are kept, and most of them in a temporary file."""

import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator
from typing import IO

# The most hashes in memory, and into how many parts they are divided: equal texts are in the same part.
MOST = 1 << 18
_PARTS = 256


class TextHashes:
    """The hashes of texts. Use it in a `with` statement, which removes the temporary file."""

    def __init__(self, most: int = MOST) -> None:
        self.count = 0
        self._most = most
        self._parts = _empty_parts()
        self._file: IO[bytes] | None = None
        # For each time that hashes were moved to the file, where each part ends there.
        self._ends: list[list[int]] = []

    def __enter__(self) -> "TextHashes":
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, text: str) -> int:
        """Add a text; returns its hash."""
        value = hash(text)
        self._parts[value % _PARTS].append(value)
        self.count += 1
        if not self.count % self._most:
            self._put_away()
        return value

    def repeated(self) -> set[int]:
        """The hashes that came more than once; whether their texts did, only the texts can tell."""
        return {value for part in range(_PARTS) for value in _twice(self._part(part))}

    def _put_away(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="hate-")  # noqa: SIM115 (closed by __exit__)
        ends = []
        self._file.seek(0, 2)
        for part in self._parts:
            self._file.write(part.tobytes())
            ends.append(self._file.tell())
        self._ends.append(ends)
        self._parts = _empty_parts()

    def _part(self, number: int) -> "array[int]":
        found = array("q", self._parts[number])
        before = 0
        for ends in self._ends:
            begin, end = ends[number - 1] if number else before, ends[number]
            found.frombytes(self._read(begin, end))
            before = ends[-1]
        return found

    def _read(self, begin: int, end: int) -> bytes:
        if self._file is None:
            return b""
        self._file.seek(begin)
        return self._file.read(end - begin)


def _empty_parts() -> "list[array[int]]":
    return [array("q") for _ in range(_PARTS)]


def _twice(values: "array[int]") -> Iterator[int]:
    if len(set(values)) < len(values):
        yield from (value for value, count in Counter(values).items() if count > 1)
