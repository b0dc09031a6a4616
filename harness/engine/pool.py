"""Several programs at once: each is fed by its own thread, and all share the questions."""

import contextlib
import queue
import threading
from collections.abc import Iterator
from time import perf_counter

from harness.interface.contract import Interface, Session, Setup
from harness.interface.interrupts import check_interrupt
from harness.interface.process import SIGNAL_SECONDS, kill_programs
from harness.model import Question, Reply

# A service that does not answer cannot be killed; its thread is abandoned.
CLOSING_SECONDS = 2.0

_READY = "ready"
_DONE = "done"
_Event = Reply | BaseException | str


class Pool:
    """Several sessions as one; replies come in the order in which they are ready."""

    def __init__(self, interface: Interface, setup: Setup, jobs: int) -> None:
        self._interface = interface
        self._setup = setup
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._questions = _SharedQuestions()
        self._closing = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(jobs)]

    @classmethod
    def started(cls, interface: Interface, setup: Setup) -> "Pool":
        """As many programs as there are jobs, ready; if one fails, all are ended."""
        pool = cls(interface, setup, setup.jobs)
        try:
            pool.start()
        except BaseException:
            pool.close()
            raise
        return pool

    def start(self) -> None:
        """Start all programs and wait until they are ready."""
        for thread in self._threads:
            thread.start()
        for _ in self._threads:
            self._next_event()

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        self._questions.put(questions)
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
        deadline = perf_counter() + CLOSING_SECONDS
        while any(thread.is_alive() for thread in self._threads) and perf_counter() < deadline:
            kill_programs(self._setup.work)
            for thread in self._threads:
                thread.join(0.05)

    def _next_event(self) -> Reply | str:
        """Wait for it in small steps.

        Signals are handled by the main thread, but do not end its wait if another thread received the signal, if it
        came just before the wait began, or if its exception was lost.
        """
        while True:
            with contextlib.suppress(queue.Empty):
                event = self._events.get(timeout=SIGNAL_SECONDS)
                break
            check_interrupt()
        if isinstance(event, BaseException):
            raise event
        return event

    def _work(self) -> None:
        session: Session | None = None
        try:
            session = self._interface.open(self._setup)
            self._events.put(_READY)
            for reply in session.replies(self._questions):
                self._events.put(reply)
                if self._closing:  # otherwise it would restart its program for each case in flight
                    break
        except BaseException as error:
            self._events.put(error)
        try:
            if session is not None:
                session.close()
        except BaseException as error:
            self._events.put(error)
        self._events.put(_DONE)


class _SharedQuestions:
    """Questions for several threads, which wait until there are some."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._questions: Iterator[Question] = iter(())

    def put(self, questions: Iterator[Question]) -> None:
        self._questions = questions
        self._ready.set()

    def stop(self) -> None:
        with self._lock:
            self.put(iter(()))

    def __iter__(self) -> "_SharedQuestions":
        return self

    def __next__(self) -> Question:
        self._ready.wait()
        with self._lock:
            return next(self._questions)
