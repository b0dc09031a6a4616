"""What a report is made of: headings, paragraphs and tables."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from harness.files.sorting import in_lists

Cell = str | int | float | None
_INTERVAL = re.compile(r"(-?[0-9.]+(?:e-?[0-9]+)?) to (-?[0-9.]+(?:e-?[0-9]+)?)")
_NUMBER = re.compile(r"-?[0-9]+\.[0-9]+(?:e-?[0-9]+)?")
_NUMBERS = (int, float, type(None))
# How many rows of a long table are laid out at a time.
ROWS = 1_000


class ExactNumber(float):
    """A number from the input, not computed: it is shown with all its digits."""

    def __str__(self) -> str:
        return str(int(self)) if self.is_integer() and abs(self) < 1e15 else float.__repr__(self)


class IntervalText(str):
    """An interval in a cell: its limits are kept apart, for formats that write intervals in their own way."""

    low: str
    high: str

    def __new__(cls, low: str, high: str) -> "IntervalText":  # noqa: D102 (said above)
        made = super().__new__(cls, f"{low} to {high}")
        made.low, made.high = low, high
        return made


class CommandText(str):
    """A sentence with a command to be copied: it stays on one line, however long."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """Named columns and rows; numbers are right-aligned, floats shown with four digits after the point."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    # Columns for people, which programs do not need.
    wide: frozenset[str] = field(default_factory=frozenset)
    # Columns that a narrow page of a journal can do without.
    spare: frozenset[str] = field(default_factory=frozenset)

    def narrow(self) -> "Table":
        """The table without its `wide` columns."""
        if not self.wide:
            return self
        places = [number for number, name in enumerate(self.columns) if name not in self.wide]
        return Table([self.columns[i] for i in places], [[row[i] for i in places] for row in self.rows])

    def numeric(self) -> list[bool]:
        """Which columns have nothing but numbers."""
        found = [True] * len(self.columns)
        for columns in in_columns(self):
            found = [known and are_numbers(cells) for known, cells in zip(found, columns, strict=True)]
        return found

    def tidied(self) -> "Table":
        """For programs: an interval as two columns, `low` and `high`, a text that is a number as a number."""
        columns, cells = list[str](), list[list[Cell]]()
        for place, name in enumerate(self.columns):
            column = [row[place] for row in self.rows]
            found = [_INTERVAL.fullmatch(cell) if isinstance(cell, str) else None for cell in column]
            if any(found):
                prefix = "" if "interval" in name else f"{name} "
                columns += [f"{prefix}low", f"{prefix}high"]
                cells += [[None if one is None else float(one[side]) for one in found] for side in (1, 2)]
            else:
                columns.append(name)
                cells.append(
                    [float(cell) if isinstance(cell, str) and _NUMBER.fullmatch(cell) else cell for cell in column]
                )
        return Table(columns, [list(row) for row in zip(*cells, strict=True)])

    def records(self) -> list[dict[str, Cell]]:
        """The rows by column name, with plain numbers: what a data frame is made of."""
        return [
            {
                name: float(cell) if isinstance(cell, ExactNumber) else cell
                for name, cell in zip(self.columns, row, strict=True)
            }
            for row in self.rows
        ]


def in_columns(table: Table) -> Iterator[list[tuple[Cell, ...]]]:
    """The columns of a table, for some rows at a time."""
    for block in in_lists(iter(table.rows), ROWS):
        yield list(zip(*block, strict=True))


def are_numbers(cells: Sequence[Cell]) -> bool:
    """Whether none of the cells is a text."""
    return all(issubclass(kind, _NUMBERS) for kind in set(map(type, cells)))


@dataclass(frozen=True)
class Heading:
    """The title of a part."""

    text: str


@dataclass(frozen=True)
class Paragraphs:
    """Sentences, each a paragraph of its own."""

    texts: Sequence[str]


Block = Heading | Paragraphs | Table


def cell_text(cell: Cell) -> str:
    """A cell as people see it."""
    if cell is None:
        return ""
    return f"{cell:.4f}" if isinstance(cell, float) and not isinstance(cell, ExactNumber) else str(cell)


def column_texts(cells: Sequence[Cell]) -> Sequence[str]:
    """`cell_text` of many cells; most columns have cells of one kind."""
    kinds = {*map(type, cells)}
    if kinds == {str}:
        return cells  # type: ignore[return-value]
    if kinds == {float}:
        return list(map("{:.4f}".format, cells))
    if kinds == {type(None)}:
        return [""] * len(cells)
    return [cell if type(cell) is str else cell_text(cell) for cell in cells]
