"""Rows of a table: CSV, TSV, JSON lines or Parquet, read one at a time, each with its line."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from harness.errors import MissingExtra, ScriptError

Row = dict[str, Any]
# A field may be a whole document; the csv module's own limit is 128 KiB.
LARGEST_FIELD = 16 << 20


def rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Each row with its line number; a ScriptError names file and line of what cannot be read."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ScriptError(f"{path.name}: a table is a .csv, .tsv, .jsonl or .parquet file")
    try:
        yield from reader(path)
    except UnicodeDecodeError as error:
        raise ScriptError(f"{path.name}: not UTF-8 at byte {error.start}; save the table as UTF-8") from None
    except OSError as error:
        raise ScriptError(f"{path.name}: {error.strerror}") from None


def _csv(path: Path) -> Iterator[tuple[int, Row]]:
    return _delimited(path, ",")


def _tsv(path: Path) -> Iterator[tuple[int, Row]]:
    return _delimited(path, "\t")


def _delimited(path: Path, delimiter: str) -> Iterator[tuple[int, Row]]:
    csv.field_size_limit(LARGEST_FIELD)
    # utf-8-sig: spreadsheets put a byte order mark in front of the first column's name.
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            header = _header(path, next(reader, []))
            width = len(header)
            for row in reader:
                if len(row) != width:
                    if not row:
                        continue
                    raise ScriptError(f"{path.name}:{reader.line_num}: {len(row)} fields, the header has {width}")
                yield reader.line_num, dict(zip(header, row, strict=True))
        except csv.Error as error:
            raise ScriptError(f"{path.name}:{reader.line_num}: {error}") from None


def _header(path: Path, names: list[str]) -> list[str]:
    header = [name.strip() for name in names]
    if not any(header):
        raise ScriptError(f"{path.name}:1: no header; the first line names the columns")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise ScriptError(f"{path.name}:1: column {twice[0]!r} stands twice in the header")
    return header


def _jsonl(path: Path) -> Iterator[tuple[int, Row]]:
    decode = msgspec.json.Decoder(Row).decode
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield number, decode(line)
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
                raise ScriptError(f"{path.name}:{number}: not a JSON object: {error}") from None


def _parquet(path: Path) -> Iterator[tuple[int, Row]]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtra(f"{path.name}: Parquet needs pyarrow: pip install 'hate-harness[parquet]'") from None
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches():
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except pyarrow.ArrowException as error:
        raise ScriptError(f"{path.name}: not Parquet: {str(error).splitlines()[0]}") from None


_READERS: dict[str, Callable[[Path], Iterator[tuple[int, Row]]]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
