"""Parsing of answers, shared by the tasks."""

import math
import sys
from collections.abc import Mapping
from typing import cast

from harness.tasks.task import AnswerError

LONGEST_SHOWN = 60


def shown(raw: object) -> str:
    """An answer, short enough for a message."""
    text = repr(raw)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def number(raw: object, what: str) -> float:
    """A finite number, which may be written as text."""
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str)):
        raise AnswerError(f"{what} {shown(raw)} is not a number")
    try:
        value = float(raw)
    except (ValueError, OverflowError):
        raise AnswerError(f"{what} {shown(raw)} is not a number") from None
    if not math.isfinite(value):
        raise AnswerError(f"{what} {shown(raw)} is not a finite number")
    return value


def bounded(value: float) -> float:
    """At most the largest float: JSON has no infinity, and an unrecorded score would pass every threshold."""
    return min(value, sys.float_info.max)


def label(raw: object) -> str:
    """A label as text; 3 and '3' are the same label."""
    if isinstance(raw, str):
        text = raw.strip()
        return text if text.isascii() else _writable(text)
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, int):
        return str(raw)
    if isinstance(raw, float) and math.isfinite(raw):
        return str(int(raw)) if raw.is_integer() else repr(raw)
    raise AnswerError(f"label {shown(raw)} is neither text nor a number")


def _writable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise AnswerError(f"label {shown(text)} is not valid Unicode text; decode it properly") from None
    return text


def fields(raw: object, known: frozenset[str]) -> Mapping[str, object] | None:
    """The answer as a JSON object with one of the known keys, or None if it is something else."""
    # Nearly all are plain dicts, and an isinstance check against an abstract class is slow.
    if (type(raw) is dict or isinstance(raw, Mapping)) and not known.isdisjoint(raw):
        return cast("Mapping[str, object]", raw)
    return None
