"""Conditions on the columns of a table, and of a record: writer=17, score>=0.5, error!=timeout."""

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


def text(found: Any) -> str:
    """A value as people read it: lists and mappings as JSON, nothing for a missing one."""
    if isinstance(found, (list, dict)):
        return msgspec.json.encode(found).decode()
    return plain_text(found)


def number(found: Any) -> float | None:
    """A value as a number, if it is one; a text that spells one counts."""
    if isinstance(found, bool) or found is None:
        return None
    if isinstance(found, str) and not re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", found, re.ASCII):
        return None
    try:
        converted = float(found)
    except (TypeError, ValueError, OverflowError):
        return None
    return converted if math.isfinite(converted) else None


def sort_key(found: Any) -> tuple[int, float, str]:
    """Numbers first, as numbers, then texts."""
    as_number = number(found)
    return (0, as_number, "") if as_number is not None else (1, 0.0, text(found))


@dataclass(frozen=True)
class Condition:
    """What must hold of one field."""

    name: str
    relation: str
    wanted: str

    def holds(self, found: Any) -> bool:
        """Whether it does. Texts are compared as texts, numbers as numbers; only numbers have an order."""
        if self.relation in _ORDER:
            one, other = number(found), number(self.wanted)
            return one is not None and other is not None and _ORDER[self.relation](one, other)
        return self._equal(found) == (self.relation == "=")

    def _equal(self, found: Any) -> bool:
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return number(self.wanted) == found
        return text(found) == self.wanted


def parse_condition(given: str, option: str = "--where") -> Condition:
    """A condition as it is written on a command line, after this option."""
    match = _PATTERN.fullmatch(given.strip())
    if match is None:
        raise UsageError(f"{option} {given}: write COLUMN=VALUE (or !=, and <, <=, >, >= for numbers)")
    condition = Condition(match[1].strip(), match[2], match[3])
    if condition.relation in _ORDER and number(condition.wanted) is None:
        raise UsageError(f"{option} {given}: '{condition.wanted}' is not a number; texts have only = and !=")
    return condition
