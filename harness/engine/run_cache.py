"""Runs in the cache, one for each setting of an algorithm: only new ones are run."""

import contextlib
import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from filelock import FileLock

from harness.engine.engines import Engine, engine_of
from harness.engine.header import run_header
from harness.engine.plan import Plan, RunOptions
from harness.engine.progress import Progress, RunPart, SharedProgress
from harness.engine.run import FinishedRun, run
from harness.engine.tallies import AnsweredLabels
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
            try:
                result = run(plan, Target(part, resume=True), progress)
            except TranscriptError:  # damaged beyond its last line; start again
                result = run(plan, Target(part, force=True), progress)
            with _cache_errors(path):
                part.replace(path)
        finally:
            lock.release()
        return FinishedRun(result.counts, path, result.asked, result.first_error, labels=result.labels)


@contextlib.contextmanager
def _cache_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        text = f"cache {path}: {error.strerror or error}; free some space or set XDG_CACHE_HOME"
        raise OutputError(text) from None


def run_key(header: Header, timeout: float | None) -> str:
    """A name for a run, from what its answers depend on: test, algorithm, interface, parameters, extent, limits."""
    parts = [header.test, header.algorithm, header.interface, header.params, header.repeat, header.limit, header.limits]
    parts.append(header.isolation)
    plain = [None if part is msgspec.UNSET else msgspec.to_builtins(part) for part in parts]
    plain += ["originals"] if header.originals_of else []
    text = msgspec.json.encode([SCHEME, header.harness, timeout, *plain], order="sorted")
    return hashlib.sha256(text).hexdigest()


@dataclass(frozen=True)
class CachedRun:
    """The transcript of one run; `asked` is 0 if it was in the cache."""

    path: Path
    asked: int
    first_error: Trial | None = None
    # What was answered now, if answers are classes.
    labels: AnsweredLabels | None = None


class RunBatch:
    """Several runs, with one progress bar over all of them."""

    def __init__(self, store: RunStore, bar: Progress, engine: Engine) -> None:
        self.store = store
        self._engine = engine
        self.progress = SharedProgress(bar)
        # How many runs were announced, made, and found in the cache.
        self.runs = self.made = self.cached = 0
        self._lock = threading.Lock()

    def announce(self, runs: int, trials: int) -> None:
        """Add to the most that there may be to do."""
        self.runs += runs
        self.progress.announce(trials)

    def take(self, plan: Plan) -> CachedRun:
        """The transcript of a run: from the cache, or made now."""
        if self.store.has(plan):
            self.progress.skip(plan.total)
            with self._lock:
                self.cached += 1
            return CachedRun(self.store.path(plan), 0)
        try:
            result = self.store.make(plan, RunPart(self.progress))
        except (HateError, Interrupted) as error:
            error.note = self._note(plan)
            raise
        with self._lock:
            self.made += 1
        return CachedRun(self.store.path(plan), result.asked, result.first_error, result.labels)

    def _note(self, plan: Plan) -> str:
        """How many runs are finished, and whether they need not be run again."""
        done = f"{self.made + self.cached:,} of {self.runs:,} runs are finished"
        if is_in_memory(plan.interface):
            return f"{done}; none is kept, because {plan.interface.name} is not in a file, and may have changed"
        without = " without --fresh" if self.store.fresh else ""
        return f"{done} and kept; the same command{without} carries on"

    def take_all(self, plans: Sequence[Plan]) -> list[CachedRun]:
        """The transcripts of several runs, in their order."""
        return self._engine.run_all(self.take, plans)


@contextlib.contextmanager
def run_batch(store: RunStore, bar: Progress, options: RunOptions) -> Iterator[RunBatch]:
    """Several runs; a signal between two of them has the same effect as one during a run."""
    engine = engine_of(options)
    batch = RunBatch(store, bar, engine)
    with interruptible(), engine.kept():
        try:
            yield batch
        finally:
            batch.progress.end()
