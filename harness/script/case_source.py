"""Where the cases of a script come from: a table, the names of files, or the script itself; read row by row."""

import contextlib
import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from harness.errors import ScriptError
from harness.files.patterns import Matcher, compile_pattern
from harness.files.tables import Delimited, TableRow, delimited, rows
from harness.model import Case, plain_text
from harness.params import nearest
from harness.script.design import FIXED_COLUMNS
from harness.script.load import Script

TRUTH = {"true": True, "1": True, "false": False, "0": False, "": True}
NO_ID = "a case without an id; give each case a unique id in column id"
# As many as an archive may have.
MAX_VISITED = 5_000_000
ANY_FOLDERS = "**"
_PLACEHOLDER = re.compile(r"^\{([A-Za-z_][A-Za-z0-9_]*)\}/(.+)$")
# Shared by all cases without columns; never written to.
_NO_COLUMNS: dict[str, Any] = {}


@dataclass(frozen=True)
class CaseSource:
    """Raw rows, how to make a case from one, and the location of the last one read."""

    raws: Iterator[Any]
    make: Callable[[Any], Case]
    location: Callable[[], str]
    # Whether a raw row says itself if its case is positive; asked before a case is made of it.
    says_positive: Callable[[Any], bool]


def source_name(script: Script) -> str:
    """The source, for messages."""
    cases = script.file.cases
    return cases.table or (f"cases.glob: '{cases.glob}'" if cases.glob is not None else "[[cases.case]]")


def case_source(script: Script, data_paths: Mapping[str, Path]) -> CaseSource:
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
        located: Iterator[tuple[str, TableRow]] = (
            (f"{cases.table}:{line}", row) for line, row in rows(script.folder / (cases.table or ""))
        )
    elif cases.glob is not None:
        located = glob_rows(cases.glob, cases.pattern, data_paths)
    else:
        located = ((f"[[cases.case]] number {n}", dict(row)) for n, row in enumerate(cases.case or [], 1))
    return _with_locations(located, structured=script.task.structured_expect)


def _with_locations(located_rows: Iterator[tuple[str, TableRow]], *, structured: bool) -> CaseSource:
    last = [""]

    def raws() -> Iterator[TableRow]:
        for location, row in located_rows:
            last[0] = location
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


def case_of(row: TableRow, *, structured: bool = False) -> Case:
    """A case from a row of a table. The row itself becomes `columns`, without the fixed columns.

    `structured`: `expect` may be a list or an object, and is then its JSON text.
    """
    case_id = row.pop("id", None)
    if type(case_id) is not str:
        case_id = "" if isinstance(case_id, (dict, list)) else plain_text(case_id)
    if not case_id:
        raise ScriptError(NO_ID)
    if structured and isinstance(row.get("expect"), (dict, list)):
        row["expect"] = msgspec.json.encode(row["expect"]).decode()
    return Case(
        case_id,
        row.pop("input", ""),
        _text(row, "expect"),
        truth_value(row.pop("positive", True)),
        _text(row, "truth"),
        row,
    )


def _text(row: TableRow, name: str) -> str:
    value = row.pop(name, "")
    if type(value) is str:
        return value.strip()
    if isinstance(value, (dict, list)):
        raise ScriptError(f"{name} {value!r:.60} is not a label or number")
    return plain_text(value)


def truth_value(value: Any) -> bool:
    """The value of column `positive`, in any of its spellings."""
    if type(value) is bool:
        return value
    text = plain_text(value).strip().lower()
    if text not in TRUTH:
        raise ScriptError(f"positive '{value}' is not true or false, 1 or 0")
    return TRUTH[text]


