"""TOML files against a pydantic model: every mistake at once, with its line and, for a misspelt key, the nearest."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.errors import ScriptError
from harness.files.lines import bad_line, key_lines, line_of
from harness.files.mistakes import Mistakes
from harness.params import nearest

LARGEST_FILE = 64 << 20


class Section(BaseModel):
    """A table of a file: unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Model = TypeVar("Model", bound=Section)


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """What a TOML file holds, and its text; a ScriptError where it cannot be read."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ScriptError(f"{path}: larger than {LARGEST_FILE >> 20} MiB; put the cases into a table")
        # Editors on some systems put a byte order mark in front.
        text = path.read_text(encoding="utf-8-sig")
        return tomllib.loads(text), text
    except UnicodeDecodeError:
        raise ScriptError(f"{path}: not UTF-8 at line {bad_line(path.read_bytes())}; save it as UTF-8") from None
    except OSError as error:
        raise ScriptError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ScriptError(f"{path}: not TOML: {error}") from None


def validate(model: type[Model], parsed: dict[str, Any], text: str, mistakes: Mistakes) -> Model:
    """The file as its model; all mistakes are raised together otherwise."""
    try:
        return model.model_validate(parsed)
    except ValidationError as error:
        lines = key_lines(text)
        for problem in error.errors(include_url=False):
            mistakes.add(_explain(model, problem["loc"], problem), place=line_place(lines, problem["loc"]))
        mistakes.raise_if_any()
        raise


def line_place(lines: dict[tuple[str, ...], int], key: tuple[str | int, ...]) -> str:
    """The place of a key for a message."""
    line = line_of(lines, key)
    return f"line {line}" if line else ""


def _explain(model: type[Section], loc: tuple[str | int, ...], problem: Mapping[str, Any]) -> str:
    """A pydantic error in the words of the format."""
    # A union reports each of its members by a made-up key; users know only their own.
    names = [str(part) for part in loc if not (isinstance(part, str) and (part in _TYPES or part.endswith(("]", ")"))))]
    key = ".".join(names) or "file"
    kind = problem["type"]
    if kind == "extra_forbidden":
        return f"{key}: unknown key; {nearest(names[-1], _known_keys(model, names[:-1]))}"
    if kind == "missing":
        return f"{key}: missing"
    message = str(problem["msg"]).removeprefix("Value error, ").replace("Input should", "should")
    shown = repr(problem["input"])
    given = "" if kind == "value_error" or len(shown) > 80 else f", not {shown}"
    return f"{key}: {message}{given}"


_TYPES = ("str", "int", "float", "bool")


def _known_keys(model: type[Section], path: list[str]) -> list[str]:
    """The keys that the table at this path of a file may have."""
    schema = model.model_json_schema()
    place = schema
    for name in path:
        place = place.get("properties", {}).get(name) or place.get("additionalProperties") or {}
        place = next((option for option in place.get("anyOf", [place]) if option.get("type") != "null"), place)
        place = schema["$defs"][place["$ref"].rsplit("/", 1)[1]] if "$ref" in place else place
    return list(place.get("properties", {}))
