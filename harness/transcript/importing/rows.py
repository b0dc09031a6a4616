"""The rows of a table to import, some at a time and column by column: what a column needs is done once for many."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from harness.errors import ForeignError, ScriptError
from harness.files.mistakes import Mistakes
from harness.files.sorting import in_lists
from harness.files.tables import Delimited, parquet_table
from harness.params import nearest
from harness.transcript.importing.file import MOST_COLUMNS, NOWHERE, ForeignFile, find, flat
from harness.transcript.importing.survey import BLOCK

# Rows from which the columns of a table of objects are known.
_FIRST = 100


class RowBlock(Protocol):
    """Some rows of a table, never none."""

    @property
    def places(self) -> Sequence[str]:
        """Where each row is in its file, for messages."""

    def names(self) -> list[str]:
        """The columns."""

    def cells(self, name: str) -> Sequence[Any]:
        """A column; NOWHERE for a row that does not have it."""

    def row(self, place: int) -> Mapping[str, Any]:
        """One row by column."""

    def scalars(self, used: frozenset[Any], groups: Sequence[str]) -> list[dict[str, Any]]:
        """For each row the columns of the case: those that are not used otherwise, and all that the design needs."""


def required(block: RowBlock, name: str) -> Sequence[Any]:
    """A column that every row must have."""
    cells = block.cells(name)
    if type(NOWHERE) in map(type, cells):
        place = next(place for place, cell in enumerate(cells) if cell is NOWHERE)
        raise ForeignError(f"{block.places[place]}: no column '{name}'; {nearest(name, flat(block.row(place)))}")
    return cells


@dataclass(frozen=True)
class TextRows:
    """Rows of a delimited table: all cells are texts, and all rows have the same columns."""

    places: Sequence[str]
    columns: Mapping[str, Sequence[str]]

    def names(self) -> list[str]:
        """The columns."""
        return list(self.columns)

    def cells(self, name: str) -> Sequence[Any]:
        """A column."""
        return self.columns[name] if name in self.columns else [NOWHERE] * len(self.places)

    def row(self, place: int) -> Mapping[str, Any]:
        """One row."""
        return {name: cells[place] for name, cells in self.columns.items()}

    def scalars(self, used: frozenset[Any], groups: Sequence[str]) -> list[dict[str, Any]]:
        """The columns of the cases."""
        own = [name for name in islice(self.columns, MOST_COLUMNS) if name not in used]
        names = list(dict.fromkeys([*own, *(name for name in groups if name in self.columns)]))
        if len(names) == 1:
            return [{names[0]: cell} for cell in self.columns[names[0]]]
        rows = zip(*(self.columns[name] for name in names), strict=True) if names else [()] * len(self.places)
        return [dict(zip(names, row, strict=True)) for row in rows]


@dataclass(frozen=True)
class ObjectRows:
    """Rows that are JSON objects."""

    places: Sequence[str]
    rows: Sequence[Mapping[str, Any]]

    def names(self) -> list[str]:
        """The columns of the first rows."""
        return list(dict.fromkeys(name for row in self.rows[:_FIRST] for name in row))

    def cells(self, name: str) -> Sequence[Any]:
        """A column; a dotted name goes into nested objects."""
        return [find(row, name) for row in self.rows]

    def row(self, place: int) -> Mapping[str, Any]:
        """One row."""
        return self.rows[place]

    def scalars(self, used: frozenset[Any], groups: Sequence[str]) -> list[dict[str, Any]]:
        """The columns of the cases."""
        found = [{name: value for name, value in flat(row).items() if name not in used} for row in self.rows]
        for name in groups:
            for columns, value in zip(found, self.cells(name), strict=True):
                if isinstance(value, str | int | float):
                    columns[name] = value
        return found


@dataclass(frozen=True)
class TableRows:
    """The rows of a table; read from the file again whenever they are gone through."""

    read: Callable[[], Iterator[RowBlock]] = field(repr=False)

    def __iter__(self) -> Iterator[RowBlock]:
        return self.read()

    def has(self, name: str) -> bool:
        """Whether some row has the column."""
        return any(cell is not NOWHERE for block in self for cell in block.cells(name))


def delimited_rows(source: ForeignFile, delimiter: str) -> Iterator[RowBlock]:
    """Rows of a delimited table; those that are too long or too short are left out, and reported at the end."""
    name, mistakes = source.name, Mistakes(source.name)
    try:
        table = Delimited(source.content, delimiter)
        for block in in_lists(((table.line, row) for row in table), BLOCK):
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
            mistakes.add(text, place=f"line {line}")
    return [one for one in block if len(one[1]) == width]


def object_rows(placed: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[RowBlock]:
    """Rows that are JSON objects, each given with its place."""
    for block in in_lists(iter(placed), BLOCK):
        yield ObjectRows([place for place, _ in block], [row for _, row in block])


def parquet_rows(source: ForeignFile) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Rows of a Parquet file, each with its place."""
    try:
        for number, row in parquet_table(source.content):
            yield f"{source.name}: row {number}", row
    except ScriptError as error:
        raise ForeignError(str(error)) from None
