"""What was costly to make, kept while there is room; ten that ask at once for the same make it once."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field


@dataclass
class Stock:
    """Bytes by key; what was not asked for the longest goes first. For threads."""

    room: int
    _kept: OrderedDict[Hashable, bytes] = field(default_factory=OrderedDict)
    _making: dict[Hashable, threading.Lock] = field(default_factory=dict)
    _used: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: Hashable) -> bytes | None:
        """What is here."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, value: bytes) -> None:
        """Keep it, unless it alone would take most of the room."""
        if len(value) > self.room // 4:
            return
        with self._lock:
            old = self._kept.pop(key, None)
            self._used += _cost(value) - (0 if old is None else _cost(old))
            self._kept[key] = value
            while self._used > self.room:
                self._used -= _cost(self._kept.popitem(last=False)[1])

    def made(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """What is here, or is made now."""
        with self._lock:
            turn = self._making.setdefault(key, threading.Lock())
        try:
            with turn:
                found = self.get(key)
                if found is None:
                    found = make()
                    self.put(key, found)
                return found
        finally:
            with self._lock:
                self._making.pop(key, None)


def _cost(value: bytes) -> int:
    """Empty values take room, too."""
    return len(value) + 500
