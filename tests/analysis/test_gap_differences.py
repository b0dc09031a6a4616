"""The difference of gaps in `hate compare --by`: figures from the groups, sentences, JSON."""

import numpy as np
import pytest

from tests.analysis.transcripts import transcript
from tests.workshop import Workshop


def _runs(shop: Workshop, gaps: tuple[float, float] = (0.3, 0.0), n: int = 600) -> None:
    """Two runs on three days, two cases to a unit; the last day is worse by a run's gap."""
    rng = np.random.default_rng(1)
    day = np.repeat(np.arange(n // 2) % 3, 2)
    ease = np.repeat(rng.random(n // 2), 2)
    for name, gap in zip("ab", gaps, strict=True):
        right = 0.5 * ease + 0.5 * rng.random(n) < 0.7 - gap * (day == 2)
        transcript(
            shop.folder / f"{name}.jsonl", right, columns=[{"day": str(d)} for d in day],
            psu=[f"u{i // 2}" for i in range(n)], design={"psu": "subject"},
        )  # fmt: skip


def test_the_difference_is_that_of_the_groups(shop: Workshop) -> None:
    _runs(shop)
    found = shop.call("compare", "a.jsonl", "b.jsonl", "--by", "day", "--format", "json").json["by"]
    [one] = found["gap_differences"]
    values = np.array([[run["estimate"] for run in group["runs"]] for group in found["groups"]])
    assert (one["a"], one["b"], one["groups"]) == ("a", "b", 3)
    assert (one["gap_a"], one["gap_b"]) == pytest.approx(tuple(np.ptp(values, axis=0)))
    assert one["gap_a"] == pytest.approx(found["gaps"][0]["estimate"])
    assert one["estimate"] == pytest.approx(one["gap_a"] - one["gap_b"])
    low, high = one["interval"]
    assert 0 < low < one["estimate"] < high
    assert one["p_value"] == one["p_adjusted"] < 0.05
    text = " ".join(shop.call("compare", "a.jsonl", "b.jsonl", "--by", "day").out.split())
    assert f"The gap of a is {100 * one['gap_a']:.1f} points, that of b {100 * one['gap_b']:.1f} points" in text
    assert "whichever groups are best and worst" in text


def test_equal_gaps_are_not_told_apart(shop: Workshop) -> None:
    _runs(shop, (0.2, 0.2))
    [one] = shop.call("compare", "a.jsonl", "b.jsonl", "--by", "day", "--format", "json").json["by"]["gap_differences"]
    assert one["interval"][0] < 0 < one["interval"][1]
    assert one["p_value"] > 0.05


def test_a_single_run_has_none(shop: Workshop) -> None:
    _runs(shop)
    assert shop.call("rate", "a.jsonl", "--by", "day", "--format", "json").json["by"]["gap_differences"] == []


def test_a_group_without_errors_counts_as_uncertain(shop: Workshop) -> None:
    """Both runs are always right on the first day: the interval still has a width from there."""
    rng = np.random.default_rng(2)
    day = np.arange(60) % 2
    for name in "ab":
        right = (day == 0) | (rng.random(60) < 0.5)
        transcript(shop.folder / f"{name}.jsonl", right, columns=[{"day": str(d)} for d in day])
    [one] = shop.call("compare", "a.jsonl", "b.jsonl", "--by", "day", "--format", "json").json["by"]["gap_differences"]
    assert one["interval"][1] - one["interval"][0] > 2 * 1.96 * one["se"] > 0


def test_many_groups_have_no_difference_of_gaps(shop: Workshop) -> None:
    rng = np.random.default_rng(3)
    days = [{"day": str(i % 31)} for i in range(310)]
    for name in "ab":
        transcript(shop.folder / f"{name}.jsonl", rng.random(310) < 0.7, columns=days)
    [one] = shop.call("compare", "a.jsonl", "b.jsonl", "--by", "day", "--format", "json").json["by"]["gap_differences"]
    assert (one["a"], one["b"], one["estimate"], one["interval"]) == ("a", "b", None, None)
