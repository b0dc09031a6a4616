"""Any table, CSV or JSON lines: one row per answer, columns named by the user or recognised by their usual names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.errors import ForeignError, ScriptError
from harness.files.mistakes import Mistakes
from harness.files.tables import Delimited
from harness.params import nearest
from harness.tasks.score import SCORE
from harness.transcript.importing.contract import ImportedAnswer, ImportedRun, ImportOptions, Reader, TableColumns
from harness.transcript.importing.file import (
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
from harness.transcript.importing.predictions import CORRECT, Predictions

_Row = dict[str, Any]
_Rows = list[tuple[str, _Row]]
_DELIMITERS = ",\t;|"


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
        rows = _rows(source, Delimited(source.content, delimiter))
    except ScriptError as error:
        raise ForeignError(str(error)) from None
    return [_table(source, rows, options)]


def _rows(source: ForeignFile, table: Delimited) -> _Rows:
    mistakes, rows = Mistakes(source.name), []
    for row in table:
        if text := table.ragged(row):
            mistakes.add(text, place=f"line {table.line}")
        else:
            rows.append((f"{source.name}:{table.line}", dict(zip(table.header, row, strict=True))))
    mistakes.raise_if_any()
    return rows


def read_lines(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """JSON lines."""
    return [_table(source, [(f"{source.name}:{number}", row) for number, row in source.lines()], options)]


def read_list(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """A JSON array of objects."""
    rows = decode(source.data, list[dict[str, Any]], source.name)
    return [_table(source, [(f"{source.name}: entry {number}", row) for number, row in enumerate(rows, 1)], options)]


def _table(source: ForeignFile, rows: _Rows, options: ImportOptions) -> ImportedRun:
    if not rows:
        raise ForeignError(f"{source.name}: no rows")
    header = list(dict.fromkeys(name for _, row in rows[:100] for name in row))
    fields = guess_columns(options.columns, header)
    if fields.success is None and fields.actual is None and fields.score is None:
        raise ForeignError(
            f"{source.name}: cannot tell which column holds what; name them with --success, "
            f"or --expect and --actual; columns: {', '.join(flat(rows[0][1])) or 'none'}"
        )
    values = split_names(options.values, lambda name: _is_column(rows, name))
    _check_columns(source, rows, [fields.actual, fields.score, *values])
    reader = _RowReader(source, fields, options, values)
    results = list(reader.results(rows))
    notes = [_empty_note(rows, name) for name in (fields.actual, fields.score) if name is not None]
    if fields.id is None:
        notes.append("no column of ids, so rows are matched by their number; name one with --id")
    imported = ImportedRun(source.name, UNNAMED, source.stem, results, tool="a table", keyed=True, notes=notes)
    if fields.success is None and fields.positive is None and fields.expect is not None:
        return Predictions(imported, options, probabilities(header)).judged()
    return reader.finish(imported)


def _is_column(rows: _Rows, name: str) -> bool:
    return any(find(row, name) is not NOWHERE for _, row in rows)


def _empty_note(rows: _Rows, name: str) -> str:
    if any(find(row, name) not in (None, "", NOWHERE) for _, row in rows):
        return ""
    return f"column '{name}' is empty in every row, so no answer counts as accepted; is it the right column?"


def _check_columns(source: ForeignFile, rows: _Rows, names: Sequence[str | None]) -> None:
    """A row may lack its answer, its score (a refusal) or a value, but not all rows may."""
    for name in names:
        if name is not None and not _is_column(rows, name):
            raise ForeignError(f"{source.name}: no column '{name}'; {nearest(name, flat(rows[0][1]))}")


@dataclass(frozen=True)
class _RowReader:
    """Reads rows, given which column holds what."""

    source: ForeignFile
    fields: TableColumns
    options: ImportOptions
    # Columns to keep as values.
    values: Sequence[str]

    def results(self, rows: _Rows) -> Iterator[ImportedAnswer]:
        """One result per row."""
        for number, (place, row) in enumerate(rows, 1):
            yield self._result(place, row, number)

    def finish(self, imported: ImportedRun) -> ImportedRun:
        """The run with its verdict, and with the threshold if the score decided."""
        if self.fields.success is not None:
            return replace(imported, verdict=self.fields.success)
        if self.fields.actual is not None:
            return replace(imported, verdict=CORRECT, graded=False)
        threshold = {"threshold": self.options.success_at}
        return replace(imported, verdict=CORRECT, graded=False, task=SCORE.name, params=threshold)

    def _result(self, place: str, row: _Row, number: int) -> ImportedAnswer:
        fields = self.fields
        values = {key: self._value(row, key, name, place) for key, name in vars(fields).items()}
        positive = self._positive(values["positive"], place)
        return ImportedAnswer(
            id=str(number) if fields.id is None else as_text(values["id"]),
            place=place,
            marks=self._marks(values, positive, place),
            values={name: as_value(find(row, name), f"{place}: {name}") for name in self.values},
            expect=as_text(values["expect"]),
            actual=None if values["actual"] in (None, "") else values["actual"],
            positive=positive,
            score=as_mark(values["score"], f"{place}: {fields.score}"),
            repeat=self._repeat(values["repeat"], place),
            columns=self._columns(row),
        )

    def _value(self, row: _Row, key: str, name: str | None, place: str) -> Any:
        if name is None:
            return None
        value = find(row, name) if key in ("actual", "score") else look_up(row, name, place)
        return None if value is NOWHERE else value

    def _columns(self, row: _Row) -> _Row:
        """The columns of the case, and all that the design needs."""
        used = set(vars(self.fields).values())
        columns = {name: value for name, value in flat(row).items() if name not in used}
        named = ((name, find(row, name)) for name in self.options.groups)
        return columns | {name: value for name, value in named if isinstance(value, str | int | float)}

    def _marks(self, values: Mapping[str, Any], positive: bool, place: str) -> dict[str, float | None]:
        """The verdict of the table, or else whether the answer was accepted if and only if it should be."""
        if self.fields.success is not None:
            return {self.fields.success: as_mark(values["success"], f"{place}: {self.fields.success}")}
        if self.fields.actual is not None:
            if self.fields.expect is None:
                raise ForeignError(f"{self.source.name}: --actual needs --expect or --success")
            return {CORRECT: float((as_text(values["actual"]) == as_text(values["expect"])) == positive)}
        if self.options.success_at is None:
            raise ForeignError(
                f"{self.source.name}: a score alone needs --success-at X, the lowest score that is accepted"
            )
        score = as_mark(values["score"], f"{place}: {self.fields.score}")
        return {CORRECT: float((score is not None and score >= self.options.success_at) == positive)}

    def _positive(self, value: Any, place: str) -> bool:
        mark = as_mark(value, f"{place}: {self.fields.positive}")
        if mark not in (None, 0.0, 1.0):
            raise ForeignError(f"{place}: {self.fields.positive}: {shown(value)} is not true or false")
        return mark != 0.0

    def _repeat(self, value: Any, place: str) -> int:
        mark = 1.0 if value is None else as_mark(value, f"{place}: {self.fields.repeat}")
        if mark is None or mark != int(mark) or not 0 <= mark < 1e9:
            raise ForeignError(f"{place}: {self.fields.repeat}: {shown(value)} is not the number of a repeat")
        return int(mark)


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
