"""Write a transcript: a record is on disk as soon as its case is done; the finished file is in case order."""

import contextlib
import gzip
import hashlib
import os
import re
import shutil
from array import array
from operator import lt
from pathlib import Path
from typing import Any

import msgspec

from harness.errors import OutputError
from harness.model import Counts, Outcome, Trial
from harness.transcript.format import End, Header, now

try:
    import fcntl
except ImportError:  # on Windows, where no other process can write to an open file anyway
    fcntl = None  # type: ignore[assignment]

PART = ".part"
HASH_BLOCK = 1 << 20


class TranscriptWriter:
    """An open transcript. Use `create` for a new one and `reopen` to continue one."""

    def __init__(self, target: Path, fd: int, offset: int) -> None:
        self.target = target
        # An older transcript that this one replaces when it is finished.
        self.replaces: Path | None = None
        self.path = working_path(target)
        self._fd = fd
        self._offset = offset
        self._encoder = msgspec.json.Encoder()
        self._indexes = array("q")
        self._starts = array("q")
        self._head = 0
        self._tally = dict.fromkeys((*map(str, Outcome), "ER"), 0)

    @property
    def counts(self) -> Counts:
        """The counts so far."""
        return Counts(**self._tally)

    @classmethod
    def create(cls, target: Path, header: Header, *, force: bool = False) -> "TranscriptWriter":
        """A new transcript; an existing file is refused unless forced."""
        path = working_path(target)
        if not force and target.exists():
            raise FileExistsError(target)
        _make_folder(path.parent)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | (0 if force else os.O_EXCL)
            writer = cls(target, os.open(path, flags, 0o644), 0)
        except FileExistsError:
            raise
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}; choose another place with -o") from None
        writer._lock()
        try:
            os.ftruncate(writer._fd, 0)
            writer._write(msgspec.json.encode(header) + b"\n")
        except OSError as error:
            writer.close()
            raise OutputError(f"{path}: {error.strerror}; choose another place with -o") from None
        except OutputError:
            writer.close()
            raise
        writer._head = writer._offset
        return writer

    @classmethod
    def reopen(cls, target: Path, *, head: int, end: int) -> "TranscriptWriter":
        """Continue a transcript whose header ends at byte `head` and whose last complete record ends at `end`."""
        path = working_path(target)
        try:
            writer = cls(target, os.open(path, os.O_RDWR | os.O_APPEND), end)
            writer._lock()
            os.ftruncate(writer._fd, end)
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}") from None
        writer._head = head
        return writer

    def count(self, trial: Trial) -> None:
        """Count a record that is there already."""
        self._tally[trial.outcome._value_] += 1  # `value` is a descriptor, which is slower
        if trial.error:
            self._tally["ER"] += 1

    def keep(self, index: int, start: int) -> None:
        """Note the place of a record that is there already: the case at `index`, its line at byte `start`."""
        self._indexes.append(index)
        self._starts.append(start)

    def append(self, index: int, trial: Trial) -> None:
        """Write the record of the case at `index`."""
        self._starts.append(self.add(trial))
        self._indexes.append(index)

    def add(self, trial: Trial) -> int:
        """Write a record and count it; returns its first byte. Call `keep` later to note its case."""
        start = self._offset
        try:
            line = self._encoder.encode(trial)
        except UnicodeEncodeError:
            line = self._encoder.encode(_unicode(msgspec.to_builtins(trial)))
        self._write(line + b"\n")
        self.count(trial)
        return start

    def finish(self) -> Path:
        """Put the records in case order, add the last line, and move the file into place if it is compressed."""
        if not (_ascending(self._indexes) and _ascending(self._starts)):
            self._sort()
        counts = msgspec.structs.asdict(self.counts)
        end = End(True, self.counts.tests, **counts, sha256=self._sha256(), finished=now())
        self._write(msgspec.json.encode(end) + b"\n")
        with contextlib.suppress(OSError):  # some file systems cannot; the kernel has the data anyway
            os.fsync(self._fd)
        self.close()
        if self.path != self.target:
            self._compress()
        if self.replaces is not None:
            return self.target.replace(self.replaces)
        return self.target

    def close(self) -> None:
        """Release the file; without `finish` it stays incomplete, and can be resumed."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise OutputError(f"{self.path}: another run is writing this transcript; choose another with -o") from None

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
            reason = error.strerror or str(error)
            raise OutputError(f"{self.path}: {reason}; free some space, then carry on with --resume") from None
        self._offset += done

    def _sort(self) -> None:
        """Rewrite the records in case order beside the file, and move the new one into place."""
        order = sorted(range(len(self._indexes)), key=self._indexes.__getitem__)
        ends = _ends(self._starts, self._offset)
        scratch = self.path.with_name(self.path.name + ".sorting")
        try:
            with scratch.open("wb") as out:
                out.write(os.pread(self._fd, self._head, 0))
                for number in order:
                    start = self._starts[number]
                    out.write(os.pread(self._fd, ends[start] - start, start))
            fd = os.open(scratch, os.O_RDWR | os.O_APPEND)
            scratch.replace(self.path)
        except OSError as error:
            scratch.unlink(missing_ok=True)
            raise OutputError(f"{scratch}: {error.strerror}; free some space, then finish with --resume") from None
        os.close(self._fd)
        self._fd = fd

    def _sha256(self) -> str:
        digest, place = hashlib.sha256(), 0
        while block := os.pread(self._fd, HASH_BLOCK, place):
            digest.update(block)
            place += len(block)
        return digest.hexdigest()

    def _compress(self) -> None:
        scratch = self.target.with_name(self.target.name + ".zipping")
        try:
            # No name and no time inside, so that the same transcript compresses to the same bytes.
            with (
                self.path.open("rb") as source,
                scratch.open("wb") as raw,
                gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,
            ):
                shutil.copyfileobj(source, packed, 1 << 20)
            scratch.replace(self.target)
            self.path.unlink()
        except OSError as error:
            scratch.unlink(missing_ok=True)
            raise OutputError(f"{scratch}: {error.strerror}; the complete transcript is {self.path}") from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror}; choose another place with -o") from None


def _unicode(value: Any) -> Any:
    """A record without lone surrogates, which Python uses for bytes that are not UTF-8, and which JSON cannot hold."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, list):
        return [_unicode(item) for item in value]
    return {_unicode(key): _unicode(item) for key, item in value.items()} if isinstance(value, dict) else value


def _ascending(numbers: "array[int]") -> bool:
    return all(map(lt, numbers, memoryview(numbers)[1:]))


def _ends(starts: "array[int]", last: int) -> dict[int, int]:
    ordered = sorted(starts)
    return dict(zip(ordered, [*ordered[1:], last], strict=True))


def working_path(target: Path) -> Path:
    """Where a transcript is written; one for a .gz file is compressed when it is complete."""
    return target.with_name(target.name + PART) if target.suffix == ".gz" else target
