"""Write a transcript: a record is on disk as soon as its case is done; the finished file is in case order."""

import contextlib
import hashlib
import heapq
import os
import re
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import lt
from pathlib import Path
from time import perf_counter
from typing import IO, Any

import msgspec

from harness.errors import OutputError, TranscriptError
from harness.files.durable import lock_file, move_into_place, sync_file, sync_folder, write_all
from harness.files.gzip_blocks import in_blocks
from harness.model import Counts, Outcome, Trial
from harness.transcript.format import End, Header, now
from harness.transcript.read import summarise
from harness.transcript.storage import Form, check_form, store_as

PART = ".part"
BLOCK = 1 << 20
# A power cut costs at most the records of so many seconds; docs/reference/transcripts.md says what is synced when.
SYNC_SECONDS = 5.0
_BEGIN = b'{"hate":"transcript",'
# The most stretches in memory, and how many of a part are read at a time.
MAX_STRETCHES = 1 << 16
_FRAME = 1 << 10
# The index of its first case, and where its bytes begin and end; each is a number of so many bytes.
_Stretch = tuple[int, int, int]
_FIELDS, _SIZE = 3, 8


class TranscriptWriter:
    """An open transcript. Use `create` for a new one, `create_beside` to replace one, `claim` to continue one."""

    def __init__(self, target: Path, path: Path, fd: int) -> None:
        self.target = target
        # Where it is written; the target itself, unless that is compressed or is replaced at the end.
        self.path = path
        self._fd = fd
        self._offset = 0
        self._encoder = msgspec.json.Encoder()
        self._offsets = RecordOffsets(path.parent)
        # Where the header ends.
        self.head = 0
        self._tally = dict.fromkeys((*map(str, Outcome), "ER"), 0)
        # Whether outcomes are not known, so that the last line counts only records and errors.
        self.blind = False
        self._has_name = False
        self._sync_at = perf_counter() + SYNC_SECONDS

    @property
    def replaces(self) -> bool:
        """Whether it will replace an older transcript, which stays as it is until then."""
        return self.path != working_path(self.target)

    @property
    def counts(self) -> Counts:
        return Counts(**self._tally)

    @classmethod
    def create(cls, target: Path, header: Header, *, force: bool = False) -> "TranscriptWriter":
        """A new transcript; an existing file is refused unless forced."""
        if not force and target.exists():
            raise FileExistsError(target)
        return cls._create(target, working_path(target), header, 0 if force else os.O_EXCL)

    @classmethod
    def create_beside(cls, target: Path, header: Header, suffix: str) -> "TranscriptWriter":
        """A new transcript that replaces `target` when it is finished, and until then is beside it.

        An unfinished one that an earlier command left there is overwritten, any other file is refused.
        """
        path = target.with_name(target.name + suffix)
        if path.exists() and not is_unfinished(path):
            raise OutputError(f"{path}: in the way, and not an unfinished transcript; move it elsewhere")
        return cls._create(target, path, header, 0)

    @classmethod
    def _create(cls, target: Path, path: Path, header: Header, flags: int) -> "TranscriptWriter":
        check_form(target)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{path.parent}: {error.strerror}; choose another place with -o") from None
        try:
            writer = cls(target, path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | flags, 0o644))
        except FileExistsError:
            raise
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}; choose another place with -o") from None
        try:
            writer._lock()
            os.ftruncate(writer._fd, 0)
            writer._write(msgspec.json.encode(header) + b"\n")
        except OSError as error:
            writer.close()
            raise OutputError(f"{path}: {error.strerror}; choose another place with -o") from None
        except OutputError:
            writer.close()
            raise
        writer.head = writer._offset
        writer.blind = header.is_blind
        return writer

    @classmethod
    def claim(cls, target: Path, path: Path | None = None) -> "TranscriptWriter":
        """A transcript that exists, so that nobody else can write it. Read it, then call `carry_on`, or `close`."""
        path = working_path(target) if path is None else path
        try:
            writer = cls(target, path, os.open(path, os.O_RDWR | os.O_APPEND))
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}") from None
        try:
            writer._lock()
        except BaseException:
            writer.close()
            raise
        return writer

    def carry_on(self, *, head: int, end: int) -> None:
        """Continue after the last complete record, which ends at byte `end`; the header ends at byte `head`."""
        try:
            os.ftruncate(self._fd, end)
        except OSError as error:
            self.close()
            raise OutputError(f"{self.path}: {error.strerror}") from None
        self.head, self._offset = head, end

    def count(self, trial: Trial) -> None:
        """Count a record that is there already."""
        self._tally[trial.outcome._value_] += 1  # `value` is a descriptor, which is slower
        if trial.error:
            self._tally["ER"] += 1

    def count_all(self, counts: Counts) -> None:
        """Count records that are there already."""
        for name, number in msgspec.structs.asdict(counts).items():
            self._tally[name] += number

    def keep(self, index: int, start: int, stop: int) -> None:
        """Note that the record of the case at `index` is there already: its line is from byte `start` to `stop`."""
        try:
            self._offsets.add(index, start, stop)
        except OSError as error:
            raise self._full(error) from None

    def append(self, index: int, trial: Trial) -> None:
        """Write the record of the case at `index`."""
        start = self._offset
        self.add(trial)
        try:  # as `keep`, without the time of a call
            self._offsets.add(index, start, self._offset)
        except OSError as error:
            raise self._full(error) from None
        if perf_counter() >= self._sync_at:
            self._sync()

    def extend(self, trials: Sequence[Trial]) -> None:
        """Write the records of the cases that follow, in the order of the cases, many at once."""
        try:
            lines = self._encoder.encode_lines(trials)
        except UnicodeEncodeError:
            lines = self._encoder.encode_lines([_unicode(msgspec.to_builtins(trial)) for trial in trials])
        self._write(lines)
        self.count_all(Counts.of(trials))

    def copy(self, lines: bytes, counts: Counts) -> None:
        """Write the lines of another transcript as they are; `counts` says how many records of which outcome."""
        self._write(lines)
        self.count_all(counts)

    def add(self, trial: Trial) -> None:
        try:
            line = self._encoder.encode(trial)
        except UnicodeEncodeError:
            line = self._encoder.encode(_unicode(msgspec.to_builtins(trial)))
        self._write(line + b"\n")
        self.count(trial)

    def finish(self) -> Path:
        """Put the records in case order, add the last line, and put the file into its place."""
        if not self._offsets.in_order:
            self._sort()
        counts = {"ER": self.counts.ER} if self.blind else msgspec.structs.asdict(self.counts)
        digest, offset = hashlib.sha256(), 0
        while block := os.pread(self._fd, BLOCK, offset):
            digest.update(block)
            offset += len(block)
        end = End(True, self.counts.tests, **counts, sha256=digest.hexdigest(), finished=now())
        self._write(msgspec.json.encode(end) + b"\n")
        return self.put_in_place()

    def put_in_place(self) -> Path:
        """Sync a complete transcript and move it to its target, in the form that its name asks for; it stays locked."""
        try:
            self._sync()
            if Form.of(self.target) is not Form.LINES:
                # The lines are removed when the file of another form is on disk, content and name.
                store_as(self.path, self.target)
                self.path.unlink()
                sync_folder(self.path.parent)
            elif self.path != self.target:
                move_into_place(self.path, self.target)
        except OSError as error:
            raise OutputError(f"{self.target}: {error.strerror}; the complete transcript is {self.path}") from None
        finally:
            self.close()
        return self.target

    def set_aside(self) -> Path:
        """Close it and give it a name that no command takes for a transcript; returns the new name."""
        self.close()
        aside, number = self.path.with_name(f"{self.path.name}.spoilt"), 1
        while aside.exists():
            number += 1
            aside = self.path.with_name(f"{self.path.name}.spoilt-{number}")
        move_into_place(self.path, aside)
        return aside

    def close(self) -> None:
        """Release the file; without `finish` it stays incomplete, and can be resumed."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._offsets.close()

    def _lock(self) -> None:
        if not lock_file(self._fd, self.path):
            raise OutputError(f"{self.path}: another run is writing this transcript; choose another with -o")

    def _sync(self) -> None:
        """Have everything so far on disk, and the name of the file too."""
        try:
            sync_file(self._fd)
        except OSError as error:
            raise OutputError(f"{self.path}: {error.strerror}; the disk failed: copy the file elsewhere") from None
        if not self._has_name:
            sync_folder(self.path.parent)
            self._has_name = True
        self._sync_at = perf_counter() + SYNC_SECONDS

    def _write(self, data: bytes) -> None:
        """Write all or, on a full disk, nothing: a torn record is removed."""
        done = 0
        try:
            done = os.write(self._fd, data)
            while done < len(data):
                done += os.write(self._fd, data[done:])
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._offset)
            raise self._full(error) from None
        self._offset += done

    def _full(self, error: OSError) -> OutputError:
        reason = error.strerror or str(error)
        return OutputError(f"{self.path}: {reason}; free some space, then carry on with --resume")

    def _sort(self) -> None:
        """Rewrite the records in case order beside the file, and move the new one into place: locked, and synced."""
        scratch, fd = self.path.with_name(self.path.name + ".sorting"), -1
        try:
            fd = os.open(scratch, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
            lock_file(fd, scratch)
            for block in in_blocks(self._lines_in_order(), BLOCK):
                write_all(fd, block)
            sync_file(fd)
            move_into_place(scratch, self.path)
        except OSError as error:
            if fd >= 0:
                os.close(fd)
            scratch.unlink(missing_ok=True)
            raise OutputError(f"{scratch}: {error.strerror}; free some space, then finish with --resume") from None
        os.close(self._fd)
        self._fd, self._offset = fd, os.fstat(fd).st_size

    def _lines_in_order(self) -> Iterator[bytes]:
        """The header, then the records by their cases."""
        yield os.pread(self._fd, self.head, 0)
        for start, stop in self._offsets.stretches():
            for offset in range(start, stop, BLOCK):
                yield os.pread(self._fd, min(BLOCK, stop - offset), offset)


def is_unfinished(path: Path) -> bool:
    """Whether a file is a transcript without its last line, as a killed run leaves it."""
    try:
        return begins_like_a_transcript(path) and not summarise(path).complete
    except TranscriptError:  # broken off in its header, or torn
        return True


def begins_like_a_transcript(path: Path) -> bool:
    """Whether a file has the header of a transcript, or broke off before that was whole."""
    try:
        with path.open("rb") as file:
            begin = file.read(len(_BEGIN))
    except OSError:
        return False
    # Some file systems give a file its new length before its content; what is missing are zeros.
    return _BEGIN.startswith(begin.rstrip(b"\0"))


def _unicode(value: Any) -> Any:
    """A record without lone surrogates, which Python uses for bytes that are not UTF-8, and which JSON cannot hold."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, list):
        return [_unicode(item) for item in value]
    return {_unicode(key): _unicode(item) for key, item in value.items()} if isinstance(value, dict) else value


