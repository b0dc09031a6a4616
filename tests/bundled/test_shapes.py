"""The bundled test `shapes`: its data, its two detectors, and their published transcripts."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.bundled.bundle import INTERFACES, SCRIPTS, TRANSCRIPTS, members, read_script
from tests.bundled.test_runs import _lines
from tests.security.forging import Lines, all_right, forge
from tests.workshop import Record, Workshop
from tools import make_shapes

FOLDER = SCRIPTS / "shapes"
each_detector = pytest.mark.parametrize("name", ["blobs", "relief"])


@pytest.fixture(scope="module")
def cases() -> list[Record]:
    return [json.loads(line) for line in (FOLDER / "cases.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_generator_makes_the_same_files(tmp_path: Path) -> None:
    make_shapes.make(tmp_path)
    assert (tmp_path / "cases.jsonl").read_bytes() == (FOLDER / "cases.jsonl").read_bytes()
    # The bytes of an archive depend on the version of zlib, its content does not.
    assert members(tmp_path / "shapes.zip") == members(FOLDER / "shapes.zip")


def test_declared_digest_and_size(cases: list[Record]) -> None:
    content = (FOLDER / "shapes.zip").read_bytes()
    images = read_script("shapes")["data"]["images"]
    assert (images["sha256"], images["bytes"]) == (hashlib.sha256(content).hexdigest(), len(content))
    assert len(content) < 1_000_000
    assert {f"{{images}}/{name}" for name in members(FOLDER / "shapes.zip")} == {case["input"] for case in cases}


def test_every_object_is_brighter_than_the_ring_around_its_box(cases: list[Record]) -> None:
    """On a plain background, where nothing else is; a triangle fills half of its box."""
    files = members(FOLDER / "shapes.zip")
    for case in cases:
        content = files[case["input"].removeprefix("{images}/")]
        assert content.startswith(b"P5\n80 80\n255\n")
        image = np.frombuffer(content[-6400:], np.uint8).reshape(80, 80)
        if case["clutter"] != "plain" or any("ignore" in one for one in case["expect"]):
            continue
        for one in case["expect"]:
            x, y, width, height = one["box"]
            ring = np.ones((80, 80), dtype=np.bool_)
            ring[: y - 2], ring[y + height + 2 :], ring[:, : x - 2], ring[:, x + width + 2 :] = (False,) * 4
            ring[y : y + height, x : x + width] = False
            inside = image[y : y + height, x : x + width]
            assert np.quantile(inside, 0.75) > np.median(image[ring]) + 10, case["id"]


def test_scenes_are_the_units(cases: list[Record]) -> None:
    assert len(cases) == 120
    assert Counter(case["clutter"] for case in cases) == {"plain": 40, "lines": 40, "texture": 40}
    assert len({case["scene"] for case in cases}) == len({(case["scene"], case["clutter"]) for case in cases}) == 60
    objects = [one for case in cases for one in case["expect"]]
    assert {one["label"] for one in objects} == {"circle", "square", "triangle"}
    assert sum("ignore" in one for one in objects) == 18


@pytest.mark.sampled(2)
@each_detector
def test_a_run_reproduces_the_published_transcript(name: str, shop: Workshop) -> None:
    """After a change, publish again: hate run shapes --interface NAME -o transcripts/shapes/NAME.jsonl --force"""
    done = shop.call("run", "shapes", "--interface", name, "-o", "again.jsonl")
    assert done.status == 0, done.err
    assert _lines(shop.folder / "again.jsonl") == _lines(TRANSCRIPTS / "shapes" / f"{name}.jsonl")


@pytest.mark.parametrize(
    "path",
    [
        FOLDER / "shapes.hate.toml",
        *(INTERFACES / name for name in ("blobs", "relief")),
        *(TRANSCRIPTS / "shapes" / f"{name}.jsonl" for name in ("blobs", "relief")),
    ],
    ids=lambda path: path.name,
)
def test_check_finds_nothing_wrong(path: Path, shop: Workshop) -> None:
    done = shop.call("check", path)
    assert done.status == 0, done.out + done.err
    assert "warning" not in done.err.lower()


def test_the_better_detector_is_better(shop: Workshop) -> None:
    done = shop.call("compare", "shapes/relief", "shapes/blobs", "--statistic", "ap", "--format", "json")
    pair = done.json["pairs"][0]["replication"]
    assert pair["estimate"] > 0.05
    assert pair["p_value"] < 0.01
    assert pair["units"] == 60


def test_the_picture_is_small() -> None:
    assert (Path(__file__).parents[2] / "docs" / "pictures" / "shapes.png").stat().st_size < 100_000


@pytest.mark.parametrize("how", ["outcomes", "detections", "truth"])
def test_invented_results_are_found_out(how: str, shop: Workshop) -> None:
    """The record holds what was found, so it can be matched with the objects again."""

    def invent(lines: Lines) -> None:
        if how == "outcomes":
            all_right(lines)
        for record in lines[1:]:
            if how == "detections":
                record["boxes"]["found"] = []
            elif how == "truth":
                record["boxes"]["truth"] = record["boxes"]["truth"][:1]

    forged = forge(TRANSCRIPTS / "shapes" / "blobs.jsonl", shop.folder / "forged.jsonl", invent)
    assert shop.call("check", forged).status == 1
