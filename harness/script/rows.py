"""A case from a row of a table, or from the name of a file."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from harness.errors import ScriptError
from harness.files.patterns import Matcher, compile_pattern
from harness.files.tables import TableRow
from harness.model import Case, plain_text
from harness.params import nearest
from harness.script.globs import glob_files

TRUTH = {"true": True, "1": True, "false": False, "0": False, "": True}
NO_ID = "a case without an id; give each case a unique id in column id"


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


_PLACEHOLDER = re.compile(r"^\{([A-Za-z_][A-Za-z0-9_]*)\}/(.+)$")


def glob_rows(glob: str, pattern: str | None, places: Mapping[str, Path]) -> Iterator[tuple[str, TableRow]]:
    """A row for each file that matches the glob, with its path in the data as id."""
    match = _PLACEHOLDER.match(glob)
    if match is None or match[1] not in places:
        known = nearest(match[1] if match else "", places)
        raise ScriptError(f"cases.glob: '{glob}' must begin with data, such as {{images}}/test/*.png; {known}")
    if ".." in match[2].split("/"):
        raise ScriptError(f"cases.glob: '{glob}' leaves its data; leave out ..")
    root = places[match[1]]
    try:
        names = glob_files(root, match[2])
    except ScriptError as error:
        raise ScriptError(f"cases.glob: '{glob}': {error}") from None
    with _Groups(pattern) as groups:
        for name in names:
            if not _is_unicode(name):
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
            found = self._matcher.search(name)
        except ScriptError as error:
            raise ScriptError(f"cases.pattern: {error}") from None
        if found is None:
            raise ScriptError(f"cases.pattern does not match '{name}'; narrow the glob, or widen the pattern")
        return {key: value for key, value in found.items() if value is not None}


def _is_unicode(name: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in name)
