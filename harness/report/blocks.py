"""What a report is made of: headings, paragraphs and tables."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

Cell = str | int | float | None
_INTERVAL = re.compile(r"(-?[0-9.]+(?:e-?[0-9]+)?) to (-?[0-9.]+(?:e-?[0-9]+)?)")
_NUMBER = re.compile(r"-?[0-9]+\.[0-9]+(?:e-?[0-9]+)?")


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
        places = [number for number, name in enumerate(self.columns) if name not in self.wide]
        return Table([self.columns[i] for i in places], [[row[i] for i in places] for row in self.rows])

    def numeric(self) -> list[bool]:
        """Which columns have nothing but numbers."""
        return [
            all(isinstance(row[place], (int, float)) or row[place] is None for row in self.rows)
            for place in range(len(self.columns))
        ]

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
