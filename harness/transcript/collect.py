"""Collect the records of a transcript into columns, a block of lines at a time.

A record is decoded into a struct that has only the keys met so far, which takes half the time of one with all keys. A
block in which there is another key, or anything wrong, is decoded in full; that also says what is wrong.
"""

import gc
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import astuple

from harness.errors import TranscriptError
from harness.files.digest import NOT_A_FILE, file_sha256, file_stamp
from harness.files.known_digests import note_sha256
from harness.model import MAX_COLUMNS, MAX_VALUES, Bytes, Outcome, Trial, Turn, plain_text
from harness.tasks import find_task
from harness.transcript.columns import DETAILS, NUMBERS, OUTCOMES, TEXTS, Coded, Columns, TextList, text_lengths
from harness.transcript.format import Header
from harness.transcript.kept_columns import keep_columns
from harness.transcript.read import UNUSABLE, TranscriptReader, open_transcript

Codes = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.float64]
KeyPath = tuple[str, ...]
OUTCOME_CODES = {outcome: code for code, outcome in enumerate(OUTCOMES)}
_TEXT_TYPES = {str, UnsetType, type(None)}
# Keys whose values may be of other types.
_NOT_ONLY_TEXTS = {"actual", "error", "columns"}
# Keys of a record that have an object, whose keys become columns, and the type of the values in it.
_OBJECTS: dict[str, Any] = {"columns": Any, "values": float | None}


class LeanRecord(Struct, gc=False):
    """A record without what `lean` leaves out, which is not even decoded."""

    id: str
    outcome: Outcome
    error: str | UnsetType | None = UNSET
    seconds: float | UnsetType | None = UNSET
    memory: Bytes | UnsetType | None = UNSET
    repeat: Turn | UnsetType = UNSET
    stratum: str | UnsetType = UNSET
    psu: str | UnsetType = UNSET


def collect(path: Path, *, name: str | None = None, lean: bool = False) -> Columns:
    """Read a transcript; see `read_columns`."""
    before = file_stamp(path)
    with open_transcript(path, name=name, record=LeanRecord if lean else Trial) as reader:
        decoder, builder = _LineDecoder(reader, LeanRecord if lean else Trial), ColumnBuilder()
        # There are millions of small objects without cycles: looking for cycles would take as long as all the rest.
        gc_enabled = gc.isenabled()
        gc.disable()
        try:
            for body in reader.bodies():
                decoder.add_to(builder, body)
        finally:
            if gc_enabled:
                gc.enable()
        columns = builder.finish(reader.header, reader.name, complete=reader.end is not None)
    # Not if it is no file, or was changed meanwhile.
    if columns.complete and before != NOT_A_FILE and not before.is_replaced(file_stamp(path)):
        if reader.is_plain:
            note_sha256(path.resolve(), before, reader.sha256)
        sha256 = reader.sha256 if reader.is_plain else file_sha256(path)
        keep_columns(columns, reader.first, before.size, sha256, lean=lean)
    return columns


