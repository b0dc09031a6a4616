"""Images of every format, against Pillow; and files that are no images, too large, or without an end."""

import io
import os
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from harness.errors import MissingExtra
from harness.files.images import ImageError, npy_bytes, read_image, read_plane, read_regular, write_image
from tests.simulation import examples

Pixels = npt.NDArray[np.generic]
GREY = (np.arange(24 * 18) * 37 % 256).reshape(18, 24).astype(np.uint8)
WIDE = GREY.astype(np.uint16) * 257
COLOUR = np.stack([GREY, GREY[::-1], GREY[:, ::-1]], axis=2)
BITS = GREY > 90


@pytest.mark.parametrize("suffix", ["png", "tiff", "pgm", "npy"])
@pytest.mark.parametrize("array", [GREY, WIDE], ids=["8 bits", "16 bits"])
def test_what_is_written_is_read(suffix: str, array: Pixels, tmp_path: Path) -> None:
    path = tmp_path / f"image.{suffix}"
    write_image(path, array)
    back = read_plane(path)
    assert back.dtype == array.dtype
    assert np.array_equal(back, array)
    assert np.array_equal(read_plane(path.read_bytes()), array)
    if suffix != "npy":
        with Image.open(path) as image:
            assert np.array_equal(np.asarray(image), array)


@pytest.mark.parametrize("suffix", ["png", "tiff", "ppm", "npy"])
def test_colours(suffix: str, tmp_path: Path) -> None:
    write_image(tmp_path / f"image.{suffix}", COLOUR)
    assert np.array_equal(read_image(tmp_path / f"image.{suffix}"), COLOUR)
    with pytest.raises(ImageError, match="colour image"):
        read_plane(tmp_path / f"image.{suffix}")


@pytest.mark.parametrize("suffix", ["png", "tiff", "pbm"])
def test_bits_are_black_and_white(suffix: str, tmp_path: Path) -> None:
    """White is the object in each format, although a PBM writes it as 0."""
    Image.fromarray(BITS).save(tmp_path / f"bits.{suffix}")
    assert np.array_equal(read_plane(tmp_path / f"bits.{suffix}"), BITS * np.uint8(255))


def test_plain_netpbm() -> None:
    numbers = " ".join(map(str, GREY.ravel().tolist()))
    assert np.array_equal(read_plane(f"P2\n# a comment\n24 18\n255\n{numbers}\n".encode()), GREY)
    assert np.array_equal(read_image(b"P3 2 1 255 1 2 3 # red\n 4 5 6"), [[[1, 2, 3], [4, 5, 6]]])
    digits = "".join("0" if bit else "1" for bit in BITS.ravel())
    assert np.array_equal(read_plane(f"P1\n24 18\n{digits}".encode()), BITS * np.uint8(255))
    assert read_plane(b"P5 1 1 300 \x01\x02").tolist() == [[258]]


def test_a_palette_gives_its_places() -> None:
    """Pascal VOC's masks are such images: a class is a place in the palette."""
    indexed = Image.new("P", (24, 18))
    indexed.putdata((GREY % 21).ravel().tolist())
    indexed.putpalette([value for k in range(256) for value in (k, 255 - k, 7)])
    out = io.BytesIO()
    indexed.save(out, "PNG")
    assert np.array_equal(read_plane(out.getvalue()), GREY % 21)


def encoded(image: Image.Image, kind: str, **more: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **more)
    return out.getvalue()


def test_channels_that_agree_are_grey() -> None:
    grey = Image.fromarray(GREY)
    assert np.array_equal(read_plane(encoded(grey.convert("RGB"), "PNG")), GREY)
    assert np.array_equal(read_plane(encoded(grey.convert("RGBA"), "PNG")), GREY)
    assert np.array_equal(read_plane(encoded(grey.convert("LA"), "PNG")), GREY)
    clear = grey.convert("LA")
    clear.putalpha(Image.fromarray(GREY))
    with pytest.raises(ImageError, match="transparent pixels"):
        read_plane(encoded(clear, "PNG"))


def test_jpeg_is_for_inputs_only() -> None:
    data = encoded(Image.fromarray(GREY), "JPEG")
    assert read_image(data).shape == GREY.shape
    with pytest.raises(ImageError, match="a JPEG, which changes pixels"):
        read_plane(data)


