"""What a program may answer in a mask test, as an array: a path, bytes, an array, or nested lists."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.files.images import MAX_PIXELS, ImageError, read_plane
from harness.tasks.answers import shown
from harness.tasks.task import AnswerError

if TYPE_CHECKING:
    import numpy.typing as npt

    Plane = npt.NDArray[Any]


def read_answer(raw: object) -> Plane:
    """The image of an answer, (height, width)."""
    try:
        if isinstance(raw, str):
            return read_plane(raw)
        if isinstance(raw, Mapping) and set(raw) == {"bytes"}:
            return read_plane(_bytes(raw["bytes"]))
    except ImageError as error:
        name = f"the image '{Path(raw).name[-60:]}'" if isinstance(raw, str) else "the image"
        raise AnswerError(f"{name}: {error}") from None
    if isinstance(raw, list):
        return _from_lists(raw)
    raise AnswerError(f"{shown(raw)} is neither an image's path, nor its bytes, nor a 2-D array")


def _bytes(content: object) -> bytes:
    if isinstance(content, bytes):
        return content
    if not isinstance(content, str):
        raise ImageError(f"{shown(content)} is not base64")
    try:
        return b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise ImageError("its bytes are not base64") from None


def _from_lists(rows: list[Any]) -> Plane:
    import numpy as np

    if len(rows) * (len(rows[0]) if rows and isinstance(rows[0], list) else 1) > MAX_PIXELS:
        raise AnswerError(f"a list of more than {MAX_PIXELS // 1_000_000} million pixels")
    try:
        array = np.asarray(rows)
    except (ValueError, OverflowError, RecursionError):  # rows of different lengths
        raise AnswerError("the rows of the list have different lengths, or hold something other than numbers") from None
    if array.ndim != 2 or not array.size or array.dtype.kind not in "buif":
        raise AnswerError(f"{shown(rows)} is not a 2-D array of numbers")
    return array


def mask_values(plane: Plane) -> Plane:
    """The values of a mask, which are whole numbers."""
    import numpy as np

    if plane.dtype.kind != "f":
        return plane
    if not np.isfinite(plane.min()) or not np.isfinite(plane.max()):
        raise AnswerError("a value of the mask is not a finite number")
    wrong = plane != np.trunc(plane)
    if wrong.any():
        value = plane[wrong][0].item()
        raise AnswerError(f'{value:g} is not a value of a mask; answer {{"scores": ...}} if these are scores')
    return plane


def score_values(plane: Plane) -> Plane:
    """Scores, which are finite numbers."""
    import numpy as np

    if plane.dtype.kind == "f" and not np.isfinite(plane).all():
        at = np.argwhere(~np.isfinite(plane))[0].tolist()
        raise AnswerError(f"score {plane[at[0], at[1]].item()} at x {at[1]}, y {at[0]} is not a finite number")
    return plane
