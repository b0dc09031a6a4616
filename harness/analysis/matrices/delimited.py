"""A matrix of similarities or distances from a table, with labels in its first row and column."""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from harness.errors import DataError

LARGEST_FIELD = 1 << 20


def read_delimited(path: Path) -> tuple[npt.NDArray[np.float64], list[str], list[str]]:
    """The numbers of a CSV or TSV matrix, and what its rows and its columns are called."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = _rows(csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True), path)
            gallery = _gallery(next(rows, (1, [])), path)
            probes, scores = _body(rows, len(gallery), path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text; a similarity matrix is a CSV table") from None
    return np.array(scores), probes, gallery


def _rows(reader: "Iterator[list[str]]", path: Path) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(LARGEST_FIELD)
    line = 0
    try:
        for row in reader:
            line += 1
            if any(cell.strip() for cell in row):
                yield line, row
    except csv.Error as error:
        raise DataError(f"{path}:{line + 1}: {error}; a similarity matrix is a CSV table") from None


def _gallery(first: tuple[int, list[str]], path: Path) -> list[str]:
    labels = [label.strip() for label in first[1][1:]]
    if not labels:
        raise DataError(f"{path}:1: no labels; a matrix has them in its first row, from the second column on")
    if not all(labels):
        raise DataError(f"{path}:1: column {labels.index('') + 2} has no label")
    return labels


def _body(
    rows: Iterator[tuple[int, list[str]]], width: int, path: Path
) -> tuple[list[str], list[npt.NDArray[np.float64]]]:
    probes, scores = [], []
    for line, row in rows:
        if len(row) != width + 1:
            raise DataError(f"{path}:{line}: {len(row)} fields, the first row has {width + 1}")
        if not row[0].strip():
            raise DataError(f"{path}:{line}: no label; a matrix has one in the first column of every row")
        probes.append(row[0].strip())
        scores.append(_numbers(row[1:], line, path))
    if not probes:
        raise DataError(f"{path}: no rows; a matrix has a row for every probe")
    return probes, scores


def _numbers(cells: list[str], line: int, path: Path) -> npt.NDArray[np.float64]:
    try:
        found = np.array(cells, dtype=np.float64)
    except ValueError:
        found = np.array([_number(cell) for cell in cells])
    if np.isnan(found).any():
        column = int(np.isnan(found).argmax())
        raise DataError(f"{path}:{line}: column {column + 2}: '{cells[column]}' is not a number; give the worst score")
    return found


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")
