"""Sort more texts than fit into memory: parts are sorted by themselves, kept in a temporary file, and merged."""

import heapq
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import IO, TypeVar

import msgspec

T = TypeVar("T")
# The most texts in memory, and how many of a part are read at a time.
MOST = 200_000
_FRAME = 2_000
_SIZE = 4
_frame = msgspec.msgpack.Decoder(list[str])


def in_lists(items: Iterator[T], size: int) -> Iterator[list[T]]:
    """The items in lists of so many; the last one may be shorter."""
    while block := list(islice(items, size)):
        yield block


class SortedTexts:
    """Texts that are added in any order, and given back in order of their code points, which is that of UTF-8.

    Use it in a `with` statement, which removes the temporary file.
    """

    def __init__(self, most: int = MOST) -> None:
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
        """Add some."""
        self._waiting += texts
        if len(self._waiting) >= self._most:
            self._put_away()

    def __iter__(self) -> Iterator[str]:
        self._waiting.sort()
        if self._file is None:
            return iter(self._waiting)
        parts = [self._part(self._file, *place) for place in self._parts]
        bounds = [*self._bounds, *([(self._waiting[0], self._waiting[-1])] if self._waiting else [])]
        # Files are often in order already.
        ordered = all(one[1] <= other[0] for one, other in pairwise(bounds))
        return chain(*parts, self._waiting) if ordered else heapq.merge(*parts, self._waiting)

    def _put_away(self) -> None:
        """Sort what is in memory, and move it to the file."""
        self._waiting.sort()
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="hate-")  # noqa: SIM115 (closed by __exit__)
        start = self._file.seek(0, 2)
        for frame in in_lists(iter(self._waiting), _FRAME):
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
