"""A file of another tool: limited in size, decoded tolerantly, flattened into columns."""

import codecs
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from harness.errors import ForeignError
from harness.files.gzip_blocks import DECOMPRESSED_BLOCK, MAGIC, BadGzip, gunzip
from harness.files.temporary import temporary_folder
from harness.model import plain_text
from harness.params import nearest

MAX_FILE_BYTES = 2 << 30
# Columns serve to group cases; nothing deep or wide in a document does.
MAX_COLUMN_DEPTH = 4
MAX_COLUMNS = 200
NOWHERE = object()
T = TypeVar("T")
BAD_JSON = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError)


@dataclass(frozen=True)
class ForeignFile:
    """A file to import."""

    path: Path

    @property
    def name(self) -> str:
        """The name for messages."""
        return str(self.path)

    @property
    def stem(self) -> str:
        """The file's name without its last suffix, and without .gz before that."""
        return Path(self.path.name.removesuffix(".gz")).stem

    @cached_property
    def content(self) -> Path:
        """Where the content can be read: the file itself or, of a gzipped one, an unpacked copy."""
        return _unpacked(self.path) if _first_bytes(self.path).startswith(MAGIC) else self.path

    @cached_property
    def start(self) -> bytes:
        """Enough of the content to distinguish archives from text."""
        return _first_bytes(self.content)

    @cached_property
    def data(self) -> bytes:
        """The whole content."""
        try:
            if self.content.stat().st_size > MAX_FILE_BYTES:
                raise ForeignError(f"{self.name}: larger than {MAX_FILE_BYTES >> 30} GiB; split it")
            return self.content.read_bytes().removeprefix(b"\xef\xbb\xbf")
        except OSError as error:
            raise ForeignError(f"{self.name}: {error.strerror}") from None

    @property
    def begin(self) -> bytes:
        """The first bytes that are not blank."""
        return self.start.removeprefix(b"\xef\xbb\xbf").lstrip()

    @cached_property
    def first_object(self) -> Mapping[str, Any] | None:
        """The JSON object on the first line; None if there is none."""
        if self.begin[:1] != b"{":
            return None
        line = self._begin[0]
        try:
            value = msgspec.json.decode(line)
        except BAD_JSON:
            try:
                value = json.loads(line)
            except BAD_JSON:
                return None
        return value if isinstance(value, Mapping) else None

    @property
    def is_lines(self) -> bool:
        """Whether it is JSON lines: an object on the first line, and more after it."""
        return self.first_object is not None and self._begin[1]

    @cached_property
    def document(self) -> Mapping[str, Any] | None:
        """The JSON object, if the whole file is one."""
        if self.begin[:1] != b"{" or self.is_lines:
            return None
        return decode(self.data, dict[str, Any], self.name)

    def lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each JSON object of a JSON Lines file with its line."""
        for number, line in enumerate(self.raw_lines(), 1):
            if line.strip():
                yield number, decode(line, dict[str, Any], f"{self.name}:{number}")

    @cached_property
    def _begin(self) -> tuple[bytes, bool]:
        """The first line that is not blank, and whether there are more."""
        lines = (line.strip() for line in self.raw_lines() if line.strip())
        return next(lines, b""), next(lines, None) is not None

    def raw_lines(self) -> Iterator[bytes]:
        """The lines, one at a time."""
        try:
            with self.content.open("rb") as file:
                if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
                    file.seek(0)
                yield from file
        except OSError as error:
            raise ForeignError(f"{self.name}: {error.strerror}") from None


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except OSError as error:
        raise ForeignError(f"{path}: {error.strerror}") from None


def _unpacked(path: Path) -> Path:
    """The content of a gzipped file in a temporary folder, which is removed when the program ends."""
    copy, size = temporary_folder() / (path.name.removesuffix(".gz") or "content"), 0
    try:
        with path.open("rb") as packed, copy.open("wb") as file:
            for block in gunzip(iter(lambda: packed.read(DECOMPRESSED_BLOCK), b"")):
                size += file.write(block)
                if size > MAX_FILE_BYTES:
                    raise ForeignError(f"{path}: unpacks to more than {MAX_FILE_BYTES >> 30} GiB; split it")
    except BadGzip as error:
        raise ForeignError(f"{path}: {error}; compress it again") from None
    except OSError as error:
        raise ForeignError(f"{path}: {error.strerror}") from None
    return copy


def decode(data: bytes, kind: type[T], location: str) -> T:
    """JSON as a type. NaN and Infinity, which Python writes although JSON has neither, are accepted."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise ForeignError(f"{location}: not as expected: {error}") from None
    except BAD_JSON as error:
        return _decode_nan(data, kind, location, error)