def working_path(target: Path) -> Path:
    """Where a transcript is written: in lines, from which a file of another form is made when it is complete."""
    return target if Form.of(target) is Form.LINES else target.with_name(target.name + PART)


class RecordOffsets:
    """Where the records of a transcript are: noted in any order, and given back in the order of the cases.

    Records of consecutive cases that follow one another in the file are one stretch, so those of a run in case order
    are a single one. Of the many stretches of several workers, most are in a temporary file: parts, each sorted, which
    are merged at the end.
    """

    def __init__(self, folder: Path, max_stretches: int = MAX_STRETCHES) -> None:
        self._folder = folder
        self._max_numbers = _FIELDS * max_stretches
        # The last stretch: its first case, the case that would follow, and its bytes.
        self._first = self._next = self._start = self._stop = -1
        self._waiting = array("q")
        self._file: IO[bytes] | None = None
        # Where each part begins and ends in the file, in bytes.
        self._parts: list[tuple[int, int]] = []
        # Whether all stretches before those that wait were noted in order, and the last of them.
        self._put_in_order = True
        self._last: _Stretch = (-1, -1, -1)

    def add(self, index: int, start: int, stop: int) -> None:
        """Note the record of the case at `index`: its line is from byte `start` to `stop`."""
        if index != self._next or start != self._stop:
            self._end_stretch()
            self._first, self._start = index, start
        self._next, self._stop = index + 1, stop

    def _end_stretch(self) -> None:
        if self._first >= 0:
            self._waiting.extend((self._first, self._start, self._stop))
            self._first = -1
            if len(self._waiting) >= self._max_numbers:
                self._put_away()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def in_order(self) -> bool:
        """Whether the records are in the file in the order of their cases."""
        self._end_stretch()
        return self._put_in_order and self._waits_in_order()

    def _waits_in_order(self) -> bool:
        indexes, starts = self._waiting[0::_FIELDS], self._waiting[1::_FIELDS]
        follows = not indexes or (self._last[0] < indexes[0] and self._last[1] < starts[0])
        return follows and _ascending(indexes) and _ascending(starts)

    def stretches(self) -> Iterator[tuple[int, int]]:
        """The bytes of the records in case order: where each stretch begins and ends."""
        self._end_stretch()
        parts = [] if self._file is None else [self._part(self._file, *part) for part in self._parts]
        merged = heapq.merge(*parts, _stretches(_sorted(self._waiting)))
        return ((start, stop) for _, start, stop in merged)

    def _put_away(self) -> None:
        """Sort what is in memory, and move it to the file."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix=".hate-", dir=self._folder)  # noqa: SIM115 (see `close`)
        self._put_in_order = self._put_in_order and self._waits_in_order()
        ordered = _sorted(self._waiting)
        begin = self._file.seek(0, 2)
        self._file.write(ordered.tobytes())
        self._parts.append((begin, self._file.tell()))
        index, start, stop = ordered[-_FIELDS:]
        self._last = index, start, stop
        self._waiting = array("q")

    def _part(self, file: IO[bytes], start: int, stop: int) -> Iterator[_Stretch]:
        for offset in range(start, stop, _FRAME * _FIELDS * _SIZE):
            file.seek(offset)
            frame = array("q")
            frame.frombytes(file.read(min(_FRAME * _FIELDS * _SIZE, stop - offset)))
            yield from _stretches(frame)


def _stretches(numbers: "array[int]") -> Iterator[_Stretch]:
    return zip(*(memoryview(numbers)[field::_FIELDS] for field in range(_FIELDS)), strict=True)


def _sorted(numbers: "array[int]") -> "array[int]":
    if _ascending(numbers[0::_FIELDS]):
        return numbers
    return array("q", chain.from_iterable(sorted(_stretches(numbers))))


def _ascending(numbers: "array[int]") -> bool:
    return all(map(lt, numbers, memoryview(numbers)[1:]))
