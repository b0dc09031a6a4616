"""Transcripts as Parquet files: records in columns that other tools read, and the very same lines when turned back.

The header and the end line are in the metadata of the file. A key of a record is in the column of its name; what has no
column, or does not fit its type, is in `rest`, as JSON. A record that some other program wrote in other words (other
order, other spacing, keys of its own) also has its line, in `line`.
"""

import contextlib
import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from harness.errors import MissingExtra, TranscriptError
from harness.files.gzip_blocks import in_blocks
from harness.model import BlindTrial, Trial
from harness.transcript.format import End, Header
from harness.transcript.read import BLOCK, MAX_LINE_BYTES, TranscriptReader, record_type
from harness.transcript.storage import BlockStream

TEXTS = ("id", "outcome", "expect", "truth", "actual", "error", "message", "stratum", "psu")
NUMBERS = ("score", "seconds")
WHOLE_NUMBERS = ("memory", "rank", "repeat")
JSON = ("columns", "values")
TYPED = (*TEXTS, "positive", *NUMBERS, *WHOLE_NUMBERS)
HEADER, END, KIND, SHA256 = b"hate.header", b"hate.end", b"hate.transcript", b"hate.sha256"
# Records in a batch while reading, and records and bytes in a group while writing.
BATCH = 4096
GROUP_ROWS, GROUP_BYTES = 100_000, 32 << 20
# More than this many bytes of text for a byte of file are no transcript: a few bytes can stand for any number of rows.
MAX_RATIO, ALLOWANCE = 2_000, 64 << 20
MAX_GROUP_BYTES = 1 << 30
MAX_METADATA_BYTES = 16 << 20
_rest = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encoder = msgspec.json.Encoder()


def check_pyarrow(path: Path) -> None:
    """An error that says how to install pyarrow, if it is missing."""
    _pyarrow(path)


def _pyarrow(path: Path) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra(f"{path}: Parquet needs pyarrow: pip install 'hate-harness[parquet]'") from None
    return pyarrow, pyarrow.parquet


def _schema(pa: Any, metadata: dict[bytes, bytes] | None = None) -> Any:
    types = dict.fromkeys(TEXTS, pa.string()) | {"positive": pa.bool_()} | dict.fromkeys(NUMBERS, pa.float64())
    types |= dict.fromkeys(WHOLE_NUMBERS, pa.int64()) | dict.fromkeys((*JSON, "rest"), pa.string())
    return pa.schema([*types.items(), ("line", pa.binary())], metadata=metadata)


def write_parquet(stream: IO[bytes], path: Path, name: str) -> None:
    """Write a complete transcript, whose lines are in `stream`, into a Parquet file; `name` is for messages."""
    pa, parquet = _pyarrow(path)
    reader = TranscriptReader(stream, name, Trial)
    reader.take_records(record_type(reader.header))
    with path.open("wb") as file, parquet.ParquetWriter(file, _schema(pa), compression="zstd") as writer:
        for rows in _groups(reader):
            columns = list(zip(*rows, strict=True))
            writer.write_table(pa.table(list(map(pa.array, columns, _schema(pa).types)), schema=_schema(pa)))
        file.flush()
        metadata = {KIND: b"1", HEADER: reader.first, END: reader.last}
        with path.open("rb") as written:
            sha256 = _content_sha256(written, file.tell(), metadata)
        writer.add_key_value_metadata(metadata | {SHA256: sha256})
    if reader.end is None:
        raise TranscriptError(f"{name}: incomplete; finish it with --resume first")


def _content_sha256(file: IO[bytes], size: int, metadata: Mapping[bytes, bytes]) -> bytes:
    """Of the rows, which are the first bytes of a file, and of the first and last line, in hex."""
    digest = hashlib.sha256()
    while size and (block := file.read(min(BLOCK, size))):
        digest.update(block)
        size -= len(block)
    digest.update(metadata[HEADER] + metadata[END])
    return digest.hexdigest().encode()


