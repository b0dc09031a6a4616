"""Parsing of answers, shared by the tasks."""

import math
import sys
from collections.abc import Mapping
from typing import cast

from harness.tasks.task import AnswerError

MAX_SHOWN_LENGTH = 60
# Of a value, which is typed after --statistic.
MAX_NAME_LENGTH = 100


def shown(raw: object) -> str:
    """An answer, short enough for a message."""
    text = repr(raw)
    return text if len(text) <= MAX_SHOWN_LENGTH else text[: MAX_SHOWN_LENGTH - 3] + "..."


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
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise AnswerError(f"label {shown(text)} is not valid Unicode text; decode it properly") from None
        return text
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, int):
        return str(raw)
    if isinstance(raw, float) and math.isfinite(raw):
        return str(int(raw)) if raw.is_integer() else repr(raw)
    raise AnswerError(f"label {shown(raw)} is neither text nor a number")


def with_values(raw: object) -> tuple[object, Mapping[str, float | None] | None]:
    """An answer, and the further numbers that it has under `values`, by name; None if it has none.

    The answer itself is what stands beside them: under `answer`, or under the keys of its task; nothing is a refusal.
    In a mapping of labels to scores a label may be called `values`: then it has a number.
    """
    if type(raw) is not dict or "values" not in raw:
        return raw, None
    values = raw["values"]
    if isinstance(values, (int, float)):
        return raw, None
    beside = {key: value for key, value in raw.items() if key != "values"}
    answer = beside.get("answer", beside or None)
    if values is None:
        return answer, None
    if not isinstance(values, Mapping):
        raise AnswerError(f"values {shown(values)} is not a mapping of names to numbers")
    numbers: dict[str, float | None] = {}
    for name, value in values.items():
        text = label(name)
        if not text or len(text) > MAX_NAME_LENGTH:
            raise AnswerError(
                f"values: the name {shown(text)} has {len(text):,} characters; give it 1 to {MAX_NAME_LENGTH}"
            )
        if isinstance(value, bool):
            numbers[text] = float(value)
        else:
            numbers[text] = None if value is None else number(value, f"values: {shown(name)}")
    return answer, numbers


def fields(raw: object, known: frozenset[str]) -> Mapping[str, object] | None:
    """The answer as a JSON object with one of the known keys, or None if it is something else."""
    # Nearly all are plain dicts, and an isinstance check against an abstract class is slow.
    if (type(raw) is dict or isinstance(raw, Mapping)) and not known.isdisjoint(raw):
        return cast("Mapping[str, object]", raw)
    return None
