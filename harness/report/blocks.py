"""What a report is made of: headings, paragraphs and tables."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Flag, auto
from math import isfinite
from operator import attrgetter
from typing import Any, Generic, TypeVar

from harness.files.external_sort import in_batches
from harness.model import finite
from harness.params import is_number
from harness.stats.rates import Interval

Item = TypeVar("Item")
NONE = "-"
# How many rows of a long table are laid out at a time.
ROWS = 1_000


class ExactNumber(float):
    """A number from the input, not computed: it is shown with all its digits."""

    def __str__(self) -> str:
        return str(int(self)) if self.is_integer() and abs(self) < 1e15 else float.__repr__(self)


class ValueText(str):
    """How a value is shown that needs words, such as None, or 1.0 beside 1; programs get the value."""

    value: object

    def __new__(cls, text: str, value: object) -> "ValueText":
        self = super().__new__(cls, text)
        self.value = value
        return self


@dataclass(frozen=True, slots=True)
class Number:
    """A computed number with the form that people are shown it in; a dash if it is not known.

    `form` is as in f"{value:.2f}", or P for a p-value; with a % at its end, shares are shown as 7.1 %.
    """

    value: float | None
    form: str = ".4f"

    def __str__(self) -> str:
        if self.value is None or self.value != self.value:
            return NONE
        if self.form == P:
            return "<0.0001" if self.value < 0.0001 else f"{self.value:.4f}"
        text = f"{self.value:{self.form}}"
        return f"{text[:-1]} %" if text.endswith("%") else text


P = "p"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an interval; a dash if there is none, or if it is infinite."""

    low: float | None
    high: float | None
    form: str = ".4f"

    @property
    def texts(self) -> tuple[str, str] | None:
        """Both limits as people are shown them, for formats that write intervals in their own way."""
        if self.low is None or self.high is None or not (isfinite(self.low) and isfinite(self.high)):
            return None
        return f"{self.low:{self.form}}", f"{self.high:{self.form}}"

    def __str__(self) -> str:
        return NONE if self.texts is None else " to ".join(self.texts)


Cell = str | int | float | Number | Limits | None
_PLAIN = (int, float, type(None))


