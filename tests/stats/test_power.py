"""Power of McNemar's test and of the t test: published sizes, sums over all outcomes, simulations, inversion."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, nct, norm
from scipy.stats import t as student
from statsmodels.stats.power import TTestPower

from harness.stats.paired import mcnemar_all
from harness.stats.power import (
    PowerAnalysis,
    cases_needed,
    detectable,
    detectable_difference,
    independent_discordance,
    paired_power,
    student_power,
)

discordances = st.floats(0.01, 1)


def exact_power(n: int, d: float, psi: float) -> float:
    """Twin: the probability that (n_sf - n_fs) / sqrt(n_sf + n_fs) exceeds 1.96, summed over all outcomes."""
    total = 0.0
    for m in range(1, n + 1):
        won = np.arange(m + 1)
        significant = (2 * won - m) / math.sqrt(m) >= norm.ppf(0.975)
        total += binom.pmf(m, n, psi) * binom.pmf(won, m, (psi + d) / (2 * psi))[significant].sum()
    return total


def test_published_sizes() -> None:
    # Connor (1987), as computed by the calculators that cite him: p01 0.45, p10 0.05.
    assert cases_needed(0.4, 0.5) == 23
    assert cases_needed(0.4, 0.5, analysis=PowerAnalysis(power=0.9, two_sided=False)) == 23


def test_formula_of_the_design_page() -> None:
    z_a, z_b, psi, d = norm.ppf(0.975), norm.ppf(0.8), 0.12, 0.03
    expected = (z_a * math.sqrt(psi) + z_b * math.sqrt(psi - d**2)) ** 2 / d**2
    assert cases_needed(d, psi) == math.ceil(expected)
    assert cases_needed(-d, psi, analysis=PowerAnalysis(design_effect=2.5)) == math.ceil(2.5 * expected)


@pytest.mark.parametrize(("d", "psi"), [(0.1, 0.3), (0.04, 0.1), (0.05, 0.2)])
def test_power_summed_over_all_outcomes(d: float, psi: float) -> None:
    # 48 discordant cases and more; with 17 the steps of the binomial distribution move the power by 4 %.
    n = cases_needed(d, psi)
    assert exact_power(n, d, psi) == pytest.approx(0.8, abs=0.025)
    assert exact_power(n // 2, d, psi) == pytest.approx(paired_power(n // 2, d, psi), abs=0.025)


def test_the_exact_test_has_a_little_less_power_and_mid_p_the_full() -> None:
    n, d, psi = cases_needed(0.1, 0.3), 0.1, 0.3
    result = {"p_exact": 0.0, "p_mid": 0.0}
    for m in range(1, n + 1):
        won = np.arange(m + 1)
        tests = mcnemar_all(won, m - won)
        chance = binom.pmf(m, n, psi) * binom.pmf(won, m, (psi + d) / (2 * psi))
        for name in result:
            result[name] += float(chance[(getattr(tests, name) <= 0.05) & (2 * won > m)].sum())
    assert result["p_exact"] == pytest.approx(0.776, abs=0.001)
    assert result["p_mid"] == pytest.approx(0.807, abs=0.001)


def test_power_with_a_design_effect_by_simulation() -> None:
    # Pairs of cases that share their outcome: the design effect is 2 and the test divides z by its root. 4,000 trials:
    # standard error 0.6 %, and 2.5 % for the formula as above.
    rng, analysis, d, psi = np.random.default_rng(13), PowerAnalysis(design_effect=2.0), 0.1, 0.3
    n = cases_needed(d, psi, analysis=analysis)
    won, lost, _ = 2 * rng.multinomial(n // 2, [(psi + d) / 2, (psi - d) / 2, 1 - psi], size=4_000).T
    z = (won - lost) / np.sqrt(won + lost) / math.sqrt(2)
    assert float((z >= norm.ppf(0.975)).mean()) == pytest.approx(0.8, abs=0.045)


@given(psi=discordances, share=st.floats(0.05, 1), power=st.floats(0.51, 0.99), deff=st.floats(0.5, 5))
def test_cases_needed_are_the_fewest_with_the_power(psi: float, share: float, power: float, deff: float) -> None:
    d, analysis = share * psi, PowerAnalysis(power=power, design_effect=deff)
    n = cases_needed(d, psi, analysis=analysis)
    if d * d >= psi:
        return
    assert paired_power(n, d, psi, analysis=analysis) >= power - 1e-9
    if n > 1:
        assert paired_power(n - 1, d, psi, analysis=analysis) < power + 1e-9


@given(psi=discordances, n=st.floats(20, 1e6), power=st.sampled_from([0.3, 0.5, 0.8, 0.95]), deff=st.floats(1, 4))
def test_detectable_difference_inverts_the_formula(psi: float, n: float, power: float, deff: float) -> None:
    analysis = PowerAnalysis(power=power, design_effect=deff)
    d = detectable_difference(n, psi, analysis=analysis)
    if d == math.inf:
        assert n / deff < analysis.z_alpha**2
        return
    discordance = max(psi, d)
    if discordance - d * d > 1e-9:
        assert paired_power(n, d, discordance, analysis=analysis) == pytest.approx(power, abs=1e-6)


def test_detectable_difference_at_small_discordance() -> None:
    # 10 cases can show nothing at 1 % discordance, but they can show 62 % won by one side.
    assert detectable_difference(10, 0.01) == detectable_difference(10, 0.1) == pytest.approx(0.6158, abs=0.0001)
    assert detectable_difference(3, 0.1) == math.inf


@given(psi=discordances, n=st.floats(20, 1e5))
def test_more_cases_show_smaller_differences(psi: float, n: float) -> None:
    assert detectable_difference(2 * n, psi) < detectable_difference(n, psi)


def test_a_certain_win_of_one_side() -> None:
    assert paired_power(5, 1.0, 1.0) == 1.0
    assert paired_power(2, 1.0, 1.0) == 0.0


def test_independent_discordance() -> None:
    rng = np.random.default_rng(14)
    a, b = (rng.random(100_000) < rate for rate in (0.9, 0.7))
    differ: npt.NDArray[np.bool_] = a != b
    # Standard error 0.0015.
    assert independent_discordance(0.9, 0.7) == pytest.approx(0.34)
    assert float(differ.mean()) == pytest.approx(0.34, abs=0.006)


@pytest.mark.parametrize(
    ("d", "psi", "message"),
    [(0.0, 0.1, "equivalence"), (0.2, 0.1, "exceeds the discordance"), (0.1, 0.0, "a share")],
)
def test_wrong_differences_are_refused(d: float, psi: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cases_needed(d, psi)


def test_wrong_options_are_refused() -> None:
    for options, message in [
        ({"alpha": 5.0}, "alpha"),
        ({"alpha": 0.5}, "alpha"),
        ({"power": 1.0}, "power"),
        ({"power": 0.01}, "no data are needed"),
        ({"design_effect": 0.0}, "design effect"),
    ]:
        with pytest.raises(ValueError, match=message):
            PowerAnalysis(**options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="number of cases"):
        paired_power(0, 0.1, 0.2)
    with pytest.raises(ValueError, match="rate"):
        independent_discordance(1.2, 0.5)


def test_two_units_show_28_points_and_not_5() -> None:
    # 2 units of 500 cases, 29 % of them discordant: as independent cases they would show 4.8 points,
    # but the error of a mean of two units has a single degree of freedom.
    n, psi = 1_000, 0.293
    assert detectable_difference(n, psi) == pytest.approx(0.048, abs=0.0005)
    assert detectable(math.sqrt(psi / n), 1) == pytest.approx(0.28, abs=0.002)


def test_two_units_by_simulation() -> None:
    # Two units' differences around the detectable one: 40,000 experiments, standard error 0.2 %.
    se, rng = 0.017, np.random.default_rng(16)
    d = rng.normal(detectable(se, 1), se * math.sqrt(2), size=(40_000, 2))
    t = d.mean(axis=1) / (np.abs(d[:, 0] - d[:, 1]) / 2)
    assert float((np.abs(t) > student.ppf(0.975, 1)).mean()) == pytest.approx(0.8, abs=0.008)


def test_published_power_of_a_paired_t_test() -> None:
    # G*Power 3 (Faul et al. 2007): dz = 0.5, two-sided 5 %, 80 % asked for: 34 pairs, actual power 0.8078.
    assert student_power(0.5 * math.sqrt(34), 33) == pytest.approx(0.8078, abs=0.00005)
    assert student_power(0.5 * math.sqrt(33), 32) < 0.8


@pytest.mark.parametrize("n", [5, 10, 31, 40, 200, 5_000])
@pytest.mark.parametrize("power", [0.3, 0.8, 0.95])
def test_detectable_matches_statsmodels(n: int, power: float) -> None:
    twin = TTestPower()
    result = detectable(1 / math.sqrt(n), n - 1, power=power)
    # The solver of statsmodels stops a little early; its power is exact.
    assert result == pytest.approx(twin.solve_power(nobs=n, alpha=0.05, power=power, alternative="two-sided"), rel=1e-4)
    assert twin.power(result, n, 0.05, alternative="two-sided") == pytest.approx(power, abs=1e-7)


@pytest.mark.parametrize("df", [1.0, 1.5, 2.0, 9.0, 29.9, 30.0, 400.0, 1e6])
@pytest.mark.parametrize("nc", [0.0, 0.2, 1.5, 3.0, 9.0])
def test_student_power_matches_scipy(df: float, nc: float) -> None:
    c = student.ppf(0.975, df)
    # For nc = 9 the lower tail is 0, and scipy gives NaN for it.
    expected = nct.sf(c, df, nc) + (nct.cdf(-c, df, nc) if nc < 6 else 0.0)
    assert student_power(nc, df) == student_power(-nc, df) == pytest.approx(expected, abs=1e-9)


def test_power_at_no_difference_is_alpha() -> None:
    for df in (0.5, 1.0, 4.0, 30.0, 1e9, math.inf):
        for alpha in (0.05, 1e-5):
            assert student_power(0.0, df, alpha=alpha) == pytest.approx(alpha, rel=1e-6)


def test_infinite_degrees_of_freedom_are_the_normal_formula() -> None:
    expected = norm.ppf(0.975) + norm.ppf(0.8)
    assert detectable(2.0, math.inf) == pytest.approx(2 * expected, rel=1e-5)
    assert detectable(2.0, 1e8) == pytest.approx(detectable(2.0, math.inf), rel=1e-6)


@given(df=st.floats(1, 500), comparisons=st.integers(1, 5_000), power=st.floats(0.1, 0.99))
def test_detectable_difference_has_the_power(df: float, comparisons: int, power: float) -> None:
    result = detectable(1.0, df, power=power, comparisons=comparisons)
    assert student_power(result, df, alpha=0.05 / comparisons) == pytest.approx(power, abs=1e-6)


def test_detectable_grows_with_comparisons_and_falls_with_units() -> None:
    many = [detectable(0.01, 9, comparisons=m) for m in (1, 3, 10, 45)]
    assert many == sorted(many)
    assert many[0] < many[1]
    assert detectable(0.01, 9, comparisons=10) == detectable(0.01, 9, alpha=0.005)
    units = [detectable(0.01, df) for df in (1, 2, 9, 29, 30, 99, math.inf)]
    assert units == sorted(units, reverse=True)
    assert detectable(0.03, 9) == pytest.approx(3 * detectable(0.01, 9))


def test_nothing_is_detectable_without_degrees_of_freedom() -> None:
    assert detectable(0.01, 0) == math.inf
    assert detectable(0.0, 3) == 0.0
    for options in ({"comparisons": 0}, {"se": -1.0}, {"se": math.nan}):
        with pytest.raises(ValueError, match="comparisons"):
            detectable(**{"se": 0.1, "df": 3} | options)
    with pytest.raises(ValueError, match="degrees of freedom"):
        student_power(1.0, 0.0)
