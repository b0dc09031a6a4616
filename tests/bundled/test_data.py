"""The bundled data agrees with its description."""

import hashlib
import importlib
import importlib.util
import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.bundled.bundle import ARCHIVES, CLASSIFIERS, SCRIPTS, members, pixels, read_script, table

TABLES = {"hdigits": ["cases.csv", "train.csv"], "blank": ["cases.csv", "train.csv"]}
MAKERS = {"hdigits": "tools.make_digits", "blank": "tools.make_blank"}
each_script = pytest.mark.parametrize("name", sorted(ARCHIVES))


@each_script
def test_declared_digest_and_size_are_those_of_the_archive(name: str) -> None:
    content = (SCRIPTS / name / ARCHIVES[name]).read_bytes()
    images = read_script(name)["data"]["images"]
    assert (images["sha256"], images["bytes"]) == (hashlib.sha256(content).hexdigest(), len(content))


@each_script
def test_every_image_is_a_small_pgm_that_a_table_names(name: str) -> None:
    files = members(SCRIPTS / name / ARCHIVES[name])
    named = {row["input"].removeprefix("{images}/") for file in TABLES[name] for row in table(name, file)}
    assert set(files) == named
    for content in files.values():
        assert content.startswith(b"P5\n8 8\n16\n")
        assert len(content) == 10 + 64
        assert pixels(content).max() <= 16


@each_script
def test_no_test_image_is_a_training_image(name: str) -> None:
    files = members(SCRIPTS / name / ARCHIVES[name])
    digests = {part: [c for n, c in files.items() if n.startswith(part)] for part in ("train/", "test/")}
    assert set(digests["train/"]).isdisjoint(digests["test/"])


@each_script
def test_ids_are_unique(name: str) -> None:
    for file in TABLES[name]:
        ids = [row["id"] for row in table(name, file)]
        assert len(ids) == len(set(ids))


@each_script
def test_no_psu_is_in_two_strata(name: str) -> None:
    design = read_script(name)["design"]
    pairs = {(row[design["psu"]], row[design["stratum"]]) for row in table(name, "cases.csv")}
    assert len(pairs) == len({psu for psu, _ in pairs})


def test_hdigits_counts() -> None:
    cases = table("hdigits", "cases.csv")
    assert len(table("hdigits", "train.csv")) == 1080
    assert len(cases) == 1434  # the tutorial's number
    assert Counter(row["positive"] for row in cases) == {"true": 717, "false": 717}
    assert len({row["image"] for row in cases}) == 717
    assert {row["truth"] for row in cases} == set("0123456789")


def test_every_image_of_hdigits_has_a_true_claim_and_a_false_one() -> None:
    claims: dict[str, dict[str, str]] = {}
    for row in table("hdigits", "cases.csv"):
        assert (row["expect"] == row["truth"]) == (row["positive"] == "true")
        assert row["input"] == f"{{images}}/test/{row['image']}.pgm"
        claims.setdefault(row["image"], {})[row["positive"]] = row["expect"]
    assert all(set(pair) == {"true", "false"} for pair in claims.values())


def test_the_false_claim_is_the_other_digit_with_the_nearest_training_mean() -> None:
    files = members(SCRIPTS / "hdigits" / "digits.zip")
    train = table("hdigits", "train.csv")
    images = np.array([pixels(files[row["input"].removeprefix("{images}/")]) for row in train])
    labels = np.array([int(row["expect"]) for row in train])
    means = np.array([images[labels == digit].mean(axis=0) for digit in range(10)])
    for row in table("hdigits", "cases.csv"):
        if row["positive"] == "false":
            distances = ((means - pixels(files[f"test/{row['image']}.pgm"])) ** 2).sum(axis=1)
            distances[int(row["truth"])] = np.inf
            assert int(row["expect"]) == distances.argmin()


def test_neither_id_nor_order_reveals_which_claim_is_true() -> None:
    cases = table("hdigits", "cases.csv")
    first_is_true = [row["positive"] == "true" for row in cases if row["id"].endswith("a")]
    # 717 tosses of a coin: four standard deviations are 0.075.
    assert abs(np.mean(first_is_true) - 0.5) < 0.075
    truths = [int(row["truth"]) for row in cases if row["id"].endswith("a")]
    follows = np.mean([(one + 1) % 10 == two for one, two in itertools.pairwise(truths)])
    assert follows < 0.15  # 0.1 by chance, 0.28 in the order of the source


def test_blank_has_three_kinds_of_images_without_claims() -> None:
    cases = table("blank", "cases.csv")
    assert Counter(row["kind"] for row in cases) == {"uniform": 17, "noise": 100, "letter": 80}
    assert {(row["expect"], row["positive"]) for row in cases} == {("", "false")}


def test_blank_images_are_what_their_kind_says() -> None:
    files = members(SCRIPTS / "blank" / "blank.zip")
    images = {row["id"]: pixels(files[f"test/{row['id']}.pgm"]) for row in table("blank", "cases.csv")}
    levels = set()
    for row in table("blank", "cases.csv"):
        image = images[row["id"]]
        if row["kind"] == "uniform":
            levels |= set(image.tolist())
            assert len(set(image.tolist())) == 1
        elif row["kind"] == "noise":
            share = int(row["truth"].split()[1]) / 100
            assert abs(np.mean(image > 0) - share) < 4 * np.sqrt(share * (1 - share) / 64)
        else:
            assert row["pattern"] == row["truth"]
            assert 7 <= np.sum(image >= 10) <= 20
    assert levels == set(range(17))
    assert len({image.tobytes() for image in images.values()}) == len(images)


def test_blank_has_the_training_part_of_hdigits() -> None:
    assert table("blank", "train.csv") == table("hdigits", "train.csv")
    digits, blank = (members(SCRIPTS / name / ARCHIVES[name]) for name in ("hdigits", "blank"))
    assert all(digits[name] == blank[name] for name in blank if name.startswith("train/"))


def test_the_baseline_is_bundled() -> None:
    assert read_script("hdigits")["test"]["baseline"] in CLASSIFIERS


@each_script
@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="scikit-learn carries the source of the images")
def test_the_data_can_be_made_again(name: str, tmp_path: Path) -> None:
    importlib.import_module(MAKERS[name]).make(tmp_path)
    for file in TABLES[name]:
        assert (tmp_path / file).read_bytes() == (SCRIPTS / name / file).read_bytes()
    # The compressed bytes depend on the version of zlib; the contents do not.
    archive = ARCHIVES[name]
    assert list(members(tmp_path / archive).items()) == list(members(SCRIPTS / name / archive).items())


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="scikit-learn carries the source of the images")
def test_making_the_data_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    maker = importlib.import_module("tools.make_digits")
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        maker.make(folder)
    assert (tmp_path / "one" / "digits.zip").read_bytes() == (tmp_path / "two" / "digits.zip").read_bytes()
