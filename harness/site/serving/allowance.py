"""How often someone may do something: so many at once, and more as time passes."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

MOST_KEYS = 10_000


@dataclass
class Allowance:
    """A bucket for each key, which fills up again within `seconds`."""

    most: int
    seconds: float
    clock: Callable[[], float] = time.monotonic
    # What is left, and when that was so.
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, key: str) -> float:
        """Take one: 0 where that is allowed, else the seconds until it will be."""
        with self._lock:
            left = self._now(key)
            if left < 1:
                return (1 - left) * self.seconds / self.most
            self._left[key] = left - 1, self.clock()
            self._left.move_to_end(key)
            while len(self._left) > MOST_KEYS:
                self._left.popitem(last=False)
            return 0.0

    def wait(self, key: str) -> float:
        """The seconds until one can be taken, without taking it."""
        with self._lock:
            return max(0.0, (1 - self._now(key)) * self.seconds / self.most)

    def _now(self, key: str) -> float:
        left, since = self._left.get(key, (float(self.most), self.clock()))
        return min(float(self.most), left + (self.clock() - since) * self.most / self.seconds)
