"""Intraclass correlation and design effects against R; overdispersion against scipy and by simulation."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, norm

from harness.stats.designs import (
    design_variances,
    effective_size,
    intraclass_correlation,
    kish_design_effect,
    overdispersion,
    real_error,
)

REFERENCE = json.loads((Path(__file__).parents[1] / "data/paired/reference.json").read_text())


@pytest.mark.parametrize("row", range(4))
def test_matches_r(row: int) -> None:
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


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="more successes than cases"):
        overdispersion([3], [2])
    with pytest.raises(ValueError, match="per group"):
        overdispersion([1, 2], [2])
    with pytest.raises(ValueError, match="above 0"):
        kish_design_effect([0, 2], 0.1)
    with pytest.raises(ValueError, match="design effect"):
        real_error(0.0)
