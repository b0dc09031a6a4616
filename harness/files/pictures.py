"""Pictures as they are stored, and which way up they are seen: cameras store some on their side, and EXIF says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.files.images import ImageError, exif_orientation, netpbm_top, read_image, read_regular

if TYPE_CHECKING:
    from harness.files.images import Pixels

# What undoes an orientation: of the quarter turns 6 and 8 the other one; all others undo themselves.
_BACK = {6: 8, 8: 6}


class StoredPicture(NamedTuple):
    """Pixels as a file has them, their largest grey level, and EXIF's orientation: 1 if they are seen as they are."""

    pixels: Pixels
    top: int
    orientation: int = 1


def read_picture(source: str | Path) -> StoredPicture:
    """An image as it is stored, grey or in colours of 8 or 16 bits; a palette's pixels are their colours.

    Some readers of images turn them as EXIF says, others do not: that is up to a program. Raises an ImageError.
    """
    import numpy as np

    data = read_regular(source)
    array = read_image(data, palette=False)
    if array.dtype not in (np.uint8, np.uint16):
        raise ImageError(f"its pixels are {array.dtype}; expected whole numbers of 8 or 16 bits")
    if array.ndim == 3 and array.shape[2] in (2, 4):
        if not (array[..., -1] == np.iinfo(array.dtype).max).all():
            raise ImageError("it has transparent pixels")
        array = array[..., 0] if array.shape[2] == 2 else array[..., :3]
    orientation, is_turned = exif_orientation(data)
    stored = turned(array, _BACK.get(orientation, orientation)) if is_turned else array
    return StoredPicture(stored, netpbm_top(data) or int(np.iinfo(array.dtype).max), orientation)


def turned(array: Pixels, orientation: int) -> Pixels:
    """A picture as it is seen, from one that is stored with this orientation."""
    import numpy as np

    # From 5 on, rows are seen as columns.
    array = array.swapaxes(0, 1) if orientation > 4 else array
    array = array[::-1] if orientation in (3, 4, 7, 8) else array
    return np.ascontiguousarray(array[:, ::-1] if orientation in (2, 3, 6, 7) else array)
