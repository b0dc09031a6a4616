"""What can be made again: where it is kept on disk, and a cache in memory for several threads."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Generic, TypeVar

# The prefix of entries of the cache that are still being made or already being removed.
UNFINISHED_PREFIX = ".making-"
# The columns of large transcripts, by the size and the SHA-256 of the transcript.
KEPT_COLUMNS = "columns"

# The SHA-256 of data that was hashed before, by the path of the data.
KNOWN_DIGESTS = "digests"
# Which transcripts were judged again, by their SHA-256.
JUDGED = "judged"


def cache_folder() -> Path:
    """The cache folder, by the conventions of the platform."""
    from platformdirs import user_cache_path  # for workers of Python code, which have no cache

    return user_cache_path("hate", appauthor=False)


Value = TypeVar("Value")


def memory_of(value: bytes) -> int:
    """The memory that bytes take, even if there are none."""
    return len(value) + 500


class MemoryCache(Generic[Value]):
    """Values by key, up to `size` together; each counts as one, unless `cost` says otherwise.

    What was not used for the longest is dropped first.
    """

    def __init__(self, size: int, cost: Callable[[Value], int] = lambda _: 1) -> None:
        self._size, self._cost = size, cost
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._used = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        """The value, if it is here."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: Value) -> None:
        """Store a value, unless it alone would take up much of the cache."""
        if self._cost(value) > max(1, self._size // 4):
            return
        with self._lock:
            if key in self._values:
                self._used -= self._cost(self._values.pop(key))
            self._values[key] = value
            self._used += self._cost(value)
            while self._used > self._size:
                self._used -= self._cost(self._values.popitem(last=False)[1])

    def get_or_make(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value; a missing one is made, only once even if several threads need it at the same time."""
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        try:
            with making:
                value = self.get(key)
                if value is None:
                    value = make()
                    self.put(key, value)
                return value
        finally:
            with self._lock:
                self._making.pop(key, None)
