"""The columns of a transcript straight from a Parquet file, without a line or a record for most of its cases.

Only what the harness itself wrote is read in this way: the file has its own hash, and everything in it is as expected.
Of any other file the lines are made and read, with all their checks, which also say what is wrong with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType

from harness.errors import HateError
from harness.model import ErrorKind, Outcome, Trial
from harness.transcript.collect import OUTCOME_CODES, Codes, ColumnBuilder, Numbers, as_numbers, check_names
from harness.transcript.columns import DETAILS, NOT_LEAN, NUMBERS, TEXTS, Columns
from harness.transcript.format import MIN_LINE_LENGTH
from harness.transcript.parquet import IntactFile, open_intact
from harness.transcript.read import UNUSABLE

# From where to where whole numbers go, as in a record.
_RANGES = {"memory": (0, 1 << 60), "rank": (1, 1 << 31), "repeat": (1, 1 << 31)}
_fields: list[Any] = [(field.name, field.type | UnsetType, UNSET) for field in msgspec.structs.fields(Trial)]
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    # What a record has besides its columns, and a record whose line is kept.
    "rest": msgspec.json.Decoder(msgspec.defstruct("_Rest", _fields, kw_only=True, forbid_unknown_fields=True)),
    "line": msgspec.json.Decoder(Trial),
    "columns": msgspec.json.Decoder(dict[str, Any]),
    "values": msgspec.json.Decoder(dict[str, float | None]),
}
# What is wrong with a file that is not read in this way.
_UNEXPECTED = (OSError, ValueError, LookupError, TypeError, MemoryError, HateError, *UNUSABLE)


def read_parquet_columns(path: Path, *, lean: bool = False) -> Columns | None:
    """The columns of a transcript in a Parquet file; None if its lines must be read. See `read_columns`."""
    try:
        with open_intact(path) as file:
            return _read(file, str(path), lean=lean)
    except _UNEXPECTED:
        return None


@dataclass(frozen=True)
class _Entries:
    """A column of any values: those that occur, in the order of their first rows, and a code a row, -1 for none."""

    values: Sequence[Any]
    codes: Codes

    @staticmethod
    def of(column: Any) -> "_Entries":
        """From texts as Arrow has them."""
        if column.null_count == len(column):
            return _Entries([], np.full(len(column), -1, np.int32))
        codes, order = _in_order(_array(column.indices, np.int32, -1), len(column.dictionary))
        texts = column.dictionary.to_pylist()
        return _Entries([texts[index] for index in order.tolist()], codes)

    def replaced(self, rows: Sequence[int], others: Sequence[Any]) -> "_Entries":
        """The same with other values in some rows."""
        codes, values = self.codes.copy(), [*self.values, *others]
        codes[rows] = np.arange(len(self.values), len(values))
        codes, order = _in_order(codes, len(values))
        return _Entries([values[index] for index in order.tolist()], codes)


def _array(column: Any, kind: Any, missing: float) -> npt.NDArray[Any]:
    """Numbers of Arrow as an array of its own. Arrow's way to make one would import pandas, which takes longer."""
    known, data = column.buffers()
    numbers = np.empty(len(column), np.float64 if np.isnan(missing) else kind)
    if len(column):
        numbers[:] = np.frombuffer(data, kind, len(column), column.offset * np.dtype(kind).itemsize)
    if column.null_count:
        bits = np.unpackbits(np.frombuffer(known, np.uint8), bitorder="little")
        numbers[bits[column.offset : column.offset + len(column)] == 0] = missing
    return numbers


def _in_order(indices: Codes, count: int) -> tuple[Codes, npt.NDArray[np.int64]]:
    """Codes in the order of first rows instead of indices, -1 for none; and the index of each code."""
    # Assigned backwards, so that the first row of each remains; the last index is for rows without any.
    first = np.full(count + 1, len(indices))
    first[indices[::-1]] = np.arange(len(indices))[::-1]
    order = np.argsort(first[:-1], kind="stable")[: int((first[:-1] < len(indices)).sum())]
    codes = np.full(count + 1, -1, np.int32)
    codes[order] = np.arange(len(order))
    return codes[indices], order


@dataclass(frozen=True)
class _Change:
    """Records of some rows that are not, or not only, in the columns."""

    rows: Sequence[int]
    records: Sequence[Any]
    # Whether the records say everything; otherwise only what they have.
    whole: bool

    def of(self, name: str) -> tuple[list[int], list[Any]]:
        """The rows in which the value of a key is another than that in its column, and the value; UNSET for none."""
        values = [(row, getattr(record, name)) for row, record in zip(self.rows, self.records, strict=True)]
        kept = [(row, value) for row, value in values if self.whole or value is not UNSET]
        return [row for row, _ in kept], [value for _, value in kept]


