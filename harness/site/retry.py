"""Whether, and after how long, a server is asked again."""

import math
import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from harness.site.limits import Limits

# Longer than this nobody waits at a prompt; the user is told instead.
LONGEST_PAUSE = 60.0
# Jitter must differ between processes that failed together, so it comes from the system.
_jitter = random.SystemRandom()


class Retry(Exception):
    """An attempt failed in a way that the next one may not."""

    def __init__(self, text: str, *, after: float | None = None) -> None:
        super().__init__(text)
        # Seconds that the server asks us to wait.
        self.after = after


def wait_before(attempt: int, limits: Limits, *, asked: float | None = None) -> float | None:
    """Seconds to wait before this attempt, 2 being the first repeated one; None: give up."""
    if attempt > limits.attempts or (asked is not None and asked > LONGEST_PAUSE):
        return None
    backoff = min(limits.pause * 2.0 ** (attempt - 2), LONGEST_PAUSE)
    return max(asked or 0.0, backoff * _jitter.uniform(0.5, 1.0))


def retry_after(text: str) -> float | None:
    """The header of that name in seconds: a number or a date; None when it says nothing of use."""
    try:
        seconds = float(text)
    except ValueError:
        return _until(text)
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _until(text: str) -> float | None:
    try:
        when = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max((aware - datetime.now(UTC)).total_seconds(), 0.0)
