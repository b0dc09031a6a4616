"""The columns of large transcripts, kept in the cache, so that they are read once only.

Columns are kept under the size and the SHA-256 of the transcript, of all its bytes; if the file was written to since it
was hashed (see `files/known_digests.py`), it is hashed again before they are taken. They have a hash of their own: what
is stale, torn or damaged is not believed, and made again.
"""

import contextlib
import hashlib
import io
import os
import stat
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from harness.errors import TranscriptError
from harness.files.caches import KEPT_COLUMNS, UNFINISHED_PREFIX, cache_folder
from harness.files.known_digests import known_sha256
from harness.transcript.columns import NOT_LEAN, NUMBERS, OUTCOMES, TEXTS, Coded, Columns, TextList
from harness.transcript.read import UNUSABLE, TranscriptReader

MIN_CASES = 100_000
# Those used last are kept, up to this many bytes together.
MAX_BYTES = 4 << 30
# Set to `off`, nothing is kept and nothing kept is used.
SWITCH = "HATE_COLUMNS"
# Before the SHA-256 of all that follows.
_MAGIC = b"hate columns 2 "
# What is wrong with a file that somebody or something changed.
_UNSOUND = (OSError, ValueError, LookupError, TypeError, MemoryError, TranscriptError, *UNUSABLE)


class _KeptTexts(msgspec.Struct):
    """Texts in one piece, and how many bytes each has."""

    data: memoryview
    lengths: memoryview


class _KeptCodes(msgspec.Struct):
    codes: memoryview
    labels: _KeptTexts


class _Kept(msgspec.Struct):
    """What is in a file, in MessagePack; the bytes of arrays as they are. What no record has is left out."""

    transcript: str
    header: bytes
    ids: _KeptTexts
    outcome: memoryview
    repeat: memoryview | None
    numbers: dict[str, memoryview]
    texts: dict[str, _KeptCodes]
    columns: dict[str, _KeptCodes]
    values: dict[str, memoryview]
    # In JSON, whose numbers may be of any size.
    details: dict[str, bytes]


def _folder() -> Path:
    return cache_folder() / KEPT_COLUMNS


def _path(size: int, sha256: str, *, lean: bool) -> Path:
    return _folder() / f"{size}-{sha256}-{'lean' if lean else 'full'}"


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
        size, sha256 = path.stat().st_size, known_sha256(path)
    except OSError:
        return None
    # Those for everything have what `lean` needs, too.
    for kept in [_path(size, sha256, lean=True)] * lean + [_path(size, sha256, lean=False)]:
        with contextlib.suppress(*_UNSOUND):
            columns = _load(kept, sha256, lean=lean)
            os.utime(kept)
            return columns
    return None


def is_sound(path: Path) -> bool:
    """Whether a file of kept columns is whole."""
    with contextlib.suppress(*_UNSOUND):
        _load(path, path.name.split("-")[1], lean=path.name.endswith("-lean"))
        return True
    return False


def keep_columns(columns: Columns, header: bytes, size: int, sha256: str, *, lean: bool) -> None:
    """Keep the columns of a complete transcript with many cases. If that fails, they are read again next time."""
    if not is_on() or not columns.complete or len(columns.ids) < MIN_CASES or sys.byteorder != "little":
        return
    with contextlib.suppress(OSError, ValueError, TypeError, OverflowError):
        _folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        _folder().chmod(0o700)
        _store(_path(size, sha256, lean=lean), msgspec.msgpack.encode(_kept(columns, header, sha256)))
        if not lean:
            _path(size, sha256, lean=True).unlink(missing_ok=True)
        _remove_oldest()


def _remove_oldest() -> None:
    total = 0
    files = [(file.stat(), file) for file in _folder().iterdir() if not file.name.startswith(UNFINISHED_PREFIX)]
    for status, file in sorted(files, key=lambda pair: pair[0].st_mtime, reverse=True):
        total += status.st_size
        if total > MAX_BYTES:
            file.unlink(missing_ok=True)


