"""Runs in the cache, one for each setting of an algorithm: only new ones are run."""

import contextlib
import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from filelock import FileLock

from harness.engine.cluster import cluster_kept, side_by_side
from harness.engine.header import run_header
from harness.engine.plan import Plan
from harness.engine.run import FinishedRun, Progress, WorkerProgress, run
from harness.engine.target import Target
from harness.errors import HateError, Interrupted, OutputError, TranscriptError
from harness.interface.interrupts import interruptible
from harness.interface.python import is_in_memory
from harness.model import Trial
from harness.transcript.format import Header

SCHEME = 1


@dataclass(frozen=True)
class RunStore:
    """A folder of complete transcripts, named by what was run; unfinished ones end in .part.jsonl.

    With `fresh`, everything is run again.
    """

    folder: Path
    fresh: bool = False

    def path(self, plan: Plan) -> Path:
        """Where the transcript of a run is, or will be."""
        return self.folder / f"{run_key(run_header(plan), plan.options.timeout)}.jsonl"

    def has(self, plan: Plan) -> bool:
        """Whether the run is in the cache."""
        return self._can_reuse(plan) and self.path(plan).is_file()

    def _can_reuse(self, plan: Plan) -> bool:
        """Whether an earlier run may be used: only if the interface's digest identifies the algorithm."""
        return not self.fresh and not is_in_memory(plan.interface)

    def make(self, plan: Plan, progress: Progress) -> FinishedRun:
        """Run, or resume a run that was killed; if another process is making the same run, wait for it."""
        path = self.path(plan)
        part = path.with_suffix(".part.jsonl")
        with _cache_errors(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path.with_name(f"{path.name}.lock"))
            lock.acquire()
        try:
            if not self._can_reuse(plan):
                part.unlink(missing_ok=True)
            elif path.is_file():  # another sweep has made it since
                return run(plan, Target(path, resume=True), progress)
            result = _run_or_resume(plan, part, progress)
            with _cache_errors(path):
                part.replace(path)
        finally:
            lock.release()
        return FinishedRun(result.counts, path, result.asked, result.first_error)


@contextlib.contextmanager
def _cache_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        text = f"cache {path}: {error.strerror or error}; free some space or set XDG_CACHE_HOME"
        raise OutputError(text) from None


def _run_or_resume(plan: Plan, part: Path, progress: Progress) -> FinishedRun:
    try:
        return run(plan, Target(part, resume=True), progress)
    except TranscriptError:  # damaged beyond its last line; start again
        return run(plan, Target(part, force=True), progress)


def run_key(header: Header, timeout: float | None) -> str:
    """A name for a run, from what its answers depend on: test, algorithm, interface, parameters, extent, limits."""
    parts = [header.test, header.algorithm, header.interface, header.params, header.repeat, header.limit, header.limits]
    parts.append(header.isolation)
    plain = [None if part is msgspec.UNSET else msgspec.to_builtins(part) for part in parts]
    plain += ["originals"] if "vary" in header.part else []
    text = msgspec.json.encode([SCHEME, header.harness, timeout, *plain], order="sorted")
    return hashlib.sha256(text).hexdigest()


@dataclass(frozen=True)
class CachedRun:
    """The transcript of one run; `asked` is 0 if it was in the cache."""

    path: Path
    asked: int
    first_error: Trial | None = None


class RunBatch:
    """Several runs, one after the other, with one progress bar over all of them."""

    def __init__(self, store: RunStore, bar: Progress) -> None:
        self.store = store
        self._bar = bar
        self._begun = False
        self._total = 0
        self._done = 0
        self._errors = 0
        # How many runs were announced, made, and found in the cache.
        self.runs = self.made = self.found = 0
        # What is done of the runs that are being made.
        self._current: dict[_RunProgress, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def announce(self, runs: int, trials: int) -> None:
        """Add to the most that there may be to do."""
        self.runs += runs
        self._total += trials

    def take(self, plan: Plan) -> CachedRun:
        """The transcript of a run: from the cache, or made now."""
        if self.store.has(plan):
            with self._lock:
                self.found += 1
                self._done += plan.total
            return CachedRun(self.store.path(plan), 0)
        progress = _RunProgress(self, self._bar)
        try:
            result = self.store.make(plan, progress)
        except (HateError, Interrupted) as error:
            error.note = (
                f"{self.made + self.found:,} of {self.runs:,} runs are finished and kept; the same command carries on"
            )
            raise
        with self._lock:
            self.made += 1
            self._current.pop(progress, None)
            self._done += plan.total
            self._errors += result.counts.ER
        return CachedRun(self.store.path(plan), result.asked, result.first_error)

    def take_all(self, plans: Sequence[Plan]) -> list[CachedRun]:
        """The transcripts of several runs, in their order; on a cluster they are made side by side."""
        if any(plan.options.cluster is None for plan in plans):
            return [self.take(plan) for plan in plans]
        return side_by_side(self.take, plans)

    def show(self, run: "_RunProgress", done: int, errors: int) -> None:
        """Show that this much of a run is done."""
        with self._lock:
            self._current[run] = done, errors
            all_done = self._done + sum(one for one, _ in self._current.values())
            all_errors = self._errors + sum(one for _, one in self._current.values())
            if not self._begun:
                self._begun = True
                self._bar.begin(self._total, all_done)
            self._bar.advance(all_done, all_errors)

    def end(self) -> None:
        """Remove the progress bar."""
        if self._begun:
            self._bar.end()


class _RunProgress:
    """The progress of one run, shown as a part of the whole bar."""

    def __init__(self, batch: RunBatch, bar: Progress) -> None:
        self._batch = batch
        self._bar = bar

    def begin(self, total: int, done: int) -> None:
        self._batch.show(self, done, 0)

    def advance(self, done: int, errors: int) -> None:
        self._batch.show(self, done, errors)

    def show_workers(self, throughput: Mapping[str, float]) -> None:
        if isinstance(self._bar, WorkerProgress):
            self._bar.show_workers(throughput)

    def end(self) -> None:
        """More runs may follow."""


@contextlib.contextmanager
def run_batch(store: RunStore, bar: Progress) -> Iterator[RunBatch]:
    """Several runs; a signal between two of them has the same effect as one during a run."""
    batch = RunBatch(store, bar)
    with interruptible(), cluster_kept():
        try:
            yield batch
        finally:
            batch.end()
