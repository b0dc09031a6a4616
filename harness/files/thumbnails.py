"""Small pictures of images, for pages: decoded without trust, made small, and encoded again as PNG."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import MissingExtra
from harness.files.images import ImageError, read_image
from harness.files.pictures import read_picture, turned

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bytes = npt.NDArray[np.uint8]

# Pixels on a side, and the largest file that is worth decoding for so few.
SIDE = 96
LARGEST = 32 << 20


def thumbnail(path: Path) -> bytes | None:
    """A PNG with at most `SIDE` pixels on a side; None if the file is not an image that can be shown."""
    try:
        if path.stat().st_size > LARGEST:
            return None
        return png_bytes(_small(_eight_bits(path)))
    except (OSError, ImageError, MissingExtra):
        return None


def _eight_bits(path: Path) -> Bytes:
    """Grey or colours of 8 bits; numbers that are no grey levels are stretched from the smallest to the largest."""
    import numpy as np

    low = 0.0
    try:
        array, high, orientation = read_picture(path)
        array = turned(array, orientation)  # people look at it
    except ImageError:  # transparent, or other numbers
        array = np.nan_to_num(read_image(path, palette=False).astype(np.float64))
        low, high = float(array.min()), array.max()
        if array.ndim == 3:
            array = array[..., 0] if array.shape[2] < 3 else array[..., :3]
    scale = 255.0 / (float(high) - low) if high > low else 1.0
    return np.asarray(((array - low) * scale).clip(0, 255), dtype=np.uint8)


def _small(array: Bytes) -> Bytes:
    """Means of square blocks."""
    import numpy as np

    step = -(-max(array.shape[:2]) // SIDE)
    if step == 1:
        return array
    rows, columns = (max(side // step, 1) for side in array.shape[:2])
    # A picture that is narrower than a block keeps its only column.
    height, width = min(step, array.shape[0]), min(step, array.shape[1])
    blocks = array[: rows * height, : columns * width].reshape(rows, height, columns, width, -1)
    means = np.asarray(blocks.mean(axis=(1, 3)), dtype=np.uint8)
    return means[..., 0] if array.ndim == 2 else means


def png_bytes(array: Bytes) -> bytes:
    """A PNG of grey values or colours (W3C, Portable Network Graphics, section 5)."""
    import numpy as np

    height, width = array.shape[:2]
    lines = array.reshape(height, -1)
    # Each line begins with its filter: 0, none.
    data = np.concatenate([np.zeros((height, 1), dtype=np.uint8), lines], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if array.ndim == 2 else 2, 0, 0, 0)
    parts = (_part(b"IHDR", header), _part(b"IDAT", zlib.compress(data, 9)), _part(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _part(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
