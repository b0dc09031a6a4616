"""Cochran's Q against R and statsmodels, over all permutations; its Wald form by identities and by simulation."""

from __future__ import annotations

import json
import math
from itertools import permutations, product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import fdtrc
from statsmodels.stats.contingency_tables import cochrans_q

from harness.stats.cochran import CochranQ, cochran_q, equal_rates
from harness.stats.paired import PairTable

REFERENCE = json.loads((Path(__file__).parents[1] / "data/paired/reference.json").read_text())


def covariance_of_rates(
    successes: np.ndarray[tuple[int, int], np.dtype[np.bool_]],
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.atleast_2d(np.cov(successes)) / successes.shape[1]


def test_matches_r() -> None:
    got = cochran_q(np.transpose(REFERENCE["input"]["cochran_q"]))
    expected = REFERENCE["cochran_q"]
    assert (got.statistic, got.df, got.p_value) == pytest.approx((expected["formula"], expected["df"], expected["p"]))


@given(seed=st.integers(0, 10_000), m=st.integers(2, 6))
def test_matches_statsmodels(seed: int, m: int) -> None:
    successes = np.random.default_rng(seed).random((m, 30)) < 0.6
    expected = cochrans_q(successes.T.astype(int))
    got = cochran_q(successes)
    assert (got.statistic, got.p_value) == pytest.approx((expected.statistic, expected.pvalue))


def test_mean_over_all_permutations_is_the_degrees_of_freedom() -> None:
    # Under the hypothesis each case's outcomes can be permuted, and then E[Q] = m - 1 exactly.
    successes = np.array([[1, 0, 1, 0], [0, 0, 1, 1], [0, 1, 1, 0]], dtype=bool)
    dealt = [np.stack(columns, axis=1) for columns in product(*(list(permutations(column)) for column in successes.T))]
    assert np.mean([cochran_q(d).statistic for d in dealt]) == pytest.approx(2, rel=1e-12)


@given(seed=st.integers(0, 10_000))
def test_two_algorithms_are_mcnemar_uncorrected_and_its_wald_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    successes = rng.random((2, 40)) < [[0.5], [0.7]]
    table, n = PairTable.of(*successes), 40
    q = cochran_q(successes).statistic
    if table.discordant in (0, abs(table.n_sf - table.n_fs)):
        return
    assert q == pytest.approx((table.n_sf - table.n_fs) ** 2 / table.discordant)
    wald = equal_rates(successes.mean(axis=1), covariance_of_rates(successes)).statistic
    assert wald == pytest.approx((n - 1) * q / (n - q))


def test_algorithms_that_never_differ() -> None:
    same = np.tile([True, False, True], (4, 1))
    assert cochran_q(same) == CochranQ(0.0, 3, 1.0)
    assert cochran_q(np.zeros((3, 0), dtype=bool)) == CochranQ(0.0, 2, 1.0)
    assert cochran_q(same[:1]) == CochranQ(0.0, 0, 1.0)
    wald = equal_rates(same.mean(axis=1), covariance_of_rates(same), df=2)
    assert (wald.statistic, wald.df, wald.p_value) == (0.0, 0, 1.0)


def test_a_difference_without_variance_is_not_certain() -> None:
    # Ten units that all agree: as unlikely as ten coins that all land the same way.
    wald = equal_rates([1.0, 0.0], np.zeros((2, 2)), df=9)
    assert (wald.statistic, wald.f, wald.p_value) == (math.inf, math.inf, 2 * 0.5**10)
    assert math.isnan(equal_rates([1.0, 0.0], np.zeros((2, 2))).p_value)


@pytest.mark.parametrize("strata", [[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1, 1, 1]])
def test_without_variance_p_is_the_share_of_sign_flips_that_leave_none(strata: list[int]) -> None:
    # Each unit's difference is that of its stratum, 0.2 overall; the sign of every unit may be flipped.
    differences, codes = np.where(np.array(strata) == 0, 0.3, 0.1), np.array(strata)
    flipped = [differences * np.array(signs) for signs in product((1, -1), repeat=len(strata))]
    certain = [all(np.ptp(f[codes == h]) == 0 for h in set(strata)) for f in flipped]
    df = len(strata) - len(set(strata))
    assert equal_rates([0.6, 0.4], np.zeros((2, 2)), df=df).p_value == pytest.approx(np.mean(certain))


def test_wald_is_the_textbook_contrast_form() -> None:
    rng = np.random.default_rng(4)
    successes = rng.random((4, 60)) < 0.5
    rates, covariance = successes.mean(axis=1), covariance_of_rates(successes)
    contrasts = np.array([[1.0, -1, 0, 0], [0, 1, -1, 0], [1, 1, 1, -3]])
    c = contrasts @ rates
    expected = c @ np.linalg.solve(contrasts @ covariance @ contrasts.T, c)
    got = equal_rates(rates, covariance, df=59)
    assert (got.statistic, got.df, got.df_error) == pytest.approx((expected, 3, 57))
    assert got.p_value == pytest.approx(fdtrc(3, 57, expected * 57 / (59 * 3)))
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


def test_too_few_units_give_no_p_value() -> None:
    got = equal_rates([0.1, 0.2, 0.3], np.diag([0.1, 0.1, 0.1]), df=1)
    assert math.isnan(got.p_value)
    assert 0 < got.p_chi2 < 1


def unit_deviations(rng: np.random.Generator, scales: npt.NDArray[np.float64], m: int) -> npt.NDArray[np.float64]:
    values = scales[:, None] * rng.normal(size=(len(scales), m)) @ rng.normal(size=(m, m))
    return np.asarray(values - values.mean(axis=0))


def test_eta_by_loops() -> None:
    d = unit_deviations(np.random.default_rng(21), np.linspace(1, 9, 30), 4)
    spread, contrasts = d.T @ d, d - d.mean(axis=1, keepdims=True)
    around = contrasts.T @ contrasts
    own = sum((c @ c) ** 2 for c in contrasts) / (np.trace(around) ** 2 + 2 * np.trace(around @ around))
    above = below = 0.0
    for a, b in permutations(range(4), 2):
        above += (d[:, a] ** 2 * d[:, b] ** 2).sum()
        below += spread[a, a] * spread[b, b] + 2 * spread[a, b] ** 2
    expected = 29 / 31 * 29 / 30 / ((own + above / below) / 2)
    got = equal_rates([0.6, 0.5, 0.4, 0.3], spread / 100, df=29, unit_values=d)
    assert got.eta == pytest.approx(expected, rel=1e-12)
    assert got.eta < 29
    assert got.df_error == pytest.approx(got.eta - 2)
    assert got.f == pytest.approx(got.statistic * got.df_error / (3 * got.eta))
    assert got.p_value == pytest.approx(fdtrc(3, got.df_error, got.f))


@given(seed=st.integers(0, 10_000))
def test_eta_does_not_depend_on_order_or_scale(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = unit_deviations(rng, rng.uniform(1, 5, 12), 3)
    rates, order = rng.random(3), rng.permutation(3)
    here = equal_rates(rates, d.T @ d, df=11, unit_values=d)
    there = equal_rates(rates[order], (d.T @ d)[np.ix_(order, order)], df=11, unit_values=1e3 * d[::-1, order])
    assert (there.eta, there.p_value) == pytest.approx((here.eta, here.p_value), rel=1e-6)
    assert 2 <= here.eta <= 11


def test_eta_of_unequal_units() -> None:
    # Covariances a_i V of normal units: eta is 1 / sum a_i^2 once there are many units; one large unit leaves few.
    rng, scales = np.random.default_rng(22), np.repeat([1.0, 2.0, 4.0], 400)
    shares = scales**2 / (scales**2).sum()
    d = unit_deviations(rng, scales, 4)
    got = equal_rates([0.1, 0.2, 0.3, 0.4], d.T @ d, df=1199, unit_values=d).eta
    assert got == pytest.approx(1 / (shares**2).sum(), rel=0.1)
    alone = unit_deviations(rng, np.array([100.0] + [1.0] * 40), 4)
    assert equal_rates([0.1, 0.2, 0.3, 0.4], alone.T @ alone, df=40, unit_values=alone).eta == 3


def test_many_similar_units_give_the_usual_f() -> None:
    d = unit_deviations(np.random.default_rng(23), np.ones(5_000), 4)
    options = {"rates": [0.1, 0.2, 0.3, 0.4], "covariance": d.T @ d / 1e6, "df": 4_999}
    usual, got = equal_rates(**options), equal_rates(**options, unit_values=d)  # type: ignore[arg-type]
    assert got.eta == pytest.approx(4_999, rel=0.05)
    assert got.p_value == pytest.approx(usual.p_value, rel=0.01)
    assert usual.eta == 4_999


def test_one_contrast_keeps_the_degrees_of_freedom_of_its_t() -> None:
    d = unit_deviations(np.random.default_rng(24), np.array([1.0, 1, 2, 9]), 2)
    assert equal_rates([0.5, 0.4], d.T @ d, df=3, unit_values=d).eta == 3


@pytest.mark.parametrize(("sizes", "rate"), [((2, 3, 4, 5, 6, 8, 10, 14, 20, 30), 0.8), ((10,) * 100, 0.99)])
def test_size_with_unequal_units_and_with_rare_errors(sizes: tuple[int, ...], rate: float) -> None:
    # Five equally good algorithms, intraclass correlation 0.2; benchmarks/bench_wald.py has more designs and runs:
    # 3.9 and 5.5 % here for the corrected test, 19.5 and 11.2 % for the usual one. 500 runs: standard error 1 %.
    rng, runs, of_unit = np.random.default_rng(25), 500, np.array(sizes)
    n, usual, corrected = len(sizes), 0, 0
    for _ in range(runs):
        successes = rng.binomial(of_unit, rng.beta(4 * rate, 4 * (1 - rate), size=(5, n)))
        rates = successes.sum(axis=1) / of_unit.sum()
        d = (successes - rates[:, None] * of_unit).T / of_unit.sum()
        covariance = n / (n - 1) * d.T @ d
        usual += equal_rates(rates, covariance, df=n - 1).p_value < 0.05
        corrected += equal_rates(rates, covariance, df=n - 1, unit_values=d).p_value < 0.05
    assert usual / runs > 0.08
    assert abs(corrected / runs - 0.047) < 0.04


def test_clustered_cases_fool_q_but_not_the_wald_form() -> None:
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


def test_wrong_input_is_refused() -> None:
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
    with pytest.raises(ValueError, match=r"expected \(units, 2\)"):
        equal_rates([0.1, 0.2], np.eye(2), df=2, unit_values=np.zeros((3, 3)))
    with pytest.raises(ValueError, match="finite"):
        equal_rates([0.1, 0.2, 0.3], np.eye(3), df=2, unit_values=np.full((3, 3), np.nan))


def test_fewer_units_than_contrasts_are_no_evidence() -> None:
    # Eight units leave the covariance of ten rates without two directions, and the rates are never 0 in both.
    rng = np.random.default_rng(31)
    for _ in range(50):
        means = rng.binomial(10, 0.8, size=(10, 8)) / 10
        got = equal_rates(means.mean(axis=1), np.cov(means) / 8, df=7)
        assert math.isnan(got.p_value)
        assert (got.too_few_units, got.df, got.least_df) == (True, 9, 10)


def test_as_many_units_as_rates_do_not_reject_more_often_than_they_should() -> None:
    # Ones and zeros: a mixture of rates that is the same in all units is then nothing special (15 % of these samples).
    rng, runs = np.random.default_rng(32), 400
    for units, most in ((8, 0.02), (9, 0.08), (10, 0.08)):
        rejected = 0
        for _ in range(runs):
            right = (rng.random((8, units)) < 0.5).astype(float)
            deviations = (right - right.mean(axis=1, keepdims=True)).T / units
            covariance = units / (units - 1) * deviations.T @ deviations
            got = equal_rates(right.mean(axis=1), covariance, df=units - 1, unit_values=deviations)
            rejected += got.p_value <= 0.05
        assert rejected / runs <= most


def test_a_constant_difference_among_several_is_corrected_for_their_pairs() -> None:
    # The first is better than the second by 0.2 in each of 12 units; the third varies.
    third = np.linspace(0.1, 0.9, 12)
    covariance = np.zeros((3, 3))
    covariance[2, 2] = third.var(ddof=1) / 12
    got = equal_rates([0.7, 0.5, third.mean()], covariance, df=11)
    assert (got.statistic, got.p_value) == (math.inf, 3 * 2.0**-11)
    # A copy adds no pair.
    twice = np.pad(covariance, ((1, 0), (1, 0)))
    assert equal_rates([0.7, 0.7, 0.5, third.mean()], twice, df=11).p_value == 3 * 2.0**-11


def test_a_constant_mixture_that_is_no_pair_is_not_tested() -> None:
    # a + b - 2 c is 0.1 in every unit, while each difference varies: not evidence by a rule, and units are not short.
    rng = np.random.default_rng(33)
    a, b = rng.random(20), rng.random(20)
    values = np.stack([a, b, (a + b - 0.1) / 2])
    got = equal_rates(values.mean(axis=1), np.cov(values) / 20, df=19)
    assert math.isnan(got.p_value)
    assert not got.too_few_units


def test_scale_does_not_matter() -> None:
    rng = np.random.default_rng(34)
    values = rng.random((4, 12))
    copies = values[[0, 1, 2, 3, 1]]
    here = equal_rates(copies.mean(axis=1), np.cov(copies) / 12, df=11)
    for scale in (1e-9, 1e12):
        there = equal_rates(scale * copies.mean(axis=1), scale**2 * np.cov(copies) / 12, df=11)
        assert there.df == here.df
        assert there.p_value == pytest.approx(here.p_value)
