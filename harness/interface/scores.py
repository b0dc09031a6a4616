"""[scores]: answers that were computed earlier, in a table by case id or in a matrix of similarities."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from pydantic import model_validator

from harness.errors import InterfaceError, ScriptError
from harness.files.tables import Delimited, rows
from harness.interface.contract import Interface, Session, Setup
from harness.interface.toml import InterfaceFile, KindSection
from harness.interface.wire import ANSWER_KEYS, VALUES
from harness.model import ErrorKind, Question, Reply, plain_text

# Further numbers may have a column for each name, instead of a column of objects.
OF_VALUES = f"{VALUES}."


class ScoresSection(KindSection):
    """[scores]: answers computed earlier."""

    table: str | None = None
    matrix: str | None = None

    @model_validator(mode="after")
    def _check_file(self) -> "ScoresSection":
        if (self.table is None) == (self.matrix is None):
            raise ValueError("give either table or matrix")
        return self

    def load(self, file: InterfaceFile) -> "ScoresInterface":
        """The file, which must exist; it is read when it is opened."""
        name = self.table or self.matrix or ""
        path = file.folder / name
        if not path.is_file():
            raise InterfaceError(f"{file.path}: scores: no file {name} in {file.folder}")
        return ScoresInterface(**file.described([name]), path=path, matrix=self.matrix is not None)


@dataclass(frozen=True, kw_only=True)
class ScoresInterface(Interface):
    """A file of answers."""

    kind = "scores"
    is_file = True

    path: Path
    matrix: bool

    @property
    def files(self) -> Sequence[Path]:
        """The file of answers."""
        return [self.path]

    def open(self, setup: Setup) -> Session:
        """Read the file."""
        return ScoresSession(self.answers(), self.path.name)

    def remarks(self) -> Iterator[str]:
        """None, if the file can be read."""
        self.answers()
        yield from ()

    def answers(self) -> "TableAnswers | MatrixAnswers":
        """All answers; an InterfaceError if the file does not have them."""
        try:
            return MatrixAnswers(self.path) if self.matrix else TableAnswers(self.path)
        except ScriptError as error:
            raise InterfaceError(str(error)) from None
        except OSError as error:
            raise InterfaceError(f"{self.path}: {error.strerror}") from None


class TableAnswers:
    """A table with a column `id` and one or more of label, score, scores, value, answer."""

    def __init__(self, path: Path) -> None:
        self._answers: dict[str, Any] = {}
        for line, row in rows(path):
            known = {name: row[name] for name in ANSWER_KEYS if name in row}
            case_id = plain_text(row.get("id"))
            if not case_id or not known:
                raise InterfaceError(f"{path}:{line}: needs a column id and one of {', '.join(ANSWER_KEYS)}")
            if case_id in self._answers:
                raise InterfaceError(f"{path}:{line}: id '{case_id}' appears twice")
            if known.get("score") == "" and len(known) > 1:
                del known["score"]
            values = _values(row, f"{path}:{line}")
            answer = known.get("answer", known)
            if values:
                answer = {**(known if answer is known else {"answer": answer}), VALUES: values}
            self._answers[case_id] = answer

    def find(self, question: Question) -> Any:
        """The answer to a question; KeyError if there is none."""
        return self._answers[question.id]


def _values(row: Mapping[str, Any], location: str) -> dict[str, Any]:
    """The further numbers of a row; an empty field is none."""
    values = row.get(VALUES)
    if isinstance(values, str) and values.strip():
        with suppress(msgspec.DecodeError):
            values = msgspec.json.decode(values)
    if values in (None, ""):
        values = {}
    if not isinstance(values, Mapping):
        raise InterfaceError(f"{location}: values {values!r:.60} is not an object with names and numbers")
    columns = {name: value for name, value in row.items() if name.startswith(OF_VALUES) and value not in (None, "")}
    return {**values, **{name.removeprefix(OF_VALUES): value for name, value in columns.items()}}


class MatrixAnswers:
    """A matrix with labels in its first row and column: rows are inputs, columns are claims or labels."""

    def __init__(self, path: Path) -> None:
        table = Delimited(path, "\t" if path.suffix == ".tsv" else ",")
        self._labels = table.header[1:]
        if not self._labels:
            raise InterfaceError(f"{path}:1: no labels; a matrix has them in its first row, from the second column on")
        self._rows: dict[str, list[str]] = {}
        for row in table:
            if text := table.ragged(row):
                raise InterfaceError(f"{path}:{table.line}: {text}")
            if row[0] in self._rows:
                raise InterfaceError(f"{path}:{table.line}: row '{row[0]}' appears twice")
            self._rows[row[0]] = row[1:]
        self._column = {label: number for number, label in enumerate(self._labels)}

    def find(self, question: Question) -> Any:
        """The similarity to the claim, or to every label if there is no claim; KeyError if the matrix has none."""
        row = self._rows.get(plain_text(question.input)) or self._rows[question.id]
        if question.expect:
            return row[self._column[question.expect]]
        return {"scores": dict(zip(self._labels, row, strict=True))}


class ScoresSession:
    """Looks answers up."""

    def __init__(self, answers: TableAnswers | MatrixAnswers, name: str) -> None:
        self._answers = answers
        self._name = name

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """An answer for each question, or an error if the file has none."""
        for question in questions:
            try:
                yield Reply(question, self._answers.find(question))
            except KeyError as error:
                message = f"{self._name} has no answer for this case: no {error}"
                yield Reply(question, None, ErrorKind.INTERFACE, message)

    def close(self) -> None:
        """Nothing to end."""
