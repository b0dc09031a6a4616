"""TOML files checked against a pydantic model: every mistake at once, with its line and the nearest known key."""

import copy
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.files.mistakes import KeyLines, Mistakes, key_lines, line_of
from harness.files.toml_text import MAX_FILE_BYTES as MAX_FILE_BYTES
from harness.files.toml_text import read_toml as read_toml
from harness.params import nearest


class Section(BaseModel):
    """A table of a file: unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Model = TypeVar("Model", bound=Section)


def validate(model: type[Model], parsed: dict[str, Any], text: str, mistakes: Mistakes) -> Model:
    """The file as its model, or a ScriptError with all mistakes."""
    try:
        return model.model_validate(parsed)
    except ValidationError as error:
        _add_problems(model, parsed, text, error.errors(include_url=False), mistakes)
        mistakes.raise_if_any()
        raise


Key = tuple[str | int, ...]


def validate_rest(
    model: type[Model], parsed: dict[str, Any], text: str, mistakes: Mistakes, stand_ins: Mapping[Key, Any]
) -> tuple[Model | None, frozenset[Key]]:
    """The file as its model without what is wrong, so that the rest can be checked as well, and the keys left out.

    Each mistake is added. `stand_ins` are values for keys that the model requires; None if that is not enough.
    """
    rest, left_out = copy.deepcopy(parsed), set[Key]()
    for attempt in range(_MAX_ATTEMPTS):
        try:
            return model.model_validate(rest), frozenset(left_out)
        except ValidationError as error:
            problems = error.errors(include_url=False)
            if attempt == 0:
                _add_problems(model, parsed, text, problems, mistakes)
            for problem in problems:
                key = _user_key(rest, problem["loc"])
                left_out.add(_leave_out(rest, key, stand_ins, missing=problem["type"] == "missing"))
    return None, frozenset(left_out)


# A key that is left out may be one that its table requires, and that table one that the file requires.
_MAX_ATTEMPTS = 5


def _leave_out(rest: dict[str, Any], key: Key, stand_ins: Mapping[Key, Any], *, missing: bool) -> Key:
    """Remove a key, or the table that lacks a required one; the key that is no longer what the user wrote."""
    stands_in = key in stand_ins
    names = list(itertools.takewhile(lambda part: isinstance(part, str), key if stands_in or not missing else key[:-1]))
    if not names:
        return ()
    table: Any = rest
    for name in names[:-1]:
        table = table.get(name) if isinstance(table, dict) else None
    if isinstance(table, dict):
        table.pop(names[-1], None)
        if stands_in:
            table[names[-1]] = copy.deepcopy(stand_ins[key])
    return tuple(names)


def _add_problems(
    model: type[Section], parsed: dict[str, Any], text: str, problems: Sequence[Mapping[str, Any]], mistakes: Mistakes
) -> None:
    lines = key_lines(text)
    for problem in problems:
        key = _user_key(parsed, problem["loc"])
        mistakes.add(_explain(model, key, problem), location=key_location(lines, key))


def key_location(lines: KeyLines, key: tuple[str | int, ...]) -> str:
    """The line of a key, for a message."""
    line = line_of(lines, key)
    return f"line {line}" if line else ""


def _user_key(parsed: Any, loc: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The key as the user wrote it; pydantic adds parts for members of unions and keys of tables."""
    key: list[str | int] = []
    value = parsed
    for number, part in enumerate(loc, 1):
        known = (isinstance(value, dict) and part in value) or (isinstance(value, list) and isinstance(part, int))
        if known or (number == len(loc) and part != "[key]" and isinstance(value, dict)):
            key.append(part)
            value = value[part] if known else None
    return tuple(key)


def _explain(model: type[Section], key: tuple[str | int, ...], problem: Mapping[str, Any]) -> str:
    """A pydantic error in the terms of the file format."""
    names = [str(part) for part in key]
    shown = ".".join(names) or "file"
    kind = problem["type"]
    if kind == "extra_forbidden":
        return f"{shown}: unknown key; {nearest(names[-1], _known_keys(model, names[:-1]))}"
    if kind == "missing":
        return f"{shown}: missing"
    message = str(problem["msg"]).removeprefix("Value error, ").replace("Input should", "should")
    value = repr(problem["input"])
    contrast = "" if kind == "value_error" or len(value) > 80 else f", not {value}"
    return f"{shown}: {_IN_TOML.get(kind, message)}{contrast}"


# Errors that pydantic describes in terms of Python, in terms of TOML.
_IN_TOML = {
    "string_type": "should be text in quotes",
    "int_type": "should be a whole number",
    "int_from_float": "should be a whole number",
    "float_type": "should be a number",
    "bool_type": "should be true or false",
    "list_type": "should be a list in [ ]",
    "dict_type": "should be a table of keys and values",
    "model_type": "should be a table of keys and values",
    "too_short": "should not be empty",
}


def _known_keys(model: type[Section], path: list[str]) -> list[str]:
    """The keys that the table at this path of a file may have."""
    schema = model.model_json_schema()
    node = schema
    for name in path:
        node = node.get("properties", {}).get(name) or node.get("additionalProperties") or {}
        node = node if isinstance(node, dict) else {}
        node = next((option for option in node.get("anyOf", [node]) if option.get("type") != "null"), node)
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]] if "$ref" in node else node
    return list(node.get("properties", {}))
