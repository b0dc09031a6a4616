"""Any table, CSV or JSON lines: one row per answer, columns named by the user or recognised by their usual names.

Rows are read some at a time and column by column: what a column needs is done once for many.
"""

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, islice, repeat
from operator import eq
from typing import Any, Protocol

from harness.errors import ForeignError, ScriptError
from harness.files.external_sort import in_batches
from harness.files.mistakes import Mistakes
from harness.files.tables import Delimited, parquet_table
from harness.options import split_names
from harness.params import nearest
from harness.tasks.score import SCORE
from harness.transcript.importing.contract import (
    CORRECT,
    UNNAMED,
    ImportedAnswer,
    ImportedRun,
    ImportOptions,
    Reader,
    TableColumns,
)
from harness.transcript.importing.file import (
    MAX_COLUMNS,
    NOWHERE,
    ForeignFile,
    as_mark,
    as_text,
    as_value,
    decode,
    find,
    flat,
    shown,
)
from harness.transcript.importing.metrics import BLOCK
from harness.transcript.importing.tools.predictions import Predictions, label_text
from harness.transcript.storage import PARQUET_MAGIC

_DELIMITERS = ",\t;|"
_MAX_LABELS = 1_000
# Rows from which the columns of a table of objects are known.
_FIRST_ROWS = 100
_NOTHING: dict[str, Any] = {}


class RowBlock(Protocol):
    """Some rows of a table, never none."""

    @property
    def locations(self) -> Sequence[str]:
        """Where each row is in its file, for messages."""

    def names(self) -> list[str]:
        """The columns."""

    def cells(self, name: str) -> Sequence[Any]:
        """A column; NOWHERE for a row that does not have it."""

    def row(self, index: int) -> Mapping[str, Any]:
        """A row by column."""

    def scalars(self, used: frozenset[Any], groups: Sequence[str]) -> list[dict[str, Any]]:
        """For each row the columns of the case: those that are not used otherwise, and all that the design needs."""


def required(block: RowBlock, name: str) -> Sequence[Any]:
    """A column that every row must have."""
    cells = block.cells(name)
    if type(NOWHERE) in map(type, cells):
        index = next(index for index, cell in enumerate(cells) if cell is NOWHERE)
        raise ForeignError(f"{block.locations[index]}: no column '{name}'; {nearest(name, flat(block.row(index)))}")
    return cells


@dataclass(frozen=True)
class TextRows:
    """Rows of a delimited table: all cells are texts, and all rows have the same columns."""

    locations: Sequence[str]
    columns: Mapping[str, Sequence[str]]

    def names(self) -> list[str]:
        return list(self.columns)

    def cells(self, name: str) -> Sequence[Any]:
        return self.columns[name] if name in self.columns else [NOWHERE] * len(self.locations)

    def row(self, index: int) -> Mapping[str, Any]:
        return {name: cells[index] for name, cells in self.columns.items()}

    def scalars(self, used: frozenset[Any], groups: Sequence[str]) -> list[dict[str, Any]]:
        unused = [name for name in islice(self.columns, MAX_COLUMNS) if name not in used]
        names = list(dict.fromkeys([*unused, *(name for name in groups if name in self.columns)]))
        if len(names) == 1:
            return [{names[0]: cell} for cell in self.columns[names[0]]]
        rows = zip(*(self.columns[name] for name in names), strict=True) if names else [()] * len(self.locations)
        return [dict(zip(names, row, strict=True)) for row in rows]


