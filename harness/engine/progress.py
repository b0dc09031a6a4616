"""The progress of a run, and one bar over several runs, one after the other or side by side."""

import threading
from collections.abc import Mapping
from typing import Protocol, runtime_checkable


@runtime_checkable
class Progress(Protocol):
    """Shows how far a run has got."""

    def begin(self, total: int, done: int) -> None:
        """Start; `done` of the `total` trials were finished earlier."""

    def advance(self, done: int, errors: int) -> None:
        """Show how many are done now, and how many of them were errors."""

    def end(self) -> None:
        """Stop."""


@runtime_checkable
class WorkerProgress(Protocol):
    """Progress that can also show what each worker of a `SpreadSession` does."""

    def show_workers(self, throughput: Mapping[str, float]) -> None:
        """Show cases a second by the name of the worker."""


class NoProgress:
    """Shows nothing."""

    def begin(self, total: int, done: int) -> None:
        """Nothing."""

    def advance(self, done: int, errors: int) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


class SharedProgress:
    """One bar over several runs. It is shown when the first run begins; what was announced by then is the whole."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar
        self._begun = False
        self._total = 0
        # What is done of runs that have ended, and of those that are going on, with errors.
        self._done = self._errors = 0
        self._current: dict[RunPart, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def announce(self, trials: int) -> None:
        """Add to the most that there may be to do."""
        self._total += trials

    def skip(self, trials: int) -> None:
        """Note trials of a run that need not be made."""
        with self._lock:
            self._done += trials

    def show(self, run: "RunPart", done: int, errors: int) -> None:
        """Show that this much of a run is done."""
        with self._lock:
            self._current[run] = done, errors
            all_done = self._done + sum(count for count, _ in self._current.values())
            all_errors = self._errors + sum(count for _, count in self._current.values())
            if not self._begun:
                self._begun = True
                self.bar.begin(self._total, all_done)
            self.bar.advance(all_done, all_errors)

    def leave(self, run: "RunPart") -> None:
        with self._lock:
            done, errors = self._current.pop(run, (0, 0))
            self._done, self._errors = self._done + done, self._errors + errors

    def end(self) -> None:
        """Remove the progress bar."""
        if self._begun:
            self.bar.end()


class RunPart:
    """The progress of one run, shown as a part of the whole bar."""

    def __init__(self, shared: SharedProgress) -> None:
        self._shared = shared

    def begin(self, total: int, done: int) -> None:
        self._shared.show(self, done, 0)

    def advance(self, done: int, errors: int) -> None:
        self._shared.show(self, done, errors)

    def show_workers(self, throughput: Mapping[str, float]) -> None:
        """Show cases a second by the name of the worker."""
        if isinstance(self._shared.bar, WorkerProgress):
            self._shared.bar.show_workers(throughput)

    def end(self) -> None:
        """More runs may follow."""
        self._shared.leave(self)
