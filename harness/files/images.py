"""Images as numpy arrays: read from a file or from bytes, without trusting either; written; and made small for pages.

PGM, PPM, PBM and NPY need numpy only; PNG, TIFF and JPEG need Pillow. The format is recognised by the content. The
size in the header is checked before anything is decoded.
"""

from __future__ import annotations

import io
import os
import re
import stat
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from harness.errors import MissingExtra

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from PIL.Image import Image

    # (height, width) or (height, width, channels).
    Pixels = npt.NDArray[Any]
    Bytes = npt.NDArray[np.uint8]


MAX_PIXELS = 100_000_000
# Room for the largest image with 8 bytes a pixel.
MAX_FILE_BYTES = 1 << 30
KINDS = "PGM, PPM, PBM, PNG, TIFF, NPY or JPEG"
_NPY = b"\x93NUMPY"
_JPEG = b"\xff\xd8\xff"
_NETPBM_CHANNELS = {b"P1": 1, b"P2": 1, b"P3": 3, b"P4": 1, b"P5": 1, b"P6": 3}
# White space and comments may stand between the numbers of a header; what was read as such is not tried again.
_NUMBER = rb"(?:\s|#[^\n]*\n)++(\d{1,9})"
_PBM_HEADER = re.compile(rb"P[14]" + _NUMBER * 2 + rb"\s")
_PGM_HEADER = re.compile(rb"P[2356]" + _NUMBER * 3 + rb"\s")
_MAX_HEADER_BYTES = 1 << 16
_ORIENTATION = 0x0112


class ImageError(Exception):
    """Not an image that can be used; the text says why, and names no file."""


def image_size(array: Pixels) -> str:
    """The size of an image in words, width first: `640 x 480`."""
    return f"{array.shape[1]} x {array.shape[0]}"


def read_image(source: str | Path | bytes, *, lossless: bool = False, palette: bool = True) -> Pixels:
    """An image as it is stored: (height, width), or (height, width, channels) if it has more than one.

    Bits are 0 and 255, black and white; a palette's pixels are their indices in it, or their colours without `palette`;
    16 bits stay 16 bits. `lossless` refuses JPEG, whose pixels are not those that were written. Raises an ImageError.
    """
    with _opened(source) as file:
        start = file.read(6)
        file.seek(0)
        if start[:6] == _NPY:
            return _read_npy(file)
        if start[:2] in _NETPBM_CHANNELS:
            return _read_netpbm(file, start[:2])
        if lossless and start[:3] == _JPEG:
            raise ImageError("a JPEG, which changes pixels; use PNG, PGM, TIFF or NPY")
        return _read_with_pillow(file, palette=palette)


def read_plane(source: str | Path | bytes) -> Pixels:
    """An image of one channel, (height, width), such as a mask. JPEG, colours and transparent pixels are refused."""
    return single_channel(read_image(source, lossless=True))


def exif_orientation(source: str | Path | bytes) -> tuple[int, bool]:
    """How EXIF (tag 274) says that a picture is to be turned, 1 to 8; and whether Pillow does it, as for TIFF alone."""
    with _opened(source) as file:
        start = file.read(6)
        file.seek(0)
        if start == _NPY or start[:2] in _NETPBM_CHANNELS:
            return 1, False
        try:
            with _pillow_errors(), _pillow().open(file, formats=("PNG", "TIFF", "JPEG")) as image:
                orientation = image.getexif().get(_ORIENTATION, 1)
                return (orientation, image.format == "TIFF") if orientation in range(1, 9) else (1, False)
        except ImageError:  # EXIF that cannot be read says nothing
            return 1, False


def netpbm_top(data: bytes) -> int | None:
    """The largest value that a PGM or PPM declares; None for other files."""
    header = _PGM_HEADER.match(data[:_MAX_HEADER_BYTES])
    return int(header[3]) if header else None


def single_channel(array: Pixels) -> Pixels:
    """Grey values, if all channels agree and no pixel is transparent."""
    if array.ndim == 2:
        return array
    channels = array.shape[2]
    if channels in (2, 4):
        opaque = 1 if array.dtype == bool else (255 if array.dtype.itemsize == 1 else 65535)
        if array.dtype.kind == "f" or not (array[..., -1] == opaque).all():
            raise ImageError("it has transparent pixels; expected one value for each pixel")
    grey: Pixels = array[..., 0]
    if channels > 2 and not all((array[..., k] == grey).all() for k in (1, 2)):
        raise ImageError("it is a colour image; expected one value for each pixel")
    return grey


