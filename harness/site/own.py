"""Runs of one's own: the transcripts under the working folder, how old they are, and which of them are whole."""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.errors import TranscriptError
from harness.transcript.extent import part_of
from harness.transcript.format import Header
from harness.transcript.read import Summary, glance, open_transcript

ROOT = Path("transcripts")
SUFFIXES = (".jsonl", ".jsonl.gz")
# A packed transcript that is still being written.
UNFINISHED = ".jsonl.gz.part"
# Up to how many seconds an age is given in a unit, how many the unit has, its name and its symbol.
_UNITS = (
    (120, 1, "second", "s"),
    (7200, 60, "minute", "min"),
    (172_800, 3600, "hour", "h"),
    (5_184_000, 86_400, "day", "d"),
)


@dataclass(frozen=True)
class OwnRun:
    """A transcript by its file and header."""

    path: Path
    header: Header
    modified: float

    @property
    def stem(self) -> str:
        """The file's base name, without .jsonl or .gz."""
        return self.path.name.partition(".jsonl")[0]

    @property
    def began(self) -> float:
        """When the run started, in seconds since 1970; where its header does not say, when its file changed."""
        found = moment(self.header.started)
        return self.modified if found is None else found

    @property
    def order(self) -> tuple[float, float, list[tuple[int, str]], str]:
        """Larger for what is newer; of files of the same moment, for the one with the higher number."""
        parts = re.split(r"([0-9]+)", self.stem)
        numbered = [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
        return self.began, self.modified, numbered, str(self.path)

    @property
    def how_old(self) -> str:
        """How long ago the run started, in a sentence: 2 minutes old, of 2026-11-16."""
        found = _passed(self.began)
        return f"{found[0]} {found[1]}{'' if found[0] == 1 else 's'} old" if found else f"of {day(self.began)}"


def moment(text: str) -> float | None:
    """A time as transcripts have it, in seconds since 1970; None for anything else."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):
        return None


def day(when: float) -> str:
    """The day of a time in seconds since 1970."""
    return f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d}"


def age(when: float) -> str:
    """How long ago that was, in a few letters: 2 min; the day, where it is long ago or yet to come."""
    found = _passed(when)
    return f"{found[0]} {found[2]}" if found else day(when)


def _passed(when: float) -> tuple[int, str, str] | None:
    """How many of which unit, its name and symbol."""
    passed = time.time() - when
    for most, seconds, name, symbol in _UNITS:
        if 0 <= passed < most:
            return int(passed // seconds), name, symbol
    return None


@dataclass(frozen=True)
class OwnRuns:
    """All that are under the working folder; beside them files that are no transcripts, and when they changed."""

    runs: Sequence[OwnRun]
    unusable: Mapping[Path, float]

    def of_algorithm(self, name: str) -> list[OwnRun]:
        """The runs of an algorithm, newest first."""
        return newest_first(run for run in self.runs if run.header.algorithm.name == name)

    def of_file(self, name: str) -> list[OwnRun]:
        """The runs in files of a base name, newest first."""
        return newest_first(run for run in self.runs if run.stem == name)

    def names(self) -> set[str]:
        """Their algorithms and base names."""
        return {name for run in self.runs for name in (run.header.algorithm.name, run.stem)}


def own_runs(root: Path = ROOT) -> OwnRuns:
    """Look through the working folder; only headers are read."""
    runs: list[OwnRun] = []
    unusable: dict[Path, float] = {}
    for path in transcript_files(root):
        try:
            runs.append(read_run(path))
        except TranscriptError:
            unusable[path] = path.stat().st_mtime if path.exists() else 0.0
    return OwnRuns(runs, unusable)


def transcript_files(root: Path) -> Iterator[Path]:
    """The transcripts in the folders of a folder, finished or not."""
    for path in sorted(root.glob("*/*")):
        if path.name.endswith((*SUFFIXES, UNFINISHED)) and path.is_file():
            yield path


def read_run(path: Path) -> OwnRun:
    """A transcript by its header; a TranscriptError where it has none."""
    with open_transcript(path) as reader:
        header = reader.header
    try:
        return OwnRun(path, header, path.stat().st_mtime)
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}") from None


def look_at(path: Path) -> Summary:
    """Header and counts, without the records; what is still being packed is not complete, whatever it ends with."""
    found = glance(path)
    return replace(found, complete=found.complete and not path.name.endswith(UNFINISHED))


def newest_first(runs: Iterable[OwnRun]) -> list[OwnRun]:
    """By when they began, then by when their files changed."""
    return sorted(runs, key=lambda run: run.order, reverse=True)


def shortfall(run: OwnRun) -> str:
    """Why a run cannot stand for its algorithm on its test, in words; empty where it is whole."""
    try:
        summary = look_at(run.path)
    except TranscriptError:
        return "is damaged"
    if not summary.complete:
        return "is not complete"
    part = part_of(summary)
    if part.startswith("without fold"):
        return f"was trained on a part ({part})"
    return f"covers only a part ({part})" if part else ""
