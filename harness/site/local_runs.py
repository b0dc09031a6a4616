"""Transcripts on this machine: the user's runs under the working folder, and those that ship with the harness."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from harness.bundled import bundled
from harness.errors import MissingExtra, TranscriptError
from harness.transcript.format import Header
from harness.transcript.read import TranscriptSummary, glance, open_transcript

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
    """A transcript's file, or one that looks like it; nothing is read before it is asked for."""

    path: Path

    @cached_property
    def header(self) -> Header | None:
        """Its header; None if it has none that can be read."""
        try:
            with open_transcript(self.path) as reader:
                return reader.header
        except (TranscriptError, MissingExtra):
            return None

    @cached_property
    def flaw(self) -> str:
        """Why it does not represent its algorithm on its test; empty for a complete run."""
        if self.header is None:
            return "is not a transcript"
        try:
            summary = glance_at_run(self.path)
        except TranscriptError:
            return "is damaged"
        if not summary.complete:
            return "is not complete"
        part = summary.part_text
        if part.startswith("without fold"):
            return f"was trained on a part ({part})"
        return f"covers only a part ({part})" if part else ""

    @cached_property
    def modified(self) -> float:
        """When its file changed, in seconds since 1970; 0 if it is gone."""
        try:
            return self.path.stat().st_mtime
        except OSError:
            return 0.0

    @property
    def stem(self) -> str:
        """The file's base name, without its ending."""
        return transcript_stem(self.path.name.removesuffix(".part"))

    @property
    def full_name(self) -> str:
        """TEST/NAME of one that ships with the harness: its folder and its file."""
        return f"{self.path.parent.name}/{self.stem}"

    @property
    def algorithm(self) -> str:
        """The algorithm's name; empty if there is no header."""
        return "" if self.header is None else self.header.algorithm.name

    @property
    def test(self) -> str:
        """The test's name as the header has it; without a header, the folder."""
        return self.path.parent.name if self.header is None else self.header.test.name

    @property
    def names(self) -> set[str]:
        """What a user may call it: by its algorithm, or by its file; nothing without a header."""
        return set() if self.header is None else {self.algorithm, self.stem}

    @property
    def began(self) -> float:
        """When the run started, in seconds since 1970; if its header does not say, when its file changed."""
        started = None if self.header is None else timestamp(self.header.started)
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
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).timestamp()
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


def transcript_files(root: Path, pattern: str = "*/*") -> Iterator[Path]:
    """The transcripts in the subfolders of a folder, finished or not."""
    for path in sorted(root.glob(pattern)):
        if path.name.endswith((*SUFFIXES, *UNFINISHED)) and path.is_file():
            yield path


def user_runs() -> list[LocalRun]:
    """The user's, under the working folder."""
    return [LocalRun(path) for path in transcript_files(ROOT)]


def runs_here() -> list[LocalRun]:
    """Those with a header, finished or not, and those that -o put into the working folder itself."""
    runs = [*user_runs(), *(LocalRun(path) for path in transcript_files(Path(), "*"))]
    return [run for run in runs if run.header is not None]


def bundled_runs() -> list[LocalRun]:
    """Those that ship with the harness; if there is a plain and a compressed file, the plain one."""
    by_name: dict[str, LocalRun] = {}
    for run in map(LocalRun, transcript_files(bundled("transcripts"))):
        if not run.path.name.endswith(UNFINISHED):
            by_name.setdefault(run.full_name, run)
    return list(by_name.values())


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
