"""Cochran's Q against R and statsmodels, over all permutations; its Wald form by identities and by simulation."""

from __future__ import annotations

import json
import math
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import fdtrc
from statsmodels.stats.contingency_tables import cochrans_q

from harness.stats.cochran import CochranQ, cochran_q, equal_rates
from harness.stats.paired import Table

REFERENCE = json.loads((Path(__file__).parents[1] / "data/paired/reference.json").read_text())


def covariance_of_rates(
    successes: np.ndarray[tuple[int, int], np.dtype[np.bool_]],
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.atleast_2d(np.cov(successes)) / successes.shape[1]


def test_matches_r() -> None:
    got = cochran_q(np.transpose(REFERENCE["input"]["cochran_q"]))
    wanted = REFERENCE["cochran_q"]
    assert (got.statistic, got.df, got.p_value) == pytest.approx((wanted["formula"], wanted["df"], wanted["p"]))


@given(seed=st.integers(0, 10_000), m=st.integers(2, 6))
def test_matches_statsmodels(seed: int, m: int) -> None:
    successes = np.random.default_rng(seed).random((m, 30)) < 0.6
    wanted = cochrans_q(successes.T.astype(int))
    got = cochran_q(successes)
    assert (got.statistic, got.p_value) == pytest.approx((wanted.statistic, wanted.pvalue))


def test_mean_over_all_permutations_is_the_degrees_of_freedom() -> None:
    # Under the hypothesis each case's outcomes may be dealt in any order, and then E[Q] = m - 1 exactly.
    successes = np.array([[1, 0, 1, 0], [0, 0, 1, 1], [0, 1, 1, 0]], dtype=bool)
    dealt = [np.stack(columns, axis=1) for columns in product(*(list(permutations(column)) for column in successes.T))]
    assert np.mean([cochran_q(d).statistic for d in dealt]) == pytest.approx(2, rel=1e-12)


@given(seed=st.integers(0, 10_000))
def test_two_algorithms_are_mcnemar_uncorrected_and_its_wald_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    successes = rng.random((2, 40)) < [[0.5], [0.7]]
    table, n = Table.of(*successes), 40
    q = cochran_q(successes).statistic
    if table.discordant in (0, abs(table.n_sf - table.n_fs)):
        return
    assert q == pytest.approx((table.n_sf - table.n_fs) ** 2 / table.discordant)
    wald = equal_rates(successes.mean(axis=1), covariance_of_rates(successes)).statistic
    assert wald == pytest.approx((n - 1) * q / (n - q))


def test_nothing_to_tell_apart() -> None:
    same = np.tile([True, False, True], (4, 1))
    assert cochran_q(same) == CochranQ(0.0, 3, 1.0)
    assert cochran_q(np.zeros((3, 0), dtype=bool)) == CochranQ(0.0, 2, 1.0)
    assert cochran_q(same[:1]) == CochranQ(0.0, 0, 1.0)
    wald = equal_rates(same.mean(axis=1), covariance_of_rates(same), df=2)
    assert (wald.statistic, wald.df, wald.p_value) == (0.0, 0, 1.0)


def test_certain_difference() -> None:
    wald = equal_rates([1.0, 0.0], np.zeros((2, 2)), df=9)
    assert (wald.statistic, wald.p_value) == (math.inf, 0.0)


def test_wald_is_the_textbook_contrast_form() -> None:
    rng = np.random.default_rng(4)
    successes = rng.random((4, 60)) < 0.5
    rates, covariance = successes.mean(axis=1), covariance_of_rates(successes)
    contrasts = np.array([[1.0, -1, 0, 0], [0, 1, -1, 0], [1, 1, 1, -3]])
    c = contrasts @ rates
    wanted = c @ np.linalg.solve(contrasts @ covariance @ contrasts.T, c)
    got = equal_rates(rates, covariance, df=59)
    assert (got.statistic, got.df, got.df_error) == pytest.approx((wanted, 3, 57))
    assert got.p_value == pytest.approx(fdtrc(3, 57, wanted * 57 / (59 * 3)))
    assert got.p_chi2 < got.p_value


def test_two_rates_give_students_t() -> None:
    # With one contrast F is t squared: (difference / se)^2 on 1 and df.
    got = equal_rates([0.8, 0.7], [[0.002, 0.0005], [0.0005, 0.001]], df=12)
    assert got.f == pytest.approx(0.01 / 0.002)
    assert (got.df, got.df_error) == (1, 12)


def test_a_copy_of_an_algorithm_adds_nothing() -> None:
    rng = np.random.default_rng(5)
    successes = rng.random((3, 50)) < 0.5
    doubled = successes[[0, 1, 2, 1]]
    here = equal_rates(successes.mean(axis=1), covariance_of_rates(successes), df=49)
    there = equal_rates(doubled.mean(axis=1), covariance_of_rates(doubled), df=49)
    assert (there.statistic, there.df) == pytest.approx((here.statistic, here.df))


def test_too_few_units_is_said() -> None:
    got = equal_rates([0.1, 0.2, 0.3], np.diag([0.1, 0.1, 0.1]), df=1)
    assert math.isnan(got.p_value)
    assert 0 < got.p_chi2 < 1


def test_clustered_cases_fool_q_and_not_the_wald_form() -> None:
    # 40 subjects of 8 cases; each algorithm is good or bad at a subject as a whole, and all are equally good overall.
    rng, runs = np.random.default_rng(6), 600
    false_q = false_wald = 0
    for _ in range(runs):
        skill = rng.beta(1.5, 1.5, size=(3, 40))
        of_subject = rng.binomial(8, skill)
        successes = np.arange(8) < of_subject[:, :, None]
        false_q += cochran_q(rng.permuted(successes, axis=2).reshape(3, 320)).p_value < 0.05
        means = of_subject / 8
        false_wald += equal_rates(means.mean(axis=1), np.cov(means) / 40, df=39).p_value < 0.05
    # Standard error of a share of 5 % in 600 runs: 0.9 %; four of them either way.
    assert abs(false_wald / runs - 0.05) < 0.036
    assert false_q / runs > 0.25


def test_refuses() -> None:
    with pytest.raises(ValueError, match="algorithms, cases"):
        cochran_q([1, 0])
    with pytest.raises(ValueError, match="other than 0 and 1"):
        cochran_q([[0, 2]])
    with pytest.raises(ValueError, match="m x m"):
        equal_rates([0.1, 0.2], [[1.0]])
    with pytest.raises(ValueError, match="symmetric"):
        equal_rates([0.1, 0.2], [[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="degrees of freedom"):
        equal_rates([0.1, 0.2], np.eye(2), df=0)
