"""The columns of large transcripts, kept in the cache, so that they are read once only.

Columns are kept under the size and the SHA-256 of the transcript, of all its bytes; if the file was written to since it
was hashed (see `files/known_digests.py`), it is hashed again before they are taken. They have hashes of their own: what
is stale, torn or damaged is not believed, and made again.
"""

import contextlib
import hashlib
import io
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from harness.errors import TranscriptError
from harness.files.folders import KEPT_COLUMNS, UNFINISHED_PREFIX, cache_folder
from harness.files.known_digests import known_sha256
from harness.transcript.columns import NOT_LEAN, NUMBERS, OUTCOMES, TEXTS, Coded, Columns, TextList
from harness.transcript.explain import UNUSABLE
from harness.transcript.read import TranscriptReader

LEAST_CASES = 100_000
# Those used last are kept, up to this many bytes together.
MOST_BYTES = 4 << 30
LONGEST_INDEX = 16 << 20
# Set to `off`, nothing is kept and nothing kept is used.
SWITCH = "HATE_COLUMNS"
_MAGIC = b"hate columns 1 "
# What is wrong with a file that somebody or something changed.
_UNSOUND = (OSError, ValueError, LookupError, TypeError, MemoryError, TranscriptError, *UNUSABLE)
Array = npt.NDArray[Any]


class _Section(msgspec.Struct):
    """A part of the file: an array, or bytes."""

    offset: int
    size: int
    kind: str
    sha256: str


class _Index(msgspec.Struct):
    """What is in the file, and of which transcript."""

    transcript: str
    cases: int
    columns: list[str]
    values: list[str]
    details: list[str]
    sections: dict[str, _Section]


@dataclass(frozen=True)
class FileIdentity:
    """The bytes of a transcript file: how many, and their SHA-256."""

    size: int
    sha256: str

    def place(self, *, lean: bool) -> Path:
        """Where its columns are kept."""
        return _folder() / f"{self.size}-{self.sha256}-{'lean' if lean else 'full'}"


def _folder() -> Path:
    return cache_folder() / KEPT_COLUMNS


def is_on() -> bool:
    """Whether columns are kept at all."""
    return os.environ.get(SWITCH, "").lower() not in ("off", "0", "no")


def may_be_kept(path: Path) -> bool:
    """Whether there are columns of a transcript of this size."""
    return is_on() and any(_folder().glob(f"{path.stat().st_size}-*"))


def find_columns(path: Path, *, lean: bool) -> Columns | None:
    """The columns of a transcript, if they are kept; its bytes are hashed if there may be some, and it is not known."""
    try:
        if not may_be_kept(path):
            return None
        path = path.resolve()
        identity = FileIdentity(path.stat().st_size, known_sha256(path))
    except OSError:
        return None
    for place in [identity.place(lean=True)] * lean + [identity.place(lean=False)]:
        with contextlib.suppress(*_UNSOUND):
            columns = _load(place, identity.sha256, lean=lean)
            os.utime(place)
            return columns
    return None


def keep_columns(columns: Columns, header: bytes, identity: FileIdentity, *, lean: bool) -> None:
    """Keep the columns of a complete transcript with many cases. If that fails, they are read again next time."""
    if not is_on() or not columns.complete or len(columns.ids) < LEAST_CASES or sys.byteorder != "little":
        return
    with contextlib.suppress(OSError, ValueError, TypeError, OverflowError):
        _folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        _folder().chmod(0o700)
        _store(identity.place(lean=lean), columns, header, identity.sha256)
        if not lean:
            identity.place(lean=True).unlink(missing_ok=True)
        _remove_oldest()


def is_sound(path: Path) -> bool:
    """Whether a file of kept columns is whole."""
    with contextlib.suppress(*_UNSOUND):
        _load(path, path.name.split("-")[1], lean=path.name.endswith("-lean"))
        return True
    return False


