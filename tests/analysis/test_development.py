"""Thresholds from a development run: against loops over thresholds, and in repeated experiments."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import harness
from harness.stats.arrays import BoolArray, FloatArray
from tests.analysis.test_operating import threshold_by_loop
from tests.analysis.transcripts import transcript
from tests.simulation import experiments, slack
from tests.workshop import Workshop


def _run(
    path: Path,
    scores: FloatArray,
    positive: BoolArray,
    *,
    name: str = "",
    test: str = "toy",
    prefix: str = "",
    **more: Any,
) -> Path:
    """A run of a score test that accepts from 0 on."""
    return transcript(
        path, (scores >= 0) == positive, positive=positive.tolist(), score=scores.tolist(), name=name or path.stem,
        ids=[f"{prefix}{i}" for i in range(len(scores))], test={"task": "score", "name": test},
        params={"threshold": 0.0}, **more,
    )  # fmt: skip


def _scores(rng: np.random.Generator, n: int, units: int = 0) -> tuple[FloatArray, BoolArray, list[str]]:
    positive = np.arange(n) % 2 == 0
    unit = np.arange(n) // (n // units if units else 1)
    own = rng.normal(0, 0.5, unit.max() + 1)[unit] if units else 0
    return np.asarray(positive * 2.0 + own + rng.normal(size=n)), positive, [f"u{u}" for u in unit]


def _both(shop: Workshop, seed: int = 0) -> dict[str, tuple[FloatArray, BoolArray]]:
    """Two algorithms on development and evaluation cases."""
    rng, found = np.random.default_rng(seed), {}
    for name in ("a", "b"):
        for part, test in (("dev", "dev-set"), ("eval", "toy")):
            scores, positive, _ = _scores(rng, 60)
            scores = scores * (1 if name == "a" else 10)
            _run(shop.folder / f"{part}-{name}.jsonl", scores, positive, name=name, test=test)
            found[f"{part}-{name}"] = (scores, positive)
    return found


@pytest.mark.parametrize("point", ["eer", "fpr=0.1", "fnr=0.2"])
def test_hter_at_the_threshold_of_the_development_run(shop: Workshop, point: str) -> None:
    data = _both(shop)
    words = ["--development", "dev-b.jsonl", "--development", "dev-a.jsonl", "--at", point, "--statistic", "hter"]
    found = shop.call("compare", "eval-a.jsonl", "eval-b.jsonl", *words, "--format", "json").json
    alone = shop.call("rate", "eval-a.jsonl", "eval-b.jsonl", *words, "--format", "json").json
    assert (found["at"], alone["at"]) == (point, point)
    for number, name in enumerate("ab"):
        scores, positive = data[f"dev-{name}"]
        threshold = threshold_by_loop(point, scores, positive, np.ones(60))
        scores, positive = data[f"eval-{name}"]
        taken = scores >= threshold
        hter = (taken[~positive].mean() + (~taken[positive]).mean()) / 2
        for each in (found["transcripts"][number], alone["transcripts"][number]):
            assert each["threshold"] == pytest.approx(threshold)
            assert each["value"] == pytest.approx(hter)
            assert (each["fpr"] + each["fnr"]) / 2 == pytest.approx(hter)
            assert each["development"] == f"dev-{name}.jsonl"
            assert each["TP"] == (taken & positive).sum()


def test_the_output_says_what_the_interval_is_for(shop: Workshop) -> None:
    _both(shop)
    words = ["--development", "dev-a.jsonl", "--at", "eer"]
    out = shop.call("rate", "eval-a.jsonl", *words).out
    assert "Thresholds set at eer of the development runs" in out
    assert "they do not allow for other development data" in " ".join(out.split())
    assert "half total error rate at a development run's eer (hter)" in out
    own = shop.call("rate", "eval-a.jsonl", "--at", "eer").out
    assert "intervals by design allow for thresholds that were set on the same cases" in " ".join(own.split())


def test_rate_and_compare_agree_at_an_operating_point_of_their_own(shop: Workshop) -> None:
    _both(shop)
    words = ["--at", "fpr=0.1", "--statistic", "fnr", "--format", "json"]
    pair = shop.call("compare", "eval-a.jsonl", "eval-b.jsonl", *words).json["transcripts"][0]
    alone = shop.call("rate", "eval-a.jsonl", *words).json["transcripts"][0]
    assert alone["value"] == pair["value"]
    assert alone["replication"]["interval"] == pytest.approx(pair["replication"]["interval"], abs=1e-9)
    assert alone["threshold"] == pair["threshold"]


def test_python_takes_the_same_options(shop: Workshop) -> None:
    _both(shop)
    found = harness.rate("eval-a.jsonl", at="eer", development=("dev-a.jsonl",), statistic="hter")
    assert found.to_dict()["transcripts"][0]["development"] == "dev-a.jsonl"


def test_mistakes(shop: Workshop) -> None:
    _both(shop)
    same = shop.folder / "same.jsonl"
    scores, positive, _ = _scores(np.random.default_rng(1), 60)
    _run(same, scores, positive, name="a")
    for words, message in (
        (["--development", "dev-a.jsonl"], "--development sets thresholds: say where, with --at eer"),
        (["--development", "dev-b.jsonl", "--at", "eer"], "none is a run of a; name one for each algorithm"),
        (["--development", same, "--at", "eer"], "case '0' is evaluated too; a threshold is set on other cases"),
        (
            ["--development", "dev-a.jsonl", "--at", "eer", "--statistic", "auc"],
            "auc is not computed from the outcomes at a threshold",
        ),
    ):
        done = shop.call("rate", "eval-a.jsonl", *words)
        assert done.status == 2
        assert message in done.err


@pytest.mark.slow
@experiments(1000, quick=60)
def test_the_interval_covers_the_rate_at_the_threshold(tmp_path: Path, experiments: int) -> None:
    """Given the threshold, the expected half total error is known; units of four cases."""
    rng = np.random.default_rng(5)
    scores, positive, _ = _scores(rng, 60)
    development = _run(tmp_path / "dev.jsonl", scores, positive, name="a", test="dev-set")
    at = threshold_by_loop("eer", scores, positive, np.ones(60))
    spread = np.sqrt(1.25)
    truth = (norm.sf(at / spread) + norm.cdf((at - 2) / spread)) / 2
    hits = 0
    for _ in range(experiments):
        scores, positive, units = _scores(rng, 400, units=100)
        path = _run(tmp_path / "eval.jsonl", scores, positive, name="a", psu=units, design={"psu": "subject"})
        found = harness.rate(str(path), at="eer", development=(str(development),), statistic="hter")
        interval = found.runs[0].estimates["hter"].interval  # type: ignore[union-attr]
        hits += interval is not None and interval.low <= truth <= interval.high
    assert hits / experiments == pytest.approx(0.95, abs=slack(0.02, full=1000, experiments=experiments))
