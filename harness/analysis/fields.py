"""The fields of a record by name, for those who filter and sort: its own, and any column of the case."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from harness.errors import UsageError
from harness.model import Trial, plain_text
from harness.params import nearest

# Numbers and columns are told by their own names.
OWN = tuple(name for name in Trial.__struct_fields__ if name not in ("values", "columns"))
VALUES = "values."


def value(trial: Trial, name: str) -> Any:
    """A field of a record; None where it has none. `truth` is the real class, also where the claim is true."""
    if name == "truth" and trial.truth is UNSET:
        found = trial.expect if trial.outcome.positive else None
    elif name in OWN:
        found = getattr(trial, name)
    else:
        found = _further(trial, name)
    return None if found is UNSET else found


def _further(trial: Trial, name: str) -> Any:
    """A column of the case, else a value by name; `values.NAME` is always the value."""
    if trial.columns and name in trial.columns:
        return trial.columns[name]
    values = trial.values or {}
    return values.get(name, values.get(name.removeprefix(VALUES)))


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


def check_known(names: Iterable[str], known: Sequence[str], what: str) -> None:
    """A UsageError for a field that no record has."""
    for name in names:
        if name not in known:
            raise UsageError(f"{what} {name}: no such column; {nearest(name, known)}")


def sort_key(found: Any) -> tuple[int, float, str]:
    """Numbers first, as numbers, then texts; what is missing is dealt with by whoever sorts."""
    as_number = number(found)
    return (0, as_number, "") if as_number is not None else (1, 0.0, text(found))


def ordered(items: Iterable[Any], keys: Sequence[str], get: Callable[[Any, str], Any]) -> list[Any]:
    """Sorted by each key in turn, a leading - meaning downwards; items without a value come last either way."""
    result = list(items)
    for key in reversed(keys):
        name = key.removeprefix("-")
        found = [(get(item, name), item) for item in result]
        having = [pair for pair in found if pair[0] is not None]
        having.sort(key=lambda pair: sort_key(pair[0]), reverse=key.startswith("-"))
        result = [item for _, item in having] + [item for known, item in found if known is None]
    return result