def _groups(reader: TranscriptReader) -> Iterator[list[tuple[Any, ...]]]:
    """Rows for the groups of the file: not too many, and not too large."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    for body in reader.bodies():
        rows += _rows(body, reader.decode(body))
        size += len(body)
        if len(rows) >= GROUP_ROWS or size >= GROUP_BYTES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _rows(body: bytes, trials: Sequence[Trial]) -> Iterator[tuple[Any, ...]]:
    lines = _lines(body)
    for trial, line in zip(trials, lines, strict=True):
        try:
            known, same = _known(trial), _encoder.encode(trial) == line
        except (OverflowError, UnicodeEncodeError):  # a whole number beyond 64 bits
            known, same = {name: value for name in TYPED if (value := _plain(trial, name)) is not None}, False
        yield (*map(known.get, (*TYPED, *JSON, "rest")), None if same else line)


def _lines(body: bytes) -> list[bytes]:
    """The lines; an empty one belongs to the record after it, or before it at the end."""
    lines: list[bytes] = []
    before = b""
    for line in body.removesuffix(b"\n").split(b"\n"):
        if line.strip():
            lines.append(before + line)
            before = b""
        else:
            before += line + b"\n"
    if before:
        lines[-1] += b"\n" + before.removesuffix(b"\n")
    return lines


def _plain(trial: Any, name: str) -> Any:
    """The value of a key if it fits its column, else None."""
    value = getattr(trial, name, None)
    if name in TEXTS:
        return str(value) if isinstance(value, str) else None
    if name == "positive":
        return value if isinstance(value, bool) else None
    return value if isinstance(value, float if name in NUMBERS else int) else None


def _known(trial: Any) -> dict[str, Any]:
    """A record by columns; what fits none is in `rest`."""
    known: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name in trial.__struct_fields__:
        value = getattr(trial, name)
        if value is msgspec.UNSET:
            continue
        if name in TYPED and (plain := _plain(trial, name)) is not None:
            known[name] = plain
        elif name in JSON and value is not None:
            known[name] = _encoder.encode(value).decode()
        else:
            rest[name] = value
    if rest:
        known["rest"] = _encoder.encode(rest).decode()
    return known


def open_parquet(path: Path) -> IO[bytes]:
    """The lines of a transcript that is a Parquet file; an OSError if it is none, also while it is read."""
    pa, parquet = _pyarrow(path)
    handle = path.open("rb")
    try:
        metadata = _checked_metadata(parquet.ParquetFile(handle), _schema(pa))
        file = parquet.ParquetFile(handle, read_dictionary=[*TEXTS, *JSON, "rest", "line"])
    except (pa.ArrowException, OSError) as error:
        handle.close()
        raise OSError(None, f"cannot be used as Parquet: {_first_line(error)}") from None
    blocks = _bounded(_blocks(file, metadata, pa.ArrowException), path.stat().st_size)
    return io.BufferedReader(ParquetLines(handle, blocks, metadata[END]), BLOCK)


@dataclass(frozen=True)
class IntactFile:
    """A transcript as the harness wrote it: its own hash says so. Its rows can be used as they are, once checked."""

    header: Header
    rows: int
    # More than these a file of its size cannot hold; see `MAX_RATIO`.
    max_bytes: int
    _file: Any

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Arrow's arrays of these columns, many rows at a time; texts as a dictionary and indices into it."""
        # A group of rows as it was written is a batch.
        for batch in self._file.iter_batches(2 * GROUP_ROWS, columns=columns):
            batch.validate(full=True)
            yield batch


@contextlib.contextmanager
def open_intact(path: Path) -> Iterator[IntactFile]:
    """Open a Parquet file for its columns; a ValueError or OSError if that is for its lines only."""
    pa, parquet = _pyarrow(path)
    size = path.stat().st_size
    with path.open("rb") as handle:
        handle.seek(max(0, size - 8))
        footer = int.from_bytes(handle.read(4), "little") + 8
        metadata = _checked_metadata(parquet.ParquetFile(handle), _schema(pa))
        handle.seek(0)
        if _content_sha256(handle, size - footer, metadata) != metadata.get(SHA256):
            raise ValueError("not what was written")
        header = TranscriptReader(io.BytesIO(metadata[HEADER]), str(path)).header
        file = parquet.ParquetFile(handle, read_dictionary=[*TEXTS, *JSON, "rest", "line"])
        if not msgspec.json.decode(metadata[END], type=End).end:
            raise ValueError("no last line")
        yield IntactFile(header, file.metadata.num_rows, size * MAX_RATIO + ALLOWANCE, file)


