"""Methods of replication side by side: they agree if they must, and the strata explain their differences."""

import numpy as np
import pytest

from harness.analysis.curves.cmc import ProbeRanks
from harness.analysis.sampling import Sampling
from harness.lab.methods.analysis import MethodComparison, compare_methods
from harness.stats.designs import design_variances
from harness.stats.identification import cmc
from harness.stats.replication.sample import make_sample
from tests.matrices.virtual import people_matrix, write_matrix
from tests.security.test_one_line_errors import DEGENERATE, write_degenerate
from tests.workshop import Workshop


def compare_people(people: int, units: int, seed: int = 0, limit: int = 20) -> MethodComparison:
    """Methods on ranks of probes of easy and hard people; people are strata."""
    rng = np.random.default_rng(seed)
    hard = rng.gamma(1.0, 4.0, people)
    rank = 1 + np.floor(rng.exponential(np.repeat(hard, units)))
    sample = make_sample(people * units, strata=np.repeat(np.arange(people), units))
    ranked = ProbeRanks("r", rank, 256, people, Sampling(sample, "subject", None, "cases"), "these people")
    found = compare_methods(ranked, limit=limit)
    truth = design_variances(rank[:, None] <= np.arange(1, limit + 1), np.repeat(np.arange(people), units))
    # For a mean, replication with the strata is the textbook variance, and without them that of the whole sample.
    assert found.se["brr"] == pytest.approx(np.sqrt(truth.st), abs=1e-12)
    assert found.se["jackknife"] == pytest.approx(np.sqrt(truth.st), abs=1e-12)
    assert found.se["jackknife_no_strata"] == pytest.approx(np.sqrt(truth.srs), abs=1e-12)
    assert found.se["bootstrap"] == pytest.approx(np.sqrt(truth.st), rel=0.15)
    return found


def test_481_strata_of_two_and_256_of_three() -> None:
    """The paper's sizes, and the replicates that full balance needs: the paper has 512 and 256, the latter too few."""
    two, three = compare_people(481, 2), compare_people(256, 3)
    assert two.replicates["brr"] == 484
    assert three.replicates["brr"] == 729
    assert three.replicates["jackknife"] == 768
    assert three.replicates["bootstrap"] == 1000
    assert two.se_with_a_unit_less == []
    # Figure 3: ignoring the strata makes the error larger at the low ranks.
    assert (three.se["jackknife_no_strata"][:10] > three.se["brr"][:10]).all()
    # Figure 5: two units instead of three have larger errors.
    assert len(three.se_with_a_unit_less) == 3
    assert all((se[:10] > three.se["brr"][:10]).all() for se in three.se_with_a_unit_less)


def test_one_unit_fewer_is_brr_on_the_rest() -> None:
    people, units = 40, 3
    found = compare_people(people, units, seed=5)
    rng = np.random.default_rng(5)
    hard = rng.gamma(1.0, 4.0, people)
    rank = (1 + np.floor(rng.exponential(np.repeat(hard, units)))).reshape(people, units)
    for left_out, se in enumerate(found.se_with_a_unit_less):
        kept = np.delete(rank, left_out, axis=1).ravel()
        truth = design_variances(kept[:, None] <= np.arange(1, 21), np.repeat(np.arange(people), 2))
        assert se == pytest.approx(np.sqrt(truth.st), abs=1e-12)


def test_235_of_256_at_rank_3() -> None:
    """Section 5 of the paper: 235 of 256 ranks are three or lower, and the score is 0.918."""
    ranks = np.concatenate([np.full(235, 3.0), np.full(21, 9.0)])
    assert round(float(cmc(ranks, limit=3).bands.rate[2]), 3) == 0.918


@pytest.mark.slow
def test_the_command(shop: Workshop) -> None:
    write_matrix(people_matrix(20, 4), shop.folder)
    words = ("methods", "alg.npy", "--gallery", "image=0", "--probe", "image!=0", "--stratum", "subject")
    one = shop.call(*words, "--format", "json").json["methods"][0]
    assert (one["strata"], one["units"], one["units_per_stratum"]) == (20, 60, 3)
    assert set(one["se"]) == {"brr", "jackknife", "bootstrap", "jackknife_no_strata", "bootstrap_no_strata"}
    assert len(one["se"]["brr"]) == len(one["ranks"]) == 20
    assert len(one["se_with_a_unit_less"]) == 3
    done = shop.call(*words, "--format", "table", "--plot", "m.png")
    assert "without unit 3" in done.out
    assert (shop.folder / "m.png").stat().st_size > 1000
    assert len(shop.call(*words, "--format", "csv", "--ranks", "7").out.splitlines()) == 8


def test_a_test_its_transcript_and_its_matrix_have_the_same_errors(shop: Workshop) -> None:
    """As for `hate cmc`, a test is run first."""
    chosen = ("--gallery", "image=1", "--probe", "image!=1")
    words = ("--stratum", "subject", "--ranks", "3", "--format", "json")
    run = ("--interface", "matrix:eigenfaces_l1.npy", "-o", "l1.jsonl")
    ran = shop.call("methods", "faces", *run, *chosen, *words)
    assert ran.status == 0, ran.err
    assert shop.call("methods", "l1.jsonl", *words).json == ran.json
    [found] = ran.json["methods"]
    [of_matrix] = shop.call("methods", "faces/eigenfaces_l1.npy", *chosen, *words).json["methods"]
    assert (found["strata"], found["units"]) == (of_matrix["strata"], of_matrix["units"])
    assert found["rates"] == of_matrix["rates"]
    for name in ("brr", "jackknife", "jackknife_no_strata"):
        assert found["se"][name] == pytest.approx(of_matrix["se"][name], abs=1e-12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "alg: methods are compared by how they treat strata; name them with --stratum"),
        (["--stratum", "person"], "no column 'person'"),
        (["--stratum", "subject", "-j", "2"], "is for a test that is run; alg.npy is a similarity matrix"),
    ],
)
def test_mistakes_are_a_line(shop: Workshop, words: list[str], message: str) -> None:
    write_matrix(people_matrix(8, 3), shop.folder)
    done = shop.call("methods", "alg.npy", *words)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert message in done.err


@pytest.mark.parametrize("name", DEGENERATE)
def test_ranks_without_variance_have_errors_or_a_reason(name: str, shop: Workshop) -> None:
    write_degenerate(shop, name)
    done = shop.call("methods", "m.csv", "--stratum", "subject", "--format", "json")
    if done.status == 2:
        assert (done.err.count("\n"), done.err.startswith("hate: m: ")) == (1, True), done.err
        return
    assert done.status == 0, done.err
    for one in done.json["methods"]:
        assert all(se is None or se >= 0 for errors in one["se"].values() for se in errors)