class ColumnBuilder:
    """Columns that grow by some records at a time.

    A column has the path of its key: one name, or that of an object and that within it. It is made when a record has
    the key for the first time; from then on, it grows with all records.
    """

    def __init__(self) -> None:
        self.count = 0
        self.details: dict[str, list[Any]] = {}
        self._ids: list[bytes] = []
        self._lengths = [np.empty(0, np.int64)]
        self._outcome = [np.empty(0, np.int8)]
        self._texts: dict[KeyPath, _GrowingTexts] = {}
        self._numbers: dict[KeyPath, list[Numbers]] = {}

    def add_texts(self, path: KeyPath, values: Sequence[Any], codes: Codes | None = None) -> None:
        """What records have; UNSET or None is nothing. Where they share values, `codes` has the number of each."""
        if path not in self._texts:
            self._texts[path] = _GrowingTexts(self.count)
        if path[0] in _NOT_ONLY_TEXTS and not _TEXT_TYPES.issuperset(map(type, values)):
            # As texts: 1 and 1.0 and True would share a code.
            values = [value if type(value) in _TEXT_TYPES else plain_text(value) for value in values]
        self._texts[path].add(values, codes)

    def add_numbers(self, path: KeyPath, numbers: Numbers) -> None:
        """What records have; NaN is nothing."""
        if path not in self._numbers:
            self._numbers[path] = [np.full(self.count, np.nan)]
        self._numbers[path].append(numbers)

    def add_details(self, name: str, values: Sequence[Any]) -> None:
        """What records have; UNSET or None is nothing."""
        details = self.details.setdefault(name, [None] * self.count)
        details.extend(None if value is UNSET else value for value in values)

    def add_cases(self, ids: bytes, lengths: npt.NDArray[np.int64], outcome: npt.NDArray[np.int8]) -> None:
        """The ids of the same records, all in one piece, and their outcomes; after all else."""
        self._ids.append(ids)
        self._lengths.append(lengths)
        self._outcome.append(outcome)
        self.count += len(lengths)

    def finish(self, header: Header, name: str, *, complete: bool) -> Columns:
        """All of it, once; `name` is for messages."""
        _check_details(self.details, header, name)
        # Popped, so that the memory of a column can be used for the next.
        numbers = {path: np.concatenate(self._numbers.pop(path)) for path in [*self._numbers]}
        texts = {path: self._texts.pop(path).finish() for path in [*self._texts]}
        nothing, absent = np.full(self.count, np.nan), Coded(np.full(self.count, -1, np.int32), [])
        repeat = numbers.pop(("repeat",), nothing)
        fields: dict[str, Any] = {field: numbers.pop((field,), nothing) for field in NUMBERS}
        fields |= {field: texts.pop((field,), absent) for field in TEXTS}
        return Columns(
            header=header,
            complete=complete,
            ids=TextList(b"".join(self._ids), np.cumsum(np.concatenate(self._lengths))),
            outcome=np.concatenate(self._outcome),
            repeat=np.where(np.isnan(repeat), 1, repeat).astype(np.int32),
            columns={path[1]: coded for path, coded in texts.items()},
            values={path[1]: column for path, column in numbers.items()},
            details=self.details,
            **fields,
        )


class _GrowingTexts:
    """They are coded in the order in which they appear."""

    def __init__(self, before: int) -> None:
        self._parts: list[Codes] = [np.full(before, -1, np.int32)]
        # A new text gets the next code, all of that without a step in Python.
        self._known: dict[Any, int] = defaultdict(count().__next__, {UNSET: -1, None: -1})

    def add(self, values: Sequence[Any], codes: Codes | None) -> None:
        new = np.fromiter(map(self._known.__getitem__, values), np.int32, len(values))
        self._parts.append(new if codes is None else np.append(new, np.int32(-1))[codes])

    def finish(self) -> Coded:
        return Coded(np.concatenate(self._parts), list(self._known)[2:])


def as_numbers(values: Sequence[Any]) -> Numbers:
    """Numbers of records; NaN for UNSET and None."""
    try:
        return np.array(values, np.float64)
    except TypeError:
        return np.array([None if value is UNSET else value for value in values], np.float64)


def check_names(names: Collection[str], outer: str, source: str) -> None:
    """An error if records have more keys within an object than are read."""
    if outer == "columns" and len(names) > MAX_COLUMNS:
        raise TranscriptError(f"{source}: more than {MAX_COLUMNS:,} columns in its records; leave some out")
    if outer == "values" and len(names) > MAX_VALUES:
        raise TranscriptError(f"{source}: values with more than {MAX_VALUES} names; leave some out")


def _check_details(details: Mapping[str, Sequence[Any]], header: Header, name: str) -> None:
    """What a task records must be what it would have written: files come from other people too."""
    task = find_task(header.test.task) if details else None
    for key, records in details.items() if task is not None else ():
        for line, detail in enumerate(records, 2):
            text = None if task is None or detail is None else task.detail_mistake(key, detail)
            if text:
                raise TranscriptError(f"{name}:{line}: {key}: {text}")