def _remove_oldest() -> None:
    total = 0
    found = [(file.stat(), file) for file in _folder().iterdir() if not file.name.startswith(UNFINISHED_PREFIX)]
    for status, file in sorted(found, key=lambda one: one[0].st_mtime, reverse=True):
        total += status.st_size
        if total > MOST_BYTES:
            file.unlink(missing_ok=True)


def _store(place: Path, columns: Columns, header: bytes, transcript: str) -> None:
    """Write a file beside the place, and move it there: others see all of it or nothing."""
    parts = {name: part for name, part in _parts(columns, header) if part is not None}
    index = _Index(transcript, len(columns.ids), [*columns.columns], [*columns.values], [*columns.details], {})
    offset = 0
    for name, part in parts.items():
        data = _raw(part)
        kind = part.dtype.str if isinstance(part, np.ndarray) else ""
        index.sections[name] = _Section(offset, len(data), kind, hashlib.sha256(data).hexdigest())
        offset += len(data)
    encoded = msgspec.json.encode(index)
    fd, scratch = tempfile.mkstemp(prefix=UNFINISHED_PREFIX, dir=place.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(_first_line(encoded) + encoded)
            for part in parts.values():
                file.write(_raw(part))
        Path(scratch).replace(place)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def _raw(part: Array | bytes) -> memoryview:
    return memoryview(part) if isinstance(part, bytes) else part.view(np.uint8).data


def _first_line(index: bytes) -> bytes:
    return _MAGIC + f"{len(index):08d} {hashlib.sha256(index).hexdigest()}\n".encode()


def _parts(columns: Columns, header: bytes) -> Iterator[tuple[str, Array | bytes | None]]:
    """The parts of the file by name; what no record has is left out."""
    yield "header", header
    yield from _text_parts("ids", columns.ids)
    yield "outcome", columns.outcome
    yield "repeat", columns.repeat if (columns.repeat != 1).any() else None
    for name in NUMBERS:
        numbers = getattr(columns, name)
        yield name, None if np.isnan(numbers).all() else numbers
    for name in TEXTS:
        yield from _coded_parts(name, getattr(columns, name))
    for number, coded in enumerate(columns.columns.values()):
        yield from _coded_parts(f"columns.{number}", coded)
    for number, numbers in enumerate(columns.values.values()):
        yield f"values.{number}", numbers
    for name, details in columns.details.items():
        yield f"details.{name}", msgspec.json.encode(details)


def _coded_parts(name: str, coded: Coded) -> Iterator[tuple[str, Array | bytes | None]]:
    if len(coded.labels):
        yield f"{name}.codes", coded.codes
        yield from _text_parts(f"{name}.labels", coded.labels)


def _text_parts(name: str, texts: Sequence[str]) -> Iterator[tuple[str, Array | bytes]]:
    texts = texts if isinstance(texts, TextList) else TextList.of(texts)
    yield name, texts.data
    yield f"{name}.lengths", np.diff(texts.ends, prepend=0).astype(np.uint32)


def _load(place: Path, transcript: str, *, lean: bool) -> Columns:
    """The columns in a file; any of _UNSOUND if it is not what was written for this transcript."""
    with os.fdopen(os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as stream:
        _check_owner(stream.fileno())
        file = _KeptFile(stream, _read_index(stream), stream.tell())
        if file.index.transcript != transcript:
            raise ValueError("of another transcript")
        return _columns(file, lean=lean)


def _check_owner(fd: int) -> None:
    """Only a file of our own that nobody else can write."""
    status = os.fstat(fd)
    ours = not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)
    if not (stat.S_ISREG(status.st_mode) and ours):
        raise ValueError("not ours")


def _read_index(stream: io.BufferedReader) -> _Index:
    first = stream.readline(len(_MAGIC) + 80)
    size = int(first.removeprefix(_MAGIC).split()[0])
    encoded = stream.read(size) if 0 < size <= LONGEST_INDEX else b""
    if _first_line(encoded) != first:
        raise ValueError("damaged index")
    return msgspec.json.decode(encoded, type=_Index)


@dataclass(frozen=True)
class _KeptFile:
    """An open file; every part is checked as it is read."""

    stream: io.BufferedReader
    index: _Index
    start: int

    def has(self, name: str) -> bool:
        return name in self.index.sections

    def bytes(self, name: str) -> bytearray:
        section = self.index.sections[name]
        rest = os.fstat(self.stream.fileno()).st_size - self.start
        if not (0 <= section.offset <= rest and 0 <= section.size <= rest - section.offset):
            raise ValueError("outside of the file")
        self.stream.seek(self.start + section.offset)
        data = bytearray(section.size)
        if self.stream.readinto(data) != section.size or hashlib.sha256(data).hexdigest() != section.sha256:
            raise ValueError("damaged")
        return data

    def array(self, name: str, kind: str, count: int | None = None) -> Array:
        data = self.bytes(name)
        if self.index.sections[name].kind != kind:
            raise ValueError("another type")
        found = np.frombuffer(data, kind)
        if count is not None and len(found) != count:
            raise ValueError("another length")
        return found

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        count = self.index.cases
        return self.array(name, "<f8", count) if self.has(name) else np.full(count, np.nan)

    def texts(self, name: str) -> TextList:
        data, lengths = bytes(self.bytes(name)), self.array(f"{name}.lengths", "<u4")
        ends = np.cumsum(lengths, dtype=np.int64)
        if int(ends[-1] if len(ends) else 0) != len(data):
            raise ValueError("another length")
        if not data.isascii():
            data.decode()  # a ValueError if it is not UTF-8
            starts = np.frombuffer(data, np.uint8)[ends[:-1][ends[:-1] < len(data)]]
            if ((starts & 0xC0) == 0x80).any():
                raise ValueError("texts begin within a character")
        return TextList(data, ends)

    def coded(self, name: str) -> Coded:
        count = self.index.cases
        if not self.has(f"{name}.codes"):
            return Coded(np.full(count, -1, np.int32), [])
        codes, labels = self.array(f"{name}.codes", "<i4", count), self.texts(f"{name}.labels")
        _check_range(codes, -1, len(labels))
        return Coded(codes, list(labels))


def _check_range(codes: Array, low: int, high: int) -> None:
    if len(codes) and not low <= int(codes.min()) <= int(codes.max()) < high:
        raise ValueError("a code for nothing")


def _columns(file: _KeptFile, *, lean: bool) -> Columns:
    index, count = file.index, file.index.cases
    header = TranscriptReader(io.BytesIO(bytes(file.bytes("header"))), "header").header
    ids, outcome = file.texts("ids"), file.array("outcome", "|i1", count)
    repeat = file.array("repeat", "<i4", count) if file.has("repeat") else np.ones(count, np.int32)
    if len(ids) != count:
        raise ValueError("another length")
    _check_range(outcome, 0, len(OUTCOMES))
    _check_range(repeat, 1, 1 << 31)
    wanted = [name for name in (*NUMBERS, *TEXTS) if not (lean and name in NOT_LEAN)]
    fields: dict[str, Any] = {name: file.numbers(name if name in wanted else "") for name in NUMBERS}
    fields |= {name: file.coded(name if name in wanted else "") for name in TEXTS}
    whole = not lean
    return Columns(
        header=header,
        complete=True,
        ids=ids,
        outcome=outcome,
        repeat=repeat,
        columns={name: file.coded(f"columns.{number}") for number, name in enumerate(index.columns * whole)},
        values={name: file.numbers(f"values.{number}") for number, name in enumerate(index.values * whole)},
        details={name: _details(file, name) for name in index.details * whole},
        **fields,
    )


def _details(file: _KeptFile, name: str) -> list[Any]:
    details = msgspec.json.decode(file.bytes(f"details.{name}"), type=list[dict[str, Any] | None])
    if len(details) != file.index.cases:
        raise ValueError("another length")
    return details