def bomb(width: int, height: int) -> bytes:
    """A PNG that says how large it is, and has next to nothing in it."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


TWO_FRAMES = encoded(Image.fromarray(GREY), "TIFF", save_all=True, append_images=[Image.fromarray(GREY)])
NO_IMAGES = {
    "empty": (b"", "it is not an image; expected PGM"),
    "text": (b"a text", "it is not an image"),
    "gif": (encoded(Image.fromarray(GREY), "GIF"), "it is not an image"),
    "cut png": (encoded(Image.fromarray(GREY), "PNG")[:100], "cannot be decoded"),
    "cut tiff": (encoded(Image.fromarray(GREY), "TIFF")[:150], "cannot be decoded"),
    "cut pgm": (b"P5\n24 18\n255\nabc", "ends too early: 3 of 432 bytes"),
    "cut npy": (npy_bytes(GREY)[:-1], "ends too early: 431 of 432 bytes"),
    "npy header": (b"\x93NUMPY\x01\x00\x05\x00hello", "NPY header cannot be read"),
    "npy line": (npy_bytes(np.arange(3)), r"shape \(3,\); expected two dimensions"),
    "npy text": (npy_bytes(GREY).replace(b"|u1", b"|S1"), "expected numbers"),
    "pgm header": (b"P5 x", "Netpbm header cannot be read"),
    "pgm word": (b"P2 2 1 255 1 x", "other than numbers"),
    "pgm few": (b"P2 2 1 255 1", "1 of 2 numbers"),
    "pgm range": (b"P2 2 1 7 1 9", "outside of 0 to 7"),
    "pbm digit": (b"P1 2 1 1 2", "other than 0 and 1"),
    "no pixels": (b"P5 0 3 255 ", "0 x 3 pixels: it is empty"),
    "frames": (TWO_FRAMES, "it has 2 frames; expected one"),
    "large png": (bomb(11_000, 10_000), "11000 x 10000 pixels are more than 100 million"),
    "bomb": (bomb(2**31 - 1, 2**31 - 1), "more than 100 million"),
    "large pgm": (b"P5 99999 99999 255 ", "99999 x 99999 pixels are more than 100 million"),
    "large npy": (npy_bytes(GREY).replace(b"(18, 24)", b"(180000, 240000)"), "240000 x 180000 pixels"),
}


@pytest.mark.parametrize("name", NO_IMAGES)
def test_no_images(name: str, tmp_path: Path) -> None:
    data, message = NO_IMAGES[name]
    with pytest.raises(ImageError, match=message):
        read_plane(data)
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(ImageError, match=message) as caught:
        read_plane(tmp_path / "file")
    assert str(tmp_path) not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_large_image_is_decoded() -> None:
    """Pillow warns from 89 million pixels on; warnings are errors here."""
    with pytest.raises(ImageError, match="cannot be decoded"):
        read_plane(bomb(10_000, 9_500))


def test_no_regular_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        for read in (read_plane, read_regular):
            with pytest.raises(ImageError, match="not a regular file"):
                read(path)
    with pytest.raises(ImageError, match="cannot be opened: no such file"):
        read_plane(tmp_path / "none.png")
    with pytest.raises(ImageError, match="not a file name"):
        read_plane("a\0b")
    with (tmp_path / "huge.png").open("wb") as file:
        file.truncate(2**30 + 1)
    with pytest.raises(ImageError, match="more than 1024 MiB"):
        read_plane(tmp_path / "huge.png")


def image_or_reason(data: bytes) -> bool:
    """Whether the data is an image, or the reason why it is not is given; nothing else may be raised."""
    try:
        return read_image(data).ndim in (2, 3)
    except ImageError as error:
        return bool(str(error))


STARTS = [b"", b"P5 ", b"P2 ", b"P1 ", b"P4\n9 2\n", b"\x93NUMPY\x01\x00"]


@given(data=st.binary(max_size=200), start=st.sampled_from(STARTS))
@examples(200)
def test_any_bytes_give_an_image_or_a_reason(data: bytes, start: bytes) -> None:
    assert image_or_reason(start + data)


@given(at=st.integers(0, 300), byte=st.integers(0, 255), kind=st.sampled_from(["PNG", "TIFF", "JPEG"]))
@examples(150)
def test_a_damaged_file_gives_an_image_or_a_reason(at: int, byte: int, kind: str) -> None:
    data = bytearray(encoded(Image.fromarray(GREY), kind))
    data[at % len(data)] = byte
    assert image_or_reason(bytes(data))


def test_without_pillow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    write_image(tmp_path / "a.pgm", GREY)
    assert np.array_equal(read_plane(tmp_path / "a.pgm"), GREY)
    with pytest.raises(MissingExtra, match=r"pip install 'hate-harness\[images\]'"):
        read_plane(bomb(2, 2))
