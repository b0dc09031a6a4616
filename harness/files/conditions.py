"""Conditions on the columns of a table or the keys of a record: writer=17, score>=0.5, error!=timeout."""

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from harness.errors import UsageError
from harness.model import plain_text

_NUMBER = r"\s*+[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?\s*+"
_IS_NUMBER = re.compile(_NUMBER, re.ASCII)
# Texts with a mark behind each, which no number contains.
_MARK = "\0"
_ARE_NUMBERS = re.compile(rf"(?:{_NUMBER}{_MARK})*+", re.ASCII)
_RELATION = re.compile("!=|<=|>=|=|<|>")
_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def text(value: Any) -> str:
    """A value in readable form: lists and mappings as JSON, a missing value as an empty text."""
    if isinstance(value, (list, dict)):
        return msgspec.json.encode(value).decode()
    return plain_text(value)


def number(value: Any) -> float | None:
    """A value as a number, if it is one, also if it is written as a text."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str) and not _IS_NUMBER.fullmatch(value):
        return None
    try:
        converted = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return converted if math.isfinite(converted) else None


def numbers(texts: Sequence[str]) -> list[float | None]:
    """The same for many texts: all at once if all are numbers, else up to the first that is none."""
    marked = _MARK.join([*texts, ""])
    if marked.count(_MARK) == len(texts) and _ARE_NUMBERS.fullmatch(marked):
        values = list(map(float, texts))
        if all(map(math.isfinite, values)):
            return list(values)
    converted: list[float | None] = []
    for written in texts:
        converted.append(number(written))
        if converted[-1] is None:
            break
    return converted


def sort_key(value: Any) -> tuple[int, float, str]:
    """A sort key: numbers in numerical order, then texts."""
    as_number = number(value)
    return (0, as_number, "") if as_number is not None else (1, 0.0, text(value))


@dataclass(frozen=True)
class Condition:
    """A condition on one field."""

    name: str
    relation: str
    value: str

    def holds(self, value: Any) -> bool:
        """Whether a value meets it. Texts are compared as texts, numbers as numbers; only numbers have an order."""
        if self.relation in _ORDER:
            left, right = number(value), number(self.value)
            return left is not None and right is not None and _ORDER[self.relation](left, right)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        equal = number(self.value) == value if is_number else text(value) == self.value
        return equal == (self.relation == "=")


def parse_condition(written: str, option: str = "--where") -> Condition:
    """A condition from the command line, given with this option."""
    stripped = written.strip()
    match = _RELATION.search(stripped, 1)  # a name has one character at least
    if match is None:
        raise UsageError(f"{option} {written}: write COLUMN=VALUE (or !=, and <, <=, >, >= for numbers)")
    condition = Condition(stripped[: match.start()].rstrip(), match[0], stripped[match.end() :].lstrip())
    if condition.relation in _ORDER and number(condition.value) is None:
        raise UsageError(f"{option} {written}: '{condition.value}' is not a number; texts allow only = and !=")
    return condition
