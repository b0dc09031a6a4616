"""Read a similarity matrix: `.npy` (mapped, not loaded), CSV, TSV or Parquet, and the tables of its labels."""

import csv
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.errors import DataError, ScriptError, UsageError
from harness.files.tables import numbers_by_column
from harness.matrices.matrix import SUBJECT, Labels, Matrix, Scores, read_labels

MAX_FIELD_LENGTH = 1 << 20


def read_delimited(path: Path) -> tuple[npt.NDArray[np.float64], list[str], list[str]]:
    """The numbers of a CSV or TSV matrix, and the names of its rows and columns."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = _rows(csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True), path)
            gallery = [label.strip() for label in next(rows, (1, []))[1][1:]]
            if not gallery:
                raise DataError(f"{path}:1: no labels; expected them in the first row, from the second column on")
            if not all(gallery):
                raise DataError(f"{path}:1: column {gallery.index('') + 2} has no label")
            probes, scores = _body(rows, len(gallery), path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text; a similarity matrix is a CSV table") from None
    return np.array(scores), probes, gallery


def _rows(reader: "Iterator[list[str]]", path: Path) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(MAX_FIELD_LENGTH)
    line = 0
    try:
        for row in reader:
            line += 1
            if any(cell.strip() for cell in row):
                yield line, row
    except csv.Error as error:
        raise DataError(f"{path}:{line + 1}: {error}; a similarity matrix is a CSV table") from None


def _body(
    rows: Iterator[tuple[int, list[str]]], width: int, path: Path
) -> tuple[list[str], list[npt.NDArray[np.float64]]]:
    probes, scores = [], []
    for line, row in rows:
        if len(row) != width + 1:
            raise DataError(f"{path}:{line}: {len(row)} fields, the first row has {width + 1}")
        if not row[0].strip():
            raise DataError(f"{path}:{line}: no label; expected one in the first column of every row")
        probes.append(row[0].strip())
        scores.append(_numbers(row[1:], line, path))
    if not probes:
        raise DataError(f"{path}: no rows; expected a row for every probe")
    return probes, scores


def _numbers(cells: list[str], line: int, path: Path) -> npt.NDArray[np.float64]:
    try:
        numbers = np.array(cells, dtype=np.float64)
    except ValueError:
        numbers = np.array([_number(cell) for cell in cells])
    if np.isnan(numbers).any():
        column = int(np.isnan(numbers).argmax())
        raise DataError(f"{path}:{line}: column {column + 2}: '{cells[column]}' is not a number; give the worst score")
    return numbers


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


TABLES = (".csv", ".tsv", ".jsonl", ".parquet")
KINDS = (".npy", ".csv", ".tsv", ".parquet")
_NamedScores = tuple[Scores, list[str] | None, list[str] | None]


def read_matrix(
    path: Path,
    labels: Sequence[Path] = (),
    *,
    larger_is_better: bool = True,
    identity: str | None = None,
) -> Matrix:
    """Read a matrix with its labels.

    `labels`: one table for rows and columns, or two. By default NAME.labels.csv, or NAME.rows.csv and NAME.columns.csv,
    or labels.csv beside the matrix; otherwise the labels in the first row and column of the matrix, which are then the
    subjects. `identity`: a pattern whose first group, or whole match, in a label is the subject.
    """
    scores, row_names, column_names = _scores(path)
    tables = list(labels) or label_tables_beside(path)
    if len(tables) > 2:
        raise UsageError(f"{path}: {len(tables)} tables of labels; expected at most two, for rows and columns")
    sides = [
        _LabelSide(path, "row", scores.shape[0], row_names),
        _LabelSide(path, "column", scores.shape[1], column_names),
    ]
    if tables:
        rows, columns = (side.from_table(tables[at]) for at, side in zip((0, -1), sides, strict=True))
    else:
        rows, columns = (side.from_names(image=identity is not None) for side in sides)
    if identity is not None:
        rows, columns = (_with_subjects(side, identity, path) for side in (rows, columns))
    return Matrix(path.stem, scores, rows, columns, larger_is_better)


def label_tables_beside(path: Path) -> list[Path]:
    for names in ([f"{path.stem}.labels"], [f"{path.stem}.rows", f"{path.stem}.columns"], ["labels"]):
        candidates = [[path.with_name(name + suffix) for suffix in TABLES] for name in names]
        tables = [next(filter(Path.is_file, named), None) for named in candidates]
        if all(tables):
            return [table for table in tables if table is not None and table != path]
    return []


def _scores(path: Path) -> _NamedScores:
    """The numbers, and the names of rows and columns if the file has them."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise UsageError(f"{path}: a similarity matrix is a {', '.join(KINDS[:-1])} or {KINDS[-1]} file")
    if kind == ".npy":
        return _mapped(path), None, None
    if kind == ".parquet":
        return _parquet(path)
    return read_delimited(path)


