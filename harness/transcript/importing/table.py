"""Any table, CSV or JSON lines: one row per answer, columns named by the user or recognised by their usual names."""

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, repeat
from operator import eq
from typing import Any, NamedTuple

from harness.errors import ForeignError
from harness.options import split_names
from harness.params import nearest
from harness.tasks.score import SCORE
from harness.transcript.importing.contract import ImportedAnswer, ImportedRun, ImportOptions, Reader, TableColumns
from harness.transcript.importing.file import NOWHERE, ForeignFile, as_mark, as_text, as_value, decode, flat, shown
from harness.transcript.importing.id_results import UNNAMED
from harness.transcript.importing.predictions import CORRECT, Predictions, label_text
from harness.transcript.importing.rows import RowBlock, TableRows, delimited_rows, object_rows, parquet_rows, required
from harness.transcript.storage import PARQUET_MAGIC

_DELIMITERS = ",\t;|"
_MOST_LABELS = 1_000
_NOTHING: dict[str, Any] = {}


def is_delimited(file: ForeignFile) -> bool:
    """Whether the first line of a text file can be the header of a table."""
    line = file.begin.split(b"\n")[0]
    return b"\0" not in file.begin and any(mark.encode() in line for mark in _DELIMITERS)


def is_list(file: ForeignFile) -> bool:
    """Whether a file is a JSON array."""
    return file.begin[:1] == b"["


