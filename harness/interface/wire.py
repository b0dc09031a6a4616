"""Cases as JSON lines for programs and workers, and their answers as plain data."""

import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.files.images import ImageError, npy_bytes, read_regular
from harness.model import Question

# The key of an image, or of an array as the bytes of a .npy file; in JSON they are base64.
BYTES = "bytes"
# Keys that may hold the answer, in a message or in a table, and the key of further numbers beside it.
ANSWER_KEYS = ("label", "score", "scores", "value", "answer")
VALUES = "values"
# Larger ones would make lines too long: they are in a file, whose name begins so.
_SPILLED = "hate-answer-"
MAX_IN_LINE_BYTES = 1 << 20


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
    case = _decode(line)
    return Question(index, case.id, case.input, case.expect, case.columns, case.repeat)


class NotPlainError(Exception):
    """A Python object that is not an answer in any task."""


def plain(raw: Any) -> Any:
    """The answer with numpy scalars and arrays, tuples and mappings as plain Python values; NaN is refused.

    Bytes, and arrays with more than one dimension, which may have millions of numbers, become {"bytes": ...}.
    """
    if raw is None or type(raw) in (int, bool):
        return raw
    if isinstance(raw, str):
        return _text(raw)
    if type(raw) is float:
        return _finite(raw)
    if isinstance(raw, (bool, int)):
        return raw
    if callable(getattr(raw, "tolist", None)):
        return plain(raw.tolist()) if getattr(raw, "ndim", 0) < 2 else _array(raw)
    if isinstance(raw, float):
        return _finite(float(raw))
    if isinstance(raw, Mapping):
        return {_key(key): plain(value) for key, value in raw.items()}
    if isinstance(raw, Sequence) and not isinstance(raw, (bytes, bytearray)):
        return [plain(item) for item in raw]
    return _file(raw)


def _file(raw: Any) -> Any:
    """A path, or the content of a file."""
    if isinstance(raw, (bytes, bytearray)):
        return {BYTES: bytes(raw)}
    if isinstance(raw, os.PathLike):
        return plain(os.fspath(raw))
    if hasattr(raw, "__array_interface__"):  # an image of Pillow
        return _array(raw)
    raise NotPlainError(f"a {type(raw).__name__} is not an answer; return a label, a number, a pair, a mapping or None")


def _array(raw: Any) -> dict[str, bytes]:
    try:
        return {BYTES: npy_bytes(raw)}
    except ImageError as error:
        raise NotPlainError(str(error)) from None


def spill(raw: Any, folder: Path) -> Any:
    """The answer with large bytes in files of this folder, by name."""
    if not isinstance(raw, dict):
        return raw
    content = raw.get(BYTES)
    if isinstance(content, bytes) and len(content) > MAX_IN_LINE_BYTES:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=_SPILLED, delete=False) as file:
            file.write(content)
        return raw | {BYTES: {_SPILLED: Path(file.name).name}}
    return {key: spill(value, folder) for key, value in raw.items()}


def unspill(raw: Any, folder: Path) -> Any:
    """The answer with the bytes again; their files are removed."""
    if not isinstance(raw, dict):
        return raw
    name = raw.get(_SPILLED)
    # No answer can name a file that `spill` has not made.
    if len(raw) == 1 and isinstance(name, str) and name.startswith(_SPILLED) and "/" not in name:
        try:
            content = read_regular(folder / name)
            (folder / name).unlink()
        except (ImageError, OSError):
            return raw
        return content
    return {key: unspill(value, folder) for key, value in raw.items()}


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
