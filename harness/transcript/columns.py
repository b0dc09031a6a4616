"""A transcript as columns: numpy arrays of numbers and of codes for texts, ready to be compared."""

import gc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Struct, UnsetType

from harness.errors import TranscriptError
from harness.model import MOST_COLUMNS, Bytes, Outcome, Trial, Turn, plain_text
from harness.tasks import find_task
from harness.transcript.format import MOST_VALUES, Header
from harness.transcript.read import TranscriptReader, open_transcript

OUTCOMES = tuple(Outcome)
_TEXTS = {str, UnsetType, type(None)}
_MISSING = {UnsetType, type(None)}
_TEXT_KEYS = ("expect", "truth", "actual", "error", "stratum", "psu")
_DETAILS = ("pixels", "boxes")
_NONE: dict[str, Any] = {}
_CODE = {outcome.value: code for code, outcome in enumerate(OUTCOMES)}


@dataclass(frozen=True)
class Coded:
    """A column of texts: each an index into `labels`, -1 if a record has none."""

    codes: npt.NDArray[np.int32]
    labels: Sequence[str]

    def numbers(self) -> npt.NDArray[np.float64]:
        """The texts as numbers; NaN for what is not a finite number, or if a record has none."""
        try:
            numbers = list(map(float, self.labels))
        except ValueError:
            numbers = list(map(_number, self.labels))
        values = np.array([*numbers, np.nan])[self.codes]
        return np.where(np.isfinite(values), values, np.nan)


@dataclass(frozen=True)
class Columns:
    """All records of a transcript, in the order of the file."""

    header: Header
    complete: bool
    ids: list[str]
    # Indexes into OUTCOMES.
    outcome: npt.NDArray[np.int8]
    # Numbers are NaN if a record has none.
    score: npt.NDArray[np.float64]
    seconds: npt.NDArray[np.float64]
    memory: npt.NDArray[np.float64]
    rank: npt.NDArray[np.float64]
    repeat: npt.NDArray[np.int32]
    expect: Coded
    truth: Coded
    actual: Coded
    error: Coded
    stratum: Coded
    psu: Coded
    columns: dict[str, Coded] = field(default_factory=dict)
    # Further numbers by name, also NaN if a record has none.
    values: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    # What tasks record of images and boxes, by the key of the record; None for a record without it.
    details: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def real_class(self) -> Coded:
        """The truth, or the claim if it is true: a record of a true claim need not state both."""
        labels = list(dict.fromkeys([*self.truth.labels, *self.expect.labels]))
        code_of = {label: code for code, label in enumerate(labels)}
        tables = [np.array([*map(code_of.get, each.labels), -1], dtype=np.int32) for each in (self.truth, self.expect)]
        claimed = np.where(self.positive, tables[1][self.expect.codes], -1)
        return Coded(np.where(self.truth.codes >= 0, tables[0][self.truth.codes], claimed), labels)

    @property
    def success(self) -> npt.NDArray[np.bool_]:
        """Whether each outcome is TP or TN."""
        by_code = np.array([outcome.success for outcome in OUTCOMES])
        success: npt.NDArray[np.bool_] = by_code[self.outcome]
        return success

    @property
    def positive(self) -> npt.NDArray[np.bool_]:
        """Whether each outcome is TP or FN."""
        by_code = np.array([outcome.positive for outcome in OUTCOMES])
        positive: npt.NDArray[np.bool_] = by_code[self.outcome]
        return positive


def read_columns(path: Path, *, name: str | None = None, lean: bool = False) -> Columns:
    """Read a transcript, plain or gzipped; it may be incomplete. `name` is for messages.

    `lean` leaves out what only some analyses need: expect, truth, actual, rank, values, details, and the columns of the
    cases.
    """
    with open_transcript(path, name=name, record=_Lean if lean else Trial) as reader:
        return collect(reader, lean=lean)


def collect(reader: TranscriptReader, *, lean: bool = False) -> Columns:
    """The columns of an open transcript."""
    builder = _ColumnBuilder(("error", "stratum", "psu") if lean else _TEXT_KEYS, reader.name)
    # There are millions of small objects without cycles: the search for cycles would take as long as all the rest.
    gc_enabled = gc.isenabled()
    gc.disable()
    try:
        for block in reader.blocks():
            builder.add(block)
    finally:
        if gc_enabled:
            gc.enable()
    return builder.finish(reader)


class _Lean(Struct, gc=False):
    """A record without what `lean` leaves out, which is not even decoded."""

    id: str
    outcome: Outcome
    score: float | UnsetType | None = UNSET
    error: str | UnsetType | None = UNSET
    seconds: float | UnsetType | None = UNSET
    memory: Bytes | UnsetType | None = UNSET
    repeat: Turn | UnsetType = UNSET
    stratum: str | UnsetType = UNSET
    psu: str | UnsetType = UNSET