def _mapped(path: Path) -> Scores:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers that Python 2 wrote
            scores: Scores = np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except Exception as error:  # the header is a Python literal: a damaged one raises whatever a parser may raise
        text = " ".join(str(error).split())[:100] if isinstance(error, ValueError) else "its header is damaged"
        raise DataError(f"{path}: not a matrix in .npy format: {text}; save it again with numpy.save") from None
    if scores.ndim != 2 or scores.dtype.kind not in "fiu" or not scores.size:
        raise DataError(f"{path}: {scores.dtype} of shape {scores.shape}; expected numbers in rows and columns")
    return scores


def _parquet(path: Path) -> _NamedScores:
    """The first column names the rows, the names of the others the columns."""
    try:
        (_, row_names), *numbers = numbers_by_column(path)
    except ScriptError as error:
        raise DataError(f"{path.parent / str(error)}") from None
    if not numbers:
        raise DataError(
            f"{path}: only one column; expected the names of the rows, then a column of scores for each image"
        )
    for name, values in numbers:
        if np.asarray(values).dtype.kind not in "fiu":
            raise DataError(f"{path}: column '{name}' has values that are not numbers")
    scores: npt.NDArray[Any] = np.column_stack([np.asarray(values) for _, values in numbers])
    return scores, [str(name) for name in row_names], [name for name, _ in numbers]


@dataclass(frozen=True)
class _LabelSide:
    """The rows or the columns of a matrix, and their names in its file."""

    path: Path
    what: str
    size: int
    names: list[str] | None

    def from_names(self, *, image: bool) -> Labels:
        """Labels without a table: the names are those of images or of subjects."""
        if self.names is None:
            raise DataError(f"{self.path}: no labels; write {self.path.stem}.labels.csv beside it, with a column id")
        ids = self.names if image else [f"{self.what} {number}" for number in range(1, self.size + 1)]
        return Labels({"id": ids, SUBJECT: self.names})

    def from_table(self, table: Path) -> Labels:
        """Labels from a table: in its order, or by id if the matrix has names."""
        labels = read_labels(table)
        if self.names is None:
            if len(labels) != self.size:
                raise DataError(f"{table}: {len(labels):,} labels, but {self.path.name} has {self.size:,} {self.what}s")
            return labels
        index = {name: number for number, name in enumerate(labels.ids.tolist())}
        missing = [name for name in self.names if name not in index]
        if missing:
            raise DataError(f"{table}: no id '{missing[0]}', but {self.path.name} has such a {self.what}")
        return labels.take(np.array([index[name] for name in self.names], dtype=np.intp))


def _with_subjects(labels: Labels, pattern: str, path: Path) -> Labels:
    """Labels with subjects extracted from their ids by a pattern."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--identity {pattern}: {error}") from None
    subjects = []
    for name in labels.ids.tolist():
        match = compiled.search(name)
        if match is None:
            raise DataError(f"{path}: label '{name}' does not match --identity {pattern}")
        subjects.append(match[1] if compiled.groups else match[0])
    return Labels({**labels.columns, SUBJECT: subjects})
