"""Cumulative match curves of rank tests and of matrices with labels."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.analysis.curves.cmc import ProbeRanks, match_curve
from harness.analysis.sampling import Sampling
from harness.files.conditions import parse_condition
from harness.matrices.read import read_matrix
from harness.options.curves import CmcOptions
from harness.stats.gallery_ranks import median_rank
from harness.stats.identification import replicated_cmc
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import make_sample
from harness.stats.replication.statistic import rate
from tests.matrices.matrix_files import write_faces
from tests.simulation import experiments, slack
from tests.tasks.rank_tests import PROBES, SCORES, STRANGER, THRESHOLD, identification
from tests.workshop import Workshop

FACES = Path(__file__).parents[3] / "test_scripts" / "faces"
SECOND = ["--gallery", "image=1", "--probe", "image=2"]


def curve(shop: Workshop, *words: str | Path) -> Any:
    done = shop.call("cmc", *words, "--format", "json")
    assert done.status == 0, done.err
    return done.json["curves"][0]


def test_the_papers_example(shop: Workshop) -> None:
    """000: 235 of 256 probes found at rank 3 or better is a rate of 0.918."""
    ranks = np.repeat([1.0, 2.0, 3.0, 9.0], [200, 20, 15, 21])
    sampling = Sampling(make_sample(256, strata=np.arange(256) // 2), "subject", None, "cases")
    found = match_curve(ProbeRanks("arlo", ranks, 256, 256, sampling, "these strata, new cases"), CmcOptions(ranks=10))
    assert found.columns["rate"][2] == pytest.approx(0.918, abs=5e-4)
    assert found.bands == "brr"
    # For a mean with two units per stratum, BRR is the textbook variance: sum of W^2 s^2 / n.
    hits = (ranks <= 3).reshape(-1, 2)
    textbook = np.sqrt(np.sum((hits[:, 0] != hits[:, 1]) * 0.5 / 2) / 128**2)
    estimate = make_estimate(sampling.sample, rate(ranks <= 3), Replication())
    assert estimate.se == pytest.approx(textbook)
    assert estimate.interval is not None
    assert found.columns["high"][2] - found.columns["low"][2] == pytest.approx(
        estimate.interval.high - estimate.interval.low
    )


def test_a_matrix_a_run_and_its_transcript_have_one_curve(shop: Workshop) -> None:
    name = "eigenfaces_l1.npy"
    whole = ["--distance", "--stratum", "subject"]
    by_matrix = curve(shop, FACES / name, *whole, "--gallery", "image=1", "--probe", "image>1")
    run = curve(
        shop, "faces", "--interface", f"matrix:{name}", "--gallery", "image=1", "--probe", "image>1", "-o", "t.jsonl"
    )
    again = curve(shop, "t.jsonl")
    for key in (
        "rates",
        "low",
        "high",
        "probes",
        "gallery",
        "people",
        "median_rank",
        "median_interval",
        "bands",
        "target",
    ):
        assert run[key] == by_matrix[key] == again[key], key
    assert (run["probes"], run["people"], run["bands"]) == (358, 40, "brr")
    assert run["relative_ranks"][:2] == [1 / 40, 2 / 40]


def test_strata_and_people_give_the_bands_of_their_samples(shop: Workshop) -> None:
    matrix = read_matrix(FACES / "eigenfaces_mahalanobis.npy", larger_is_better=False)
    chosen = matrix.select([parse_condition("image>8")], [parse_condition("image=1")])
    ranks, who = chosen.ranks().rank, chosen.rows.column("subject")
    words: list[str | Path] = [
        FACES / "eigenfaces_mahalanobis.npy",
        "--distance",
        "--gallery",
        "image=1",
        "--probe",
        "image>8",
    ]
    for options, sample, target in (
        (["--stratum", "subject"], make_sample(79, strata=who), "these strata, new cases"),
        ([], make_sample(79, units=who), "new people"),
        (["--psu", "subject"], make_sample(79, units=who), "new subjects"),
    ):
        found = curve(shop, *words, *options)
        expected = replicated_cmc(ranks, sample, limit=40)
        np.testing.assert_allclose(found["low"], expected.bands.low)
        np.testing.assert_allclose(found["high"], expected.bands.high)
        assert found["target"] == target


def test_censored_ranks_have_a_median_of_their_own(shop: Workshop) -> None:
    words: list[str | Path] = [FACES / "eigenfaces_mahalanobis.npy", "--distance", *SECOND]
    ranks = (
        read_matrix(FACES / "eigenfaces_mahalanobis.npy", larger_is_better=False)
        .select([parse_condition("image=2")], [parse_condition("image=1")])
        .ranks()
        .rank
    )
    found = curve(shop, *words, "--censor", "3")
    assert found["median_rank"] == median_rank(ranks, limit=3)
    assert found["censored_at"] == 3
    low, high = found["median_interval"]
    assert 1 <= low <= found["median_rank"] <= high <= 3
    assert found["median_relative_rank"] == found["median_rank"] / 40


def test_a_median_that_no_replicate_moves_has_no_interval(shop: Workshop) -> None:
    """Two thirds are found at rank 1, in every half of the sample, which gives no error."""
    words: list[str | Path] = ["--distance", "--gallery", "image=1", "--probe", "image>1", "--stratum", "subject"]
    found = curve(shop, FACES / "eigenfaces_l1.npy", *words)
    assert found["low"][0] > 0.5
    assert (found["median_rank"], found["median_interval"]) == (1.0, None)
    out = shop.call("cmc", FACES / "eigenfaces_l1.npy", *words, "--format", "table").out
    assert "median rank 1, relative rank 0.025 of 40 people" in out
    other = curve(shop, FACES / "eigenfaces_mahalanobis.npy", *words)
    low, high = other["median_interval"]
    assert 1 <= low < other["median_rank"] < high < 10


def test_a_probe_without_an_answer_was_not_found(shop: Workshop) -> None:
    identification(shop, sections=THRESHOLD, probes=PROBES + STRANGER)
    shop.interface(f"S = {SCORES!r} | {{'q1': None}}\ndef answer(case, params):\n    return S[case.id]\n")
    found = curve(shop, "toy")
    assert found["rates"] == pytest.approx([0, 2 / 3, 2 / 3])
    assert found["probes"] == 3
    assert "probes of people not enrolled have no rank and are left out: 1" in found["notes"][0]
    assert "1 probes have no answer (failures to acquire)" in found["notes"][1]
    assert shop.call("cmc", "toy", "--format", "table").status == 0


def test_when_half_is_not_found_there_is_no_median(shop: Workshop) -> None:
    identification(shop)
    shop.interface("def answer(case, params):\n    return ['ann']\n")
    found = curve(shop, "toy", "-o", "t.jsonl")
    assert (found["median_rank"], found["median_interval"]) == (None, None)
    assert "half of the probes were not found: no median rank" in shop.call("cmc", "t.jsonl", "--format", "table").out


def test_two_algorithms_side_by_side(shop: Workshop) -> None:
    words: list[str | Path] = [FACES / f"eigenfaces_{name}.npy" for name in ("l1", "mahalanobis")]
    done = shop.call("cmc", *words, "--distance", *SECOND, "--format", "table", "--plot", "a.svg")
    assert done.status == 0, done.err
    assert "0.7500" in done.out
    assert "0.5750" in done.out
    assert (shop.folder / "a.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["t.jsonl", "--distance"], "--distance is for a similarity matrix; t.jsonl is a transcript or a test"),
        (["t.jsonl", "--labels", "x.csv"], "--labels is for a similarity matrix"),
        (["t.jsonl"], "toy is a label test; ranks are for rank tests"),
        (["faces.npy", "--stratum", "sesion"], "no column 'sesion' among the labels; did you mean 'session'?"),
        (["faces.npy", "--weights", "equal"], "--weights is for transcripts"),
    ],
)
def test_mistakes(toy: Workshop, words: list[str], message: str) -> None:
    write_faces(toy.folder)
    assert toy.call("run", "toy", "-o", "t.jsonl").status == 0
    done = toy.call("cmc", *words)
    assert done.status == 2
    assert message in done.err


@experiments(400, quick=100)
def test_bands_cover_the_rate_of_these_people_in_new_images(experiments: int) -> None:
    """Each of 40 people has their own chance of being found at rank 1; two images of each are drawn."""
    rng = np.random.default_rng(5)
    chance = rng.beta(4, 2, 40)
    who = np.repeat(np.arange(40), 2)
    sampling = Sampling(make_sample(80, strata=who), "subject", None, "cases")
    inside = 0
    for _ in range(experiments):
        ranks = np.where(rng.random(80) < chance[who], 1.0, 2.0)
        _, low, high = match_curve(ProbeRanks("a", ranks, 40, 40, sampling, ""), CmcOptions(ranks=1)).rank_one
        inside += bool(low <= chance.mean() <= high)
    # 95 % of 400, plus or minus three standard errors of 1.1 %.
    assert abs(inside / experiments - 0.95) <= slack(0.033, full=400, experiments=experiments)
