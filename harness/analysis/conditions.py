"""Conditions on records: writer=17, score>=0.5, error!=timeout."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.analysis.fields import number, text
from harness.errors import UsageError

_PATTERN = re.compile(r"(.+?)\s*(!=|<=|>=|=|<|>)\s*(.*)", re.DOTALL)
_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


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