@dataclass(frozen=True)
class ObjectRows:
    """Rows that are JSON objects."""

    locations: Sequence[str]
    rows: Sequence[Mapping[str, Any]]

    def names(self) -> list[str]:
        """The columns of the first rows."""
        return list(dict.fromkeys(name for row in self.rows[:_FIRST_ROWS] for name in row))

    def cells(self, name: str) -> Sequence[Any]:
        """A column; a dotted name goes into nested objects."""
        return [find(row, name) for row in self.rows]

    def row(self, index: int) -> Mapping[str, Any]:
        return self.rows[index]

    def scalars(self, used: frozenset[Any], groups: Sequence[str]) -> list[dict[str, Any]]:
        cases = [{name: value for name, value in flat(row).items() if name not in used} for row in self.rows]
        for name in groups:
            for columns, value in zip(cases, self.cells(name), strict=True):
                if isinstance(value, str | int | float):
                    columns[name] = value
        return cases


@dataclass(frozen=True)
class TableRows:
    """The rows of a table; read from the file again whenever they are gone through."""

    read: Callable[[], Iterator[RowBlock]] = field(repr=False)

    def __iter__(self) -> Iterator[RowBlock]:
        return self.read()

    def has(self, name: str) -> bool:
        return any(cell is not NOWHERE for block in self for cell in block.cells(name))


def delimited_rows(source: ForeignFile, delimiter: str) -> Iterator[RowBlock]:
    """Rows of a delimited table; those that are too long or too short are left out, and reported at the end."""
    name, mistakes = source.name, Mistakes(source.name)
    try:
        table = Delimited(source.content, delimiter)
        for block in in_batches(((table.line, row) for row in table), BLOCK):
            if rows := _of_one_width(table, block, mistakes):
                columns = dict(zip(table.header, zip(*(row for _, row in rows), strict=True), strict=True))
                yield TextRows([f"{name}:{line}" for line, _ in rows], columns)
        mistakes.raise_if_any()
    except ScriptError as error:
        raise ForeignError(str(error)) from None


def _of_one_width(
    table: Delimited, block: Sequence[tuple[int, list[str]]], mistakes: Mistakes
) -> Sequence[tuple[int, list[str]]]:
    width = len(table.header)
    if {len(row) for _, row in block} == {width}:
        return block
    for line, row in block:
        if text := table.ragged(row):
            mistakes.add(text, location=f"line {line}")
    return [(line, row) for line, row in block if len(row) == width]


