"""Win rates with ties: counted by hand, against the Mann-Whitney form and the interval of a mean, in experiments."""

from pathlib import Path

import numpy as np
import pytest

import harness
from harness.stats.arrays import FloatArray
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.sample import make_sample
from harness.stats.replication.statistic import ratio
from tests.analysis.transcripts import transcript
from tests.simulation import experiments, slack
from tests.workshop import Workshop


def _graded(path: Path, grades: FloatArray, units: int) -> Path:
    """A judge's grades, of which more is better; NaN is no grade."""
    values = [{} if np.isnan(grade) else {"judge": float(grade)} for grade in grades]
    psu = [f"u{i % units}" for i in range(len(grades))]
    more = {"values": {"judge": {"larger_is_better": True}}}
    return transcript(path, np.nan_to_num(grades) >= 3, values=values, psu=psu, design={"psu": "document"}, more=more)


def _grades(rng: np.random.Generator, n: int, units: int, lift: float) -> tuple[FloatArray, FloatArray]:
    """Grades from 1 to 5 of two runs, alike within documents."""
    common = np.tile(rng.normal(0, 0.7, units), n // units)
    first, second = (np.clip(np.round(3 + common + rng.normal(at, 1, n)), 1, 5) for at in (lift, 0.0))
    return np.asarray(first), np.asarray(second)


def test_wins_ties_and_losses_are_counted(shop: Workshop) -> None:
    rng = np.random.default_rng(0)
    first, second = _grades(rng, 120, 30, 0.5)
    first[7] = np.nan
    for name, grades in (("a", first), ("b", second)):
        _graded(shop.folder / f"{name}.jsonl", grades, 30)
    found = shop.call("compare", "a.jsonl", "b.jsonl", "--statistic", "values.judge", "--format", "json").json
    one = found["pairs"][0]["win_rate"]
    known = ~np.isnan(first)
    wins, ties = int((first > second)[known].sum()), int((first == second)[known].sum())
    assert (one["wins"], one["ties"], one["losses"]) == (wins, ties, 119 - wins - ties)
    assert one["estimate"] == pytest.approx((wins + ties / 2) / 119)
    points = np.where(first > second, 1.0, np.where(first == second, 0.5, 0.0)) * known
    expected = make_estimate(
        make_sample(120, units=np.arange(120) % 30), ratio(points, known.astype(float), bounds=(0.0, 1.0))
    )
    assert expected.interval is not None
    assert one["se"] == pytest.approx(expected.se)
    assert one["interval"] == pytest.approx([expected.interval.low, expected.interval.high])
    # The p-value is the level at which the interval ends at an even chance.
    limits = expected.at(1 - one["p_value"])
    assert limits is not None
    assert min(abs(limits.low - 0.5), abs(limits.high - 0.5)) < 1e-6
    text = shop.call("compare", "a.jsonl", "b.jsonl", "--statistic", "judge").out
    assert "Win rates, ties counting half" in text
    assert "a over b" in text


def test_the_other_way_round_it_is_the_complement(shop: Workshop) -> None:
    first, second = _grades(np.random.default_rng(1), 60, 15, 0.8)
    paths = [_graded(shop.folder / f"{n}.jsonl", g, 15) for n, g in (("a", first), ("b", second))]
    one, other = (
        harness.compare(order, statistic="judge").to_dict()["pairs"][0]["win_rate"] for order in (paths, paths[::-1])
    )
    assert one["estimate"] + other["estimate"] == pytest.approx(1)
    assert one["interval"] == pytest.approx([1 - other["interval"][1], 1 - other["interval"][0]])
    assert one["p_value"] == pytest.approx(other["p_value"], rel=1e-6)


def test_three_runs_are_corrected_together_and_other_measures_have_none(shop: Workshop) -> None:
    rng = np.random.default_rng(2)
    first, second = _grades(rng, 60, 15, 0.6)
    paths = [
        _graded(shop.folder / f"{n}.jsonl", g, 15) for n, g in (("a", first), ("b", second), ("c", second[::-1].copy()))
    ]
    pairs = harness.compare(paths, statistic="judge").to_dict()["pairs"]
    p_values = sorted(pair["win_rate"]["p_value"] for pair in pairs)
    assert min(pair["win_rate"]["p_adjusted"] for pair in pairs) == pytest.approx(min(3 * p_values[0], 1))
    assert "win_rate" not in harness.compare(paths).to_dict()["pairs"][0]


def test_only_ties_are_even(shop: Workshop) -> None:
    grades = np.full(20, 3.0)
    paths = [_graded(shop.folder / f"{n}.jsonl", grades, 10) for n in "ab"]
    one = harness.compare(paths, statistic="judge").to_dict()["pairs"][0]["win_rate"]
    assert (one["wins"], one["ties"], one["losses"], one["estimate"]) == (0, 20, 0, 0.5)
    assert one["p_value"] == 1


@experiments(1000, quick=60)
def test_the_interval_covers_the_true_win_rate(tmp_path: Path, experiments: int) -> None:
    """The truth is that of a million pairs of grades."""
    rng = np.random.default_rng(3)
    first, second = _grades(rng, 1_000_000, 500_000, 0.4)
    truth, hits = float((first > second).mean() + (first == second).mean() / 2), 0
    for _ in range(experiments):
        first, second = _grades(rng, 120, 40, 0.4)
        sample = make_sample(120, units=np.arange(120) % 40)
        points = np.where(first > second, 1.0, np.where(first == second, 0.5, 0.0))
        interval = make_estimate(sample, ratio(points, np.ones(120), bounds=(0.0, 1.0))).interval
        hits += interval is not None and interval.low <= truth <= interval.high
    assert hits / experiments == pytest.approx(0.95, abs=slack(0.02, full=1000, experiments=experiments))