def write_image(path: Path, array: Pixels, *, most: int | None = None, orientation: int = 1) -> None:
    """Write a boolean, 8-bit or 16-bit array as PNG, TIFF, PGM, PPM or JPEG, by the suffix; anything as NPY.

    `most` is the largest value that a PGM or PPM declares, if not that of its bits; `orientation` is EXIF's.
    """
    import numpy as np

    values = array.astype(np.uint8) * np.uint8(255) if array.dtype == bool else array
    suffix = path.suffix.lower()
    if suffix == ".npy":
        path.write_bytes(npy_bytes(array))
    elif suffix in (".pgm", ".ppm"):
        is_wide = values.dtype.itemsize > 1
        top = most or (65535 if is_wide else 255)
        head = b"%s\n%d %d\n%d\n" % (b"P5" if values.ndim == 2 else b"P6", values.shape[1], values.shape[0], top)
        path.write_bytes(head + (values.astype(">u2") if is_wide else values).tobytes())
    else:
        with _pillow_errors():
            image = _pillow().fromarray(values)
            exif = image.getexif()
            exif[_ORIENTATION] = orientation
            image.save(path, **({} if orientation == 1 else {"exif": exif}))


def npy_bytes(array: Any) -> bytes:
    """An array as the bytes of a .npy file; one that holds Python objects is refused."""
    import numpy as np

    whole = np.ascontiguousarray(array)
    if whole.dtype.kind not in "buif":
        raise ImageError(f"an array of {whole.dtype}; expected numbers or booleans")
    out = io.BytesIO()
    np.lib.format.write_array(out, whole, allow_pickle=False)
    return out.getvalue()


def read_regular(path: str | Path) -> bytes:
    """The content of a file, if it is a regular one and not too large: a pipe or a device could have no end."""
    with _opened(path) as file:
        return file.read(MAX_FILE_BYTES)


