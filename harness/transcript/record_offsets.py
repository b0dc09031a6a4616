"""Where the records of a transcript are, by case, in little memory.

Records of consecutive cases that follow one another in the file are one stretch, so those of a run in case order are a
single one. Of the many stretches of several workers, most are in a temporary file.
"""

import heapq
import tempfile
from array import array
from collections.abc import Iterator
from itertools import chain
from operator import lt
from pathlib import Path
from typing import IO

# The most stretches in memory, and how many of a part are read at a time.
MOST = 1 << 16
_FRAME = 1 << 10
# The index of its first case, and where its bytes begin and end; each is a number of so many bytes.
_Stretch = tuple[int, int, int]
_FIELDS, _SIZE = 3, 8


class RecordOffsets:
    """Places are noted in any order, and given back in the order of the cases.

    Parts are sorted by themselves, and merged at the end.
    """

    def __init__(self, folder: Path, most: int = MOST) -> None:
        self._folder = folder
        self._most = _FIELDS * most
        # The last stretch: its first case, the case that would follow, and its bytes.
        self._first = self._next = self._start = self._stop = -1
        self._waiting = array("q")
        self._file: IO[bytes] | None = None
        # Where each part begins and ends in the file, in bytes.
        self._parts: list[tuple[int, int]] = []
        # Whether all stretches before those that wait were noted in order, and the last of them.
        self._put_in_order = True
        self._last: _Stretch = (-1, -1, -1)

    def add(self, index: int, start: int, stop: int) -> None:
        """Note the record of the case at `index`: its line is from byte `start` to `stop`."""
        if index != self._next or start != self._stop:
            self._end_stretch()
            self._first, self._start = index, start
        self._next, self._stop = index + 1, stop

    def _end_stretch(self) -> None:
        if self._first >= 0:
            self._waiting.extend((self._first, self._start, self._stop))
            self._first = -1
            if len(self._waiting) >= self._most:
                self._put_away()

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()

    @property
    def in_order(self) -> bool:
        """Whether the records are in the file in the order of their cases."""
        self._end_stretch()
        return self._put_in_order and self._waits_in_order()

    def _waits_in_order(self) -> bool:
        indexes, starts = self._waiting[0::_FIELDS], self._waiting[1::_FIELDS]
        follows = not indexes or (self._last[0] < indexes[0] and self._last[1] < starts[0])
        return follows and _ascending(indexes) and _ascending(starts)

    def stretches(self) -> Iterator[tuple[int, int]]:
        """The bytes of the records in case order: where each stretch begins and ends."""
        self._end_stretch()
        parts = [] if self._file is None else [self._part(self._file, *part) for part in self._parts]
        merged = heapq.merge(*parts, _stretches(_sorted(self._waiting)))
        return ((start, stop) for _, start, stop in merged)

    def _put_away(self) -> None:
        """Sort what is in memory, and move it to the file."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix=".hate-", dir=self._folder)  # noqa: SIM115 (see `close`)
        self._put_in_order = self._put_in_order and self._waits_in_order()
        ordered = _sorted(self._waiting)
        begin = self._file.seek(0, 2)
        self._file.write(ordered.tobytes())
        self._parts.append((begin, self._file.tell()))
        index, start, stop = ordered[-_FIELDS:]
        self._last = index, start, stop
        self._waiting = array("q")

    def _part(self, file: IO[bytes], start: int, stop: int) -> Iterator[_Stretch]:
        for place in range(start, stop, _FRAME * _FIELDS * _SIZE):
            file.seek(place)
            frame = array("q")
            frame.frombytes(file.read(min(_FRAME * _FIELDS * _SIZE, stop - place)))
            yield from _stretches(frame)


def _stretches(numbers: "array[int]") -> Iterator[_Stretch]:
    return zip(*(memoryview(numbers)[field::_FIELDS] for field in range(_FIELDS)), strict=True)


def _sorted(numbers: "array[int]") -> "array[int]":
    if _ascending(numbers[0::_FIELDS]):
        return numbers
    return array("q", chain.from_iterable(sorted(_stretches(numbers))))


def _ascending(numbers: "array[int]") -> bool:
    return all(map(lt, numbers, memoryview(numbers)[1:]))
