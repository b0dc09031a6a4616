"""Any table, CSV or JSON lines: one row per answer, columns named by the user or recognised by their usual names."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

from harness.errors import ForeignError, ScriptError
from harness.files.mistakes import Mistakes
from harness.files.tables import Delimited
from harness.params import nearest
from harness.tasks.score import SCORE
from harness.transcript.importing.contract import ImportedAnswer, ImportedRun, ImportOptions, Reader, TableColumns
from harness.transcript.importing.file import (
    MOST_COLUMNS,
    NOWHERE,
    ForeignFile,
    as_mark,
    as_text,
    as_value,
    decode,
    find,
    flat,
    look_up,
    shown,
)
from harness.transcript.importing.id_results import UNNAMED
from harness.transcript.importing.metrics import split_names
from harness.transcript.importing.predictions import CORRECT, Predictions, label_text

_Row = dict[str, Any]
_PlacedRow = tuple[str, _Row]
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
    try:
        return [_table(source, _TableRows(lambda: _delimited(source, delimiter), texts=True), options)]
    except ScriptError as error:
        raise ForeignError(str(error)) from None


def _delimited(source: ForeignFile, delimiter: str) -> Iterator[_PlacedRow]:
    """The rows; those that are too long or too short are left out, and reported at the end."""
    mistakes = Mistakes(source.name)
    try:
        table = Delimited(source.content, delimiter)
        name, header, width = source.name, table.header, len(table.header)
        for row in table:
            if len(row) == width:
                yield f"{name}:{table.line}", dict(zip(header, row, strict=True))
            else:
                mistakes.add(str(table.ragged(row)), place=f"line {table.line}")
        mistakes.raise_if_any()
    except ScriptError as error:
        raise ForeignError(str(error)) from None


def read_lines(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """JSON lines."""
    name = source.name
    return [_table(source, _TableRows(lambda: ((f"{name}:{number}", row) for number, row in source.lines())), options)]


def read_list(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """A JSON array of objects."""
    rows = decode(source.data, list[dict[str, Any]], source.name)
    placed = [(f"{source.name}: entry {number}", row) for number, row in enumerate(rows, 1)]
    return [_table(source, _TableRows(placed.__iter__), options)]


@dataclass(frozen=True)
class _TableRows:
    """The rows of a table, each with its place; read from the file again whenever they are gone through."""

    read: Callable[[], Iterator[_PlacedRow]]
    # Whether all cells are texts, and all rows have the same columns.
    texts: bool = False

    def __iter__(self) -> Iterator[_PlacedRow]:
        return self.read()


def _table(source: ForeignFile, rows: _TableRows, options: ImportOptions) -> ImportedRun:
    first = list(islice(rows, 100))
    if not first:
        deque(rows, 0)  # the mistakes in them, if that is why there are none
        raise ForeignError(f"{source.name}: no rows")
    header = list(dict.fromkeys(name for _, row in first for name in row))
    fields = guess_columns(options.columns, header)
    if fields.success is None and fields.actual is None and fields.score is None:
        raise ForeignError(
            f"{source.name}: cannot tell which column holds what; name them with --success, "
            f"or --expect and --actual; columns: {', '.join(flat(first[0][1])) or 'none'}"
        )
    values = split_names(options.values, lambda name: _is_column(rows, name))
    _check_columns(source, rows, [fields.actual, fields.score, *values])
    predicted = fields.success is None and fields.positive is None and fields.expect is not None
    reader = _RowReader(source, rows, fields, options, values, predicted)
    notes = [_empty_note(rows, name) for name in (fields.actual, fields.score) if name is not None]
    if fields.id is None:
        notes.append("no column of ids, so rows are matched by their number; name one with --id")
    imported = ImportedRun(source.name, UNNAMED, source.stem, reader, tool="a table", keyed=True, notes=notes)
    if predicted:
        return Predictions(imported, options, probabilities(header)).judged()
    return reader.finish(imported)


def _is_column(rows: Iterable[_PlacedRow], name: str) -> bool:
    return any(find(row, name) is not NOWHERE for _, row in rows)


def _empty_note(rows: Iterable[_PlacedRow], name: str) -> str:
    if any(find(row, name) not in (None, "", NOWHERE) for _, row in rows):
        return ""
    return f"column '{name}' is empty in every row, so no answer counts as accepted; is it the right column?"


def _check_columns(source: ForeignFile, rows: Iterable[_PlacedRow], names: Sequence[str | None]) -> None:
    """A row may lack its answer, its score (a refusal) or a value, but not all rows may."""
    for name in names:
        if name is not None and not _is_column(rows, name):
            _, first = next(iter(rows))
            raise ForeignError(f"{source.name}: no column '{name}'; {nearest(name, flat(first))}")


# The marks of most answers: one object for all of them.
_RIGHT, _WRONG = {CORRECT: 1.0}, {CORRECT: 0.0}


@dataclass(frozen=True)
class _RowReader:
    """The answers in the rows, given which column holds what; read again whenever they are gone through."""

    source: ForeignFile
    rows: _TableRows
    fields: TableColumns
    options: ImportOptions
    # Columns to keep as values.
    values: Sequence[str]
    # Whether truth and answer are labels to be compared, in their plain form.
    predicted: bool

    def __iter__(self) -> Iterator[ImportedAnswer]:
        labels, make = _LabelTexts(), self._result
        for number, (place, row) in enumerate(self.rows, 1):
            yield make(place, row, number, labels)

    def finish(self, imported: ImportedRun) -> ImportedRun:
        """The run with its verdict, and with the threshold if the score decided."""
        if self.fields.success is not None:
            return replace(imported, verdict=self.fields.success)
        if self.fields.actual is not None:
            return replace(imported, verdict=CORRECT, graded=False)
        threshold = {"threshold": self.options.success_at}
        return replace(imported, verdict=CORRECT, graded=False, task=SCORE.name, params=threshold)

    def _result(self, place: str, row: _Row, number: int, labels: "_LabelTexts") -> ImportedAnswer:
        fields = self.fields
        expect = "" if fields.expect is None else self._text(row, fields.expect, place)
        actual = None if fields.actual is None else find(row, fields.actual)
        actual = None if actual is NOWHERE or actual == "" else actual
        if self.predicted:
            expect, actual = labels[expect], None if actual is None else labels[as_text(actual)]
            if not expect:
                raise ForeignError(f"{place}: no true label; every row needs one")
        score = None if fields.score is None else self._score(row, fields.score, place)
        positive = fields.positive is None or self._positive(row, fields.positive, place)
        return ImportedAnswer(
            str(number) if fields.id is None else self._text(row, fields.id, place),
            place,
            self._marks(row, place, (expect, actual, score, positive)),
            {name: as_value(find(row, name), f"{place}: {name}") for name in self.values} if self.values else _NOTHING,
            expect,
            actual,
            positive=positive,
            score=score,
            repeat=1 if fields.repeat is None else self._repeat(row, fields.repeat, place),
            columns=self._columns(row),
        )

    @staticmethod
    def _text(row: _Row, name: str, place: str) -> str:
        value = row.get(name)
        return value if type(value) is str else as_text(look_up(row, name, place))

    @cached_property
    def _used(self) -> frozenset[Any]:
        return frozenset(vars(self.fields).values())

    @cached_property
    def _groups(self) -> list[str]:
        return self.options.groups

    def _columns(self, row: _Row) -> _Row:
        """The columns of the case, and all that the design needs."""
        used = self._used
        cells = row if self.rows.texts and len(row) <= MOST_COLUMNS else flat(row)
        columns = {name: value for name, value in cells.items() if name not in used}
        if not self._groups:
            return columns
        named = ((name, find(row, name)) for name in self._groups)
        return columns | {name: value for name, value in named if isinstance(value, str | int | float)}

    def _marks(self, row: _Row, place: str, answer: tuple[str, Any, float | None, bool]) -> Mapping[str, float | None]:
        """The verdict of the table, or else whether the answer was accepted if and only if it should be."""
        fields, (expect, actual, score, positive) = self.fields, answer
        if fields.success is not None:
            return {fields.success: as_mark(look_up(row, fields.success, place), f"{place}: {fields.success}")}
        if fields.actual is not None:
            if fields.expect is None:
                raise ForeignError(f"{self.source.name}: --actual needs --expect or --success")
            return _RIGHT if (("" if actual is None else as_text(actual)) == expect) == positive else _WRONG
        if self.options.success_at is None:
            raise ForeignError(
                f"{self.source.name}: a score alone needs --success-at X, the lowest score that is accepted"
            )
        return _RIGHT if (score is not None and score >= self.options.success_at) == positive else _WRONG

    def _score(self, row: _Row, name: str, place: str) -> float | None:
        value = find(row, name)
        return None if value is NOWHERE else as_mark(value, f"{place}: {name}")

    def _positive(self, row: _Row, name: str, place: str) -> bool:
        value = look_up(row, name, place)
        mark = as_mark(value, f"{place}: {name}")
        if mark not in (None, 0.0, 1.0):
            raise ForeignError(f"{place}: {name}: {shown(value)} is not true or false")
        return mark != 0.0

    def _repeat(self, row: _Row, name: str, place: str) -> int:
        value = look_up(row, name, place)
        mark = 1.0 if value is None else as_mark(value, f"{place}: {name}")
        if mark is None or mark != int(mark) or not 0 <= mark < 1e9:
            raise ForeignError(f"{place}: {name}: {shown(value)} is not the number of a repeat")
        return int(mark)


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
    # Last: a line of JSON can have commas too.
    Reader("table", "a table (CSV)", is_delimited, read_delimited, takes_columns=True),
)
