"""More texts than fit into memory, in a temporary file: sort them, and find those that come more than once."""

import heapq
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import IO, TypeVar

import msgspec

T = TypeVar("T")
# The most texts in memory, and how many of a part are read at a time.
MAX_TEXTS = 200_000
_FRAME = 2_000
_SIZE = 4
_frame = msgspec.msgpack.Decoder(list[str])


def in_batches(items: Iterator[T], size: int) -> Iterator[list[T]]:
    """The items in lists of so many; the last one may be shorter."""
    while block := list(islice(items, size)):
        yield block


class SortedTexts:
    """Texts that are added in any order, and given back in order of their code points, which is that of UTF-8.

    Parts are sorted by themselves, kept in a temporary file, and merged. Use it in a `with` statement, which removes
    the file.
    """

    def __init__(self, most: int = MAX_TEXTS) -> None:
        self._most = most
        self._waiting: list[str] = []
        self._file: IO[bytes] | None = None
        # Where each sorted part begins and ends in the file, and its first and last text.
        self._parts: list[tuple[int, int]] = []
        self._bounds: list[tuple[str, str]] = []

    def __enter__(self) -> "SortedTexts":
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def extend(self, texts: Sequence[str]) -> None:
        self._waiting += texts
        if len(self._waiting) >= self._most:
            self._put_away()

    def __iter__(self) -> Iterator[str]:
        self._waiting.sort()
        if self._file is None:
            return iter(self._waiting)
        parts = [self._part(self._file, *span) for span in self._parts]
        bounds = [*self._bounds, *([(self._waiting[0], self._waiting[-1])] if self._waiting else [])]
        # Files are often in order already.
        ordered = all(part[1] <= following[0] for part, following in pairwise(bounds))
        return chain(*parts, self._waiting) if ordered else heapq.merge(*parts, self._waiting)

    def _put_away(self) -> None:
        """Sort what is in memory, and move it to the file."""
        self._waiting.sort()
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="hate-")  # noqa: SIM115 (closed by __exit__)
        start = self._file.seek(0, 2)
        for frame in in_batches(iter(self._waiting), _FRAME):
            data = msgspec.msgpack.encode(frame)
            self._file.write(len(data).to_bytes(_SIZE, "big") + data)
        self._parts.append((start, self._file.tell()))
        self._bounds.append((self._waiting[0], self._waiting[-1]))
        self._waiting = []

    def _part(self, file: IO[bytes], start: int, stop: int) -> Iterator[str]:
        while start < stop:
            file.seek(start)
            size = int.from_bytes(file.read(_SIZE), "big")
            start += _SIZE + size
            yield from _frame.decode(file.read(size))


# The most hashes in memory, and into how many parts they are divided: equal texts are in the same part.
MAX_HASHES = 1 << 18
_PARTS = 256


class TextHashes:
    """The hashes of texts, most of them in a temporary file. Use it in a `with` statement, which removes the file."""

    def __init__(self, most: int = MAX_HASHES) -> None:
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
        repeated: set[int] = set()
        for number in range(_PARTS):
            hashes = self._part(number)
            if len(set(hashes)) < len(hashes):
                repeated |= {value for value, count in Counter(hashes).items() if count > 1}
        return repeated

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
        hashes = array("q", self._parts[number])
        before = 0
        for ends in self._ends:
            begin, end = ends[number - 1] if number else before, ends[number]
            if self._file is not None:
                self._file.seek(begin)
                hashes.frombytes(self._file.read(end - begin))
            before = ends[-1]
        return hashes


def _empty_parts() -> "list[array[int]]":
    return [array("q") for _ in range(_PARTS)]
