"""Ctrl-C and SIGTERM during a run: what is finished is saved, and the exit status tells which it was."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from harness.errors import Interrupted


class Latch:
    """Remembers a signal, in case the interface swallowed the exception."""

    def __init__(self) -> None:
        self.signum: int | None = None

    def check(self) -> None:
        """Raise what should have been raised."""
        if self.signum is not None:
            raise Interrupted(self.signum)


@contextlib.contextmanager
def interruptible() -> Iterator[Latch]:
    """Within it, SIGINT and SIGTERM raise `Interrupted`; a second one kills at once."""
    latch = Latch()
    if threading.current_thread() is not threading.main_thread():
        yield latch
        return

    def handle(signum: int, _frame: FrameType | None) -> None:
        latch.signum = signum
        for other, handler in before.items():
            signal.signal(other, handler)
        raise Interrupted(signum)

    before = {signum: signal.signal(signum, handle) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield latch
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
