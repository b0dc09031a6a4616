"""The columns of a transcript straight from a Parquet file, without a line or a record for most of its cases.

Only what the harness itself wrote is read in this way: the file has its own hash, and everything in it is as expected.
Of any other file the lines are made and read, with all their checks, which also say what is wrong with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType

from harness.errors import HateError
from harness.model import MOST_COLUMNS, MOST_VALUES, ErrorKind, Trial
from harness.tasks import find_task
from harness.transcript.columns import DETAILS, NOT_LEAN, NUMBERS, OUTCOMES, TEXTS, Columns
from harness.transcript.explain import UNUSABLE
from harness.transcript.format import SHORTEST_LINE
from harness.transcript.parquet import IntactFile, open_intact
from harness.transcript.scanning.growing import GrowingNumbers, GrowingTexts
from harness.transcript.texts import Coded, TextList

# From where to where whole numbers go, as in a record.
_RANGES = {"memory": (0, 1 << 60), "rank": (1, 1 << 31), "repeat": (1, 1 << 31)}
_CODE = {outcome.value: code for code, outcome in enumerate(OUTCOMES)}
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
Codes = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.float64]


def read_parquet_columns(path: Path, *, lean: bool = False) -> Columns | None:
    """The columns of a transcript in a Parquet file; None if its lines must be read. See `read_columns`."""
    try:
        with open_intact(path) as file:
            return _ColumnBuilder(file, lean=lean).columns()
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
        found, order = _in_order(_array(column.indices, np.int32, -1), len(column.dictionary))
        texts = column.dictionary.to_pylist()
        return _Entries([texts[place] for place in order.tolist()], found)

    def replaced(self, rows: Sequence[int], own: Sequence[Any]) -> "_Entries":
        """The same with other values in some rows."""
        codes, values = self.codes.copy(), [*self.values, *own]
        codes[rows] = np.arange(len(self.values), len(values))
        codes, order = _in_order(codes, len(values))
        return _Entries([values[place] for place in order.tolist()], codes)


def _array(column: Any, kind: Any, missing: float) -> npt.NDArray[Any]:
    """Numbers of Arrow as an array of its own. Arrow's way to make one would import pandas, which takes longer."""
    known, data = column.buffers()
    found = np.empty(len(column), np.float64 if np.isnan(missing) else kind)
    if len(column):
        found[:] = np.frombuffer(data, kind, len(column), column.offset * np.dtype(kind).itemsize)
    if column.null_count:
        bits = np.unpackbits(np.frombuffer(known, np.uint8), bitorder="little")
        found[bits[column.offset : column.offset + len(column)] == 0] = missing
    return found


def _in_order(places: Codes, count: int) -> tuple[Codes, npt.NDArray[np.int64]]:
    """Codes in the order of first rows instead of places, -1 for none; and the place of each code."""
    # Assigned backwards, so that the first row of each remains; the last place is for rows without any.
    first = np.full(count + 1, len(places))
    first[places[::-1]] = np.arange(len(places))[::-1]
    order = np.argsort(first[:-1], kind="stable")[: int((first[:-1] < len(places)).sum())]
    codes = np.full(count + 1, -1, np.int32)
    codes[order] = np.arange(len(order))
    return codes[places], order


@dataclass(frozen=True)
class _Change:
    """Records of some rows that are not, or not only, in the columns."""

    rows: Sequence[int]
    records: Sequence[Any]
    # Whether the records say everything; otherwise only what they have.
    whole: bool

    def of(self, name: str) -> tuple[list[int], list[Any]]:
        """The rows in which the value of a key is another than that in its column, and the value; UNSET for none."""
        found = [(row, getattr(record, name)) for row, record in zip(self.rows, self.records, strict=True)]
        kept = [(row, value) for row, value in found if self.whole or value is not UNSET]
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
        found = []
        for name in ("rest", "line"):
            entries = _Entries.of(self.arrays.column(name))
            records = list(map(_DECODERS[name].decode, entries.values))
            rows = np.flatnonzero(entries.codes >= 0).tolist()
            found.append(_Change(rows, [records[code] for code in entries.codes[rows].tolist()], name == "line"))
        return [change for change in found if change.rows]

    def entries(self, name: str) -> _Entries:
        """A column of texts; of JSON, what the texts say."""
        entries = _Entries.of(self.arrays.column(name))
        if name in _DECODERS:
            entries = _Entries(list(map(_DECODERS[name].decode, entries.values)), entries.codes)
        for change in self.changes:
            rows, own = change.of(name)
            entries = entries.replaced(rows, own) if rows else entries
        return entries

    def numbers(self, name: str, missing: float) -> Numbers:
        """A column of numbers."""
        numbers = _array(self.arrays.column(name), np.int64 if name in _RANGES else np.float64, np.nan)
        for change in self.changes:
            rows, own = change.of(name)
            numbers[rows] = [np.nan if value is None or value is UNSET else value for value in own]
        # JSON has no numbers that are not finite: a record in a line has none then.
        finite = np.isfinite(numbers)
        if name in _RANGES:
            low, high = _RANGES[name]
            if not ((numbers >= low) & (numbers < high))[finite].all():
                raise ValueError(name)
        return np.where(finite, numbers, missing)

    def ids(self, most: int) -> tuple[bytes, npt.NDArray[np.int64]]:
        """Their bytes, and how many each has; there may be no more than `most` bytes."""
        from pyarrow.compute import binary_length

        column = self.arrays.column("id")
        # Dense only when it is known how much that is: a few bytes can stand for very many.
        sizes = np.append(_array(binary_length(column.dictionary), np.int32, 0), -1)
        lengths = sizes[_array(column.indices, np.int32, -1)].astype(np.int64)
        if (lengths < 0).any() or lengths.sum() > most:
            raise ValueError("id")
        dense = column.dictionary_decode()
        for change in self.changes:
            rows, own = change.of("id")
            if [dense[row].as_py() for row in rows] != own:
                raise ValueError("id")
        return (dense.buffers()[2].to_pybytes() if len(dense) else b"")[: int(lengths.sum())], lengths