def _decode_nan(data: bytes, kind: type[T], location: str, first: Exception) -> T:
    if not any(word in data for word in (b"NaN", b"Infinity")):
        raise ForeignError(f"{location}: not JSON: {first}") from None
    try:
        parsed = json.loads(data)
        # Fails for a lone surrogate, which could not be written.
        msgspec.json.encode(parsed)
        return msgspec.convert(parsed, type=kind)
    except msgspec.ValidationError as error:
        raise ForeignError(f"{location}: not as expected: {error}") from None
    except BAD_JSON as error:
        raise ForeignError(f"{location}: not JSON: {error}") from None


def flat(value: Mapping[str, Any], prefix: str = "", depth: int = 1) -> dict[str, Any]:
    """The scalars of a JSON object as columns, nested ones by dotted names."""
    columns: dict[str, Any] = {}
    for key, part in value.items():
        name = prefix + key
        if type(part) is str:
            columns[name] = part
        elif isinstance(part, Mapping) and depth < MAX_COLUMN_DEPTH:
            columns |= flat(part, f"{name}.", depth + 1)
        elif isinstance(part, int | float) and not is_nan(part):
            columns[name] = part
        if len(columns) >= MAX_COLUMNS:
            break
    return columns


def look_up(row: Mapping[str, Any], name: str, location: str) -> Any:
    """The value of a column; a dotted name goes into nested objects."""
    value = find(row, name)
    if value is NOWHERE:
        raise ForeignError(f"{location}: no column '{name}'; {nearest(name, flat(row))}")
    return value


def find(row: Mapping[str, Any], name: str) -> Any:
    """The value of a column, or NOWHERE."""
    if name in row:
        return row[name]
    value: Any = row
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return NOWHERE
        value = value[part]
    return value


def is_nan(value: object) -> bool:
    """Whether a number is NaN or infinite, which JSON does not allow."""
    return isinstance(value, float) and not math.isfinite(value)


def as_text(value: object) -> str:
    """Any JSON value as the text of a case: scalars as in a table, the rest as JSON; NaN is nothing, as in pandas."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and math.isnan(value):
        return ""
    if value is None or isinstance(value, int | float):
        return plain_text(value)
    return msgspec.json.encode(value).decode()


_MARKS = {
    "true": 1.0,
    "yes": 1.0,
    "pass": 1.0,
    "passed": 1.0,
    "correct": 1.0,
    "resolved": 1.0,
    "right": 1.0,
    "false": 0.0,
    "no": 0.0,
    "fail": 0.0,
    "failed": 0.0,
    "incorrect": 0.0,
    "unresolved": 0.0,
    "wrong": 0.0,
}


def as_mark(value: object, location: str) -> float | None:
    """A mark as a number; None if there is none. An error unless it is a number, or yes or no."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.strip().lower() in _MARKS:
        return _MARKS[value.strip().lower()]
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ForeignError(f"{location}: {shown(value)} is neither a finite number nor true or false")
    return number


def as_metric(value: object, location: str) -> float | None:
    """One of several marks; as another may decide, one that is not finite is not a mistake yet."""
    return value if isinstance(value, float) else as_mark(value, location)


def as_value(value: object, location: str) -> float | None:
    """A cell as a number to keep; None if it is empty or NaN, which libraries write in several ways."""
    empty = isinstance(value, str) and value.strip().lower() in ("", "nan")
    return (
        None
        if empty or value is NOWHERE or (isinstance(value, float) and math.isnan(value))
        else as_mark(value, location)
    )


def is_mark(value: object) -> bool:
    """Whether a JSON value can be a mark: a number or a Boolean."""
    return isinstance(value, bool | int | float)


def shown(value: object) -> str:
    """A value for a message, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# Files of fields between blanks

Line = tuple[int, list[str]]
# Lines that a kind of file is recognised by: a mistake further down should be reported as one.
SNIFFED_LINES = 3
MISSING = {"nan", "na", "none", "-"}


def fields_of(data: bytes, name: str) -> Iterator[Line]:
    """The fields of every line that is not blank, with its number."""
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            fields = line.decode().split()
        except UnicodeDecodeError:
            raise ForeignError(f"{name}:{number}: not UTF-8 text") from None
        if fields:
            yield number, fields


def first_lines(file: ForeignFile) -> list[list[str]]:
    """The fields of the first few lines; none if it is not such a text."""
    start = file.begin.split(b"\n")[:SNIFFED_LINES]
    try:
        lines = [line.decode().split() for line in start if line.strip()]
    except UnicodeDecodeError:
        return []
    # A table, or JSON, has other marks between its cells.
    return [] if any(field[-1] in ",;{[\0" for line in lines for field in line) else lines


def is_number(text: str) -> bool:
    """Whether a field is a number, or says that there is none."""
    try:
        float(text)
    except ValueError:
        return text.lower() in MISSING
    return True