def glob_rows(glob: str, pattern: str | None, data_paths: Mapping[str, Path]) -> Iterator[tuple[str, TableRow]]:
    """A row for each file that matches the glob, with its path in the data as id."""
    match = _PLACEHOLDER.match(glob)
    if match is None or match[1] not in data_paths:
        known = nearest(match[1] if match else "", data_paths)
        raise ScriptError(f"cases.glob: '{glob}' must begin with data, such as {{images}}/test/*.png; {known}")
    if ".." in match[2].split("/"):
        raise ScriptError(f"cases.glob: '{glob}' leaves its data; leave out ..")
    root = data_paths[match[1]]
    try:
        names = glob_files(root, match[2])
    except ScriptError as error:
        raise ScriptError(f"cases.glob: '{glob}': {error}") from None
    with _Groups(pattern) as groups:
        for name in names:
            if any("\ud800" <= char <= "\udfff" for char in name):
                raise ScriptError(f"cases.glob: file name {name!r} is not UTF-8; rename the file")
            yield name, {"id": name, "input": f"{{{match[1]}}}/{name}"} | groups.of(name)


class _Groups(contextlib.ExitStack):
    """The named groups of the pattern in file names; none if there is no pattern."""

    def __init__(self, pattern: str | None) -> None:
        super().__init__()
        try:
            self._matcher = None if pattern is None else self.enter_context(Matcher(compile_pattern(pattern)))
        except ScriptError as error:
            raise ScriptError(f"cases.pattern: {error}") from None

    def of(self, name: str) -> dict[str, Any]:
        """The groups as columns of the case."""
        if self._matcher is None:
            return {}
        try:
            groups = self._matcher.search(name)
        except ScriptError as error:
            raise ScriptError(f"cases.pattern: {error}") from None
        if groups is None:
            raise ScriptError(f"cases.pattern does not match '{name}'; narrow the glob, or widen the pattern")
        return {key: value for key, value in groups.items() if value is not None}


def glob_files(root: Path, glob: str) -> list[str]:
    """The plain files of a folder that match, relative to it, in order; `**` stands for any number of folders."""
    parts = _parts(glob)
    if root.is_file() or not parts:
        return []
    # Python translates * so that matching takes no longer than the product of both lengths.
    patterns = [None if part == ANY_FOLDERS else re.compile(fnmatch.translate(part)) for part in parts]
    return sorted(_Walk(glob, patterns).files(root))


def _parts(glob: str) -> list[str]:
    """The parts of a glob; several `**` in a row are one."""
    parts: list[str] = []
    for part in glob.split("/"):
        if ANY_FOLDERS in part and part != ANY_FOLDERS:
            raise ScriptError("** stands for whole folders; write **/*.png, or a single *")
        if part not in ("", ".") and not (part == ANY_FOLDERS and parts[-1:] == [ANY_FOLDERS]):
            parts.append(part)
    return parts


@dataclass
class _Walk:
    """Goes through the folders that can hold a match, with the parts that the path so far has got to."""

    glob: str
    parts: list[re.Pattern[str] | None]
    visited: int = field(default=0)

    def files(self, root: Path) -> Iterator[str]:
        last, waiting = self.parts[-1], [("", self._with_skipped({0}))]
        while waiting:
            folder, positions = waiting.pop()
            with os.scandir(root / folder) as entries:
                for entry in entries:
                    self.visited += 1
                    if self.visited > MAX_VISITED:
                        text = f"'{self.glob}' has to go through more than {MAX_VISITED:,} files; name a folder in it"
                        raise ScriptError(text)
                    path, after = f"{folder}{entry.name}", self._after(positions, entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        if after - {len(self.parts)}:
                            waiting.append((f"{path}/", after))
                    elif last is not None and len(self.parts) - 1 in positions and last.match(entry.name):
                        # ** matches folders only, so a last part that is None has no files.
                        yield from [path] if entry.is_file() else []

    def _with_skipped(self, positions: set[int]) -> frozenset[int]:
        """`**` may stand for no folder at all."""
        return frozenset(positions | {at + 1 for at in positions if at < len(self.parts) and self.parts[at] is None})

    def _after(self, positions: frozenset[int], name: str) -> frozenset[int]:
        """Where the parts are after a folder of this name."""
        after = set()
        for position in positions:
            part = self.parts[position] if position < len(self.parts) else None
            if position < len(self.parts) and part is None:
                after.add(position)
            elif part is not None and part.match(name):
                after.add(position + 1)
        return self._with_skipped(after)
