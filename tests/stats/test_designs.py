"""Variances under three designs: exact bias, R, identities; intraclass correlation against R; overdispersion."""

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
from scipy.stats import chi2_contingency, norm

from harness.stats.designs import (
    Weights,
    design_variances,
    effective_size,
    intraclass_correlation,
    kish_design_effect,
    linearised_cluster_variance,
    overdispersion,
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


@pytest.mark.parametrize("row", range(4))
def test_intraclass_correlation_matches_r(row: int) -> None:
    data, expected = REFERENCE["input"]["icc"][row], REFERENCE["icc"][row]
    got = intraclass_correlation(data["y"], data["cluster"])
    assert (got.groups, got.cases) == (expected["k"], expected["N"])
    assert got.mean_size == pytest.approx(expected["n0"], rel=1e-12)
    assert got.ms_between == pytest.approx(expected["MSB"], rel=1e-12)
    assert got.ms_within == pytest.approx(expected["MSW"], rel=1e-12)
    assert got.icc == pytest.approx(expected["icc_anova"], rel=1e-12)
    assert got.design_effect == pytest.approx(expected["deff_kish"], rel=1e-12)
    assert got.effective_size == pytest.approx(expected["N"] / expected["deff_kish"], rel=1e-12)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 9), m=st.integers(2, 6))
def test_icc_follows_from_the_design_variances(seed: int, n: int, m: int) -> None:
    values = (np.random.default_rng(seed).random(n * m) < 0.6).astype(float)
    groups = np.repeat(np.arange(n), m)
    variances, got = design_variances(values, groups), intraclass_correlation(values, groups)
    if math.isnan(got.icc):
        assert variances.srs == 0
        return
    assert got.icc == pytest.approx((variances.cl - variances.st) / (variances.cl + (m - 1) * variances.st), abs=1e-12)
    one_answer = got.ms_within + (got.ms_between - got.ms_within) / m
    assert variances.cl == pytest.approx(got.design_effect * one_answer / (n * m), abs=1e-12)
    assert -1 / (m - 1) - 1e-12 <= got.icc <= 1 + 1e-12


def test_icc_at_its_ends() -> None:
    assert intraclass_correlation([1, 1, 0, 0], [0, 0, 1, 1]).icc == 1.0
    assert intraclass_correlation([1, 1, 0, 0], [0, 0, 1, 1]).effective_size == 2.0
    assert intraclass_correlation([1, 0, 1, 0], [0, 0, 1, 1]).icc == -1.0


def test_undefined_icc_is_nan() -> None:
    assert math.isnan(intraclass_correlation([1, 1, 1, 1], [0, 0, 1, 1]).icc)
    assert math.isnan(intraclass_correlation([1, 0, 1], [0, 0, 0]).icc)
    alone = intraclass_correlation([1, 0, 1], [0, 1, 2])
    assert math.isnan(alone.icc)
    assert (alone.design_effect, alone.effective_size) == (1.0, 3.0)


def test_icc_is_consistent() -> None:
    # 4,000 groups of 2 to 5: its standard error is about 0.01.
    rng = np.random.default_rng(11)
    sizes = rng.integers(2, 6, size=4_000)
    theta = rng.beta(2.8, 1.2, size=4_000)
    groups = np.repeat(np.arange(4_000), sizes)
    got = intraclass_correlation(rng.random(groups.size) < theta[groups], groups)
    assert got.icc == pytest.approx(0.2, abs=0.04)


@pytest.mark.parametrize(("deff", "error"), [(1.0, 0.05), (4.0, 0.3271), (1.6, 0.1213)])
def test_real_error(deff: float, error: float) -> None:
    assert real_error(deff) == pytest.approx(error, abs=0.0001)
    assert real_error(deff, confidence=0.99) == pytest.approx(2 * norm.cdf(norm.ppf(0.005) / math.sqrt(deff)))


def test_kish() -> None:
    assert kish_design_effect([4, 4, 4], 0.2) == pytest.approx(1.6)
    assert kish_design_effect([1, 1], math.nan) == 1.0
    assert kish_design_effect([1, 3], 0.5) == pytest.approx(1 + (10 / 4 - 1) * 0.5)
    assert effective_size(100, 1.6) == 62.5


@given(seed=st.integers(0, 10_000))
def test_pearson_is_the_chi_square_of_the_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, size=8)
    successes = rng.binomial(sizes, 0.6)
    got = overdispersion(successes, sizes)
    if successes.sum() in (0, sizes.sum()):
        assert (got.chi2, got.p_value, got.z, got.p_clustered) == (0.0, 1.0, 0.0, 1.0)
        return
    expected = chi2_contingency(np.array([successes, sizes - successes]), correction=False)
    assert (got.chi2, got.df, got.p_value) == pytest.approx((expected.statistic, expected.dof, expected.pvalue))
    assert got.dispersion == pytest.approx(got.chi2 / 7)


def test_tarone_with_equal_sizes_is_pearson_rescaled() -> None:
    # m chi2 replaces the sum of squares: z = (m chi2 - n m) / sqrt(2 n m (m - 1)).
    got = overdispersion([3, 5, 1, 4, 2], [6] * 5)
    assert got.z == pytest.approx((6 * got.chi2 - 30) / math.sqrt(2 * 30 * 5))


def test_tarone_keeps_its_level_and_detects_clusters() -> None:
    # Standard error of a share of 5 % in 2,000 trials: 0.5 %.
    rng, trials = np.random.default_rng(12), 2_000
    sizes = rng.integers(2, 7, size=150)
    level = np.mean([overdispersion(rng.binomial(sizes, 0.7), sizes).p_clustered < 0.05 for _ in range(trials)])
    assert 0.03 < level < 0.07
    clustered = [rng.binomial(sizes, rng.beta(2.8, 1.2, size=150)) for _ in range(200)]
    assert np.mean([overdispersion(x, sizes).p_clustered < 0.05 for x in clustered]) > 0.8


def test_lone_cases_cannot_be_clustered() -> None:
    got = overdispersion([1, 0, 1], [1, 1, 1])
    assert (got.z, got.p_clustered) == (0.0, 1.0)


def test_wrong_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="more successes than cases"):
        overdispersion([3], [2])
    with pytest.raises(ValueError, match="per group"):
        overdispersion([1, 2], [2])
    with pytest.raises(ValueError, match="above 0"):
        kish_design_effect([0, 2], 0.1)
    with pytest.raises(ValueError, match="design effect"):
        real_error(0.0)
