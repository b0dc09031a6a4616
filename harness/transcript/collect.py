"""Collect the records of a transcript into columns, a block of lines at a time."""

import gc
import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType

from harness.errors import TranscriptError
from harness.files.digest import file_sha256
from harness.model import MOST_COLUMNS, Trial, plain_text
from harness.tasks import find_task
from harness.transcript.columns import OUTCOMES, Columns
from harness.transcript.explain import UNUSABLE
from harness.transcript.format import MOST_VALUES
from harness.transcript.guess import TEXT_KEYS, LeanRecord, Presence, RecordGuess
from harness.transcript.kept_columns import FileIdentity, keep_columns
from harness.transcript.read import TranscriptReader, open_transcript
from harness.transcript.texts import Coded, TextList, text_lengths

_TEXTS = {str, UnsetType, type(None)}
_MISSING = {UnsetType, type(None)}
_LEAN_KEYS = ("error", "stratum", "psu")
_NUMBER_KEYS = ("score", "seconds", "memory", "rank")
_DETAILS = ("pixels", "boxes")
_NONE: dict[str, Any] = {}
_CODE = {outcome.value: code for code, outcome in enumerate(OUTCOMES)}


def collect(path: Path, *, name: str | None = None, lean: bool = False) -> Columns:
    """Read a transcript; see `read_columns`."""
    before = _status(path)
    with open_transcript(path, name=name, record=LeanRecord if lean else Trial) as reader:
        builder = _ColumnBuilder(lean, reader.name)
        # There are millions of small objects without cycles: looking for cycles would take as long as all the rest.
        gc_enabled = gc.isenabled()
        gc.disable()
        try:
            for body in reader.bodies():
                if builder.add_lines(body):
                    reader.passed(body)
                else:
                    builder.add(reader.decode(body))
        finally:
            if gc_enabled:
                gc.enable()
        columns = builder.finish(reader)
    if columns.complete and (identity := _identity(path, before, reader)) is not None:
        keep_columns(columns, reader.first, identity, lean=lean)
    return columns


def _identity(path: Path, before: os.stat_result | None, reader: TranscriptReader) -> FileIdentity | None:
    """The bytes of the file that was read; None if it is no file, or was changed meanwhile."""
    if before is None or (after := _status(path)) is None:
        return None
    if (before.st_size, before.st_mtime_ns, before.st_ino) != (after.st_size, after.st_mtime_ns, after.st_ino):
        return None
    return FileIdentity(after.st_size, reader.sha256 if reader.is_plain else file_sha256(path))


def _status(path: Path) -> os.stat_result | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


class _Texts:
    """A column of texts that grows."""

    def __init__(self, before: int = 0) -> None:
        # A new text gets the next number; all of that without a step in Python.
        self._known: dict[Any, int] = defaultdict(count().__next__, {UNSET: -1, None: -1})
        self._parts = [np.full(before, -1, np.int32)]

    def add(self, values: Iterable[Any], size: int, *, typed: bool = False) -> None:
        if not typed:
            values = list(values)
            if not _TEXTS.issuperset(map(type, values)):
                # 1 and 1.0 and True would share a code.
                values = [value if type(value) in _TEXTS else plain_text(value) for value in values]
        self._parts.append(np.fromiter(map(self._known.__getitem__, values), np.int32, size))

    def pad(self, size: int) -> None:
        self._parts.append(np.full(size, -1, np.int32))

    def finish(self) -> Coded:
        labels = [str(label) for label in self._known if label is not None and label is not UNSET]
        return Coded(np.concatenate(self._parts), labels)


class _Numbers:
    """A column of numbers that grows."""

    def __init__(self, missing: float, before: int = 0) -> None:
        self._missing = missing
        self._parts = [np.full(before, missing)]

    def add(self, values: Iterable[Any], size: int, *, typed: bool = False) -> None:
        if typed:
            self._parts.append(np.fromiter(values, np.float64, size))
        else:
            self._parts.append(_numbers(list(values), self._missing))

    def pad(self, size: int) -> None:
        self._parts.append(np.full(size, self._missing))

    def finish(self) -> npt.NDArray[np.float64]:
        return np.concatenate(self._parts)


