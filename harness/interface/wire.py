"""Cases as JSON lines for programs and workers, and their answers as plain data."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from harness.model import Question


class _Line(msgspec.Struct, omit_defaults=True):
    id: str
    input: Any
    expect: str = ""
    repeat: int = 1
    columns: dict[str, Any] = {}


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Line).decode


def to_line(question: Question) -> bytes:
    """A question as a line: the id first, then the input, then the rest."""
    return _encode(_Line(question.id, question.input, question.expect, question.repeat, question.columns)) + b"\n"


def from_line(line: bytes, index: int = 0) -> Question:
    """A question from its line."""
    case = _decode(line)
    return Question(index, case.id, case.input, case.expect, case.columns, case.repeat)


class NotPlainError(Exception):
    """A Python object that is not an answer in any task."""


def plain(raw: Any) -> Any:
    """The answer with numpy scalars and arrays, tuples and mappings as plain Python values; NaN is refused."""
    if raw is None or type(raw) in (int, bool):
        return raw
    if isinstance(raw, str):
        return _text(raw)
    if type(raw) is float:
        return _finite(raw)
    if isinstance(raw, (bool, int)):
        return raw
    if callable(getattr(raw, "tolist", None)):
        return plain(raw.tolist())
    if isinstance(raw, float):
        return _finite(float(raw))
    if isinstance(raw, Mapping):
        return {_key(key): plain(value) for key, value in raw.items()}
    if isinstance(raw, Sequence) and not isinstance(raw, (bytes, bytearray)):
        return [plain(item) for item in raw]
    raise NotPlainError(f"a {type(raw).__name__} is not an answer; return a label, a number, a pair, a mapping or None")


def _text(raw: str) -> str:
    try:
        raw.encode()
    except UnicodeEncodeError:
        raise NotPlainError(f"{ascii(raw)[:60]} contains half a character; decode text with errors='replace'") from None
    return raw


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise NotPlainError(f"{value} is not a finite number")
    return value


def _key(key: Any) -> str:
    value = key.tolist() if callable(getattr(key, "tolist", None)) else key
    return _text(str(int(value)) if isinstance(value, float) and value.is_integer() else str(value))