class _Texts:
    """A column of texts that grows."""

    def __init__(self, before: int = 0) -> None:
        self._known: dict[Any, int] = {UNSET: -1, None: -1}
        self._parts = [np.full(before, -1, np.int32)]

    def add(self, values: Sequence[Any], *, typed: bool = False) -> None:
        known = self._known
        if not typed and not _TEXTS.issuperset(map(type, values)):
            # 1 and 1.0 and True would share a code.
            values = [value if type(value) in _TEXTS else plain_text(value) for value in values]
        try:
            codes = np.fromiter(map(known.__getitem__, values), np.int32, len(values))
        except KeyError:
            for value in dict.fromkeys(values):
                if value not in known:
                    known[value] = len(known) - 2
            codes = np.fromiter(map(known.__getitem__, values), np.int32, len(values))
        self._parts.append(codes)

    def finish(self) -> Coded:
        return Coded(np.concatenate(self._parts), [str(label) for label in list(self._known)[2:]])


class _ColumnBuilder:
    """Columns that grow block by block.

    For the speed of millions of records, map, attrgetter and dict do most of the work.
    """

    def __init__(self, keys: Sequence[str], source: str) -> None:
        self.source = source
        self.ids: list[str] = []
        self.outcome = [np.empty(0, np.int8)]
        numbers = ("score", "seconds", "memory", *(["rank"] if "actual" in keys else []))
        self.numbers: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in numbers}
        self.repeat = [np.empty(0, np.int32)]
        self.texts = {name: _Texts() for name in keys}
        self.columns: dict[str, _Texts] = {}
        self.values: dict[str, list[npt.NDArray[np.float64]]] = {}
        self.details: dict[str, list[Any]] = {}

    def add(self, block: Sequence[Trial]) -> None:
        values = map(attrgetter("outcome._value_"), block)
        self.outcome.append(np.fromiter(map(_CODE.__getitem__, values), np.int8, len(block)))
        for name, parts in self.numbers.items():
            parts.append(_numbers(list(map(attrgetter(name), block)), np.nan))
        self.repeat.append(_numbers(list(map(attrgetter("repeat"), block)), 1).astype(np.int32))
        for name, texts in self.texts.items():
            texts.add(list(map(attrgetter(name), block)), typed=name != "actual")
        if "actual" in self.texts:
            self._add_columns(block)
            self._add_values(block)
            self._add_details(block)
        self.ids += map(attrgetter("id"), block)

    def _add_columns(self, block: Sequence[Trial]) -> None:
        """The columns of the cases; a record may lack some, and a later one may have new ones."""
        mappings = [_NONE if columns is UNSET else columns for columns in map(attrgetter("columns"), block)]
        kinds = dict.fromkeys(map(tuple, mappings))
        found = dict.fromkeys(name for names in kinds for name in names)
        if len(self.columns.keys() | found) > MOST_COLUMNS:
            raise TranscriptError(f"{self.source}: more than {MOST_COLUMNS:,} columns in its records; leave some out")
        for name in found:
            self.columns.setdefault(name, _Texts(len(self.ids)))
        for name, texts in self.columns.items():
            texts.add(_by_name(mappings, kinds, name))

    def _add_values(self, block: Sequence[Trial]) -> None:
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
            self.values.setdefault(name, [np.full(len(self.ids), np.nan)])
        for name, parts in self.values.items():
            parts.append(_numbers(_by_name(mappings, kinds, name), np.nan))

    def _add_details(self, block: Sequence[Trial]) -> None:
        """Most transcripts have none."""
        for name in _DETAILS:
            own = list(map(attrgetter(name), block))
            if name not in self.details and own.count(UNSET) == len(own):
                continue
            self.details.setdefault(name, [None] * len(self.ids)).extend(None if one is UNSET else one for one in own)

    def finish(self, reader: TranscriptReader) -> Columns:
        if self.details:
            _check_details(self.details, reader)
        fields: dict[str, Any] = {name: np.concatenate([np.empty(0), *p]) for name, p in self.numbers.items()}
        fields.setdefault("rank", np.full(len(self.ids), np.nan))
        absent = Coded(np.full(len(self.ids), -1, np.int32), [])
        fields |= {name: self.texts[name].finish() if name in self.texts else absent for name in _TEXT_KEYS}
        return Columns(
            header=reader.header,
            complete=reader.end is not None,
            ids=self.ids,
            outcome=np.concatenate(self.outcome),
            repeat=np.concatenate(self.repeat),
            columns={name: texts.finish() for name, texts in self.columns.items()},
            values={name: np.concatenate(parts) for name, parts in self.values.items()},
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


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


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
