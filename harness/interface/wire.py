"""Cases as JSON lines: to programs, to workers, and in the training file."""

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
    """A question as a line: the id first, then the input, then what there is besides."""
    return _encode(_Line(question.id, question.input, question.expect, question.repeat, question.columns)) + b"\n"


def from_line(line: bytes, index: int = 0) -> Question:
    """A question from its line."""
    case = _decode(line)
    return Question(index, case.id, case.input, case.expect, case.columns, case.repeat)
