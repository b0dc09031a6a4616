"""The binormal area on the command line: `rate`, `compare` and `roc` say the same, and why a run has none."""

from pathlib import Path

import pytest

from harness.lab.binormal.statistics import binormal_of_scores
from harness.stats.curves.scores import make_scored_cases
from tests.comparing.score_runs import World
from tests.workshop import Workshop

WORLD = World(strata=6, size=8, seed=3)


def run(shop: Workshop, name: str = "a", lift: float = 1.5) -> Path:
    return WORLD.write(shop.folder / f"{name}.jsonl", WORLD.scores(ord(name), lift))


def test_rate_and_roc_give_the_same_area(shop: Workshop) -> None:
    path = run(shop)
    fit = binormal_of_scores(make_scored_cases(WORLD.scores(ord("a"), 1.5), WORLD.positive))
    one = shop.call("rate", path, "--statistic", "auc_binormal", "--format", "json").json["transcripts"][0]
    assert one["value"] == pytest.approx(fit.area, abs=1e-9)
    low, high = one["replication"]["interval"]
    assert low < fit.area < high
    curve = shop.call("roc", path, "--format", "json").json["curves"][0]
    assert curve["binormal"] == pytest.approx({"a": fit.a, "b": fit.b, "auc": fit.area})
    assert curve["auc"] != pytest.approx(fit.area, abs=1e-6)


def test_areas_are_compared(shop: Workshop) -> None:
    done = shop.call("compare", run(shop, "a"), run(shop, "b", 0.4), "--statistic", "auc_binormal", "--format", "json")
    found = done.json
    values = [one["replication"]["estimate"] for one in found["transcripts"]]
    assert found["pairs"][0]["replication"]["estimate"] == pytest.approx(values[0] - values[1])


def test_perfect_separation_is_said_in_a_line(shop: Workshop) -> None:
    path = WORLD.write(shop.folder / "perfect.jsonl", WORLD.positive * 5.0 + WORLD.scores(0) / 100)
    done = shop.call("rate", path, "--statistic", "auc_binormal")
    assert done.status == 2
    assert "--statistic auc_binormal: " in done.err
    assert "the scores separate the two classes perfectly, and then no binormal curve fits best; use auc" in done.err
    assert done.err.count("\n") == 1
    assert shop.call("roc", path, "--format", "json").json["curves"][0]["binormal"] is None
