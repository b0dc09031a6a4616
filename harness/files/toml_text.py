"""Read and write TOML; `harness.files.toml` checks it against a model, with pydantic, which takes long to import."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.errors import ScriptError
from harness.files.mistakes import bad_line

MAX_FILE_BYTES = 64 << 20
# No format nests deeper than a handful; beyond hundreds, Python's own recursion ends.
DEEPEST = 50


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """The content of a TOML file, and its text; a ScriptError if it cannot be read."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ScriptError(f"{path}: larger than {MAX_FILE_BYTES >> 20} MiB; put the cases into a table")
        # Editors on some systems put a byte order mark in front.
        text = path.read_text(encoding="utf-8-sig")
        parsed = tomllib.loads(text)
    except UnicodeDecodeError:
        raise ScriptError(f"{path}: not UTF-8 at line {bad_line(path.read_bytes())}; save it as UTF-8") from None
    except OSError as error:
        raise ScriptError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ScriptError(f"{path}: not TOML: {error}") from None
    if _is_deeper(parsed, DEEPEST):
        raise ScriptError(f"{path}: tables or lists nested more than {DEEPEST} deep; no key needs that")
    return parsed, text


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether tables and lists are nested in more levels than these; level by level, since recursion has a limit."""
    layer = [value]
    for _ in range(levels):
        parts = (part for item in layer for part in (item.values() if isinstance(item, dict) else item))
        layer = [part for part in parts if isinstance(part, (dict, list))]
        if not layer:
            return False
    return True


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
        return "{" + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)
