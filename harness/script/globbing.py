"""Cases from the names of files: a glob, and a pattern whose named groups are columns."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.errors import ScriptError
from harness.files.tables import Row
from harness.params import nearest

_PLACEHOLDER = re.compile(r"^\{([A-Za-z_][A-Za-z0-9_]*)\}/(.+)$")


def globbed(glob: str, pattern: str | None, places: Mapping[str, Path]) -> Iterator[tuple[str, Row]]:
    """A row for each file that the glob finds, by its name in the data."""
    found = _PLACEHOLDER.match(glob)
    if found is None or found[1] not in places:
        known = nearest(found[1] if found else "", places)
        raise ScriptError(f"cases.glob: '{glob}' must begin with data, such as {{images}}/test/*.png; {known}")
    if ".." in found[2].split("/"):
        raise ScriptError(f"cases.glob: '{glob}' leaves its data; leave out ..")
    root, expression = places[found[1]], _compile(pattern)
    try:
        files = sorted(path for path in root.glob(found[2]) if path.is_file())
    except (ValueError, NotImplementedError) as error:
        raise ScriptError(f"cases.glob: '{glob}': {error}") from None
    for path in files:
        name = path.relative_to(root).as_posix()
        if not _is_unicode(name):
            raise ScriptError(f"cases.glob: file name {name!r} is not UTF-8; rename the file")
        yield name, {"id": name, "input": f"{{{found[1]}}}/{name}"} | _groups(expression, name)


def _groups(expression: re.Pattern[str] | None, name: str) -> dict[str, Any]:
    if expression is None:
        return {}
    match = expression.search(name)
    if match is None:
        raise ScriptError(f"cases.pattern does not match '{name}'; narrow the glob, or widen the pattern")
    return {key: value for key, value in match.groupdict().items() if value is not None}


def _is_unicode(name: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in name)


def _compile(pattern: str | None) -> re.Pattern[str] | None:
    try:
        return None if pattern is None else re.compile(pattern)
    except re.error as error:
        raise ScriptError(f"cases.pattern: not a regular expression: {error}") from None