class _ColumnBuilder:
    """The columns of a file, batch by batch."""

    def __init__(self, file: IntactFile, *, lean: bool) -> None:
        if file.header.is_blind or file.rows * SHORTEST_LINE > file.most_bytes:
            raise ValueError("not for columns")
        self.file = file
        self.count = 0
        self.ids: list[bytes] = []
        self.lengths = [np.empty(0, np.int64)]
        self.outcome = [np.empty(0, np.int8)]
        self.numbers: dict[str, list[Numbers]] = {
            name: [] for name in (*NUMBERS, "repeat") if not (lean and name in NOT_LEAN)
        }
        self.texts = {name: GrowingTexts() for name in TEXTS if not (lean and name in NOT_LEAN)}
        self.columns_of_cases: dict[str, GrowingTexts] = {}
        self.values: dict[str, GrowingNumbers] = {}
        # What tasks record of a row; UNSET if that is nothing.
        self.details: dict[str, dict[int, Any]] = {name: {} for name in DETAILS}
        self.lean = lean

    def columns(self) -> Columns:
        """Read it all."""
        mappings = () if self.lean else ("columns", "values")
        for arrays in self.file.batches(["id", "outcome", *self.numbers, *self.texts, *mappings, "rest", "line"]):
            self._add(_Batch(arrays))
        return self._finish()

    def _add(self, batch: _Batch) -> None:
        data, lengths = batch.ids(self.file.most_bytes)
        self.ids.append(data)
        self.lengths.append(lengths)
        outcome = batch.entries("outcome")
        if (outcome.codes < 0).any():
            raise ValueError("outcome")
        self.outcome.append(np.array([_CODE[str(text)] for text in outcome.values], np.int8)[outcome.codes])
        for name, parts in self.numbers.items():
            parts.append(batch.numbers(name, 1 if name == "repeat" else np.nan))
        for name, texts in self.texts.items():
            entries = batch.entries(name)
            texts.add(entries.values, entries.codes)
        if not self.lean:
            self._add_mappings(batch)
        self.count += batch.size

    def _add_mappings(self, batch: _Batch) -> None:
        found: dict[str, dict[str, Any]] = {"columns": self.columns_of_cases, "values": self.values}
        for name, kind, most in (("columns", GrowingTexts, MOST_COLUMNS), ("values", GrowingNumbers, MOST_VALUES)):
            own, entries = found[name], batch.entries(name)
            mappings = [value if isinstance(value, dict) else {} for value in entries.values]
            for key in dict.fromkeys(key for mapping in mappings for key in mapping):
                own.setdefault(key, kind(before=self.count))
            if len(own) > most:
                raise ValueError(name)
            for key, column in own.items():
                column.add([mapping.get(key) for mapping in mappings], entries.codes)
        for change in batch.changes:
            for name, details in self.details.items():
                details |= {self.count + row: value for row, value in zip(*change.of(name), strict=True)}

    def _finish(self) -> Columns:
        fields: dict[str, Any] = {name: np.full(self.count, np.nan) for name in ("score", "rank")}
        fields |= {name: np.concatenate([[], *parts]) for name, parts in self.numbers.items()}
        fields |= dict.fromkeys(TEXTS, Coded(np.full(self.count, -1, np.int32), []))
        fields |= {name: column.finish() for name, column in self.texts.items()}
        if not {*fields["error"].labels} <= {*map(str, ErrorKind)}:
            raise ValueError("error")
        return Columns(
            header=self.file.header,
            complete=True,
            ids=TextList(b"".join(self.ids), np.cumsum(np.concatenate(self.lengths))),
            outcome=np.concatenate(self.outcome),
            repeat=fields.pop("repeat").astype(np.int32),
            columns={name: column.finish() for name, column in self.columns_of_cases.items()},
            values={name: numbers.finish() for name, numbers in self.values.items()},
            details=self._finished_details(),
            **fields,
        )

    def _finished_details(self) -> dict[str, list[Any]]:
        task = find_task(self.file.header.test.task)
        found: dict[str, list[Any]] = {}
        for name, details in self.details.items():
            own = {row: value for row, value in details.items() if value is not UNSET}
            if task is not None and any(task.detail_mistake(name, value) for value in own.values()):
                raise ValueError(name)
            if own:
                found[name] = list(map(own.get, range(self.count)))
        return found