class CommandText(str):
    """A sentence with a command to be copied: it stays on one line, however long."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """Named columns and rows; bare numbers are right-aligned, floats shown with four digits after the point."""

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
        kept = [number for number, name in enumerate(self.columns) if name not in self.wide]
        return Table([self.columns[i] for i in kept], [[row[i] for i in kept] for row in self.rows])

    def numeric(self) -> list[bool]:
        """Which columns have nothing but numbers."""
        flags = [True] * len(self.columns)
        for columns in in_columns(self):
            flags = [known and are_numbers(cells) for known, cells in zip(flags, columns, strict=True)]
        return flags

    def tidied(self) -> "Table":
        """For programs: an interval as two columns, `low` and `high`, and every computed number with all its digits."""
        columns, cells = list[str](), list[list[Cell]]()
        for index, name in enumerate(self.columns):
            column = [row[index] for row in self.rows]
            if any(isinstance(cell, Limits) for cell in column):
                prefix = "" if "interval" in name else f"{name} "
                columns += [f"{prefix}low", f"{prefix}high"]
                limits = [cell if isinstance(cell, Limits) else Limits(None, None) for cell in column]
                cells += [[finite(limit.low) for limit in limits], [finite(limit.high) for limit in limits]]
            else:
                columns.append(name)
                cells.append([finite(cell.value) if isinstance(cell, Number) else cell for cell in column])
        return Table(columns, [list(row) for row in zip(*cells, strict=True)])

    def mixed(self) -> dict[str, list[Any]]:
        """The columns that have, among others, values without a form of their own, and all values of these."""
        columns = {
            name: [cell.value if isinstance(cell, ValueText) else cell for cell in cells]
            for name, cells in zip(self.columns, zip(*self.rows, strict=True), strict=False)
            if any(isinstance(cell, ValueText) for cell in cells)
        }
        return {name: values for name, values in columns.items() if len(set(map(type, values))) > 1}

    def records(self) -> list[dict[str, Any]]:
        """The rows by column name, with plain values: what a data frame is made of."""
        return [
            {
                name: cell.value
                if isinstance(cell, ValueText)
                else float(cell)
                if isinstance(cell, ExactNumber)
                else cell
                for name, cell in zip(self.columns, row, strict=True)
            }
            for row in self.rows
        ]


class Audience(Flag):
    """Whom a column is for, where nothing else tells the tables of a list apart."""

    PEOPLE = auto()
    PROGRAMS = auto()


class Output(Flag):
    """Where a column is shown, if the JSON of a list is made of its columns too."""

    TABLE = auto()
    CSV = auto()
    JSON = auto()


@dataclass(frozen=True)
class Column(Generic[Item]):
    """What is known of each item of a list, declared once for all tables, CSV and JSON.

    name    for programs: a key of JSON, a column of CSV
    value   of an item: a function, or the path of an attribute, such as `estimate.se`; the name if nothing is said
    shown   where it is shown: members of `Audience`, of `Output`, or of an enumeration of the list's own
    head    for people; the name if nothing is said
    form    of a number or an interval for people, as `Number` has it; a function if it is not the same for all items;
            without one, cells are as they are
    """

    name: str
    value: Callable[[Item], Any] | str = ""
    shown: Flag = Audience.PEOPLE | Audience.PROGRAMS
    head: str = ""
    form: Callable[[Item], str] | str = ""

    @property
    def getter(self) -> Callable[[Item], Any]:
        """The value of an item; None where there is nothing on the way to an attribute."""
        if not isinstance(self.value, str):
            return self.value
        first, *others = (self.value or self.name).split(".")
        get = attrgetter(first)
        if not others:
            return get

        def follow(item: Item) -> Any:
            value = get(item)
            for name in others:
                if value is None:
                    return None
                value = getattr(value, name)
            return value

        return follow


def table_of(
    items: Iterable[Item], columns: Sequence[Column[Item]], which: Flag = Audience.PEOPLE, *, missing: Cell = None
) -> Table:
    """One of the tables of a list, for people; `missing` stands where a bare number is not known."""
    shown = [column for column in columns if which in column.shown]
    return Table([column.head or column.name for column in shown], _cells(items, shown, missing))


def _cells(items: Iterable[Item], columns: Sequence[Column[Item]], missing: Cell) -> list[list[Cell]]:
    """The rows of a table for people."""
    makers = [(column.getter, column.form) for column in columns]
    return [
        [_cell(get(item), form if isinstance(form, str) else form(item), missing) for get, form in makers]
        for item in items
    ]


def _cell(value: Any, form: str, missing: Cell) -> Cell:
    if isinstance(value, Interval):
        return Limits(value.low, value.high, form or ".4f")
    if form:
        return Number(value, form)
    return missing if value is None else value


def records_of(items: Iterable[Item], columns: Sequence[Column[Item]], which: Flag) -> Iterator[dict[str, Any]]:
    """The items by the names of columns, as they are: the entries of JSON."""
    shown = [column for column in columns if which in column.shown]
    names, getters = [column.name for column in shown], [column.getter for column in shown]
    for item in items:
        yield dict(zip(names, [get(item) for get in getters], strict=True))


def plain_table_of(items: Iterable[Item], columns: Sequence[Column[Item]], which: Flag) -> Table:
    """The same in rows, for spreadsheets."""
    shown = [column for column in columns if which in column.shown]
    getters = [column.getter for column in shown]
    return Table([column.name for column in shown], [[get(item) for get in getters] for item in items])


def tidy_table_of(items: Iterable[Item], columns: Sequence[Column[Item]]) -> Table:
    """A table for programs: numbers that have a form with all digits if they are finite, an interval as two of them."""
    shown = [column for column in columns if Audience.PROGRAMS in column.shown]
    return Table([column.name for column in shown], _cells(items, shown, None)).tidied()


def in_columns(table: Table) -> Iterator[list[tuple[Cell, ...]]]:
    """The columns of a table, for some rows at a time."""
    for block in in_batches(iter(table.rows), ROWS):
        yield list(zip(*block, strict=True))


def are_numbers(cells: Sequence[Cell]) -> bool:
    """Whether none of the cells is a text; a number that needs words to be shown is still one."""
    kinds = set(map(type, cells))
    return all(issubclass(kind, _PLAIN) for kind in (map(kind_of, cells) if ValueText in kinds else kinds))


def kind_of(cell: Cell) -> type:
    """The type of what a cell shows."""
    return type(cell.value if isinstance(cell, ValueText) and is_number(cell.value) else cell)


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
