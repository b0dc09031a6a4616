"""The bundled test `vase`: its pictures, its three algorithms, and what noise does to them."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.bundled.bundle import INTERFACES, SCRIPTS, load, members, read_script, table
from tests.vary.pictures import Plane
from tests.workshop import Record, Workshop
from tools import make_vase

ALGORITHMS = ("threshold", "otsu", "smooth")
FOLDER = SCRIPTS / "vase"


@pytest.fixture(scope="module")
def pictures() -> dict[str, Plane]:
    files = members(FOLDER / "vase.zip")
    head = b"P5\n96 128\n255\n"
    assert all(content.startswith(head) for content in files.values())
    return {name: np.frombuffer(files[name][len(head) :], np.uint8).reshape(128, 96) for name in files}


def test_the_table_says_what_the_pictures_show(pictures: dict[str, Plane]) -> None:
    rows = table("vase", "cases.csv")
    strata = Counter((row["background"], row["shape"]) for row in rows)
    assert len(rows) == 50
    assert set(strata.values()) == {5}
    assert len(strata) == 10
    names = {row[key].removeprefix("{images}/") for row in rows for key in ("input", "expect")}
    assert names == set(pictures)
    for row in rows:
        truth = pictures[f"truth/{row['id']}.pgm"]
        assert (row["positive"] == "true") == (row["shape"] != "none") == bool(truth.any())
        assert set(np.unique(truth)) <= {0, 255}
        if truth.any():
            picture = pictures[f"picture/{row['id']}.pgm"]
            assert 0.1 < (truth > 0).mean() < 0.5
            # Brighter than its background, on the whole: there is something to be found.
            assert picture[truth > 0].mean() > picture[truth == 0].mean() + 30
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 1_000_000


def test_pictures_can_be_drawn_again(pictures: dict[str, Plane]) -> None:
    for number in (3, 17, 28, 50):
        one = make_vase.drawing(number)
        assert (one.picture == pictures[f"picture/{number:02}.pgm"]).all()
        assert (one.truth * 255 == pictures[f"truth/{number:02}.pgm"]).all()


@pytest.mark.slow
def test_all_pictures_can_be_drawn_again(tmp_path: Path) -> None:
    make_vase.make(tmp_path)
    assert (tmp_path / "cases.csv").read_bytes() == (FOLDER / "cases.csv").read_bytes()
    assert members(tmp_path / "vase.zip") == members(FOLDER / "vase.zip")


def test_otsu_finds_the_level_with_the_largest_variance_between_classes(pictures: dict[str, Plane]) -> None:
    """By its definition, level by level."""

    def between(image: Plane, level: int) -> float:
        low, high = image[image <= level], image[image > level]
        if not low.size or not high.size:
            return -1.0
        return float(low.size * high.size * (high.mean() - low.mean()) ** 2)

    for name in ("otsu", "smooth"):
        level = load(INTERFACES / name).otsu_level
        for image in (pictures["picture/01.pgm"], pictures["picture/30.pgm"], pictures["picture/50.pgm"]):
            best = max(between(image, one) for one in range(256))
            assert between(image, level(image)) == pytest.approx(best, rel=1e-9)
        assert level(np.full((4, 4), 9, dtype=np.uint8)) >= 9  # one grey level: nothing is marked


def test_smoothing_is_a_mean_over_a_square(pictures: dict[str, Plane]) -> None:
    image = pictures["picture/30.pgm"]
    found = load(INTERFACES / "smooth").blurred(image, 2)
    around = np.pad(image.astype(int), 2, mode="edge")
    for y, x in ((0, 0), (60, 40), (127, 95), (3, 90)):
        assert found[y, x] == around[y : y + 5, x : x + 5].sum() // 25


@pytest.fixture(scope="module")
def versions() -> int:
    vary = read_script("vase")["vary"]
    return int(np.prod([len(one["values"]) for one in vary.values()]))


def run(shop: Workshop, name: str, *words: str) -> list[Record]:
    done = shop.call("run", "vase", "--interface", name, "-o", f"{name}.jsonl", "--force", *words)
    assert done.status == 0, done.err
    return shop.records(f"{name}.jsonl")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_originals_are_scored_as_a_twin_scores_them(name: str, shop: Workshop, pictures: dict[str, Plane]) -> None:
    module = load(INTERFACES / name)
    records = {record["id"]: record for record in run(shop, name, "--no-vary")}
    assert len(records) == 50
    for row in table("vase", "cases.csv")[::7]:
        image, truth = pictures[f"picture/{row['id']}.pgm"], pictures[f"truth/{row['id']}.pgm"] > 0
        if name == "threshold":
            mask = image > 90
        elif name == "otsu":
            mask = image > module.otsu_level(image)
        else:
            blurred = module.blurred(module.blurred(image, 2), 2)
            mask = blurred > module.otsu_level(blurred)
        # Within one pixel of the outline, pixels weigh a half.
        weight = np.where(_near_outline(truth), 0.5, 1.0)
        hit, union = (weight * (mask & truth)).sum(), (weight * (mask | truth)).sum()
        assert records[row["id"]]["score"] == pytest.approx(hit / union if union else 1.0)


def _near_outline(truth: Plane) -> Plane:
    """Pixels with one of the other kind above, below or beside them."""
    padded = np.pad(truth, 1, mode="edge")
    others = [padded[1 + y : 129 + y, 1 + x : 97 + x] != truth for y, x in ((0, 1), (1, 0), (0, -1), (-1, 0))]
    return np.asarray(np.logical_or.reduce(others))


@pytest.mark.slow
def test_smoothing_wins_in_noise_and_loses_without(shop: Workshop, versions: int) -> None:
    for name in ("threshold", "smooth"):
        assert len(run(shop, name)) == 50 * versions
    done = shop.call("compare", "threshold.jsonl", "smooth.jsonl", "--by", "noise", "--statistic", "iou")
    text = " ".join(done.out.split())
    assert "The order turns: threshold leads at noise 0, smooth from 20 on; at 10 neither was shown to lead." in text
    assert "for these strata (background x shape) and new originals" in text


def test_the_bundle_is_valid(shop: Workshop) -> None:
    done = shop.call("check", FOLDER, *(INTERFACES / name for name in ALGORITHMS))
    assert done.status == 0
    assert "warning" not in done.out
    assert read_script("vase")["test"]["baseline"] in ALGORITHMS


def test_files_of_truth_explain_nothing(shop: Workshop) -> None:
    shop.call("run", "vase", "--interface", "threshold", "--limit", "60", "-o", "part.jsonl")
    found = shop.call("rate", "part.jsonl", "--partial", "--format", "json").json
    columns = {one["column"] for run in found["transcripts"] for one in run["explained"]}
    assert columns
    assert not columns & {"truth", "expect"}
