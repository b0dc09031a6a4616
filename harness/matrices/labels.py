"""The labels of the rows, or of the columns, of a matrix: an id for each, and any number of columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.errors import DataError, ScriptError, UsageError
from harness.files.conditions import Condition
from harness.files.tables import rows
from harness.model import plain_text
from harness.params import nearest
from harness.stats.arrays import BoolArray, IntArray

TextArray = npt.NDArray[np.str_]


@dataclass(frozen=True)
class Labels:
    """Labels in the order of the rows (or columns) that they describe; `id` is one of the columns."""

    columns: Mapping[str, Sequence[Any]]

    def __len__(self) -> int:
        return len(self.columns["id"])

    @property
    def ids(self) -> TextArray:
        """The ids as text."""
        return self.column("id")

    def column(self, name: str) -> TextArray:
        """A column as text."""
        return np.array([plain_text(value) for value in self._known(name)], dtype=np.str_)

    def where(self, conditions: Sequence[Condition]) -> BoolArray:
        """Which of them meet all conditions."""
        chosen = np.ones(len(self), np.bool_)
        for condition in conditions:
            chosen &= np.fromiter(map(condition.holds, self._known(condition.name)), np.bool_, len(self))
        return chosen

    def take(self, at: IntArray) -> "Labels":
        """Some of them, in the given order."""
        return Labels({name: [values[place] for place in at] for name, values in self.columns.items()})

    def _known(self, name: str) -> Sequence[Any]:
        if name not in self.columns:
            raise UsageError(f"no column '{name}' among the labels; {nearest(name, self.columns)}")
        return self.columns[name]


def places(ids: TextArray, known: TextArray) -> IntArray:
    """The index of each id among the known ones; -1 if it is not there."""
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known, ids, sorter=order), known.size - 1)
    index = order[at]
    return np.asarray(np.where(known[index] == ids, index, -1), dtype=np.intp)


def read_labels(path: Path) -> Labels:
    """Read a table (CSV, TSV, JSON lines or Parquet) with a column `id`: a row for each row or column of a matrix."""
    columns: dict[str, list[Any]] = {}
    lines: dict[str, int] = {}
    try:
        for number, (line, row) in enumerate(rows(path)):
            _check_id(row.get("id"), path, line, lines)
            for name, value in row.items():
                columns.setdefault(name, [None] * number).append(value)
            for name in columns.keys() - row.keys():
                columns[name].append(None)
    except ScriptError as error:
        raise DataError(f"{path.parent / str(error)}") from None
    if not columns:
        raise DataError(f"{path}: no rows; expected one for each row or column of the matrix")
    return Labels(columns)


def _check_id(value: Any, path: Path, line: int, lines: dict[str, int]) -> None:
    name = plain_text(value)
    if not name:
        raise DataError(f"{path}:{line}: no id; give each row a unique one in column id")
    if name in lines:
        raise DataError(f"{path}:{line}: id '{name}' is also in line {lines[name]}; ids must be unique")
    lines[name] = line
