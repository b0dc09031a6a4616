"""How much each name may hand in on a day; remembered over restarts."""

import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from filelock import FileLock

# In the site's folder; servers do not serve names that begin with a dot.
LEDGER = ".quotas.json"


class _Day(msgspec.Struct):
    """What was used on a day, by name; other days are forgotten."""

    day: str = ""
    used: dict[str, int] = {}


def utc_now() -> datetime:
    """The time by which days begin and end."""
    return datetime.now(UTC)


@dataclass
class QuotaLedger:
    """Counts by name and day, in a file."""

    path: Path
    clock: Callable[[], datetime] = utc_now
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, name: str, most: int) -> float:
        """Use one of the day's `most`: 0 if there was one left, otherwise the seconds until the next day."""
        # Several servers may serve one folder.
        with self._lock, FileLock(self.path.with_name(f"{self.path.name}.lock")):
            today = self._today()
            if today.used.get(name, 0) >= most:
                return self._seconds_left()
            today.used[name] = today.used.get(name, 0) + 1
            self._write(today)
            return 0.0

    def used(self, name: str) -> int:
        """How many were used today."""
        with self._lock:
            return self._today().used.get(name, 0)

    def _today(self) -> _Day:
        day = self.clock().strftime("%Y-%m-%d")
        try:
            known = msgspec.json.decode(self.path.read_bytes(), type=_Day)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return _Day(day)
        return known if known.day == day else _Day(day)

    def _seconds_left(self) -> float:
        now = self.clock()
        midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return max(1.0, (midnight - now).total_seconds())

    def _write(self, day: _Day) -> None:
        part = self.path.with_name(f"{self.path.name}.{uuid.uuid4().hex}.part")
        try:
            part.write_bytes(msgspec.json.encode(day))
            part.replace(self.path)
        finally:
            part.unlink(missing_ok=True)