@contextmanager
def _opened(source: str | Path | bytes) -> Iterator[IO[bytes]]:
    if isinstance(source, bytes):
        yield io.BytesIO(source)
        return
    try:
        # Without O_NONBLOCK, opening a pipe would wait for its other end.
        number = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise ImageError(f"it cannot be opened: {_reason(error)}") from None
    # A folder can be opened, but not wrapped.
    about = os.fstat(number)
    if not stat.S_ISREG(about.st_mode):
        os.close(number)
        raise ImageError("it is not a regular file")
    with os.fdopen(number, "rb") as file:
        if about.st_size > MAX_FILE_BYTES:
            raise ImageError(f"the file has more than {MAX_FILE_BYTES >> 20} MiB")
        try:
            yield file
        except OSError as error:
            raise ImageError(f"it cannot be read: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """Without the path, which is that of this machine."""
    return (getattr(error, "strerror", None) or "not a file name").lower()


def _check_size(width: int, height: int) -> None:
    if width < 1 or height < 1:
        raise ImageError(f"{width} x {height} pixels: it is empty")
    if width * height > MAX_PIXELS:
        raise ImageError(f"{width} x {height} pixels are more than {MAX_PIXELS // 1_000_000} million")


def _whole(data: bytes, expected: int) -> bytes:
    if len(data) < expected:
        raise ImageError(f"the file ends too early: {len(data):,} of {expected:,} bytes of pixels")
    return data


def _read_npy(file: IO[bytes]) -> Pixels:
    import numpy as np

    shape, fortran, kind = _npy_header(file)
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 2, 3, 4)):
        raise ImageError(f"an array of shape {shape}; expected two dimensions")
    if kind.kind not in "buif":
        raise ImageError(f"an array of {kind}; expected numbers or booleans")
    _check_size(shape[1], shape[0])
    count = int(np.prod(shape))
    data = _whole(file.read(count * kind.itemsize), count * kind.itemsize)
    array = np.frombuffer(data, kind).reshape(shape, order="F" if fortran else "C")
    array = array.astype(kind.newbyteorder("="), copy=False)
    return array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array


def _npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    import numpy as np

    reader = np.lib.format
    try:
        version = reader.read_magic(file)
        if version == (1, 0):
            shape, fortran, kind = reader.read_array_header_1_0(file)
        else:
            shape, fortran, kind = reader.read_array_header_2_0(file)
    # The header is a Python literal, and can be wrong in many ways.
    except Exception:
        raise ImageError("its NPY header cannot be read") from None
    if not all(type(side) is int for side in shape):
        raise ImageError("its NPY header cannot be read")
    return shape, bool(fortran), kind


def _read_netpbm(file: IO[bytes], magic: bytes) -> Pixels:
    import numpy as np

    plain, bits = magic in (b"P1", b"P2", b"P3"), magic in (b"P1", b"P4")
    match = (_PBM_HEADER if bits else _PGM_HEADER).match(file.read(_MAX_HEADER_BYTES))
    if match is None:
        raise ImageError("its Netpbm header cannot be read")
    width, height, *rest = map(int, match.groups())
    most = rest[0] if rest else 1
    _check_size(width, height)
    if not 1 <= most <= 65535:
        raise ImageError(f"{most} is not a largest value that Netpbm knows")
    file.seek(match.end())
    channels = _NETPBM_CHANNELS[magic]
    if bits:
        return _plain_bits(file, width, height) if plain else _packed_bits(file, width, height)
    kind = np.dtype(np.uint8 if most < 256 else ">u2")
    count = width * height * channels
    if plain:
        values = _plain_numbers(file, count, most).astype(kind.newbyteorder("="))
    else:
        values = np.frombuffer(_whole(file.read(count * kind.itemsize), count * kind.itemsize), kind)
        values = values.astype(kind.newbyteorder("="), copy=False)
    return values.reshape((height, width) if channels == 1 else (height, width, channels))


def _packed_bits(file: IO[bytes], width: int, height: int) -> Pixels:
    """A bit of a PBM is 1 for black."""
    import numpy as np

    row = (width + 7) // 8
    data = np.frombuffer(_whole(file.read(row * height), row * height), np.uint8).reshape(height, row)
    return np.asarray((1 - np.unpackbits(data, axis=1)[:, :width]) * np.uint8(255))


def _plain_bits(file: IO[bytes], width: int, height: int) -> Pixels:
    import numpy as np

    text = re.sub(rb"#[^\n]*|\s+", b"", file.read(MAX_FILE_BYTES))
    digits = np.frombuffer(_whole(text, width * height)[: width * height], np.uint8)
    if not ((digits == ord("0")) | (digits == ord("1"))).all():
        raise ImageError("a plain PBM has something other than 0 and 1")
    return np.asarray((digits == ord("0")) * np.uint8(255)).reshape(height, width)


def _plain_numbers(file: IO[bytes], count: int, most: int) -> Pixels:
    import numpy as np

    text = re.sub(rb"#[^\n]*", b"", file.read(MAX_FILE_BYTES))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            values = np.fromstring(text, dtype=np.int64, sep=" ", count=-1)
        except (DeprecationWarning, ValueError):
            raise ImageError("a plain Netpbm file has something other than numbers") from None
    if values.size < count:
        raise ImageError(f"the file ends too early: {values.size:,} of {count:,} numbers")
    if values.size and not 0 <= values.min() <= values.max() <= most:
        raise ImageError(f"a plain Netpbm file has numbers outside of 0 to {most}")
    return values[:count]


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtra("PNG, TIFF and JPEG images need Pillow: pip install 'hate-harness[images]'") from None
    return Image


@contextmanager
def _pillow_errors() -> Iterator[None]:
    """Pillow raises many kinds of exceptions at broken files, and warns about large ones, whose size is checked.

    Other libraries switch it to accept files that end too early: a file is refused whatever was imported before.
    """
    _pillow()
    from PIL import ImageFile

    lax, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except (ImageError, MissingExtra, MemoryError):
            raise
        except Exception as error:
            raise ImageError(f"it cannot be decoded: {' '.join(str(error).split())[:100]}") from None
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = lax


def _read_with_pillow(file: IO[bytes], *, palette: bool) -> Pixels:
    import numpy as np

    library = _pillow()
    with _pillow_errors():
        try:
            image: Image = library.open(file, formats=("PNG", "TIFF", "JPEG"))
        except library.UnidentifiedImageError:
            raise ImageError(f"it is not an image; expected {KINDS}") from None
        except library.DecompressionBombError:
            raise ImageError(f"it has more than {MAX_PIXELS // 1_000_000} million pixels") from None
        with image:
            _check_size(*image.size)
            # A JPEG of a camera may carry a preview as another frame.
            if image.format in ("PNG", "TIFF") and (frames := getattr(image, "n_frames", 1)) != 1:
                raise ImageError(f"it has {frames} frames; expected one")
            if image.mode == "1":
                return np.asarray(image.convert("L"))
            as_it_is = image.mode in ("L", "LA", "RGB", "RGBA", "I", "F") or image.mode.startswith("I;16")
            return np.asarray(image if as_it_is or (image.mode == "P" and palette) else image.convert("RGB"))


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
