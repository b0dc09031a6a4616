"""Variances under three sampling designs: exact bias by enumeration, R, identities, and the paper's inequality."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from harness.stats.designs import (
    Weights,
    design_variances,
    linearised_cluster_variance,
    real_error,
)

REFERENCE = json.loads((Path(__file__).parents[1] / "data/paired/reference.json").read_text())
SIZES = (2, 2, 3, 4)


def bernoulli(successes: int, size: int, rate: float) -> float:
    return math.comb(size, successes) * rate**successes * (1 - rate) ** (size - successes)


def samples(chances: Callable[[int, int, int], float]) -> Iterator[tuple[float, list[int], list[int]]]:
    """Every possible sample of binary cases in groups of `SIZES`, with its probability."""
    for counts in product(*(range(m + 1) for m in SIZES)):
        chance = math.prod(chances(i, x, m) for i, (x, m) in enumerate(zip(counts, SIZES, strict=True)))
        values = [int(k < x) for x, m in zip(counts, SIZES, strict=True) for k in range(m)]
        yield chance, values, [i for i, m in enumerate(SIZES) for _ in range(m)]


def expectation_and_truth(
    chances: Callable[[int, int, int], float], estimate: Callable[[list[int], list[int]], tuple[float, float]]
) -> tuple[float, float]:
    """The expected variance estimate, and the true variance of the mean."""
    rows = np.array([(chance, *estimate(values, groups)) for chance, values, groups in samples(chances)])
    chance, mean, variance = rows.T
    return float(chance @ variance), float(chance @ mean**2 - (chance @ mean) ** 2)


def field(name: str, weights: Weights) -> Callable[[list[int], list[int]], tuple[float, float]]:
    def estimate(values: list[int], groups: list[int]) -> tuple[float, float]:
        got = design_variances(values, groups, weights=weights)
        return float(got.mean), float(getattr(got, name))

    return estimate


def fixed(i: int, x: int, m: int) -> float:
    return bernoulli(x, m, (0.9, 0.3, 0.6, 0.75)[i])


def alike(_: int, x: int, m: int) -> float:
    return bernoulli(x, m, 0.7)


def drawn(_: int, x: int, m: int) -> float:
    # A group's rate is itself drawn: 0.95 or 0.4.
    return 0.6 * bernoulli(x, m, 0.95) + 0.4 * bernoulli(x, m, 0.4)


@pytest.mark.parametrize("weights", ["cases", "equal"])
@pytest.mark.parametrize(("name", "chances"), [("st", fixed), ("srs", alike), ("cl", drawn)])
def test_unbiased_over_all_samples(name: str, chances: Callable[[int, int, int], float], weights: Weights) -> None:
    expected, truth = expectation_and_truth(chances, field(name, weights))
    assert expected == pytest.approx(truth, rel=1e-12)


def test_the_survey_form_is_biased_when_sizes_differ() -> None:
    expected, truth = expectation_and_truth(
        drawn, lambda values, groups: (float(np.mean(values)), linearised_cluster_variance(values, groups))
    )
    assert expected / truth == pytest.approx(0.932, abs=0.001)


@pytest.mark.parametrize("weights", ["cases", "equal"])
def test_inequality_19_in_expectation(weights: Weights) -> None:
    st_, srs, cl = (expectation_and_truth(drawn, field(name, weights))[0] for name in ("st", "srs", "cl"))
    assert st_ < srs < cl


def test_inequality_19_by_simulation() -> None:
    # 50 groups of 6 with rates from a beta distribution, 4,000 trials; each mean estimate within 4 of its own standard
    # errors of equations 5 (in expectation), 16 and the mixture of both; the gaps are 30 and more standard errors wide.
    rng, n, m, trials = np.random.default_rng(8), 50, 6, 4_000
    theta = rng.beta(2.8, 1.2, size=(n, 1, trials))
    values = (rng.random((n, m, trials)) < theta).reshape(n * m, trials)
    got = design_variances(values, np.repeat(np.arange(n), m))
    variance, mean = 2.8 * 1.2 / (4**2 * 5), 0.7
    within = mean * (1 - mean) - variance
    wanted = {
        "st": within / (n * m),
        "srs": (within + variance * m * (n - 1) / (n * m - 1)) / (n * m),
        "cl": ((m - 1) * variance + mean * (1 - mean)) / (n * m),
    }
    means = {}
    for name, value in wanted.items():
        estimates = getattr(got, name)
        error = estimates.std(ddof=1) / math.sqrt(trials)
        means[name] = estimates.mean()
        assert abs(means[name] - value) < 4 * error
        assert error < 0.01 * value
    assert means["st"] * 1.1 < means["srs"] < means["cl"] / 1.1


def test_equation_17_lacks_a_factor_1_over_n() -> None:
    # Two strata of one case each, rates 0.5 and 0.5: the mean of two coins has variance 1/8. As printed it is 1/4.
    theta, n, m = np.array([0.5, 0.5]), 2, 1
    printed = (theta * (1 - theta)).sum() / (n * m)
    means = [np.mean(coins) for coins in product((0, 1), repeat=2)]
    assert np.var(means) == pytest.approx(printed / n)


def test_equation_18_repaired() -> None:
    # What 18 must have been: mean (1 - mean) / nm - sum (theta - mean)^2 / (n^2 m), equal to the corrected 17.
    theta, m = np.array([0.9, 0.3, 0.6, 0.75]), 3
    n, mean = len(theta), theta.mean()
    repaired = mean * (1 - mean) / (n * m) - ((theta - mean) ** 2).sum() / (n**2 * m)
    assert repaired == pytest.approx((theta * (1 - theta)).sum() / (n**2 * m), rel=1e-14)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 9), m=st.integers(2, 6))
def test_equal_sizes_are_the_papers_formulas(seed: int, n: int, m: int) -> None:
    table = np.random.default_rng(seed).random((n, m)) < 0.6
    got = design_variances(table.reshape(-1).astype(float), np.repeat(np.arange(n), m))
    assert got.st == pytest.approx(table.var(axis=1, ddof=1).mean() / (n * m))
    assert got.srs == pytest.approx(table.var(ddof=1) / (n * m))
    assert got.cl == pytest.approx(table.mean(axis=1).var(ddof=1) / n)
    # Simple random sampling lies between the other two, whichever is larger: an analysis of variance.
    assert (n * m - 1) * got.srs == pytest.approx((n - 1) * got.cl + n * (m - 1) * got.st, abs=1e-12)


@given(seed=st.integers(0, 10_000), factor=st.floats(0.1, 10), weights=st.sampled_from(["cases", "equal"]))
def test_invariances(seed: int, factor: float, weights: Weights) -> None:
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(6), [2, 3, 2, 5, 4, 3])
    values = rng.normal(size=19)
    order, names = rng.permutation(19), rng.permutation(6)
    here = design_variances(values, groups, weights=weights)
    there = design_variances(factor * values[order] + 3, names[groups[order]], weights=weights)
    assert there.mean == pytest.approx(factor * here.mean + 3)
    for name in ("st", "srs", "cl"):
        assert getattr(there, name) == pytest.approx(factor**2 * getattr(here, name))


@pytest.mark.parametrize("row", range(4))
def test_matches_r(row: int) -> None:
    data, wanted = REFERENCE["input"]["icc"][row], REFERENCE["icc"][row]
    got = design_variances(data["y"], data["cluster"])
    assert got.mean == pytest.approx(wanted["p"])
    assert math.sqrt(got.srs) == pytest.approx(wanted["se_srs_nminus1"], rel=1e-12)
    linearised = linearised_cluster_variance(data["y"], data["cluster"])
    assert math.sqrt(linearised) == pytest.approx(wanted["se_cluster"], rel=1e-12)
    assert linearised / got.srs == pytest.approx(wanted["deff_replace"], rel=1e-12)
    # Both estimate the same thing, and agree exactly if sizes are equal.
    assert got.cl == pytest.approx(linearised, rel=1e-12 if wanted["name"].split("_")[1].startswith("eq") else 0.05)


def coverage(values: npt.NDArray[np.bool_], groups: npt.NDArray[np.int_], truth: float) -> dict[str, float]:
    got, count = design_variances(values, groups), len(set(groups.tolist()))
    df = {"cl": count - 1, "st": len(groups) - count, "srs": len(groups) - 1}
    return {
        name: float((np.abs(got.mean - truth) <= stdtrit(df[name], 0.975) * np.sqrt(getattr(got, name))).mean())
        for name in df
    }


def test_coverage_depends_on_what_a_repetition_repeats() -> None:
    # 100 subjects of 4, intraclass correlation 0.2: beta with a + b = 4. Standard error of a coverage: 0.35 %.
    rng, n, m, trials = np.random.default_rng(9), 100, 4, 4_000
    groups = np.repeat(np.arange(n), m)
    new = rng.beta(2.8, 1.2, size=(n, 1, trials))
    got = coverage((rng.random((n, m, trials)) < new).reshape(n * m, trials), groups, 0.7)
    assert 0.93 < got["cl"] < 0.97
    # The true variance is 1 + 3 * 0.2 times what `srs` predicts, and that over 1 - 0.2 times what `st` predicts.
    assert got["srs"] == pytest.approx(1 - real_error(1.6), abs=0.015)
    assert got["st"] == pytest.approx(1 - real_error(1.6 / 0.8), abs=0.015)
    same = rng.beta(2.8, 1.2, size=(n, 1, 1))
    got = coverage((rng.random((n, m, trials)) < same).reshape(n * m, trials), groups, float(same.mean()))
    assert 0.93 < got["st"] < 0.97
    assert got["cl"] > 0.98


def test_variances_without_an_estimate_are_nan() -> None:
    lone = design_variances([1, 0, 1], ["a", "a", "b"])
    assert math.isnan(lone.st)
    assert lone.cl > 0
    single = design_variances([1, 0, 1], ["a", "a", "a"])
    assert math.isnan(single.cl)
    assert single.st == pytest.approx(single.srs)
    assert math.isnan(linearised_cluster_variance([1, 0], [1, 1]))
    assert all(math.isnan(v) for v in (design_variances([1], [1]).srs, design_variances([1], [1]).st))


def test_no_variance() -> None:
    got = design_variances([1, 1, 1, 1], [0, 0, 1, 1])
    assert [float(v) for v in (got.mean, got.st, got.srs, got.cl)] == [1.0, 0.0, 0.0, 0.0]


def test_groups_of_one_case_are_simple_random_sampling() -> None:
    values = np.random.default_rng(10).random(30)
    got = design_variances(values, np.arange(30))
    assert got.cl == pytest.approx(got.srs, rel=1e-12)


def test_a_group_of_half_the_cases_falls_back_to_the_survey_form() -> None:
    values, groups = [1, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 2]
    assert design_variances(values, groups).cl == pytest.approx(linearised_cluster_variance(values, groups))


@pytest.mark.parametrize(
    ("values", "groups", "message"),
    [([1, 0], [1], "shape"), ([], [], "no case"), ([1, math.nan], [1, 1], "finite")],
)
def test_wrong_input_is_refused(values: list[float], groups: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        design_variances(values, groups)
