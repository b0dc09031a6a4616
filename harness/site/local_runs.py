"""The user's own runs: transcripts under the working folder, their age, and which of them are complete."""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.errors import MissingExtra, TranscriptError
from harness.transcript.format import Header
from harness.transcript.read import TranscriptSummary, glance, open_transcript
from harness.transcript.settings import part_of

ROOT = Path("transcripts")
SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")
# A transcript of another form than lines that is still being written.
UNFINISHED = (".jsonl.gz.part", ".parquet.part")
# The largest age in seconds to give in each unit; the unit's seconds, name and symbol.
_UNITS = (
    (120, 1, "second", "s"),
    (7200, 60, "minute", "min"),
    (172_800, 3600, "hour", "h"),
    (5_184_000, 86_400, "day", "d"),
)


@dataclass(frozen=True)
class LocalRun:
    """A transcript file and its header."""

    path: Path
    header: Header
    modified: float

    @property
    def stem(self) -> str:
        """The file's base name, without .jsonl, .gz or .parquet."""
        return re.split(r"\.jsonl|\.parquet", self.path.name)[0]

    @property
    def began(self) -> float:
        """When the run started, in seconds since 1970; if its header does not say, when its file changed."""
        started = timestamp(self.header.started)
        return self.modified if started is None else started

    @property
    def order(self) -> tuple[float, float, list[tuple[int, str]], str]:
        """A sort key: newer runs are larger; if two began at the same time, the file with the higher number is."""
        parts = re.split(r"([0-9]+)", self.stem)
        numbered = [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
        return self.began, self.modified, numbered, str(self.path)

    @property
    def how_old(self) -> str:
        """How old the run is, for a sentence: 2 minutes old, of 2026-11-16."""
        elapsed = _elapsed(self.began)
        return f"{elapsed[0]} {elapsed[1]}{'' if elapsed[0] == 1 else 's'} old" if elapsed else f"of {day(self.began)}"


def timestamp(text: str) -> float | None:
    """A time in a transcript as seconds since 1970; None if the text is not a time."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):
        return None


def day(when: float) -> str:
    """The day of a time in seconds since 1970."""
    return f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d}"


def age(when: float) -> str:
    """How long ago a time was, in short: 2 min; the day, if it is long ago or in the future."""
    elapsed = _elapsed(when)
    return f"{elapsed[0]} {elapsed[2]}" if elapsed else day(when)


def _elapsed(when: float) -> tuple[int, str, str] | None:
    """The number of units that have passed; the unit's name and symbol."""
    passed = time.time() - when
    for limit, seconds, name, symbol in _UNITS:
        if 0 <= passed < limit:
            return int(passed // seconds), name, symbol
    return None


@dataclass(frozen=True)
class SkippedRun:
    """A file with the right name that is never chosen, and why."""

    path: Path
    why: str
    test: str
    # When the run began and when the file changed, as far as known.
    moment: tuple[float, float]


@dataclass(frozen=True)
class LocalRuns:
    """All runs under the working folder, and other files there with their modification times."""

    runs: Sequence[LocalRun]
    unusable: Mapping[Path, float]

    def of_algorithm(self, name: str) -> list[LocalRun]:
        """The runs of an algorithm, newest first."""
        return newest_first(run for run in self.runs if run.header.algorithm.name == name)

    def of_file(self, name: str) -> list[LocalRun]:
        """The runs in files with this base name, newest first."""
        return newest_first(run for run in self.runs if run.stem == name)

    def named(self, name: str) -> tuple[dict[str, list[LocalRun]], list[SkippedRun]]:
        """The complete runs with this name by test, and those to skip; newest first. Algorithms go before files."""
        complete: list[LocalRun] = []
        skipped = {path: self._unusable(path) for path in self.unusable if _is_numbered(path, name)}
        for runs in (self.of_algorithm(name), self.of_file(name)):
            reasons = {run.path: shortfall(run) for run in runs}
            skipped |= {run.path: _skipped(run, reasons[run.path]) for run in runs if reasons[run.path]}
            complete = complete or [run for run in runs if not reasons[run.path]]
        return _by_test(complete), sorted(skipped.values(), key=lambda run: run.moment, reverse=True)

    def _unusable(self, path: Path) -> SkippedRun:
        moment = self.unusable[path]
        return SkippedRun(path, "is not a transcript", path.parent.name, (moment, moment))

    def names(self) -> set[str]:
        """The names of their algorithms and files."""
        return {name for run in self.runs for name in (run.header.algorithm.name, run.stem)}


def local_runs(root: Path = ROOT, pattern: str = "*/*") -> LocalRuns:
    """Search the working folder; only headers are read."""
    runs: list[LocalRun] = []
    unusable: dict[Path, float] = {}
    for path in transcript_files(root, pattern):
        try:
            runs.append(read_run(path))
        except (TranscriptError, MissingExtra):
            unusable[path] = path.stat().st_mtime if path.exists() else 0.0
    return LocalRuns(runs, unusable)


def transcript_files(root: Path, pattern: str = "*/*") -> Iterator[Path]:
    """The transcripts in the subfolders of a folder, finished or not."""
    for path in sorted(root.glob(pattern)):
        if path.name.endswith((*SUFFIXES, *UNFINISHED)) and path.is_file():
            yield path


def read_run(path: Path) -> LocalRun:
    """A transcript file and its header; a TranscriptError if it has none."""
    with open_transcript(path) as reader:
        header = reader.header
    try:
        return LocalRun(path, header, path.stat().st_mtime)
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}") from None


def glance_at_run(path: Path) -> TranscriptSummary:
    """Header and counts, without the records; a file that is still being compressed is never complete."""
    summary = glance(path)
    return replace(summary, complete=summary.complete and not path.name.endswith(UNFINISHED))


def transcript_stem(name: str) -> str:
    """The base name of a transcript's file."""
    for suffix in (".gz", ".jsonl", ".parquet", ".out"):
        name = name.removesuffix(suffix)
    return name


def one_line(text: str) -> str:
    """A name for a message of one line: line breaks and other control characters are escaped."""
    return re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]", lambda match: repr(match[0])[1:-1], text)


def newest_first(runs: Iterable[LocalRun]) -> list[LocalRun]:
    """Sorted by when they began, then by when their files changed."""
    return sorted(runs, key=lambda run: run.order, reverse=True)


def shortfall(run: LocalRun) -> str:
    """Why a run does not represent its algorithm on its test; empty if it is complete."""
    try:
        summary = glance_at_run(run.path)
    except TranscriptError:
        return "is damaged"
    if not summary.complete:
        return "is not complete"
    part = part_of(summary)
    if part.startswith("without fold"):
        return f"was trained on a part ({part})"
    return f"covers only a part ({part})" if part else ""


def _is_numbered(path: Path, name: str) -> bool:
    """Whether a file is named like the runs of an algorithm: NAME, NAME-2."""
    return re.fullmatch(rf"{re.escape(name)}(-[0-9]+)?\.(jsonl|parquet).*", path.name) is not None


def _skipped(run: LocalRun, why: str) -> SkippedRun:
    return SkippedRun(run.path, why, run.header.test.name, run.order[:2])


def _by_test(runs: Sequence[LocalRun]) -> dict[str, list[LocalRun]]:
    groups: dict[str, list[LocalRun]] = {}
    for run in runs:
        groups.setdefault(run.header.test.name, []).append(run)
    return groups
