"""Several programs at once: each has a thread that feeds it, and all share the questions."""

import queue
import threading
from collections.abc import Iterator
from time import perf_counter

from harness.interface.contract import Interface, Session, Setup
from harness.interface.process import kill_all
from harness.model import Question, Reply

# A service that does not answer cannot be killed; its thread is left behind.
CLOSING_SECONDS = 5.0

_READY = "ready"
_DONE = "done"
_Event = Reply | BaseException | str


class Pool:
    """A session made of several; replies come in the order in which they are ready."""

    def __init__(self, interface: Interface, setting: Setup, jobs: int) -> None:
        self._interface = interface
        self._setting = setting
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._questions = _Shared()
        self._closing = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(jobs)]

    def start(self) -> None:
        """Start all programs, and wait until they are ready; the first that fails ends them all."""
        for thread in self._threads:
            thread.start()
        for _ in self._threads:
            self._next_event()

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """Replies of all programs."""
        self._questions.give(questions)
        working = len(self._threads)
        while working:
            event = self._next_event()
            if isinstance(event, Reply):
                yield event
            else:
                working -= 1

    def close(self) -> None:
        """End all programs; after a complete run they have ended already."""
        self._closing = True
        self._questions.stop()
        give_up = perf_counter() + CLOSING_SECONDS
        while any(thread.is_alive() for thread in self._threads) and perf_counter() < give_up:
            kill_all()
            for thread in self._threads:
                thread.join(0.05)

    def _next_event(self) -> Reply | str:
        event = self._events.get()
        if isinstance(event, BaseException):
            raise event
        return event

    def _work(self) -> None:
        session: Session | None = None
        try:
            session = self._interface.open(self._setting)
            self._events.put(_READY)
            for reply in session.replies(self._questions):
                self._events.put(reply)
                if self._closing:  # else it would start its program again for each case that was in flight
                    break
        except BaseException as error:
            self._events.put(error)
        try:
            if session is not None:
                session.close()
        except BaseException as error:
            self._events.put(error)
        self._events.put(_DONE)


class _Shared:
    """Questions that several threads take from, once there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given = threading.Event()
        self._questions: Iterator[Question] = iter(())

    def give(self, questions: Iterator[Question]) -> None:
        self._questions = questions
        self._given.set()

    def stop(self) -> None:
        with self._lock:
            self.give(iter(()))

    def __iter__(self) -> "_Shared":
        return self

    def __next__(self) -> Question:
        self._given.wait()
        with self._lock:
            return next(self._questions)
