"""Read TOML files; `harness.files.toml` checks them against a model, with pydantic, which takes long to import."""

import tomllib
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
        layer = [part for item in layer for part in _parts(item)]
        if not layer:
            return False
    return True


def _parts(item: Any) -> list[Any]:
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return [part for part in parts if isinstance(part, (dict, list))]
