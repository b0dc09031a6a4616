"""Collect the records of a transcript into columns, a block of lines at a time."""

import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import UNSET, Struct, UnsetType

from harness.errors import TranscriptError
from harness.files.digest import file_sha256
from harness.files.known_digests import note_sha256
from harness.files.stamps import NOT_A_FILE, Stamp, stamp_of
from harness.model import MOST_COLUMNS, MOST_VALUES, Bytes, Outcome, Trial, Turn
from harness.tasks import find_task
from harness.transcript.columns import DETAILS, NOT_LEAN, NUMBERS, OUTCOMES, TEXTS, Columns
from harness.transcript.explain import UNUSABLE
from harness.transcript.kept_columns import FileIdentity, keep_columns
from harness.transcript.read import BLOCK, TranscriptReader, open_transcript
from harness.transcript.scanning.growing import GrowingNumbers, GrowingTexts, Part
from harness.transcript.scanning.guess import RecordGuess
from harness.transcript.scanning.lines import LineBlock, Places
from harness.transcript.scanning.scanner import Scanner
from harness.transcript.texts import Coded, TextList, text_lengths

_NONE: dict[str, Any] = {}
_CODE = {outcome.value: code for code, outcome in enumerate(OUTCOMES)}
# How many bytes are taken apart at once: numpy needs many lines for speed, and the processor's cache holds not more.
SCANNED = 1 << 20


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
    before = _stamp(path)
    with open_transcript(path, name=name, record=LeanRecord if lean else Trial) as reader:
        builder = _ColumnBuilder(lean, reader.name)
        # There are millions of small objects without cycles: looking for cycles would take as long as all the rest.
        gc_enabled = gc.isenabled()
        gc.disable()
        try:
            for body in reader.bodies(SCANNED):
                if builder.add_lines(body):
                    reader.passed(body)
                    continue
                for piece in _pieces(body):
                    if builder.add_guessed(piece):
                        reader.passed(piece)
                    else:
                        builder.add(reader.decode(piece))
        finally:
            if gc_enabled:
                gc.enable()
        columns = builder.finish(reader)
    if columns.complete and (identity := _identity(path, before, reader)) is not None:
        keep_columns(columns, reader.first, identity, lean=lean)
    return columns


def _pieces(body: bytes) -> Iterator[bytes]:
    """Whole lines, fewer at a time."""
    start = 0
    while start < len(body):
        stop = body.find(b"\n", start + BLOCK) + 1 or len(body)
        yield body[start:stop]
        start = stop


def _identity(path: Path, before: Stamp, reader: TranscriptReader) -> FileIdentity | None:
    """The bytes of the file that was read; None if it is no file, or was changed meanwhile."""
    if before == NOT_A_FILE or before.replaced(_stamp(path)):
        return None
    if not reader.is_plain:
        return FileIdentity(before.size, file_sha256(path))
    note_sha256(path.resolve(), before, reader.sha256)
    return FileIdentity(before.size, reader.sha256)


def _stamp(path: Path) -> Stamp:
    try:
        return stamp_of(path.stat())
    except OSError:
        return NOT_A_FILE


@dataclass(frozen=True)
class _Lines:
    """Some lines: taken apart as far as they look alike, and the records of the others."""

    size: int
    block: LineBlock | None
    # The numbers of the lines whose records these are.
    left: Places
    records: Sequence[Any]
    # Which fields these can have, if not all.
    guess: RecordGuess | None = None

    @staticmethod
    def of(records: Sequence[Any], guess: RecordGuess | None = None) -> "_Lines":
        """Lines that were all decoded."""
        return _Lines(len(records), None, np.arange(len(records)), records, guess)

    def field(self, name: str, *, is_text: bool) -> Part:
        """What the lines have of a field."""
        return self._part((name,), is_text, self.own("outcome._value_" if name == "outcome" else name))

    def own(self, name: str) -> list[Any]:
        """What the decoded records have of a field; nothing at all if none of them can have it."""
        if self.guess is not None and self.guess.is_absent(name):
            return []
        return list(map(attrgetter(name), self.records))

    def _part(self, path: tuple[str, ...], is_text: bool, others: Sequence[Any]) -> Part:
        values = None if self.block is None else self.block.values(path, is_text=is_text)
        return Part(self.size, self.block, values, self.left, others)

    def names(self, outer: str) -> list[str]:
        """The keys that lines have within an object, in the order in which they appear."""
        found = [] if self.block is None else self.block.found(is_text=outer == "columns")
        first = [(int(own.lines[0]), path[1:]) for path, own in found if path[0] == outer and len(path) > 1]
        first += [(line, names) for names, line in self._mappings[outer].kinds.items()]
        return list(dict.fromkeys(name for _, names in sorted(first, key=itemgetter(0)) for name in names))

    def inner(self, outer: str, name: str, *, is_text: bool) -> Part:
        """What the lines have of a key within an object."""
        return self._part((outer, name), is_text, self._mappings[outer].values(name))

    @cached_property
    def _mappings(self) -> dict[str, "_Mappings"]:
        return {key: _Mappings(self.left, self.own(key)) for key in ("columns", "values")}


class _Mappings:
    """Objects that were decoded; they are of few kinds, that is, have the same keys."""

    def __init__(self, lines: Places, own: Sequence[Any]) -> None:
        self._all = [_NONE if mapping is UNSET else mapping for mapping in own]
        # The keys of each kind, and the first line that has it: of the same keys, the last one given counts.
        kinds = zip(map(tuple, reversed(self._all)), reversed(lines[: len(own)].tolist()), strict=True)
        self.kinds: dict[tuple[str, ...], int] = dict(kinds)

    def values(self, name: str) -> list[Any]:
        """The value of each for a key, None if it has none."""
        everywhere = all(name in names for names in self.kinds)
        return list(map(itemgetter(name), self._all) if everywhere else (one.get(name) for one in self._all))


