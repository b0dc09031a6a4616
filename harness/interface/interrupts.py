"""The signals that end a run: they raise `Interrupted` in the main thread, and a wait notices if that was lost."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from harness.errors import Interrupted


class Latch:
    """Remembers a signal.

    Its exception may be lost: the interface swallows it, or it is raised in a finaliser, where Python drops it.
    """

    def __init__(self) -> None:
        self.signum: int | None = None

    def check(self) -> None:
        """Raise `Interrupted` if there was a signal."""
        if self.signum is not None:
            raise Interrupted(self.signum)


class _Innermost:
    """The latch that waits in the main thread look at."""

    latch = Latch()


def check_interrupt() -> None:
    """For long waits, now and then: raise `Interrupted` in the main thread if there was a signal."""
    if _Innermost.latch.signum is not None and threading.current_thread() is threading.main_thread():
        _Innermost.latch.check()


@contextlib.contextmanager
def interruptible() -> Iterator[Latch]:
    """Within it, SIGINT, SIGTERM and SIGHUP raise `Interrupted`; a second one kills at once."""
    latch = Latch()
    if threading.current_thread() is not threading.main_thread():
        yield latch
        return

    def handle(signum: int, _frame: FrameType | None) -> None:
        latch.signum = signum
        for other, handler in before.items():
            signal.signal(other, handler)
        raise Interrupted(signum)

    outer, _Innermost.latch = _Innermost.latch, latch
    ending = [signal.SIGINT, signal.SIGTERM]
    hangup = getattr(signal, "SIGHUP", None)
    # A terminal that closes sends it, unless the user said `nohup`.
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
        ending.append(hangup)
    before = {signum: signal.signal(signum, handle) for signum in ending}
    try:
        yield latch
    finally:
        _Innermost.latch = outer
        for signum, handler in before.items():
            signal.signal(signum, handler)
