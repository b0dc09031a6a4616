"""`hate new matrix`: the files match the options, and have the stated variance components."""

import json
from pathlib import Path

import numpy as np
import pytest

from harness.matrices.generate import Effect, MatrixRecipe, draw, rows_of
from harness.matrices.read import read_matrix
from tests.workshop import Workshop


def test_the_files_match(shop: Workshop) -> None:
    words = ["--subjects", "12", "--images", "3", "--effect", "subject=0.5", "--effect", "day=0.3", "--seed", "7"]
    done = shop.call("new", "matrix", "m/made.npy", *words)
    assert done.status == 0, done.err
    found = read_matrix(shop.folder / "m/made.npy")
    assert found.shape == (36, 36)
    assert found.rows.ids[:4].tolist() == ["p01_1", "p01_2", "p01_3", "p02_1"]
    assert found.rows.column("day").tolist() == ["1", "2", "3"] * 12
    truth = json.loads((shop.folder / "m/made.truth.json").read_text(encoding="utf-8"))
    assert truth["components"] == pytest.approx({"subject": 0.25, "day": 0.09, "noise": 1.0})
    assert (truth["seed"], truth["separation"]) == (7, 3.0)
    assert shop.call("cmc", "m/made.npy", "--gallery", "day=1", "--probe", "day=2").status == 0


def test_a_seed_gives_the_same_bytes_and_another_seed_others(shop: Workshop) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert shop.call("new", "matrix", f"{name}.npy", "--subjects", "5", "--seed", seed).status == 0
    a, b, c = ((shop.folder / f"{name}.npy").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_components_over_many_seeds_are_those_requested() -> None:
    """The mean over a level's right comparisons varies over seeds by the effect's variance and the noise's share."""
    effects = [Effect("subject", 0.6), Effect("day", 0.4)]
    found: dict[str, list[float]] = {"subject": [], "day": [], "wrong": [], "right": []}
    for seed in range(400):
        recipe = MatrixRecipe(8, 6, effects, 2.0, seed)
        drawn = draw(recipe)
        scores = rows_of(recipe, drawn, 0, recipe.size).astype(np.float64)
        who = drawn.levels["subject"]
        right = np.equal.outer(who, who)
        found["right"].append(scores[right].mean())
        found["wrong"].append(scores[~right].var())
        means = np.where(right, scores, 0).sum(axis=1).reshape(8, 6) / 6
        found["subject"].append(float(means.mean(axis=1).var(ddof=1)))
        found["day"].append(float(means.mean(axis=0).var(ddof=1)))
    assert np.mean(found["right"]) == pytest.approx(2.0, abs=0.05)
    assert np.mean(found["wrong"]) == pytest.approx(1.0, abs=0.01)
    # A subject's mean is over 36 comparisons, a day's over 48; both keep their share of the noise.
    assert np.mean(found["subject"]) == pytest.approx(0.36 + 1 / 36, rel=0.08)
    assert np.mean(found["day"]) == pytest.approx(0.16 + 1 / 48, rel=0.1)


def test_levels_at_random(tmp_path: Path) -> None:
    drawn = draw(MatrixRecipe(200, 4, [Effect("day", 1.0, 45)], seed=3))
    days = drawn.levels["day"]
    assert set(days.tolist()) == set(range(45))
    assert np.unique(drawn.quality).size == 45


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["m.csv"], "m.csv: a matrix is written as .npy"),
        (["--effect", "day"], "--effect day: write NAME=SD or NAME=SD/LEVELS"),
        (["--effect", "day=-1"], "--effect day=-1: write NAME=SD"),
        (["--effect", "subject=1/3"], "--effect subject=1/3: subject cannot have these levels"),
        (["--effect", "id=1"], "--effect id=1: id cannot have that name"),
        (["--effect", "a=1", "--effect", "a=2"], "--effect: one name is given twice"),
        (["--subjects", "20000", "--images", "4"], "is 80,000 rows and columns; at most 50,000"),
        (["there.npy"], "there.labels.csv: exists; --force overwrites it"),
    ],
)
def test_mistakes(shop: Workshop, words: list[str], message: str) -> None:
    shop.write("there.labels.csv", "id\n")
    done = shop.call("new", "matrix", *words)
    assert done.status == 2
    assert message in done.err
    assert not list(shop.folder.glob("*.npy"))