class _ColumnBuilder:
    """Columns that grow block by block."""

    def __init__(self, lean: bool, source: str) -> None:
        self.source = source
        self.lean = lean
        self.scanner = Scanner(LeanRecord if lean else Trial)
        self.guess = RecordGuess(LeanRecord if lean else Trial)
        self.count = 0
        self.ids: list[bytes] = []
        self.lengths = [np.empty(0, np.int32)]
        self.outcome = GrowingTexts(Outcome)
        kind = self.scanner.kind
        self.numbers = {name: GrowingNumbers(kind(name)) for name in NUMBERS if not (lean and name in NOT_LEAN)}
        self.numbers["repeat"] = GrowingNumbers(kind("repeat"), missing=1)
        self.texts = {name: GrowingTexts(kind(name)) for name in TEXTS if not (lean and name in NOT_LEAN)}
        self.columns: dict[str, GrowingTexts] = {}
        self.values: dict[str, GrowingNumbers] = {}
        self.details: dict[str, list[Any]] = {}

    def add_lines(self, body: bytes) -> bool:
        """Add the records in some lines, if they can be taken apart."""
        try:
            block = self.scanner.take_apart(body)
            if block is None:
                return False
            records = self.scanner.decode_rest(block)
            self._add(_Lines(block.size, block, np.flatnonzero(block.left), records))
        except (*UNUSABLE, ValueError):
            return False
        return True

    def add_guessed(self, body: bytes) -> bool:
        """Add the records in some lines, if they have no other keys than those before."""
        if self.guess.decoder is None:
            return False
        try:
            records = self.guess.decoder.decode_lines(body)
        except UNUSABLE:
            return False
        self._add(_Lines.of(records, self.guess))
        return True

    def add(self, records: Sequence[Any]) -> None:
        """Add records that were decoded, and learn from them what to guess of the others."""
        self._add(_Lines.of(records))
        self.guess.learn(records)

    def _add(self, lines: _Lines) -> None:
        """Nothing is added if something in these lines cannot be read."""
        parts = [(column, column.read(part)) for column, part in self._parts(lines)]
        for column, part in parts:
            column.parts.append(part)
        if not self.lean:
            self._add_details(lines)
        self._add_ids(lines)
        self.count += lines.size

    def _parts(self, lines: _Lines) -> Iterator[tuple[Any, Part]]:
        """What each column gets of some lines. A record may lack columns, and a later one may have new ones."""
        for name, column in {"outcome": self.outcome, **self.texts}.items():
            yield column, lines.field(name, is_text=True)
        for name, numbers in self.numbers.items():
            yield numbers, lines.field(name, is_text=False)
        if self.lean:
            return
        for name in self._new(lines, "columns", self.columns, MOST_COLUMNS):
            self.columns[name] = GrowingTexts(before=self.count)
        for name in self._new(lines, "values", self.values, MOST_VALUES):
            self.values[name] = GrowingNumbers(before=self.count)
        for name, column in self.columns.items():
            yield column, lines.inner("columns", name, is_text=True)
        for name, numbers in self.values.items():
            yield numbers, lines.inner("values", name, is_text=False)

    def _new(self, lines: _Lines, key: str, known: Mapping[str, Any], most: int) -> list[str]:
        new = [name for name in lines.names(key) if name not in known]
        if len(known) + len(new) > most:
            what = (
                f"more than {most:,} columns in its records"
                if key == "columns"
                else f"values with more than {most} names"
            )
            raise TranscriptError(f"{self.source}: {what}; leave some out")
        return new

    def _add_ids(self, lines: _Lines) -> None:
        """The ids in one piece; those of records that were decoded come between the others."""
        decoded: list[str] = lines.own("id")
        values = None if lines.block is None else lines.block.values(("id",), is_text=True)
        if lines.block is None or values is None:
            data = "".join(decoded).encode()
            lengths = text_lengths(decoded, len(data))
        elif values.everywhere:
            data, lengths = lines.block.joined(values), values.lengths
        else:
            texts = dict(zip(values.lines.tolist(), lines.block.texts(values), strict=True))
            texts |= zip(lines.left.tolist(), map(str.encode, decoded), strict=True)
            data = b"".join(texts[line] for line in range(lines.size))
            lengths = np.array([len(texts[line]) for line in range(lines.size)])
        self.ids.append(data)
        self.lengths.append(lengths.astype(np.int32))

    def _add_details(self, lines: _Lines) -> None:
        """Most transcripts have none; lines that have some are not taken apart."""
        for name in DETAILS:
            own = lines.own(name)
            if name in self.details or own.count(UNSET) != len(own):
                details = self.details.setdefault(name, [None] * self.count)
                details.extend([None] * lines.size)
                for line, detail in zip(lines.left.tolist(), own, strict=False):
                    details[self.count + line] = None if detail is UNSET else detail

    def finish(self, reader: TranscriptReader) -> Columns:
        if self.details:
            _check_details(self.details, reader)
        outcome = self.outcome.finish()
        fields: dict[str, Any] = {name: numbers.finish() for name, numbers in self.numbers.items()}
        fields |= {name: np.full(self.count, np.nan) for name in NUMBERS if name not in fields}
        absent = Coded(np.full(self.count, -1, np.int32), [])
        fields |= {name: self.texts[name].finish() if name in self.texts else absent for name in TEXTS}
        return Columns(
            header=reader.header,
            complete=reader.end is not None,
            ids=TextList(b"".join(self.ids), np.cumsum(np.concatenate(self.lengths), dtype=np.int64)),
            outcome=np.array([*map(_CODE.__getitem__, outcome.labels), 0], np.int8)[outcome.codes],
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
