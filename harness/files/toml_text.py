"""Write TOML: the tables of a script, from what was parsed of one."""

import json
from collections.abc import Mapping
from typing import Any


def toml_text(tables: Mapping[str, Any]) -> str:
    """A document: plain keys first, then a table for each mapping; deeper mappings are written inline."""
    plain = [f"{_key(key)} = {_value(value)}" for key, value in tables.items() if not isinstance(value, Mapping)]
    lines = [*plain]
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            continue
        nested = bool(table) and all(isinstance(value, Mapping) for value in table.values())
        parts = {f"{_key(name)}.{_key(key)}": value for key, value in table.items()} if nested else {_key(name): table}
        for title, part in parts.items():
            lines += ["", f"[{title}]", *(f"{_key(key)} = {_value(value)}" for key, value in part.items())]
    return "\n".join([*lines, ""])


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _text(name)


def _text(text: str) -> str:
    """JSON's escapes are TOML's, but for one character that only TOML has to escape."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)
