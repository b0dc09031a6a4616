"""Measures of verification on the command line: against loops over the recorded scores."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.score_runs import World
from tests.workshop import Workshop

WORLD = World(strata=6, size=8, seed=3)


def run(shop: Workshop, name: str = "a", lift: float = 1.5) -> Path:
    return WORLD.write(shop.folder / f"{name}.jsonl", WORLD.scores(ord(name), lift))


def measure(shop: Workshop, path: Path, name: str) -> dict[str, Any]:
    done = shop.call("rate", path, "--statistic", name, "--format", "json")
    assert done.status == 0, done.err
    found: dict[str, Any] = json.loads(done.out, parse_constant=pytest.fail)["transcripts"][0]["replication"]
    return found


def rates(scores: np.ndarray, threshold: float) -> tuple[float, float]:
    accepted = scores >= threshold
    return float(np.mean(~accepted[WORLD.positive])), float(np.mean(accepted[~WORLD.positive]))


def test_the_half_total_error_and_the_detection_cost_are_at_the_runs_threshold(shop: Workshop) -> None:
    path, scores = run(shop), WORLD.scores(ord("a"), 1.5)
    misses, alarms = rates(scores, 0.5)
    assert measure(shop, path, "hter")["estimate"] == pytest.approx((misses + alarms) / 2)
    cost = (10 * 0.05 * misses + 0.95 * alarms) / min(10 * 0.05, 0.95)
    found = measure(shop, path, "dcf:miss=10,prior=0.05")
    assert found["estimate"] == pytest.approx(cost)
    assert found["interval"][0] < cost < found["interval"][1]


def test_the_least_cost_is_over_all_thresholds(shop: Workshop) -> None:
    path, scores = run(shop), WORLD.scores(ord("a"), 1.5)
    costs = []
    for threshold in [*scores.tolist(), np.inf]:
        misses, alarms = rates(scores, threshold)
        costs.append((0.2 * misses + 0.8 * alarms) / 0.2)
    found = measure(shop, path, "min_dcf:prior=0.2")
    assert found["estimate"] == pytest.approx(min(costs))


@pytest.mark.parametrize("limit", [0.0, 0.05, 0.2])
def test_an_error_rate_at_a_limit_of_the_other(shop: Workshop, limit: float) -> None:
    path, scores = run(shop), WORLD.scores(ord("a"), 1.5)
    allowed = [rates(scores, threshold) for threshold in [*scores.tolist(), np.inf]]
    expected = min(misses for misses, alarms in allowed if alarms <= limit + 1e-12)
    assert measure(shop, path, f"fnr@fpr={limit}")["estimate"] == pytest.approx(expected)
    assert measure(shop, path, f"fnmr@fmr={limit}")["estimate"] == pytest.approx(expected)


def test_costs_are_compared_between_runs(shop: Workshop) -> None:
    done = shop.call("compare", run(shop, "a"), run(shop, "b", 0.4), "--statistic", "cllr", "--format", "json")
    found = done.json
    values = [one["replication"]["estimate"] for one in found["transcripts"]]
    assert found["pairs"][0]["replication"]["estimate"] == pytest.approx(values[0] - values[1])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dcf:prior=2", "costs above 0 and a prior between 0 and 1"),
        ("min_dcf:miss=x", "'x' is not a number; write dcf:miss=1,fa=1,prior=0.01"),
        ("dcf:mis=1", "write dcf:miss=1,fa=1,prior=0.01"),
        ("fnr@fpr=2", "'2' is not a rate"),
        ("brier", "is not a probability; calibration needs scores from 0 to 1"),
        ("ece", "is not a probability"),
    ],
)
def test_mistakes_are_a_line_with_a_remedy(shop: Workshop, name: str, message: str) -> None:
    done = shop.call("rate", run(shop), "--statistic", name)
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1
