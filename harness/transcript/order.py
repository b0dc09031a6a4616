"""The records of a transcript in the order of their cases, in little memory.

Several workers are ahead of one another by a bounded number of cases. So only so many records wait in a heap for those
before them, however long the file is.
"""

from array import array
from collections.abc import Iterator
from heapq import heappop, heappush

# After all cases.
_NO_CASE = (1 << 63) - 1


def starts_in_order(indexes: "array[int]", starts: "array[int]") -> Iterator[int]:
    """Where each record starts, by the index of its case; `indexes` and `starts` are in the order of recording."""
    waiting: list[tuple[int, int]] = []
    for index, start, later in zip(indexes, starts, _least_later(indexes), strict=True):
        heappush(waiting, (index, start))
        while waiting and waiting[0][0] < later:
            yield heappop(waiting)[1]


def _least_later(indexes: "array[int]") -> "array[int]":
    """The least index of all that were recorded after each one."""
    least = array("q", [_NO_CASE]) * len(indexes)
    for number in range(len(indexes) - 1, 0, -1):
        least[number - 1] = min(least[number], indexes[number])
    return least
