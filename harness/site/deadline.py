"""A limit on the whole time of something that may block anywhere: a name server, a handshake, a trickle of bytes."""

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Abandoned(Exception):
    """Nobody waits for this work any more."""


def within(seconds: float, work: Callable[[threading.Event], T]) -> T:
    """What `work` returns, or TimeoutError after so many seconds.

    Socket time limits start anew with every byte, so the work is done in a thread of its own and left there when time
    is up. The event that it is given is then set: it should end soon, and nobody will see what it still does.
    """
    abandoned, results, errors = threading.Event(), list[T](), list[BaseException]()

    def run() -> None:
        try:
            results.append(work(abandoned))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="download", daemon=True)
    thread.start()
    try:
        thread.join(seconds)
    finally:
        abandoned.set()
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError
    return results[0]
