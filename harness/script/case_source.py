"""Where the cases of a script come from: a table, the names of files, or the script itself; read row by row."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.errors import ScriptError
from harness.files.tables import Delimited, TableRow, delimited, rows
from harness.model import Case, plain_text
from harness.params import nearest
from harness.script.design import FIXED_COLUMNS
from harness.script.load import Script
from harness.script.rows import NO_ID, TRUTH, case_of, glob_rows, truth_value

# Shared by all cases without columns; never written to.
_NO_COLUMNS: dict[str, Any] = {}


@dataclass(frozen=True)
class CaseSource:
    """Raw rows, how to make a case from one, and the place of the last one read."""

    raws: Iterator[Any]
    make: Callable[[Any], Case]
    place: Callable[[], str]
    # Whether a raw row says itself if its case is positive; asked before a case is made of it.
    says_positive: Callable[[Any], bool]


def source_name(script: Script) -> str:
    """The source, for messages."""
    cases = script.file.cases
    return cases.table or (f"cases.glob: '{cases.glob}'" if cases.glob is not None else "[[cases.case]]")


def case_source(script: Script, places: Mapping[str, Path]) -> CaseSource:
    """The cases, from the source that the script names."""
    cases = script.file.cases
    if cases.table is not None:
        table = delimited(script.folder / cases.table)
        if table is not None:
            at = table.header.index("positive") if "positive" in table.header else None
            return CaseSource(
                iter(table),
                _maker(table),
                lambda: f"{cases.table}:{table.line}",
                lambda row: at is not None and len(row) > at and row[at].strip() != "",
            )
        found: Iterator[tuple[str, TableRow]] = (
            (f"{cases.table}:{line}", row) for line, row in rows(script.folder / (cases.table or ""))
        )
    elif cases.glob is not None:
        found = glob_rows(cases.glob, cases.pattern, places)
    else:
        found = ((f"[[cases.case]] number {n}", dict(row)) for n, row in enumerate(cases.case or [], 1))
    return _with_places(found, structured=script.task.structured_expect)


def _with_places(rows_with_places: Iterator[tuple[str, TableRow]], *, structured: bool) -> CaseSource:
    last = [""]

    def raws() -> Iterator[TableRow]:
        for place, row in rows_with_places:
            last[0] = place
            yield row

    return CaseSource(
        raws(),
        partial(case_of, structured=structured),
        lambda: last[0],
        lambda row: plain_text(row.get("positive")).strip() != "",
    )


def _maker(table: Delimited) -> Callable[[list[str]], Case]:
    """`case_of` for the rows of this table, which are lists; with a million cases, most of the time is spent here."""
    header, width = table.header, len(table.header)
    if "id" not in header:
        raise ScriptError(f"{table.name}:1: no column 'id' in the header; {nearest('id', header)}")
    # A missing column is the empty field that is added to each row.
    fixed = [header.index(name) if name in header else len(header) for name in FIXED_COLUMNS]
    at_id, at_input, at_expect, at_positive, at_truth = fixed
    others = [(name, number) for number, name in enumerate(header) if name not in FIXED_COLUMNS]

    def make(row: list[str]) -> Case:
        if len(row) != width:
            raise ScriptError(table.ragged(row) or "")
        row.append("")
        if not row[at_id]:
            raise ScriptError(NO_ID)
        positive = TRUTH.get(row[at_positive])
        return Case(
            row[at_id],
            row[at_input],
            row[at_expect].strip(),
            truth_value(row[at_positive]) if positive is None else positive,
            row[at_truth].strip(),
            {name: row[number] for name, number in others} if others else _NO_COLUMNS,
        )

    return make
