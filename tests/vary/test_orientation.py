"""EXIF's orientation: an original and its versions are seen the same way up, by readers that mind it and by others."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from harness.files.images import read_image, read_picture, thumbnail, turned, write_image
from tests.vary.pictures import Plane, pgm, picture, varied_script
from tests.workshop import Workshop

TAG = 0x0112
BRIGHTER = '[vary.light]\nkind = "brightness"\nvalues = [0, 40]\n'
TURN = '[vary.turn]\nkind = "rotate"\nvalues = [0, 90]\n'
# What a program is given, as it is stored, as Pillow shows it, and as Pillow shows it when asked to mind EXIF.
READER = """\
import json
import numpy as np
from PIL import Image, ImageOps

def answer(case, params):
    with Image.open(case.input) as image:
        seen = ImageOps.exif_transpose(image)
        return json.dumps([np.asarray(one.convert("L")).tolist() for one in (image, seen)])
"""


def stored_bytes(plane: Plane, suffix: str, orientation: int) -> bytes:
    out, image = io.BytesIO(), Image.fromarray(plane)
    exif = image.getexif()
    exif[TAG] = orientation
    image.save(out, {"jpg": "JPEG", "png": "PNG", "tif": "TIFF"}[suffix], exif=exif)
    return out.getvalue()


def raw_pixels(path: Path) -> Plane:
    """The pixels of an uncompressed TIFF with one strip, as the file has them, whatever a library makes of them."""
    with Image.open(path) as image:
        tags = dict(image.tag_v2)  # type: ignore[attr-defined]
    (start,), (width, height) = tags[273], (tags[256], tags[257])
    return np.frombuffer(path.read_bytes()[start : start + width * height], np.uint8).reshape(height, width)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_turned_is_what_pillow_does(orientation: int) -> None:
    for plane in (picture(5, 7), picture(5, 7, channels=3)):
        with Image.open(io.BytesIO(stored_bytes(plane, "png", orientation))) as image:
            theirs = np.asarray(ImageOps.exif_transpose(image))
        assert np.array_equal(turned(plane, orientation), theirs)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["jpg", "png", "tif"])
def test_versions_are_seen_the_same_way_up_as_the_original(shop: Workshop, suffix: str, orientation: int) -> None:
    """At strength 0 a reader of EXIF turned the picture, and at the next it did not."""
    images = {f"1.{suffix}": stored_bytes(picture(12, 20), suffix, orientation)}
    varied_script(shop.folder / "toy", BRIGHTER, images=images)
    shop.interface(READER)
    original, brighter = (json.loads(record["actual"]) for record in shop.run())
    for before, after in zip(original, brighter, strict=True):
        assert np.array_equal(np.minimum(np.array(before) + 40, 255), np.array(after))
    # Pillow turns a TIFF at times even unasked.
    if suffix != "tif":
        assert original[1] == turned(np.array(original[0]), orientation).tolist()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_tiff_is_stored_as_its_original(tmp_path: Path, orientation: int) -> None:
    """Pillow turns a TIFF when it reads it; other libraries do not."""
    path = tmp_path / "1.tif"
    path.write_bytes(stored_bytes(picture(5, 7), "tif", orientation))
    assert np.array_equal(raw_pixels(path), picture(5, 7))
    found = read_picture(path)
    assert found.orientation == orientation
    assert np.array_equal(found.pixels, picture(5, 7))
    write_image(tmp_path / "2.tif", found.pixels, orientation=orientation)
    assert np.array_equal(raw_pixels(tmp_path / "2.tif"), picture(5, 7))
    assert np.array_equal(read_image(tmp_path / "2.tif"), read_image(path))


@pytest.mark.parametrize("task", ["mask", "boxes"])
def test_where_the_truth_of_a_turned_picture_moves_is_not_guessed(shop: Workshop, task: str) -> None:
    truth = np.zeros((12, 20), np.uint8)
    truth[2:6, 3:9] = 1
    images = {"1.png": stored_bytes(picture(12, 20), "png", 6), "2.png": stored_bytes(picture(12, 20), "png", 1)}
    images["t.pgm"] = pgm(truth)
    expect = "{images}/t.pgm" if task == "mask" else '"[{""box"": [3, 2, 6, 4]}]"'
    rows = "id,input,expect\n" + "".join(f"{n},{{images}}/{n}.png,{expect}\n" for n in (1, 2))
    varied_script(shop.folder / "toy", TURN, images=images, task=task, rows=rows)
    shop.interface("def answer(case, params):\n    return None\n")
    assert shop.call("run", "toy", "-o", "out.jsonl").status in (0, 1)
    records = {record["id"]: record for record in shop.records()}
    assert [name for name, record in records.items() if "error" in record] == ["1@turn=90"]
    assert "EXIF says orientation 6, so it is not known which way its truth moves" in records["1@turn=90"]["message"]


def test_exif_that_cannot_be_read_is_no_reason_to_fail(tmp_path: Path) -> None:
    good = stored_bytes(picture(5, 7), "jpg", 6)
    at = good.index(b"Exif\0\0") + 6
    path = tmp_path / "1.jpg"
    for bad in (b"\xff" * 26, b"II*\0" + b"\xff" * 22, good[at : at + 18] + b"\xff\xff" + good[at + 20 : at + 26]):
        path.write_bytes(good[:at] + bad + good[at + 26 :])
        assert read_picture(path).orientation == 1


def test_people_see_pictures_upright(tmp_path: Path) -> None:
    path = tmp_path / "1.png"
    path.write_bytes(stored_bytes(picture(5, 7), "png", 8))
    small = thumbnail(path)
    assert small is not None
    with Image.open(io.BytesIO(small)) as image:
        assert np.array_equal(np.asarray(image), turned(picture(5, 7), 8))