def _store(path: Path, content: bytes) -> None:
    """Write a file beside the path, and move it there: others see all of it or nothing."""
    fd, scratch = tempfile.mkstemp(prefix=UNFINISHED_PREFIX, dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(_first_line(content))
            file.write(content)
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def _first_line(content: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n"


def _kept(columns: Columns, header: bytes, transcript: str) -> _Kept:
    numbers = {name: getattr(columns, name) for name in NUMBERS}
    coded: dict[str, Coded] = {name: getattr(columns, name) for name in TEXTS}
    return _Kept(
        transcript=transcript,
        header=header,
        ids=_kept_texts(columns.ids),
        outcome=columns.outcome.data,
        repeat=columns.repeat.data if (columns.repeat != 1).any() else None,
        numbers={name: column.data for name, column in numbers.items() if not np.isnan(column).all()},
        texts={name: _kept_codes(column) for name, column in coded.items() if len(column.labels)},
        columns={name: _kept_codes(column) for name, column in columns.columns.items()},
        values={name: column.data for name, column in columns.values.items()},
        details={name: msgspec.json.encode(records) for name, records in columns.details.items()},
    )


def _kept_codes(coded: Coded) -> _KeptCodes:
    return _KeptCodes(coded.codes.data, _kept_texts(coded.labels))


def _kept_texts(texts: Sequence[str]) -> _KeptTexts:
    texts = texts if isinstance(texts, TextList) else TextList.of(texts)
    return _KeptTexts(memoryview(texts.data), np.diff(texts.ends, prepend=0).astype(np.uint32).data)


def _load(path: Path, transcript: str, *, lean: bool) -> Columns:
    """The columns in a file; any of _UNSOUND if it is not what was written for this transcript."""
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        status = os.fstat(file.fileno())
        # Only a file of our own that nobody else can write.
        ours = not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)
        if not (stat.S_ISREG(status.st_mode) and ours):
            raise ValueError("not ours")
        first, content = file.readline(len(_first_line(b""))), file.read()
    if _first_line(content) != first:
        raise ValueError("damaged")
    kept = msgspec.msgpack.decode(content, type=_Kept)
    if kept.transcript != transcript:
        raise ValueError("of another transcript")
    return _columns(kept, lean=lean)


def _columns(kept: _Kept, *, lean: bool) -> Columns:
    ids = _texts(kept.ids)
    count = len(ids)
    wanted = {*NUMBERS, *TEXTS} - (NOT_LEAN if lean else frozenset())
    nothing, absent = np.full(count, np.nan), Coded(np.full(count, -1, np.int32), [])
    fields: dict[str, Any] = dict.fromkeys(NUMBERS, nothing) | dict.fromkeys(TEXTS, absent)
    fields |= {name: _array(kept.numbers[name], "f8", count) for name in wanted & kept.numbers.keys()}
    fields |= {name: _coded(kept.texts[name], count) for name in wanted & kept.texts.keys()}
    if not lean:
        fields["columns"] = {name: _coded(column, count) for name, column in kept.columns.items()}
        fields["values"] = {name: _array(column, "f8", count) for name, column in kept.values.items()}
        fields["details"] = {name: _details(data, count) for name, data in kept.details.items()}
    return Columns(
        header=TranscriptReader(io.BytesIO(kept.header), "header").header,
        complete=True,
        ids=ids,
        outcome=_in_range(_array(kept.outcome, "i1", count), 0, len(OUTCOMES)),
        repeat=np.ones(count, np.int32)
        if kept.repeat is None
        else _in_range(_array(kept.repeat, "i4", count), 1, 1 << 31),
        **fields,
    )


def _array(data: memoryview, kind: str, count: int) -> npt.NDArray[Any]:
    """A copy: numpy is slow where numbers do not lie at multiples of their size."""
    numbers = np.frombuffer(data, kind).copy()
    if len(numbers) != count:
        raise ValueError("another length")
    return numbers


def _in_range(numbers: npt.NDArray[Any], low: int, high: int) -> npt.NDArray[Any]:
    if len(numbers) and not low <= int(numbers.min()) <= int(numbers.max()) < high:
        raise ValueError("a code for nothing")
    return numbers


def _coded(kept: _KeptCodes, count: int) -> Coded:
    labels = _texts(kept.labels)
    return Coded(_in_range(_array(kept.codes, "i4", count), -1, len(labels)), list(labels))


def _texts(kept: _KeptTexts) -> TextList:
    data, ends = bytes(kept.data), np.cumsum(np.frombuffer(kept.lengths, "u4"), dtype=np.int64)
    if int(ends[-1] if len(ends) else 0) != len(data):
        raise ValueError("another length")
    if not data.isascii():
        data.decode()  # a ValueError if it is not UTF-8
        starts = np.frombuffer(data, np.uint8)[ends[:-1][ends[:-1] < len(data)]]
        if ((starts & 0xC0) == 0x80).any():
            raise ValueError("texts begin within a character")
    return TextList(data, ends)


def _details(kept: bytes, count: int) -> list[Any]:
    details = msgspec.json.decode(kept, type=list[dict[str, Any] | None])
    if len(details) != count:
        raise ValueError("another length")
    return details
