"""The gallery effect: against a slow reference, at its stated error rate, and removed by mixing."""

from collections import Counter

import numpy as np
import pytest

from harness.errors import DataError, UsageError
from harness.lab.galleries.analysis import sets_of
from harness.lab.galleries.statistics import GalleryEffect, gallery_effect, mixed
from harness.matrices.matrix import Matrix
from tests.matrices.matrix_files import slow_rank
from tests.matrices.virtual import people_matrix, write_matrix
from tests.report.test_tidy_csv import rows
from tests.workshop import Workshop


def effect_of(matrix: Matrix, *, mix: bool = False, permutations: int = 99, seed: int = 0) -> GalleryEffect:
    sets = sets_of(matrix, "image")
    if mix:
        sets = sets.mix()
    return gallery_effect(matrix.scores, sets.rows, sets.columns, rng=np.random.default_rng(seed), ranks=3,
                          permutations=permutations, larger_is_better=matrix.larger_is_better)  # fmt: skip


@pytest.mark.parametrize("larger", [True, False])
def test_rates_are_those_of_each_gallery(larger: bool) -> None:
    full = people_matrix(9, 3, seed=2)
    matrix = Matrix("m", full.scores if larger else -full.scores, full.rows, full.columns, larger)
    found = effect_of(matrix)
    sets = sets_of(matrix, "image")
    people = matrix.rows.column("subject")
    for number in range(3):
        gallery = sets.columns[:, number]
        ranks = [
            slow_rank(full.scores[row][gallery], people[row], list(people[gallery]))
            for other in range(3)
            if other != number
            for row in sets.rows[:, other]
        ]
        for rank in (1, 2, 3):
            assert found.rates[number, rank - 1] == pytest.approx(np.mean([one <= rank for one in ranks]))
    whole = sets.experiment(matrix, 0).ranks().rank
    assert np.mean(whole <= 1) == pytest.approx(found.rates[0, 0])


def test_labels_that_mean_nothing_are_found_to_differ_in_5_percent() -> None:
    p = np.array([effect_of(people_matrix(12, 3, seed=seed), permutations=39).p_values[0] for seed in range(200)])
    for level in (0.05, 0.2):
        assert np.mean(p <= level) <= level + 3 * np.sqrt(level * (1 - level) / 200)


def test_a_set_of_worse_images_is_found_and_mixing_removes_it() -> None:
    apart, together = [], []
    for seed in range(20):
        matrix = people_matrix(60, 3, noise=0.5, harder=1.0, seed=seed)
        apart.append(effect_of(matrix).p_values[0])
        together.append(effect_of(matrix, mix=True).p_values[0])
    assert np.mean(np.array(apart) <= 0.05) >= 0.95
    assert np.mean(np.array(together) <= 0.05) <= 0.15


def test_pairs_allow_for_all_pairs() -> None:
    found = effect_of(people_matrix(40, 4, noise=0.5, harder=1.5))
    assert found.p_pairs[..., 0].min() == found.p_values[0]
    assert (np.diagonal(found.p_pairs[..., 0]) == 1).all()
    assert (found.p_pairs >= found.p_values).all()


def test_mixed_sets_hold_equal_shares() -> None:
    places = np.tile(np.arange(4), (10, 1))
    turned = mixed(places)
    assert (np.sort(turned, axis=1) == places).all()
    for column in turned.T:
        counts = Counter(column.tolist())
        assert max(counts.values()) - min(counts.values()) <= 1


def test_people_who_lack_an_image_are_left_out() -> None:
    matrix = people_matrix(5, 3)
    kept = np.array([place for place in range(15) if place != 4])
    sets = sets_of(matrix.take(kept, kept), "image")
    assert sets.left_out == ["p001"]
    assert len(sets.people) == 4
    with pytest.raises(DataError, match="'p000' has two images with day=1"):
        sets_of(people_matrix(5, 4), "day")
    with pytest.raises(UsageError, match="there are 1 and"):
        sets_of(matrix.take(np.arange(0, 15, 3), np.arange(0, 15, 3)), "image")


def test_the_command(shop: Workshop) -> None:
    write_matrix(people_matrix(30, 3, noise=0.5, harder=1.5), shop.folder)
    words = ("galleries", "alg.npy", "--by", "image", "--permutations", "99")
    found = shop.call(*words, "--format", "json").json
    assert [curve["name"] for curve in found["curves"]] == [f"alg, image={number}" for number in range(3)]
    assert found["curves"][0]["probes"] == 60
    assert found["curves"][0]["bands"] == "brr"
    test = found["galleries"][0]["tests"][0]
    assert test["p_values"][0] == pytest.approx(0.01)
    assert test["rates"][0][0] == pytest.approx(found["curves"][0]["rates"][0])
    done = shop.call(*words, "--mix", "--format", "table", "--plot", "g.png")
    assert "the galleries by image differ" in done.out
    assert "mixed" in done.out
    assert (shop.folder / "g.png").stat().st_size > 1000
    table = shop.call(*words, "--format", "csv").out
    assert table.startswith("name,galleries,number")
    [row] = rows(table)
    assert float(row["worst_rate"]) <= float(row["best_rate"])
    assert (
        shop.call(*words, "--seed", "3", "--format", "json").out
        == shop.call(*words, "--seed", "3", "--format", "json").out
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--mix"], "--by"),
        (["--by", "imag"], "no column 'imag'"),
        (
            ["--by", "image", "--gallery", "image=1"],
            "with an image of each; there are 1 and 8",
        ),
    ],
)
def test_mistakes_are_a_line(shop: Workshop, words: list[str], message: str) -> None:
    write_matrix(people_matrix(8, 3), shop.folder)
    done = shop.call("galleries", "alg.npy", *words)
    assert done.status == 2
    assert message in done.err
