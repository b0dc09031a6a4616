"""Where the records of a transcript are, by case, in little memory: most of what is noted is in a temporary file."""

import heapq
import tempfile
from array import array
from collections.abc import Iterator
from itertools import chain
from operator import lt
from pathlib import Path
from typing import IO

# The most places in memory, how many of a part are read at a time, and the most bytes of a range.
MOST = 1 << 16
_FRAME = 1 << 10
LONGEST_RANGE = 1 << 20
# The index of a case, and where its record begins and ends; each is a number of so many bytes.
_Place = tuple[int, int, int]
_FIELDS, _SIZE = 3, 8


class RecordPlaces:
    """Places are noted in any order, and given back in the order of the cases.

    Parts are sorted by themselves, and merged at the end.
    """

    def __init__(self, folder: Path, most: int = MOST) -> None:
        self._folder = folder
        self._most = _FIELDS * most
        self._waiting = array("q")
        self._file: IO[bytes] | None = None
        # Where each part begins and ends in the file, in bytes.
        self._parts: list[tuple[int, int]] = []
        # Whether all that was put away was noted in the order of the cases and of the file, and its last place.
        self._put_in_order = True
        self._last: _Place = (-1, -1, -1)

    def add(self, index: int, start: int, stop: int) -> None:
        """Note the record of the case at `index`: its line is from byte `start` to `stop`."""
        self._waiting.extend((index, start, stop))
        if len(self._waiting) >= self._most:
            self._put_away()

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()

    @property
    def in_order(self) -> bool:
        """Whether the records are in the file in the order of their cases."""
        return self._put_in_order and self._waits_in_order()

    def _waits_in_order(self) -> bool:
        indexes, starts = self._waiting[0::_FIELDS], self._waiting[1::_FIELDS]
        follows = not indexes or (self._last[0] < indexes[0] and self._last[1] < starts[0])
        return follows and _ascending(indexes) and _ascending(starts)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """The bytes of the records in case order; records that follow one another are one range, if it is not long."""
        begin = end = -1
        for _, start, stop in self._merged():
            if start != end or stop - begin > LONGEST_RANGE:
                if begin >= 0:
                    yield begin, end
                begin = start
            end = stop
        if begin >= 0:
            yield begin, end

    def _merged(self) -> Iterator[_Place]:
        parts = [] if self._file is None else [self._part(self._file, *part) for part in self._parts]
        return heapq.merge(*parts, _places(_sorted(self._waiting)))

    def _put_away(self) -> None:
        """Sort what is in memory, and move it to the file."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix=".hate-", dir=self._folder)  # noqa: SIM115 (see `close`)
        self._put_in_order = self.in_order
        ordered = _sorted(self._waiting)
        start = self._file.seek(0, 2)
        self._file.write(ordered.tobytes())
        self._parts.append((start, self._file.tell()))
        index, begin, end = ordered[-_FIELDS:]
        self._last = index, begin, end
        self._waiting = array("q")

    def _part(self, file: IO[bytes], start: int, stop: int) -> Iterator[_Place]:
        for place in range(start, stop, _FRAME * _FIELDS * _SIZE):
            file.seek(place)
            frame = array("q")
            frame.frombytes(file.read(min(_FRAME * _FIELDS * _SIZE, stop - place)))
            yield from _places(frame)


def _places(numbers: "array[int]") -> Iterator[_Place]:
    return zip(*(memoryview(numbers)[field::_FIELDS] for field in range(_FIELDS)), strict=True)


def _sorted(numbers: "array[int]") -> "array[int]":
    if _ascending(numbers[0::_FIELDS]):
        return numbers
    return array("q", chain.from_iterable(sorted(_places(numbers))))


def _ascending(numbers: "array[int]") -> bool:
    return all(map(lt, numbers, memoryview(numbers)[1:]))
