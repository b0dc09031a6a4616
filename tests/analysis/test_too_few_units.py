"""A test that the sample cannot carry is not made, and that is said: more groups, or algorithms, than units."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.transcripts import transcript
from tests.workshop import Workshop


def crossed(path: Path, seed: int, *, units: int = 8, groups: int = 10, each: int = 10, strata: int = 1) -> Path:
    """Every unit has cases of every group; all groups are equally hard, some units are harder than others."""
    rng = random.Random(seed)
    good, columns, whose = list[bool](), list[dict[str, str]](), list[int]()
    for unit in range(units):
        level = 0.8 + 0.1 * rng.uniform(-1, 1)
        for group in range(groups):
            good += [rng.random() < level for _ in range(each)]
            columns += [{"digit": f"d{group}"}] * each
            whose += [unit] * each
    design = {"psu": "who", "stratum": "site"}
    sites = [f"s{unit % strata}" for unit in whose]
    return transcript(path, good, columns=columns, design=design, psu=[f"u{unit}" for unit in whose], stratum=sites)


def json_of(shop: Workshop, *args: str | Path) -> Any:
    return shop.call(*map(str, args), "--format", "json").json


@pytest.mark.parametrize("strata", [1, 2])
def test_more_groups_than_units_are_not_tested(shop: Workshop, strata: int) -> None:
    path = crossed(shop.folder / "x.jsonl", 1, strata=strata)
    assert json_of(shop, "rate", path, "--by", "digit")["by"]["gaps"][0]["p_value"] is None
    (digit,) = (one for one in json_of(shop, "rate", path)["transcripts"][0]["explained"] if one["column"] == "digit")
    assert (digit["p_value"], digit["p_adjusted"]) == (None, None)
    reason = f"10 groups need 10 more units than strata in each, and one has {8 - strata} more."
    assert (
        f"It was not tested whether all groups are equal: {reason}" in shop.call("rate", str(path), "--by", "digit").out
    )
    assert f"x: it was not tested whether digit matters: {reason}" in shop.call("rate", str(path)).out


def test_more_groups_than_units_have_no_interaction(shop: Workshop) -> None:
    paths = [crossed(shop.folder / f"{name}.jsonl", seed) for seed, name in enumerate("ab")]
    found = json_of(shop, "compare", *paths, "--by", "digit")["by"]["interactions"]
    assert [(one["groups"], one["p_value"], one["p_adjusted"]) for one in found] == [(10, None, None)]
    said = shop.call("compare", *map(str, paths), "--by", "digit").out
    assert "It was not tested whether the difference between a and b changes with digit: 10 groups need 10 more" in said


def test_more_algorithms_than_units_are_not_tested_together(shop: Workshop) -> None:
    paths = [crossed(shop.folder / f"{name}.jsonl", seed) for seed, name in enumerate("abcdefghij")]
    wald = json_of(shop, "compare", *paths)["wald"]
    assert (wald["statistic"], wald["f"], wald["p_value"], wald["p_chi2"]) == (None, None, None, None)
    said = shop.call("compare", *map(str, paths)).out
    reason = "10 algorithms need 10 more units than strata, and there are 7 more."
    assert f"With the design there is no test of all together: {reason}" in said


def test_copies_of_three_algorithms_are_three_algorithms(shop: Workshop) -> None:
    def joint(seeds: Sequence[int]) -> Any:
        paths = [crossed(shop.folder / f"{i}-{seed}.jsonl", seed) for i, seed in enumerate(seeds)]
        return json_of(shop, "compare", *paths)["wald"]

    once, copied = joint([0, 1, 2]), joint([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])
    assert (copied["df"], copied["statistic"]) == (2, pytest.approx(once["statistic"]))
    assert 0 < copied["p_value"] < 1


def test_enough_units_carry_the_test(shop: Workshop) -> None:
    # With as many units as groups the covariance is as large as it must be, and not larger.
    p_values = [
        json_of(shop, "rate", crossed(shop.folder / f"{units}.jsonl", 2, units=units, groups=5), "--by", "digit")["by"][
            "gaps"
        ][0]["p_value"]
        for units in (5, 6)
    ]
    assert p_values[0] is None
    assert 0 < p_values[1] <= 1


@pytest.mark.slow
def test_equal_groups_are_not_said_to_differ(shop: Workshop) -> None:
    # Up to nine units for ten groups, every such test had p = 2^-(units - 1), whatever the data.
    for seed in range(4):
        for units in (6, 8, 9, 12):
            path = crossed(shop.folder / f"{units}-{seed}.jsonl", 100 * units + seed, units=units)
            p_value = json_of(shop, "rate", path, "--by", "digit")["by"]["gaps"][0]["p_value"]
            assert (p_value is None) == (units < 11)
            assert p_value is None or p_value > 0.001
