"""What `hate show` and `hate diff` share: which cases, and printing many of them."""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import click

from harness.analysis.conditions import parse_condition
from harness.analysis.fields import text
from harness.analysis.look import ERROR, Choice
from harness.cli.output import emit, remark
from harness.model import Outcome
from harness.report.table import Cell, Format, Table, render
from harness.report.text import safe
from harness.transcript.format import Header

F = TypeVar("F", bound=Callable[..., Any])
OUTCOMES = [*map(str, Outcome), ERROR]
# Rows of a table that are laid out at a time, so that the first page is there at once.
PAGE = 200


def choice_options(command: F) -> F:
    """--outcome, --where, --sort, --limit."""
    for option in (
        click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N of them."),
        click.option("--sort", "sort", multiple=True, metavar="COLUMN",
                     help="Sort by a column, numbers as numbers; -COLUMN downwards; may be repeated."),
        click.option("--where", "conditions", multiple=True, metavar="COLUMN=VALUE",
                     help="Only cases for which this holds (also !=, <, <=, >, >=); if repeated, all must hold."),
        click.option("--outcome", "outcomes", multiple=True, type=click.Choice(OUTCOMES, case_sensitive=False),
                     help="Only cases with this outcome, ER for errors; may be repeated."),
    ):  # fmt: skip
        command = option(command)
    return command


def choice_of(outcomes: Sequence[str], conditions: Sequence[str], sort: Sequence[str], limit: int | None) -> Choice:
    """The options as one thing."""
    return Choice(frozenset(outcomes), tuple(map(parse_condition, conditions)), tuple(sort), limit)


def cell(found: Any) -> Cell:
    """A value for a table: numbers stay numbers."""
    if found is None or (isinstance(found, (int, float)) and not isinstance(found, bool)):
        return found
    return text(found)


def present(columns: Sequence[tuple[str, bool]], items: Sequence[Any], get: Callable[[Any, str], Any]) -> Table:
    """A table of those columns that are to stay, or that some item has."""
    shown = [name for name, always in columns if always or any(get(item, name) is not None for item in items)]
    return Table(shown, [[cell(get(item, name)) for name in shown] for item in items])


def of_design(header: Header, shown: Sequence[str]) -> list[str]:
    """`stratum` and `psu`, unless they are columns that are shown anyway."""
    return [name for name in ("stratum", "psu") if header.design.get(name) not in shown]


def print_cases(style: Format, table: Table, payload: Callable[[], Any], heading: Sequence[str]) -> None:
    """Print the cases with a heading; on a terminal, through a pager if they are many."""
    if style is not Format.TABLE:
        for line in heading:
            remark(line)
        emit(style, table, payload() if style is Format.JSON else None)
    elif sys.stdout.isatty() and len(table.rows) + len(heading) + 4 > shutil.get_terminal_size().lines:
        click.echo_via_pager(_pages(table, heading))
    else:
        print("\n".join(map(safe, heading)))
        emit(style, table, None)


def _pages(table: Table, heading: Sequence[str]) -> Iterator[str]:
    """Laid out while the reader reads; the head of the table comes again from time to time."""
    width = shutil.get_terminal_size((100, 24)).columns
    yield "\n".join(map(safe, heading)) + "\n"
    for start in range(0, len(table.rows), PAGE):
        yield render(Table(table.columns, table.rows[start : start + PAGE]), Format.TABLE, terminal_width=width)