@dataclass(frozen=True)
class _Batch:
    """Some rows of the file."""

    arrays: Any

    @property
    def size(self) -> int:
        return int(self.arrays.num_rows)

    @cached_property
    def changes(self) -> list[_Change]:
        """What is not in the columns."""
        changes = []
        for name in ("rest", "line"):
            entries = _Entries.of(self.arrays.column(name))
            records = list(map(_DECODERS[name].decode, entries.values))
            rows = np.flatnonzero(entries.codes >= 0).tolist()
            changes.append(_Change(rows, [records[code] for code in entries.codes[rows].tolist()], name == "line"))
        return [change for change in changes if change.rows]

    def entries(self, name: str) -> _Entries:
        """A column of texts; of JSON, what the texts say."""
        entries = _Entries.of(self.arrays.column(name))
        if name in _DECODERS:
            entries = _Entries(list(map(_DECODERS[name].decode, entries.values)), entries.codes)
        for change in self.changes:
            rows, values = change.of(name)
            entries = entries.replaced(rows, values) if rows else entries
        return entries

    def details(self, name: str) -> dict[int, Any]:
        """What tasks record of a row, if it is there."""
        values = {row: value for change in self.changes for row, value in zip(*change.of(name), strict=True)}
        return {row: value for row, value in values.items() if value is not UNSET}

    def numbers(self, name: str) -> Numbers:
        """A column of numbers; NaN for none."""
        numbers = _array(self.arrays.column(name), np.int64 if name in _RANGES else np.float64, np.nan)
        for change in self.changes:
            rows, values = change.of(name)
            numbers[rows] = as_numbers(values)
        # JSON has no numbers that are not finite: a record in a line has none then.
        finite = np.isfinite(numbers)
        if name in _RANGES:
            low, high = _RANGES[name]
            if not ((numbers >= low) & (numbers < high))[finite].all():
                raise ValueError(name)
        return np.where(finite, numbers, np.nan)

    def ids(self, max_bytes: int) -> tuple[bytes, npt.NDArray[np.int64]]:
        """Their bytes, and how many each has; there may be no more than `max_bytes`."""
        from pyarrow.compute import binary_length

        column = self.arrays.column("id")
        # Dense only when it is known how much that is: a few bytes can stand for very many.
        sizes = np.append(_array(binary_length(column.dictionary), np.int32, 0), -1)
        lengths = sizes[_array(column.indices, np.int32, -1)].astype(np.int64)
        if (lengths < 0).any() or lengths.sum() > max_bytes:
            raise ValueError("id")
        dense = column.dictionary_decode()
        for change in self.changes:
            rows, ids = change.of("id")
            if [dense[row].as_py() for row in rows] != ids:
                raise ValueError("id")
        return (dense.buffers()[2].to_pybytes() if len(dense) else b"")[: int(lengths.sum())], lengths


def _read(file: IntactFile, name: str, *, lean: bool) -> Columns:
    if file.header.is_blind or file.rows * MIN_LINE_LENGTH > file.max_bytes:
        raise ValueError("not for columns")
    builder = ColumnBuilder()
    numbers = [key for key in (*NUMBERS, "repeat") if not (lean and key in NOT_LEAN)]
    texts = [key for key in TEXTS if not (lean and key in NOT_LEAN)]
    # The keys within objects so far.
    keys: dict[str, dict[str, None]] = {} if lean else {"columns": {}, "values": {}}
    for arrays in file.batches(["id", "outcome", *numbers, *texts, *keys, "rest", "line"]):
        batch = _Batch(arrays)
        for key in numbers:
            builder.add_numbers((key,), batch.numbers(key))
        for key in texts:
            entries = batch.entries(key)
            builder.add_texts((key,), entries.values, entries.codes)
        for outer, inner in keys.items():
            _add_object(builder, batch.entries(outer), outer, inner, name)
        for key in () if lean else DETAILS:
            details = batch.details(key)
            if details or key in builder.details:
                builder.add_details(key, list(map(details.get, range(batch.size))))
        outcome = batch.entries("outcome")
        if (outcome.codes < 0).any():
            raise ValueError("outcome")
        codes = np.array([OUTCOME_CODES[Outcome(text)] for text in outcome.values], np.int8)[outcome.codes]
        builder.add_cases(*batch.ids(file.max_bytes), codes)
    columns = builder.finish(file.header, name, complete=True)
    if not {*columns.error.labels} <= {*map(str, ErrorKind)}:
        raise ValueError("error")
    return columns


def _add_object(builder: ColumnBuilder, entries: _Entries, outer: str, keys: dict[str, None], name: str) -> None:
    """A column for each key within an object; `keys` are those that had one so far, and get the new ones."""
    mappings = [value if isinstance(value, dict) else {} for value in entries.values]
    keys |= dict.fromkeys(chain.from_iterable(mappings))
    check_names(keys, outer, name)
    for key in keys:
        values = [mapping.get(key) for mapping in mappings]
        if outer == "columns":
            builder.add_texts((outer, key), values, entries.codes)
        else:
            builder.add_numbers((outer, key), np.append(as_numbers(values), np.nan)[entries.codes])