class _LineDecoder:
    """Decodes lines of records, by the keys that were met so far."""

    def __init__(self, reader: TranscriptReader, record: type[Struct]) -> None:
        self._reader = reader
        self._record = record
        # By field, the keys within it if it is an object.
        self._seen: dict[str, dict[str, None]] = {}
        self._guess = _guess_decoder(record, self._seen)

    def add_to(self, columns: ColumnBuilder, body: bytes) -> None:
        """Add the records in some lines to columns."""
        records = self._decode(body)
        if not records:
            return
        fields = _fields(records)
        for name, keys in self._seen.items():
            if name == "columns":
                for key, values in _inner_fields(fields[name], keys):
                    columns.add_texts((name, key), values)
            elif name == "values":
                for key, values in _inner_fields(fields[name], keys):
                    columns.add_numbers((name, key), as_numbers(values))
            elif name in TEXTS:
                columns.add_texts((name,), fields[name])
            elif name in NUMBERS or name == "repeat":
                columns.add_numbers((name,), as_numbers(fields[name]))
            elif name in DETAILS:
                columns.add_details(name, fields[name])
        ids, outcomes = fields["id"], fields["outcome"]
        data = "".join(ids).encode()
        codes = np.fromiter(map(OUTCOME_CODES.__getitem__, outcomes), np.int8, len(outcomes))
        columns.add_cases(data, text_lengths(ids, len(data)), codes)

    def _decode(self, body: bytes) -> Sequence[Any]:
        if self._guess is not None:
            try:
                records: list[Any] = self._guess.decode_lines(body)
            except UNUSABLE:
                pass
            else:
                self._reader.passed(body, len(records))
                return records
        records = self._reader.decode(body)
        for name, values in _fields(records).items():
            if values.count(UNSET) < len(values):
                keys = self._seen.setdefault(name, {})
                if name in _OBJECTS:
                    keys |= dict.fromkeys(chain.from_iterable(mapping for mapping in values if mapping is not UNSET))
                    check_names(keys, name, self._reader.name)
        self._guess = _guess_decoder(self._record, self._seen)
        return records


class _Unexpected:
    """The type of a field that no record has had so far: no value is of it."""


def _guess_decoder(record: type[Struct], seen: Mapping[str, Iterable[str]]) -> msgspec.json.Decoder[Any] | None:
    """What decodes records without other keys than those seen; objects become structs, which are faster than dicts."""
    try:
        return _decoder(record, tuple((name, tuple(keys)) for name, keys in seen.items()))
    except ValueError:  # a key with a quote or the like, which no field of a struct may have
        return None


# Most files of a command have the same keys, and making a decoder takes longer than reading a short file with it.
@lru_cache(32)
def _decoder(record: type[Struct], seen: tuple[tuple[str, tuple[str, ...]], ...]) -> msgspec.json.Decoder[Any]:
    keys_of, fields = dict(seen), list[Any]()
    for field in msgspec.structs.fields(record):
        if field.required:
            fields.append((field.name, field.type))
        elif field.name in keys_of and field.name in _OBJECTS:
            names = {f"key_{number}": key for number, key in enumerate(keys_of[field.name])}
            keys = [(name, _OBJECTS[field.name], UNSET) for name in names]
            inner = msgspec.defstruct("_Object", keys, rename=names, forbid_unknown_fields=True, frozen=True, gc=False)
            fields.append((field.name, inner, inner()))
        else:
            fields.append((field.name, field.type if field.name in keys_of else _Unexpected, UNSET))
    return msgspec.json.Decoder(msgspec.defstruct("_Guess", fields, kw_only=True, gc=False))


def _fields(records: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """What records have, by field."""
    names = records[0].__struct_fields__ if records else ()
    return dict(zip(names, zip(*map(astuple, records), strict=True), strict=True))


def _inner_fields(objects: Sequence[Any], keys: Iterable[str]) -> Iterator[tuple[str, Sequence[Any]]]:
    """What records have of each key within an object; a guess makes structs of objects, and sees no others."""
    if isinstance(objects[0], Struct):
        yield from zip(keys, zip(*map(astuple, objects), strict=True), strict=True)
    else:
        for key in keys:
            yield key, [None if mapping is UNSET else mapping.get(key) for mapping in objects]