def object_rows(located: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[RowBlock]:
    """Rows that are JSON objects, each given with its location."""
    for block in in_batches(iter(located), BLOCK):
        yield ObjectRows([location for location, _ in block], [row for _, row in block])


def parquet_rows(source: ForeignFile) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Rows of a Parquet file, each with its location."""
    try:
        for number, row in parquet_table(source.content):
            yield f"{source.name}: row {number}", row
    except ScriptError as error:
        raise ForeignError(str(error)) from None


def is_delimited(file: ForeignFile) -> bool:
    """Whether the first line of a text file can be the header of a table."""
    line = file.begin.split(b"\n")[0]
    return b"\0" not in file.begin and any(mark.encode() in line for mark in _DELIMITERS)


def is_list(file: ForeignFile) -> bool:
    return file.begin[:1] == b"["


def read_delimited(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """A table with commas, tabs, semicolons or bars, whichever is most frequent in its header."""
    line = source.start.split(b"\n")[0]
    delimiter = max(_DELIMITERS, key=lambda mark: line.count(mark.encode()))
    return [_table(source, TableRows(lambda: delimited_rows(source, delimiter)), options)]


def is_parquet(file: ForeignFile) -> bool:
    return file.start.startswith(PARQUET_MAGIC)


def read_parquet(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    return [_table(source, TableRows(lambda: object_rows(parquet_rows(source))), options)]


def read_lines(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    name = source.name
    rows = TableRows(lambda: object_rows((f"{name}:{number}", row) for number, row in source.lines()))
    return [_table(source, rows, options)]


def read_list(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    rows = decode(source.data, list[dict[str, Any]], source.name)
    located = [(f"{source.name}: entry {number}", row) for number, row in enumerate(rows, 1)]
    return [_table(source, TableRows(lambda: object_rows(located)), options)]


def _table(source: ForeignFile, rows: TableRows, options: ImportOptions) -> ImportedRun:
    first = next(iter(rows), None)
    if first is None:
        raise ForeignError(f"{source.name}: no rows")
    header = first.names()
    fields = guess_columns(options.columns, header)
    if fields.success is None and fields.actual is None and fields.score is None:
        raise ForeignError(
            f"{source.name}: cannot tell which column holds what; name them with --success, "
            f"or --expect and --actual; columns: {', '.join(flat(first.row(0))) or 'none'}"
        )
    _check_named(source.name, fields, header, options)
    values = split_names(options.values, rows.has)
    for name in (fields.actual, fields.score, *values):
        # A row may lack its answer, its score (a refusal) or a value, but not all rows may.
        if name is not None and not rows.has(name):
            raise ForeignError(f"{source.name}: no column '{name}'; {nearest(name, flat(first.row(0)))}")
    predicted = fields.success is None and fields.positive is None and fields.expect is not None
    if options.positive_label is not None and not predicted:
        needed = "true labels that answers or scores are judged by, a column that --expect names"
        raise ForeignError(f"{source.name}: --positive-label {options.positive_label}: needs {needed}")
    reader = _RowReader(source, rows, fields, options, values, predicted)
    notes = [
        f"column '{name}' is empty in every row, so no answer counts as accepted; is it the right column?"
        for name in (fields.actual, fields.score)
        if name is not None and all(cell in (None, "", NOWHERE) for block in rows for cell in block.cells(name))
    ]
    if fields.id is None:
        notes.append("no column of ids, so rows are matched by their number; name one with --id")
    imported = ImportedRun(source.name, UNNAMED, source.stem, reader, tool="a table", keyed=True, notes=notes)
    if predicted:
        return Predictions(imported, options, probabilities(header)).judged()
    return reader.finish(imported)


def _check_named(source: str, fields: TableColumns, header: Sequence[str], options: ImportOptions) -> None:
    """An error if nothing decides what is right; if usual columns do, it says how to name them."""
    if fields.success is not None or (fields.actual is not None and fields.expect is not None):
        return
    if fields.actual is None and options.success_at is not None:
        return
    usual = guess_columns(TableColumns(), header)
    others = [f"--{name} '{getattr(usual, name)}'" for name in ("expect", "actual") if not getattr(fields, name)]
    known = [text for text in others if not text.endswith("'None'")]
    needed = "a score alone needs --success-at X, the lowest score that is accepted"
    if fields.actual is not None:
        needed = "--actual needs --expect or --success"
    hint = f"; where one column is named, no other is guessed: add {' and '.join(known)}" if known else ""
    raise ForeignError(f"{source}: {needed}{hint}")


# The marks of most answers: one object for all of them.
_RIGHT, _WRONG = {CORRECT: 1.0}, {CORRECT: 0.0}


@dataclass(frozen=True)
class _RowReader:
    """The answers in the rows, given which column holds what; read again whenever they are gone through."""

    source: ForeignFile
    rows: TableRows
    fields: TableColumns
    options: ImportOptions
    # Columns to keep as values.
    values: Sequence[str]
    # Whether truth and answer are labels to be compared, in their plain form.
    predicted: bool

    def __iter__(self) -> Iterator[ImportedAnswer]:
        labels, count = _LabelTexts(), 0
        for block in self.rows:
            yield from self._answers(block, count, labels)
            count += len(block.locations)

    def finish(self, imported: ImportedRun) -> ImportedRun:
        """The run with its verdict, and with the threshold if the score decided."""
        if self.fields.success is not None:
            return replace(imported, verdict=self.fields.success)
        if self.fields.actual is not None:
            return replace(imported, verdict=CORRECT, graded=False)
        threshold = {"threshold": self.options.success_at}
        return replace(imported, verdict=CORRECT, graded=False, task=SCORE.name, params=threshold)

    def _answers(self, block: RowBlock, before: int, labels: "_LabelTexts") -> Iterator[ImportedAnswer]:
        """Column by column: a million rows take several times as long one by one."""
        fields, locations = self.fields, block.locations
        expect = self._expected(block, labels)
        actual = self._given(block, labels)
        score: Sequence[float | None] = [None] * len(locations)
        if fields.score is not None:
            score = _marks(block.cells(fields.score), fields.score, locations)
        positive = self._positives(block)
        return map(
            ImportedAnswer,
            map(str, count(before + 1)) if fields.id is None else _texts(required(block, fields.id)),
            locations,
            self._verdicts(block, expect, actual, score, positive),
            self._values(block),
            expect,
            actual,
            repeat(_NOTHING),
            positive,
            repeat(""),
            score,
            *(repeat(None), repeat(""), repeat(None)),
            repeat(1) if fields.repeat is None else self._repeats(block, fields.repeat),
            block.scalars(self._used, self.options.groups),
        )

    @cached_property
    def _used(self) -> frozenset[Any]:
        return frozenset(vars(self.fields).values())

    def _expected(self, block: RowBlock, labels: "_LabelTexts") -> Sequence[str]:
        if self.fields.expect is None:
            return [""] * len(block.locations)
        texts = _texts(required(block, self.fields.expect))
        if not self.predicted:
            return texts
        texts = list(map(labels.__getitem__, texts))
        if "" in texts:
            raise ForeignError(f"{block.locations[texts.index('')]}: no true label; every row needs one")
        return texts

    def _given(self, block: RowBlock, labels: "_LabelTexts") -> Sequence[Any]:
        """The answers; None for a refusal."""
        if self.fields.actual is None:
            return [None] * len(block.locations)
        cells = block.cells(self.fields.actual)
        given = [None if cell is NOWHERE or as_text(cell) == "" else cell for cell in cells]
        return [None if cell is None else labels[as_text(cell)] for cell in given] if self.predicted else given

    def _verdicts(
        self,
        block: RowBlock,
        expect: Sequence[str],
        actual: Sequence[Any],
        score: Sequence[float | None],
        positive: Sequence[bool],
    ) -> Sequence[Mapping[str, float | None]]:
        """The verdict of the table, or else whether the answer was accepted if and only if it should be."""
        fields, at = self.fields, self.options.success_at
        if fields.success is not None:
            marks = _marks(required(block, fields.success), fields.success, block.locations)
            return [{fields.success: mark} for mark in marks]
        if fields.actual is not None:
            # As in a label test: a refusal is never accepted, and a negative case without a claim accepts any label.
            accepted: Iterable[bool] = (
                answer is not None and (as_text(answer) == claim or not (claim or is_true))
                for answer, claim, is_true in zip(actual, expect, positive, strict=True)
            )
        else:
            accepted = (value is not None and at is not None and value >= at for value in score)
        return [_RIGHT if right else _WRONG for right in map(eq, accepted, positive)]

    def _values(self, block: RowBlock) -> Iterable[Mapping[str, float | None]]:
        if not self.values:
            return repeat(_NOTHING)
        columns = [
            [
                as_value(cell, f"{location}: {name}")
                for location, cell in zip(block.locations, block.cells(name), strict=True)
            ]
            for name in self.values
        ]
        return [dict(zip(self.values, row, strict=True)) for row in zip(*columns, strict=True)]

    def _positives(self, block: RowBlock) -> Sequence[bool]:
        name = self.fields.positive
        if name is None:
            return [True] * len(block.locations)
        cells = required(block, name)
        marks = _marks(cells, name, block.locations)
        for index, mark in enumerate(marks):
            if mark not in (None, 0.0, 1.0):
                raise ForeignError(f"{block.locations[index]}: {name}: {shown(cells[index])} is not true or false")
        return [mark != 0.0 for mark in marks]

    @staticmethod
    def _repeats(block: RowBlock, name: str) -> list[int]:
        cells = required(block, name)
        marks = _marks([1 if cell is None else cell for cell in cells], name, block.locations)
        for index, mark in enumerate(marks):
            if mark is None or mark != int(mark) or not 0 <= mark < 1e9:
                text = f"{shown(cells[index])} is not the number of a repeat"
                raise ForeignError(f"{block.locations[index]}: {name}: {text}")
        return [int(mark) for mark in marks if mark is not None]


def _texts(cells: Sequence[Any]) -> Sequence[str]:
    return cells if {*map(type, cells)} == {str} else list(map(as_text, cells))


def _marks(cells: Sequence[Any], name: str, locations: Sequence[str]) -> Sequence[float | None]:
    """Cells as marks; None for a row without one. Nearly all tables have plain numbers only."""
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        numbers = list(map(float, cells))
        if all(map(math.isfinite, numbers)):
            return numbers
    return [
        None if cell is NOWHERE else as_mark(cell, f"{location}: {name}")
        for location, cell in zip(locations, cells, strict=True)
    ]


class _LabelTexts(dict[str, str]):
    """Labels in their plain form; there are usually few, and then each is made once."""

    def __missing__(self, text: str) -> str:
        plain = label_text(text)
        if len(self) < _MAX_LABELS:
            self[text] = plain
        return plain


# The first that a table has counts. Compared in lower case, with blanks and dashes as underscores.
_IDS = ("id", "case_id", "sample_id", "instance_id", "doc_id", "idx", "index", "unnamed:_0", "")
_TRUE = ("y_true", "true_label", "ground_truth", "expect", "expected", "true", "truth", "gold", "target", "label")
_PREDICTED = ("y_pred", "predicted_label", "pred_label", "predicted", "prediction", "pred")
_SCORES = ("y_score", "y_prob", "y_proba", "score", "probability", "decision_function")
_SUCCESSES = ("success", "correct", "is_correct", "passed", "resolved")
# In tutorials it is the truth ("actual and predicted"), elsewhere the answer ("expected and actual").
_EITHER = "actual"
PROBABILITIES = ("proba_", "prob_")


def guess_columns(named: TableColumns, header: Iterable[str]) -> TableColumns:
    """The named columns, and the usual ones for the rest; nothing is guessed if a column that decides is named."""
    plain = ((name.strip().lower().replace(" ", "_").replace("-", "_"), name) for name in reversed(list(header)))
    names = dict(plain)
    fields = replace(named, id=named.id or _first(_IDS, names))
    if any((named.expect, named.actual, named.score, named.success)):
        return fields
    expect, actual = _first(_TRUE, names), _first(_PREDICTED, names)
    if expect is not None and actual is None:
        actual = names.get(_EITHER)
    elif actual is not None and expect is None:
        expect = names.get(_EITHER)
    score = _first(_SCORES, names)
    if expect is not None and (actual is not None or score is not None):
        return replace(fields, expect=expect, actual=actual, score=score)
    return replace(fields, expect=expect, success=_first(_SUCCESSES, names))


def _first(candidates: Iterable[str], names: Mapping[str, str]) -> str | None:
    return next((names[name] for name in candidates if name in names), None)


def probabilities(header: Iterable[str]) -> dict[str, str]:
    """The columns with the probability of each class, by class."""
    return {
        name[len(prefix) :]: name
        for name in header
        for prefix in PROBABILITIES
        if name.lower().startswith(prefix) and name[len(prefix) :]
    }


LINES = Reader("table", "JSON lines", lambda file: file.is_lines, read_lines, takes_columns=True)
READERS: tuple[Reader, ...] = (
    Reader("table", "a JSON array", is_list, read_list, takes_columns=True),
    LINES,
    Reader("table", "a Parquet table", is_parquet, read_parquet, takes_columns=True),
    # Last: a line of JSON can have commas too.
    Reader("table", "a table (CSV)", is_delimited, read_delimited, takes_columns=True),
)
