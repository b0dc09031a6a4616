"""`hate compare --cross-check`: other methods beside the verdict."""

import numpy as np
import pytest

import harness
from harness.lab.opinions.posterior import discordant_posterior
from tests.analysis.transcripts import transcript
from tests.workshop import Workshop


def two_runs(shop: Workshop, *, lift: float) -> tuple[str, str]:
    """60 units of 4 cases; cases and units differ in difficulty, and A is better by `lift` in log odds."""
    rng = np.random.default_rng(4)
    hard = np.repeat(rng.normal(0, 0.7, 60), 4) + rng.normal(0, 1.0, 240)
    units = [f"u{case // 4}" for case in range(240)]
    for name, shift in (("a", lift), ("b", 0.0)):
        good = rng.random(240) < 1 / (1 + np.exp(-(0.8 + shift + hard)))
        transcript(shop.folder / f"{name}.jsonl", good, design={"psu": "unit"}, psu=units)
    return "a.jsonl", "b.jsonl"


def test_the_model_finds_the_odds_ratio_that_was_put_in(shop: Workshop) -> None:
    found = shop.call("compare", *two_runs(shop, lift=1.5), "--cross-check", "--format", "json").json["cross_check"][0]
    mixed = found["mixed"]
    assert (found["a"], found["b"]) == ("a", "b")
    assert mixed["log_odds"] == pytest.approx(1.5, abs=3 * mixed["se"])
    assert mixed["unit_sd"] is not None
    assert found["agree"] is True


def test_probabilities_are_of_the_discordant_cases(shop: Workshop) -> None:
    found = shop.call("compare", "--table", "58", "31", "9", "902", "--cross-check", "--format", "json").json[
        "cross_check"
    ]
    bayes = found[0]["bayes"]
    expected = discordant_posterior(31, 9, 1000, rope=0.01)
    assert bayes["a_better"] == pytest.approx(expected.a_better)
    assert bayes["a_better"] + bayes["equivalent"] + bayes["b_better"] == pytest.approx(1)


def test_weights_turn_the_probabilities_as_they_turn_the_verdict(shop: Workshop) -> None:
    """One case in ten counts as much as fifty others, and b is right there; the model, which cannot, says so."""
    heavy = [case % 10 == 0 for case in range(200)]
    columns = [{"weight": "50" if one else "1"} for one in heavy]
    for name in "ab":
        good = [one == (name == "b") for one in heavy]
        transcript(shop.folder / f"{name}.jsonl", good, design={"weights": "weight"}, columns=columns)
    words = ("compare", "a.jsonl", "b.jsonl", "--cross-check")
    plain, weighted = (
        shop.call(*words, *more, "--format", "json").json["cross_check"][0]["bayes"]
        for more in (["--weights", "cases"], [])
    )
    assert plain["a_better"] > 0.99
    assert weighted["b_better"] > 0.99
    text = shop.call(*words).out
    assert "The model counts every case once; the verdict and P follow the weights." in text
    assert "b is better than a" in text


def test_a_wider_region_makes_equality_more_probable(shop: Workshop) -> None:
    near, far = (
        shop.call(
            "compare", "--table", "58", "31", "9", "902", "--cross-check", "--rope", rope, "--format", "json"
        ).json["cross_check"][0]["bayes"]["equivalent"]
        for rope in ("0.005", "0.05")
    )
    assert near < 0.05 < 0.9 < far


def test_the_report_says_whether_they_agree(shop: Workshop) -> None:
    text = shop.call("compare", "--table", "58", "31", "9", "902", "--cross-check").out
    assert "Second opinions" in text
    assert "The model and the verdicts agree." in text


def test_it_is_about_success(shop: Workshop) -> None:
    done = shop.call("compare", "wisard", "witch", "--cross-check", "--statistic", "tpr")
    assert done.status == 2
    assert "--cross-check is about success; leave out --statistic" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--statistic", "ap"), "--cross-check is about success; leave out --statistic"),
        (("--at", "eer"), "--cross-check is about success as it was recorded; leave out --at"),
        (("--unpaired",), "--unpaired matches no cases, so --cross-check has nothing to work on"),
        (("--sequential",), "--sequential is for plain rates; leave out --cross-check"),
    ],
)
def test_mistakes_are_a_line(shop: Workshop, words: tuple[str, ...], message: str) -> None:
    done = shop.call("compare", *two_runs(shop, lift=1.5), "--cross-check", *words)
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_the_region_needs_an_opinion(shop: Workshop) -> None:
    done = shop.call("compare", *two_runs(shop, lift=1.5), "--rope", "0.1")
    assert done.status == 2
    assert "--rope does nothing without --cross-check or --folds" in done.err


def test_the_rate_is_compared_whatever_counts(shop: Workshop) -> None:
    """It is said, unless the rate was asked for."""
    done = shop.call("compare", "shapes/blobs", "shapes/relief", "--cross-check", "--format", "plain")
    assert done.status == 0
    assert "--cross-check is about success, so the rate is compared; without it, ap" in done.err
    done = shop.call("compare", "shapes/blobs", "shapes/relief", "--cross-check", "--statistic", "rate")
    assert done.status == 0
    assert "is about success" not in done.err


def test_python_has_the_same(shop: Workshop) -> None:
    runs = two_runs(shop, lift=1.5)
    done = shop.call("compare", *runs, "--cross-check", "--rope", "0.02", "--format", "json")
    assert harness.compare(runs, cross_check=True, rope=0.02).to_dict() == done.json


def test_without_discordant_cases_there_is_no_model(shop: Workshop) -> None:
    done = shop.call("compare", "--table", "5", "0", "0", "5", "--cross-check", "--format", "json")
    assert done.status == 0
    assert done.json["cross_check"][0]["bayes"]["rope"] == 0.01
