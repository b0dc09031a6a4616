"""Runs that are kept: a transcript for every algorithm setting, so that only what is new is run."""

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
from filelock import FileLock

from harness.engine.header import run_header
from harness.engine.run import Plan, Progress, Result, run
from harness.engine.target import Output
from harness.errors import OutputError, TranscriptError
from harness.transcript.format import Header

SCHEME = 1


@dataclass(frozen=True)
class Store:
    """A folder of complete transcripts, named by what was run; those that are still being written end in .part.jsonl.

    `fresh` takes nothing of it for known.
    """

    folder: Path
    fresh: bool = False

    def path(self, plan: Plan) -> Path:
        """Where the transcript of a run is, or will be."""
        return self.folder / f"{key(run_header(plan), plan.options.timeout)}.jsonl"

    def has(self, plan: Plan) -> bool:
        """Whether nothing needs to be run."""
        return not self.fresh and self.path(plan).is_file()

    def make(self, plan: Plan, progress: Progress) -> Result:
        """Run, or carry on with a run that was killed; the same run elsewhere is waited for."""
        path = self.path(plan)
        part = path.with_suffix(".part.jsonl")
        with _in_cache(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path.with_name(f"{path.name}.lock"))
            lock.acquire()
        try:
            if self.fresh:
                part.unlink(missing_ok=True)
            elif path.is_file():  # another sweep has made it since
                return run(plan, Output(path, resume=True), progress)
            result = _carried_on(plan, part, progress)
            with _in_cache(path):
                part.replace(path)
        finally:
            lock.release()
        return Result(result.counts, path, result.asked, result.first_error)


@contextlib.contextmanager
def _in_cache(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        text = f"cache {path}: {error.strerror or error}; free some space or set XDG_CACHE_HOME"
        raise OutputError(text) from None


def _carried_on(plan: Plan, part: Path, progress: Progress) -> Result:
    try:
        return run(plan, Output(part, resume=True), progress)
    except TranscriptError:  # damaged beyond its last line: it is ours, and can be made again
        return run(plan, Output(part, force=True), progress)


def key(header: Header, timeout: float | None) -> str:
    """Names a run by all that its answers depend on: test, algorithm, interface, parameters, extent, time limit."""
    named = [header.test, header.algorithm, header.interface, header.params, header.repeat, header.limit]
    plain = [None if value is msgspec.UNSET else msgspec.to_builtins(value) for value in named]
    text = msgspec.json.encode([SCHEME, header.harness, timeout, *plain], order="sorted")
    return hashlib.sha256(text).hexdigest()
