"""Conditions on the columns of a table or the keys of a record: writer=17, score>=0.5, error!=timeout."""

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from harness.errors import UsageError
from harness.model import plain_text

_PATTERN = re.compile(r"(.+?)\s*(!=|<=|>=|=|<|>)\s*(.*)", re.DOTALL)
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
    if isinstance(value, str) and not re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", value, re.ASCII):
        return None
    try:
        converted = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return converted if math.isfinite(converted) else None


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
        return self._equal(value) == (self.relation == "=")

    def _equal(self, value: Any) -> bool:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return number(self.value) == value
        return text(value) == self.value


def parse_condition(written: str, option: str = "--where") -> Condition:
    """A condition from the command line, given with this option."""
    match = _PATTERN.fullmatch(written.strip())
    if match is None:
        raise UsageError(f"{option} {written}: write COLUMN=VALUE (or !=, and <, <=, >, >= for numbers)")
    condition = Condition(match[1].strip(), match[2], match[3])
    if condition.relation in _ORDER and number(condition.value) is None:
        raise UsageError(f"{option} {written}: '{condition.value}' is not a number; texts allow only = and !=")
    return condition
