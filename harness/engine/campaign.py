"""Many runs, one for every algorithm setting: only the new ones are made, with one bar over all of them."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.engine.run import Plan, Progress
from harness.engine.signals import interruptible
from harness.engine.store import Store
from harness.errors import HateError, Interrupted
from harness.model import Trial


@dataclass(frozen=True)
class Kept:
    """The transcript of one run; `asked` is 0 where it was there before."""

    path: Path
    asked: int
    first_error: Trial | None = None


class Campaign:
    """Takes runs one after the other, in the order that its caller wants."""

    def __init__(self, store: Store, bar: Progress) -> None:
        self.store = store
        self._bar = bar
        self._begun = False
        self._total = 0
        self._done = 0
        self._errors = 0
        # Runs that were announced, made and found.
        self.runs = self.made = self.found = 0

    def announce(self, runs: int, trials: int) -> None:
        """Say how much is to come, at most, so that the bar knows."""
        self.runs += runs
        self._total += trials

    def take(self, plan: Plan) -> Kept:
        """The transcript of a run that was announced: found, or made."""
        if self.store.has(plan):
            self.found += 1
            self._done += plan.total
            return Kept(self.store.path(plan), 0)
        try:
            result = self.store.make(plan, _Part(self))
        except (HateError, Interrupted) as error:
            error.note = (
                f"{self.made + self.found:,} of {self.runs:,} runs are finished and kept; the same command carries on"
            )
            raise
        self.made += 1
        self._done += plan.total
        self._errors += result.counts.ER
        return Kept(self.store.path(plan), result.asked, result.first_error)

    def show(self, done: int, errors: int) -> None:
        """So much of the run that is being made is done."""
        if not self._begun:
            self._begun = True
            self._bar.begin(self._total, self._done + done)
        self._bar.advance(self._done + done, self._errors + errors)

    def end(self) -> None:
        """Take the bar away."""
        if self._begun:
            self._bar.end()


class _Part:
    """One run of many, as the bar sees it."""

    def __init__(self, whole: Campaign) -> None:
        self._whole = whole

    def begin(self, total: int, done: int) -> None:
        self._whole.show(done, 0)

    def advance(self, done: int, errors: int) -> None:
        self._whole.show(done, errors)

    def end(self) -> None:
        """More may come."""


@contextlib.contextmanager
def campaign(store: Store, bar: Progress) -> Iterator[Campaign]:
    """Many runs; a signal between two of them is as good as one in the middle of one."""
    found = Campaign(store, bar)
    with interruptible():
        try:
            yield found
        finally:
            found.end()
