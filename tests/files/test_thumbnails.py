"""Small pictures for pages, read back with Pillow."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile

from harness.files.images import SIDE, ImageError, png_bytes, read_image, thumbnail, write_image


def shown(data: bytes | None) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    assert data is not None
    with Image.open(io.BytesIO(data)) as image:
        image.load()
        return np.asarray(image)


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (96, 96), (3, 4, 3)])
def test_a_png_has_the_pixels_that_were_given(shape: tuple[int, ...]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    assert (shown(png_bytes(pixels)) == pixels).all()


def test_few_grey_levels_are_stretched(tmp_path: Path) -> None:
    path = tmp_path / "digit.pgm"
    write_image(path, np.array([[0, 8], [16, 4]], dtype=np.uint8), most=16)
    assert shown(thumbnail(path)).tolist() == [[0, 127], [255, 63]]


@pytest.mark.parametrize("shape", [(500, 300), (97, 20, 3), (1, 1000), (200, 1)])
def test_a_large_image_is_made_small_by_means(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = tmp_path / "large.png"
    pixels = np.full(shape, 100, dtype=np.uint8)
    write_image(path, pixels)
    small = shown(thumbnail(path))
    assert max(small.shape[:2]) <= SIDE
    assert (small == 100).all()


def test_other_numbers_are_stretched(tmp_path: Path) -> None:
    path = tmp_path / "depth.npy"
    np.save(path, np.array([[0.5, 1.0], [1.5, np.nan]]))
    assert shown(thumbnail(path)).tolist() == [[85, 170], [255, 0]]


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n cut", b"P5\n4 4\n255\nshort"])
def test_what_is_no_image_has_no_picture(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert thumbnail(path) is None
    assert thumbnail(tmp_path) is None
    assert thumbnail(tmp_path / "missing") is None


def test_a_cut_file_is_refused_whatever_another_library_has_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    whole = png_bytes(np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8))
    with pytest.raises(ImageError, match="cannot be decoded"):
        read_image(whole[:-600])
    assert ImageFile.LOAD_TRUNCATED_IMAGES is True