class _ColumnBuilder:
    """Columns that grow block by block.

    For the speed of millions of records, map, attrgetter and dict do most of the work.
    """

    def __init__(self, lean: bool, source: str) -> None:
        self.source = source
        self.lean = lean
        self.guess = RecordGuess(LeanRecord if lean else Trial)
        self.count = 0
        self.ids: list[bytes] = []
        self.lengths = [np.empty(0, np.int64)]
        self.outcome = [np.empty(0, np.int8)]
        self.numbers = {name: _Numbers(np.nan) for name in _NUMBER_KEYS if not (lean and name == "rank")}
        self.numbers["repeat"] = _Numbers(1)
        self.texts = {name: _Texts() for name in (_LEAN_KEYS if lean else TEXT_KEYS)}
        self.columns: dict[str, _Texts] = {}
        self.values: dict[str, _Numbers] = {}
        self.details: dict[str, list[Any]] = {}

    def add_lines(self, body: bytes) -> bool:
        """Add the records in some lines, if they are as guessed."""
        if self.guess.decoder is None:
            return False
        try:
            block = self.guess.decoder.decode_lines(body)
        except UNUSABLE:
            return False
        self._add(block, attrgetter("outcome"), self.guess.presence)
        return True

    def add(self, block: Sequence[Trial]) -> None:
        """Add records, and learn from them what to guess of the others."""
        self._add(block, attrgetter("outcome._value_"), lambda _: Presence.SOMETIMES)
        self.guess.learn(block)

    def _add(self, block: Sequence[Any], outcome: Callable[[Any], str], presence: Callable[[str], Presence]) -> None:
        size = len(block)
        self.outcome.append(np.fromiter(map(_CODE.__getitem__, map(outcome, block)), np.int8, size))
        plain: dict[str, _Numbers | _Texts] = {**self.numbers, **self.texts}
        for name, column in plain.items():
            if presence(name) is Presence.NEVER:
                column.pad(size)
            else:
                column.add(map(attrgetter(name), block), size, typed=presence(name) is Presence.ALWAYS)
        if not self.lean:
            self._add_mappings(block, presence)
        self._add_ids(list(map(attrgetter("id"), block)))
        self.count += size

    def _add_mappings(self, block: Sequence[Any], presence: Callable[[str], Presence]) -> None:
        if presence("columns") is not Presence.NEVER:
            self._add_columns(block, presence("columns"))
        if presence("values") is not Presence.NEVER:
            self._add_values(block)
        for name in _DETAILS:
            if presence(name) is not Presence.NEVER:
                self._add_details(name, block)

    def _add_ids(self, ids: list[str]) -> None:
        data = "".join(ids).encode()
        self.ids.append(data)
        self.lengths.append(text_lengths(ids, len(data)))

    def _add_columns(self, block: Sequence[Any], presence: Presence) -> None:
        """The columns of the cases; a record may lack some, and a later one may have new ones."""
        if presence is Presence.ALWAYS:
            for number, (name, typed) in enumerate(self.guess.columns.items()):
                self.columns[name].add(map(attrgetter(f"columns.c{number}"), block), len(block), typed=typed)
            return
        mappings = [_NONE if columns is UNSET else columns for columns in map(attrgetter("columns"), block)]
        kinds = dict.fromkeys(map(tuple, mappings))
        found = dict.fromkeys(name for names in kinds for name in names)
        if len(self.columns.keys() | found) > MOST_COLUMNS:
            raise TranscriptError(f"{self.source}: more than {MOST_COLUMNS:,} columns in its records; leave some out")
        for name in found:
            self.columns.setdefault(name, _Texts(self.count))
        for name, texts in self.columns.items():
            texts.add(_by_name(mappings, kinds, name), len(block))

    def _add_values(self, block: Sequence[Any]) -> None:
        """The values by name; like columns, a record may lack some, and most transcripts have none at all."""
        mappings = list(map(attrgetter("values"), block))
        if not self.values and mappings.count(UNSET) == len(mappings):
            return
        mappings = [_NONE if values is UNSET else values for values in mappings]
        kinds = dict.fromkeys(map(tuple, mappings))
        names = dict.fromkeys(name for names in kinds for name in names)
        if len(self.values.keys() | names) > MOST_VALUES:
            raise TranscriptError(f"{self.source}: values with more than {MOST_VALUES} names; leave some out")
        for name in names:
            self.values.setdefault(name, _Numbers(np.nan, self.count))
        for name, numbers in self.values.items():
            numbers.add(_by_name(mappings, kinds, name), len(block))

    def _add_details(self, name: str, block: Sequence[Any]) -> None:
        """Most transcripts have none."""
        own = list(map(attrgetter(name), block))
        if name in self.details or own.count(UNSET) != len(own):
            self.details.setdefault(name, [None] * self.count).extend(None if one is UNSET else one for one in own)

    def finish(self, reader: TranscriptReader) -> Columns:
        if self.details:
            _check_details(self.details, reader)
        fields: dict[str, Any] = {name: numbers.finish() for name, numbers in self.numbers.items()}
        fields.setdefault("rank", np.full(self.count, np.nan))
        absent = Coded(np.full(self.count, -1, np.int32), [])
        fields |= {name: self.texts[name].finish() if name in self.texts else absent for name in TEXT_KEYS}
        return Columns(
            header=reader.header,
            complete=reader.end is not None,
            ids=TextList(b"".join(self.ids), np.cumsum(np.concatenate(self.lengths))),
            outcome=np.concatenate(self.outcome),
            repeat=fields.pop("repeat").astype(np.int32),
            columns={name: texts.finish() for name, texts in self.columns.items()},
            values={name: numbers.finish() for name, numbers in self.values.items()},
            details=self.details,
            **fields,
        )


def _check_details(details: Mapping[str, Sequence[Any]], reader: TranscriptReader) -> None:
    """What a task records must be what it would have written: files come from other people too."""
    task = find_task(reader.header.test.task)
    for name, records in details.items() if task is not None else ():
        for line, detail in enumerate(records, 2):
            text = None if task is None or detail is None else task.detail_mistake(name, detail)
            if text:
                raise TranscriptError(f"{reader.name}:{line}: {name}: {text}")


def _by_name(mappings: Sequence[dict[str, Any]], kinds: Iterable[tuple[str, ...]], name: str) -> list[Any]:
    """The value of each mapping for a name, None if it has none; `kinds` are the sets of names that occur."""
    everywhere = all(name in names for names in kinds)
    return list(map(itemgetter(name), mappings) if everywhere else (mapping.get(name) for mapping in mappings))


def _numbers(values: list[Any], missing: float) -> npt.NDArray[np.float64]:
    if values.count(UNSET) == len(values):
        return np.full(len(values), missing)
    if _MISSING.isdisjoint(map(type, values)):
        return np.array(values, np.float64)
    return np.array([missing if value is UNSET or value is None else value for value in values], np.float64)
