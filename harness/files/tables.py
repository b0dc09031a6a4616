"""Rows of a table (CSV, TSV, JSON lines or Parquet), read one at a time, each with its line number."""

import codecs
import contextlib
import csv
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

import msgspec

from harness.errors import MissingExtra, ScriptError
from harness.files.mistakes import bad_line
from harness.model import MAX_COLUMNS

TableRow = dict[str, Any]
# A field may be a whole document; the csv module's own limit is 128 KiB.
MAX_FIELD_LENGTH = 16 << 20
# Spreadsheets put a byte order mark in front of the first column's name.
_ENCODING = "utf-8-sig"
_BLOCK = 1 << 20


def rows(path: Path) -> Iterator[tuple[int, TableRow]]:
    """Each row with its line number; a ScriptError names the file and line that cannot be read."""
    table = delimited(path)
    if table is not None:
        for row in table:
            if text := table.ragged(row):
                raise ScriptError(f"{path.name}:{table.line}: {text}")
            yield table.line, dict(zip(table.header, row, strict=True))
        return
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ScriptError(f"{path.name}: a table is a .csv, .tsv, .jsonl or .parquet file")
    with _reading(path):
        yield from reader(path)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError:
        raise ScriptError(f"{path.name}:{bad_line(path.read_bytes())}: not UTF-8; save the table as UTF-8") from None
    except OSError as error:
        raise ScriptError(f"{path.name}: {error.strerror}") from None


def delimited(path: Path) -> "Delimited | None":
    """A CSV or TSV table; None if the file is of another kind."""
    delimiter = {".csv": ",", ".tsv": "\t"}.get(path.suffix.lower())
    if delimiter is None:
        return None
    table = Delimited(path, delimiter)
    check_width(len(table.header), f"{path.name}:1")
    return table


def check_width(count: int, location: str) -> None:
    """Refuse a table of cases that is too wide to be one."""
    if count > MAX_COLUMNS:
        raise ScriptError(f"{location}: more than {MAX_COLUMNS:,} columns; put what only programs read into files")


class Delimited:
    """A table with a header line; iterates over its rows, lists that should be as long as the header."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self.line = 1
        self.name = path.name
        self._path = path
        self._delimiter = delimiter
        csv.field_size_limit(MAX_FIELD_LENGTH)
        with _reading(path), path.open(encoding=_ENCODING, newline="") as file:
            try:
                self.header = [name.strip() for name in next(self._reader(file), [])]
            except csv.Error as error:
                raise ScriptError(f"{path.name}:1: {_explain(error)}") from None
        if not any(self.header):
            raise ScriptError(f"{path.name}:1: no header; the first line names the columns")
        if twice := sorted(name for name, count in Counter(self.header).items() if count > 1):
            raise ScriptError(f"{path.name}:1: column {twice[0]!r} appears twice in the header")

    def __iter__(self) -> Iterator[list[str]]:
        with _reading(self._path), self._path.open(encoding=_ENCODING, newline="") as file:
            reader = self._reader(file)
            try:
                next(reader)
                for row in reader:
                    if row:
                        self.line = reader.line_num
                        yield row
            except csv.Error as error:
                raise ScriptError(f"{self._path.name}:{reader.line_num}: {_explain(error)}") from None

    def ragged(self, row: list[str]) -> str | None:
        """What is wrong with a row that is longer or shorter than the header."""
        width = len(self.header)
        return None if len(row) == width else f"{len(row)} fields, the header has {width}; quote fields with delimiters"

    def _reader(self, file: TextIO) -> Any:
        lines = _without_nul(file, self._path.name) if self._has_nul else file
        return csv.reader(lines, delimiter=self._delimiter, strict=True)

    @cached_property
    def _has_nul(self) -> bool:
        """Blocks of bytes are searched much faster than lines of text."""
        with self._path.open("rb") as file:
            return any(b"\0" in block for block in iter(lambda: file.read(_BLOCK), b""))


def _without_nul(file: TextIO, name: str) -> Iterator[str]:
    """The lines; an error for NUL, which cannot be part of a program's argument or a file name."""
    for number, line in enumerate(file, 1):
        if "\0" in line:
            raise ScriptError(f"{name}:{number}: a NUL character; is this a text file?")
        yield line


def _explain(error: csv.Error) -> str:
    """An error of the csv module, in terms that the author of the table understands."""
    if "field limit" in str(error):
        return f"a field of more than {MAX_FIELD_LENGTH >> 20} MiB; put it into a file of its own"
    if "unexpected end" in str(error):
        return "a quote is not closed; double a quote inside a quoted field"
    return f"{error}; double a quote inside a quoted field"


def _jsonl(path: Path) -> Iterator[tuple[int, TableRow]]:
    decode = msgspec.json.Decoder(TableRow).decode
    names: set[str] = set()
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if not text.strip():
                continue
            try:
                row = decode(text)
            except (msgspec.MsgspecError, RecursionError) as error:
                raise ScriptError(f"{path.name}:{number}: not a JSON object: {error}") from None
            if not row.keys() <= names:
                names |= row.keys()
                check_width(len(names), f"{path.name}:{number}")
            yield number, row


def parquet_table(path: Path) -> Iterator[tuple[int, TableRow]]:
    """Each row of a Parquet file, whatever its name, with its number."""
    number = 0
    with _parquet_file(path) as file:
        check_width(len(file.schema_arrow.names), path.name)
        for batch in file.iter_batches():
            for row in batch.to_pylist():
                number += 1
                yield number, row


def numbers_by_column(path: Path) -> list[tuple[str, Any]]:
    """The names and columns of a Parquet file, as arrays: for tables that are too wide to read row by row."""
    with _reading(path), _parquet_file(path) as file:
        table = file.read()
        return [(name, table.column(index).to_numpy()) for index, name in enumerate(table.column_names)]


@contextlib.contextmanager
def _parquet_file(path: Path) -> Iterator[Any]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtra(f"{path.name}: Parquet needs pyarrow: pip install 'hate-harness[parquet]'") from None
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except pyarrow.ArrowException as error:
        raise ScriptError(f"{path.name}: not Parquet: {str(error).splitlines()[0]}") from None


_READERS: dict[str, Callable[[Path], Iterator[tuple[int, TableRow]]]] = {
    ".jsonl": _jsonl,
    ".parquet": parquet_table,
}
