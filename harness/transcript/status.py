"""How far a run is: what its transcript, finished or not, says about it, read without disturbing the run."""

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from msgspec import UNSET, Struct, UnsetType

from harness.errors import TranscriptError
from harness.files.durable import is_locked
from harness.files.gzip_blocks import MAGIC, BadGzip, gunzip
from harness.model import BlindTrial, Counts, ErrorKind, Outcome
from harness.transcript.format import End, Header
from harness.transcript.read import TranscriptReader
from harness.transcript.storage import PARQUET_MAGIC, BlockStream, open_lines
from harness.transcript.write import working_path

_BLOCK = 1 << 20


class RunState(StrEnum):
    """Whether a run is under way, has ended, or was stopped before its end."""

    RUNNING = "running"
    COMPLETE = "complete"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Speed:
    """How fast a run is, in cases a second; None where it cannot be told."""

    # Seconds from its start to now, or to its last record.
    seconds: float | None
    overall: float | None
    # While it was watched, and for how many seconds that was.
    recent: float | None = None
    watched: float = 0.0

    def seconds_left(self, cases: int) -> float | None:
        """For so many more cases, at the recent speed if that is known."""
        rate = self.recent or self.overall
        return cases / rate if rate else None


@dataclass(frozen=True)
class RunStatus:
    """How far a run is, and what has come of it."""

    path: Path
    header: Header
    state: RunState
    counts: Counts
    # How many errors there are of each kind.
    errors: Mapping[str, int]
    speed: Speed
    # Whether this system can tell if a run is writing the file.
    certain: bool = True

    @property
    def done(self) -> int:
        """The trials so far."""
        return self.counts.tests

    @property
    def total(self) -> int | None:
        """The trials of the whole run; None if it is of a part of its test whose size is not recorded."""
        if self.state is RunState.COMPLETE:
            return self.done
        header, part, gallery = self.header, self.header.part, self.header.test.gallery
        cases = part.get("limit", header.test.cases)
        unknown = header.originals_of or (gallery is not UNSET and gallery.probes is not UNSET)
        if not isinstance(cases, int) or (unknown and "limit" not in part):
            return None
        return cases * (header.repeat if isinstance(header.repeat, int) else 1)

    @property
    def may_stop_early(self) -> bool:
        """Whether it was started with --stop-when."""
        return "stop_when" in self.header.part

    @property
    def seconds_left(self) -> float | None:
        """How long it will still take; None if that cannot be told."""
        if self.total is None or self.state is RunState.STOPPED:
            return None
        return self.speed.seconds_left(max(self.total - self.done, 0))


class FollowedRecord(Struct, gc=False):
    """What the status of a run needs of a record; nothing else is decoded."""

    id: str
    outcome: Outcome
    error: ErrorKind | UnsetType | None = UNSET
    stratum: str | UnsetType = UNSET
    psu: str | UnsetType = UNSET


class Follower:
    """A transcript that may still grow. `read_on` gives what has come since the last call."""

    def __init__(self, path: Path) -> None:
        # A run that will be compressed in the end is written beside its name.
        self.path = path if path.exists() else working_path(path)
        self._file = _open(self.path)
        self._reader = self._begin(FollowedRecord)
        if self._reader.header.is_blind:
            # It has no outcomes, so they are not asked for.
            self._file.close()
            self._file = _open(self.path)
            self._reader = self._begin(BlindTrial)

    def _begin(self, record: Any) -> TranscriptReader:
        try:
            return TranscriptReader(self._file, str(self.path), record)
        except TranscriptError:
            self._file.close()
            raise

    @property
    def header(self) -> Header:
        return self._reader.header

    @property
    def end(self) -> End | None:
        return self._reader.end

    @property
    def modified(self) -> float:
        """When the file was last written, in seconds since 1970."""
        return os.fstat(self._file.fileno()).st_mtime

    @property
    def is_replaced(self) -> bool:
        """Whether another file has taken its place: the run was finished, or begun anew."""
        try:
            return not os.path.samestat(os.fstat(self._file.fileno()), self.path.stat())
        except OSError:
            return True

    def is_written(self) -> bool | None:
        """Whether a run has it open; None on systems that cannot tell."""
        return is_locked(self._file.fileno())

    def read_on(self) -> Iterator[Sequence[Any]]:
        """The records that were added since the last call, many at a time; an unfinished line is left for later."""
        if self.end is not None:
            return
        if self._reader.torn:
            self._file.seek(-self._reader.torn, os.SEEK_CUR)
            self._reader.torn = 0
        yield from self._reader.blocks()

    def close(self) -> None:
        self._file.close()


def _open(path: Path) -> IO[bytes]:
    try:
        file = path.open("rb")
        first = file.read(len(PARQUET_MAGIC))
        file.seek(0)
        if first == PARQUET_MAGIC:  # and complete
            file.close()
            return open_lines(path)
        packed = first.startswith(MAGIC)
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}") from None
    return io.BufferedReader(_Unpacked(file)) if packed else file


class _Unpacked(BlockStream):
    """The content of a compressed file, as far as it goes: where the file breaks off, the content ends."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, gunzip(iter(lambda: file.read(_BLOCK), b"")))

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """It stays where it is: a compressed transcript does not grow, so a torn line is its last."""
        return 0

    def readinto(self, buffer: Any) -> int:
        try:
            return super().readinto(buffer)
        except BadGzip:
            return 0
