"""Results as an R expression that `dget` reads: lists, vectors, data frames, matrices."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

PER_LINE = 12


def to_r(value: Any) -> str:
    """Any JSON-like value; a mapping of equally long columns of numbers becomes a data frame."""
    return _value(value, 0) + "\n"


def _value(value: Any, depth: int) -> str:
    if isinstance(value, Mapping):
        return _mapping(value, depth)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _sequence(value, depth)
    return "NULL" if value is None else _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "NA"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return f"{value}L" if abs(value) < 1 << 31 else f"{value}"
    if isinstance(value, float):
        return _float(value)
    return quoted(str(value))


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return repr(value)


def quoted(text: str) -> str:
    """An ASCII string, escaped so that nothing in it can close it."""
    return '"' + "".join(_character(char) for char in text) + '"'


def _character(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if " " <= char <= "~":
        return char
    # R has no NUL in strings.
    return "" if char == "\0" else f"\\U{{{ord(char):x}}}"


def _mapping(value: Mapping[str, Any], depth: int) -> str:
    frame = _is_frame(value)
    pad = "  " * (depth + 1)
    parts = [f"{pad}{quoted(str(key))} = {_value(one, depth + 1)}" for key, one in value.items()]
    # Keep names as they are: R would change some of them.
    more = [f"{pad}check.names = FALSE", f"{pad}stringsAsFactors = FALSE"] if frame else []
    return ("data.frame" if frame else "list") + "(\n" + ",\n".join([*parts, *more]) + "\n" + "  " * depth + ")"


def _is_frame(value: Mapping[str, Any]) -> bool:
    columns = list(value.values())
    lists = all(isinstance(one, list) and not any(isinstance(v, (list, Mapping)) for v in one) for one in columns)
    return len(columns) > 1 and lists and len({len(one) for one in columns}) == 1 and len(columns[0]) > 0


def _sequence(value: Sequence[Any], depth: int) -> str:
    if not value:
        return "list()"
    if all(isinstance(one, Sequence) and not isinstance(one, str) for one in value):
        joined = ",\n".join("  " * (depth + 1) + _value(one, depth + 1) for one in value)
        same = len({len(one) for one in value}) == 1 and len(value[0]) > 0
        return ("rbind" if same else "list") + f"(\n{joined}\n" + "  " * depth + ")"
    if any(isinstance(one, Mapping) for one in value):
        joined = ",\n".join("  " * (depth + 1) + _value(one, depth + 1) for one in value)
        return f"list(\n{joined}\n" + "  " * depth + ")"
    return _vector(value, depth)


def _vector(value: Sequence[Any], depth: int) -> str:
    cells = [_scalar(one) for one in value]
    lines = [", ".join(cells[i : i + PER_LINE]) for i in range(0, len(cells), PER_LINE)]
    return "c(" + (",\n" + "  " * (depth + 2)).join(lines) + ")"