def _checked_metadata(file: Any, schema: Any) -> dict[bytes, bytes]:
    """The metadata of a file that has the columns of a transcript, and is not made to fill the memory."""
    metadata: dict[bytes, bytes] = file.metadata.metadata or {}
    if HEADER not in metadata or END not in metadata:
        raise OSError(None, "a table, not a transcript: its metadata has no header; `hate import` reads tables")
    if sum(map(len, metadata.values())) > MAX_METADATA_BYTES:
        raise OSError(None, f"more than {MAX_METADATA_BYTES >> 20} MiB of metadata")
    types = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
    for name, wanted in zip(schema.names, schema.types, strict=True):
        kind = types.get(name)
        if kind is not None and hasattr(kind, "value_type") and hasattr(kind, "index_type"):
            kind = kind.value_type
        if kind != wanted:
            raise OSError(None, f"column '{name}' is {kind or 'missing'}, not {wanted}")
    for number in range(file.metadata.num_row_groups):
        if file.metadata.row_group(number).total_byte_size > MAX_GROUP_BYTES:
            raise OSError(None, f"a group of rows has more than {MAX_GROUP_BYTES >> 20} MiB")
    return metadata


def _blocks(file: Any, metadata: dict[bytes, bytes], failure: type[Exception]) -> Iterator[bytes]:
    """The whole file as lines, some at a time."""
    yield metadata[HEADER]
    header = TranscriptReader(io.BytesIO(metadata[HEADER]), "header").header
    record = record_type(header)
    try:
        for batch in file.iter_batches(BATCH, columns=[*TYPED, *JSON, "rest", "line"]):
            columns = [_values(batch.column(name)) for name in (*TYPED, *JSON, "rest", "line")]
            yield from in_blocks((_line(record, row) for row in zip(*columns, strict=True)), BLOCK)
    except (failure, MemoryError) as error:
        raise OSError(None, f"damaged: {_first_line(error)}") from None
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise OSError(None, f"a record that cannot be used: {_first_line(error)}") from None
    yield metadata[END]


def _values(column: Any) -> Sequence[Any]:
    """The values of a column; equal texts are one object, so that a few bytes cannot fill the memory."""
    if not hasattr(column, "dictionary"):
        values: Sequence[Any] = column.to_pylist()
        return values
    texts = column.dictionary.to_pylist()
    return [None if index is None else texts[index] for index in column.indices.to_pylist()]


def _line(record: type[Trial | BlindTrial], row: Sequence[Any]) -> bytes:
    if row[-1] is not None:
        line: bytes = row[-1] + b"\n"
        return line
    known: dict[str, Any] = {name: value for name, value in zip(TYPED, row, strict=False) if value is not None}
    for name, text in zip(JSON, row[len(TYPED) :], strict=False):
        if text is not None:
            known[name] = msgspec.Raw(text.encode())
    if row[-2] is not None:
        known |= _rest.decode(row[-2])
    return _encoder.encode(record(**known)) + b"\n"


def _bounded(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The blocks, as long as there are not far more of them than a file of this size can have."""
    left = size * MAX_RATIO + ALLOWANCE
    for block in blocks:
        left -= len(block)
        if left < 0 or len(block) > MAX_LINE_BYTES + BLOCK:
            raise OSError(None, f"holds more than {MAX_RATIO:,} times its size")
        yield block


class ParquetLines(BlockStream):
    """The lines of a transcript as a stream, and its end line, which is known from the beginning."""

    def __init__(self, handle: IO[bytes], blocks: Iterator[bytes], end: bytes) -> None:
        super().__init__(handle, blocks)
        self.end = end


def _first_line(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0][:200]
