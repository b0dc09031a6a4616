"""Effects that move what is in a picture, rotation and fewer pixels, and the truth that moves with them.

Coordinates and sums are whole numbers, so that every machine gives the same pixels; see `effects`.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.files.images import ImageError

Pixels = npt.NDArray[Any]
FloatPixels = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]

# The most classes of a truth that is made smaller: each is counted by itself.
MAX_CLASSES = 256
# Coordinates are whole numbers, in units of this part of a pixel.
_BITS = 21
_PIXEL = 1 << _BITS
# Rows that are rotated at once.
_STRIP = 64


def _direction(degrees: float) -> tuple[int, int]:
    """Cosine and sine, in units of half a `_PIXEL`."""
    angle = math.radians(degrees % 360)
    return round(math.cos(angle) * _PIXEL / 2), round(math.sin(angle) * _PIXEL / 2)


def rotated_size(width: int, height: int, degrees: float) -> tuple[int, int]:
    """Width and height of the upright rectangle around a rotated picture."""
    if degrees % 90 == 0:
        return (height, width) if degrees % 180 else (width, height)
    cosine, sine = map(abs, _direction(degrees))
    return -(-(width * cosine + height * sine) * 2 // _PIXEL), -(-(height * cosine + width * sine) * 2 // _PIXEL)


def _strips(shape: tuple[int, ...], degrees: float) -> Iterator[tuple[slice, Int64Array, Int64Array]]:
    """Where the pixels of the rotated picture come from, some rows at a time: x and y, in parts of a pixel."""
    height, width = shape[:2]
    new_width, new_height = rotated_size(width, height, degrees)
    cosine, sine = _direction(degrees)
    # Twice the distance from the centre is a whole number.
    across = 2 * np.arange(new_width, dtype=np.int64)[None, :] - (new_width - 1)
    for first in range(0, new_height, _STRIP):
        rows = slice(first, min(first + _STRIP, new_height))
        down = 2 * np.arange(rows.start, rows.stop, dtype=np.int64)[:, None] - (new_height - 1)
        x = across * cosine - down * sine + (width - 1) * (_PIXEL // 2)
        y = across * sine + down * cosine + (height - 1) * (_PIXEL // 2)
        yield rows, x, y


def rotated(image: Pixels, top: int, degrees: float) -> Pixels:
    """About the centre, with bilinear interpolation; the picture grows, so that nothing is cut off.

    The corners are filled with the nearest pixels of the picture.
    """
    if degrees % 90 == 0:
        return np.rot90(image, int(degrees // 90) % 4)
    new_width, new_height = rotated_size(image.shape[1], image.shape[0], degrees)
    varied = np.empty((new_height, new_width, *image.shape[2:]), image.dtype)
    for rows, x, y in _strips(image.shape, degrees):
        varied[rows] = np.clip(np.rint(_interpolated(image, x, y)), 0, top)
    return varied


def _interpolated(image: Pixels, x: Int64Array, y: Int64Array) -> FloatPixels:
    """The mean of the four pixels around each point, by its distance from them in 256ths of a pixel."""
    right, below = (((part >> (_BITS - 8)) & 255).astype(np.float64) for part in (x, y))
    if image.ndim == 3:
        right, below = right[..., None], below[..., None]
    height, width = image.shape[:2]
    pixels = image.reshape(height * width, *image.shape[2:])
    left, further = (np.clip((x >> _BITS) + step, 0, width - 1) for step in (0, 1))
    upper, lower = (
        pixels[row + left] * (256 - right) + pixels[row + further] * right
        for row in (np.clip((y >> _BITS) + step, 0, height - 1) * width for step in (0, 1))
    )
    return np.asarray((upper * (256 - below) + lower * below) / 65536)


def block_means(values: Pixels, side: int) -> Int64Array:
    """The mean of each square of `side` by `side` pixels, or of what there is of it at the edges."""
    total, count = (_block_sums(part, side) for part in (values.astype(np.int64), np.ones(values.shape[:2], np.int64)))
    if values.ndim == 3:
        count = count[..., None]
    return np.asarray((2 * total + count) // (2 * count))


def _block_sums(values: Pixels, side: int) -> Pixels:
    rows, columns = (np.arange(0, length, side) for length in values.shape[:2])
    sums: Pixels = np.add.reduceat(np.add.reduceat(values, rows, axis=0), columns, axis=1)
    return sums


def move_numbers(image: Pixels, kind: str, value: float, outside: int = 0) -> Pixels:
    """An image of numbers, such as weights, moved like the input; of a square that becomes one pixel, their mean."""
    if kind != "downsample":
        return move_classes(image, kind, value, outside)
    if image.dtype.kind != "f":
        return block_means(image, int(value)).astype(image.dtype)
    total, count = (_block_sums(part, int(value)) for part in (image.astype(np.float64), np.ones(image.shape)))
    return np.asarray(total / count)


def move_classes(truth: Pixels, kind: str, value: float, outside: int = 0) -> Pixels:
    """An image of classes moved like the input; `outside` is the class of what was not in the original picture.

    Of a square of pixels that becomes one, it is the most frequent class; of equally frequent ones, the smallest.
    """
    if kind == "downsample":
        classes = np.unique(truth)
        if len(classes) > MAX_CLASSES:
            raise ImageError(f"it has {len(classes):,} different values; at most {MAX_CLASSES} classes are moved")
        counts = np.stack([_block_sums((truth == code).astype(np.int64), int(value)) for code in classes])
        return np.asarray(classes[counts.argmax(axis=0)])
    if value % 90 == 0:
        return np.rot90(truth, int(value // 90) % 4)
    new_width, new_height = rotated_size(truth.shape[1], truth.shape[0], value)
    moved = np.full((new_height, new_width, *truth.shape[2:]), outside, truth.dtype)
    for rows, *origins in _strips(truth.shape, value):
        x, y = (part + _PIXEL // 2 >> _BITS for part in origins)
        inside = (x >= 0) & (x < truth.shape[1]) & (y >= 0) & (y < truth.shape[0])
        moved[rows][inside] = truth[y[inside], x[inside]]
    return moved


def move_box(box: Sequence[float], size: tuple[int, int], kind: str, value: float) -> list[float]:
    """A box (x, y, width, height) moved like the input of this width and height: the upright box around it."""
    x, y, wide, high = box
    if kind == "downsample":
        return [part / int(value) for part in box]
    width, height = size
    new_width, new_height = rotated_size(width, height, value)
    cosine, sine = (2 * part / _PIXEL for part in _direction(value))
    corners = [(a - width / 2, b - height / 2) for a in (x, x + wide) for b in (y, y + high)]
    across = [a * cosine + b * sine + new_width / 2 for a, b in corners]
    down = [b * cosine - a * sine + new_height / 2 for a, b in corners]
    return [min(across), min(down), max(across) - min(across), max(down) - min(down)]


def moved_size(size: tuple[int, int], kind: str, value: float) -> tuple[int, int]:
    """Width and height of a picture after a movement."""
    if kind == "downsample":
        return -(-size[0] // int(value)), -(-size[1] // int(value))
    return rotated_size(*size, value)