def read_delimited(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """A table with commas, tabs, semicolons or bars, whichever is most frequent in its header."""
    line = source.start.split(b"\n")[0]
    delimiter = max(_DELIMITERS, key=lambda mark: line.count(mark.encode()))
    return [_table(source, TableRows(lambda: delimited_rows(source, delimiter)), options)]


def is_parquet(file: ForeignFile) -> bool:
    """Whether a file is Parquet."""
    return file.start.startswith(PARQUET_MAGIC)


def read_parquet(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """A Parquet table."""
    return [_table(source, TableRows(lambda: object_rows(parquet_rows(source))), options)]


def read_lines(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """JSON lines."""
    name = source.name
    rows = TableRows(lambda: object_rows((f"{name}:{number}", row) for number, row in source.lines()))
    return [_table(source, rows, options)]


def read_list(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """A JSON array of objects."""
    rows = decode(source.data, list[dict[str, Any]], source.name)
    placed = [(f"{source.name}: entry {number}", row) for number, row in enumerate(rows, 1)]
    return [_table(source, TableRows(lambda: object_rows(placed)), options)]


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
    values = split_names(options.values, rows.has)
    for name in (fields.actual, fields.score, *values):
        # A row may lack its answer, its score (a refusal) or a value, but not all rows may.
        if name is not None and not rows.has(name):
            raise ForeignError(f"{source.name}: no column '{name}'; {nearest(name, flat(first.row(0)))}")
    predicted = fields.success is None and fields.positive is None and fields.expect is not None
    reader = _RowReader(source, rows, fields, options, values, predicted)
    notes = [_empty_note(rows, name) for name in (fields.actual, fields.score) if name is not None]
    if fields.id is None:
        notes.append("no column of ids, so rows are matched by their number; name one with --id")
    imported = ImportedRun(source.name, UNNAMED, source.stem, reader, tool="a table", keyed=True, notes=notes)
    if predicted:
        return Predictions(imported, options, probabilities(header)).judged()
    return reader.finish(imported)


def _empty_note(rows: TableRows, name: str) -> str:
    if any(cell not in (None, "", NOWHERE) for block in rows for cell in block.cells(name)):
        return ""
    return f"column '{name}' is empty in every row, so no answer counts as accepted; is it the right column?"


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
            count += len(block.places)

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
        fields, places = self.fields, block.places
        expect = self._expected(block, labels)
        actual = self._given(block, labels)
        score: Sequence[float | None] = [None] * len(places)
        if fields.score is not None:
            score = _marks(block.cells(fields.score), fields.score, places)
        positive = self._positives(block)
        return map(
            ImportedAnswer,
            map(str, count(before + 1)) if fields.id is None else _texts(required(block, fields.id)),
            places,
            self._verdicts(block, _Answers(expect, actual, score, positive)),
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
            return [""] * len(block.places)
        texts = _texts(required(block, self.fields.expect))
        if not self.predicted:
            return texts
        texts = list(map(labels.__getitem__, texts))
        if "" in texts:
            raise ForeignError(f"{block.places[texts.index('')]}: no true label; every row needs one")
        return texts

    def _given(self, block: RowBlock, labels: "_LabelTexts") -> Sequence[Any]:
        """The answers; None for a refusal."""
        if self.fields.actual is None:
            return [None] * len(block.places)
        cells = [None if cell is NOWHERE or cell == "" else cell for cell in block.cells(self.fields.actual)]
        return [None if cell is None else labels[as_text(cell)] for cell in cells] if self.predicted else cells

    def _verdicts(self, block: RowBlock, answers: "_Answers") -> Sequence[Mapping[str, float | None]]:
        """The verdict of the table, or else whether the answer was accepted if and only if it should be."""
        fields, at = self.fields, self.options.success_at
        if fields.success is not None:
            marks = _marks(required(block, fields.success), fields.success, block.places)
            return [{fields.success: mark} for mark in marks]
        if fields.actual is not None:
            if fields.expect is None:
                raise ForeignError(f"{self.source.name}: --actual needs --expect or --success")
            given = _texts(["" if one is None else one for one in answers.actual])
            accepted: Iterable[bool] = map(eq, given, answers.expect)
        elif at is None:
            text = "a score alone needs --success-at X, the lowest score that is accepted"
            raise ForeignError(f"{self.source.name}: {text}")
        else:
            accepted = (score is not None and score >= at for score in answers.score)
        return [_RIGHT if right else _WRONG for right in map(eq, accepted, answers.positive)]

    def _values(self, block: RowBlock) -> Iterable[Mapping[str, float | None]]:
        if not self.values:
            return repeat(_NOTHING)
        columns = [
            [as_value(cell, f"{place}: {name}") for place, cell in zip(block.places, block.cells(name), strict=True)]
            for name in self.values
        ]
        return [dict(zip(self.values, row, strict=True)) for row in zip(*columns, strict=True)]

    def _positives(self, block: RowBlock) -> Sequence[bool]:
        name = self.fields.positive
        if name is None:
            return [True] * len(block.places)
        cells = required(block, name)
        marks = _marks(cells, name, block.places)
        for place, mark in enumerate(marks):
            if mark not in (None, 0.0, 1.0):
                raise ForeignError(f"{block.places[place]}: {name}: {shown(cells[place])} is not true or false")
        return [mark != 0.0 for mark in marks]

    @staticmethod
    def _repeats(block: RowBlock, name: str) -> list[int]:
        cells = required(block, name)
        marks = _marks([1 if cell is None else cell for cell in cells], name, block.places)
        for place, mark in enumerate(marks):
            if mark is None or mark != int(mark) or not 0 <= mark < 1e9:
                text = f"{shown(cells[place])} is not the number of a repeat"
                raise ForeignError(f"{block.places[place]}: {name}: {text}")
        return [int(mark) for mark in marks if mark is not None]


class _Answers(NamedTuple):
    """What decides, for each row."""

    expect: Sequence[str]
    actual: Sequence[Any]
    score: Sequence[float | None]
    positive: Sequence[bool]


def _texts(cells: Sequence[Any]) -> Sequence[str]:
    return cells if {*map(type, cells)} == {str} else list(map(as_text, cells))


def _marks(cells: Sequence[Any], name: str, places: Sequence[str]) -> Sequence[float | None]:
    """Cells as marks; None for a row without one. Nearly all tables have plain numbers only."""
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        numbers = list(map(float, cells))
        if all(map(math.isfinite, numbers)):
            return numbers
    return [
        None if cell is NOWHERE else as_mark(cell, f"{place}: {name}")
        for place, cell in zip(places, cells, strict=True)
    ]


class _LabelTexts(dict[str, str]):
    """Labels in their plain form; there are usually few, and then each is made once."""

    def __missing__(self, text: str) -> str:
        plain = label_text(text)
        if len(self) < _MOST_LABELS:
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
    names = {_plain(name): name for name in reversed(list(header))}
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


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")


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
READERS = (
    Reader("table", "a JSON array", is_list, read_list, takes_columns=True),
    LINES,
    Reader("table", "a Parquet table", is_parquet, read_parquet, takes_columns=True),
    # Last: a line of JSON can have commas too.
    Reader("table", "a table (CSV)", is_delimited, read_delimited, takes_columns=True),
)
