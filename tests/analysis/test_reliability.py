"""Reliability diagrams: bins against scikit-learn, intervals against the rates of groups."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from harness.stats.arrays import BoolArray, FloatArray
from tests.analysis.transcripts import transcript
from tests.workshop import Workshop


def _data(seed: int = 0, units: int = 80) -> tuple[FloatArray, BoolArray, list[str]]:
    """Probabilities that are too sure of themselves, five to a unit."""
    rng = np.random.default_rng(seed)
    said = rng.random(units * 5)
    shift = np.repeat(rng.normal(0, 0.1, units), 5)
    return said, np.asarray(rng.random(said.size) < 0.2 + 0.6 * said + shift), [f"u{i // 5}" for i in range(said.size)]


def _write(path: Path) -> tuple[FloatArray, BoolArray, list[str]]:
    said, happened, units = _data()
    transcript(
        path, (said >= 0.5) == happened, positive=happened.tolist(), score=said.tolist(), psu=units,
        test={"task": "score"}, params={"threshold": 0.5}, design={"psu": "subject"},
    )  # fmt: skip
    return said, happened, units


def test_bins_are_those_of_scikit_learn(shop: Workshop) -> None:
    said, happened, _ = _write(shop.folder / "a.jsonl")
    found = shop.call("rate", "a.jsonl", "--statistic", "ece", "--format", "json").json["transcripts"][0]
    bins = found["reliability"]
    frequency, probability = calibration_curve(happened, said, n_bins=15)
    np.testing.assert_allclose([one["frequency"] for one in bins], frequency, rtol=1e-12)
    np.testing.assert_allclose([one["probability"] for one in bins], probability, rtol=1e-12)
    weights = np.array([one["cases"] for one in bins]) / said.size
    assert found["value"] == pytest.approx(weights @ np.abs(frequency - probability))


def test_intervals_are_those_of_rates_of_groups(shop: Workshop) -> None:
    """The same numbers as those of a test where an event is a success, by bins of the probability."""
    said, happened, units = _write(shop.folder / "a.jsonl")
    columns = [{"bin": f"{min(int(15 * p), 14):02d}"} for p in said]
    transcript(shop.folder / "b.jsonl", happened, psu=units, columns=columns, design={"psu": "subject"})
    bins = shop.call("rate", "a.jsonl", "--statistic", "ece", "--format", "json").json["transcripts"][0]["reliability"]
    groups = shop.call("rate", "b.jsonl", "--by", "bin", "--format", "json").json["by"]["groups"]
    assert len(bins) == len(groups) == 15
    for one, group in zip(bins, groups, strict=True):
        assert one["cases"] == group["cases"]
        assert one["interval"] == pytest.approx(group["runs"][0]["interval"], abs=1e-12)


def test_the_diagram(shop: Workshop) -> None:
    _write(shop.folder / "a.jsonl")
    done = shop.call("rate", "a.jsonl", "--statistic", "ece", "--plot", "a.svg")
    assert done.status == 0, done.err
    text = (shop.folder / "a.svg").read_text()
    assert text.startswith("<?xml")
    assert text.count("<use") > 15
    assert "--by" in shop.call("rate", "a.jsonl", "--statistic", "brier", "--plot", "b.svg").err
    plain = shop.call("rate", "a.jsonl", "--format", "json").json["transcripts"][0]
    assert "reliability" not in plain


def test_scores_that_are_no_probabilities_are_refused(shop: Workshop) -> None:
    transcript(
        shop.folder / "a.jsonl", [True, True], positive=[True, False], score=[3.0, -1.0], test={"task": "score"},
        params={"threshold": 0.0},
    )  # fmt: skip
    done = shop.call("rate", "a.jsonl", "--statistic", "ece", "--plot", "a.svg")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "is not a probability" in done.err
