"""Power and planning: published sizes, sums over all outcomes, simulations, inversion, and the limits of a run."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, chi2, nct, norm
from scipy.stats import t as student
from statsmodels.stats.power import TTestPower

from harness.stats.paired import mcnemar_all
from harness.stats.power import (
    PlannedSample,
    PowerAnalysis,
    cases_needed,
    detectable,
    detectable_difference,
    difference_power,
    equivalence_power,
    independent_discordance,
    mcnemar_power,
    neyman_allocation,
    paired_power,
    paired_variance,
    rule_of_30,
    rule_of_three,
    smallest_number,
    student_power,
    variance_interval,
    width_of_rate,
)
from harness.stats.rates import wilson
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.sample import make_sample
from harness.stats.replication.statistic import rate

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


@pytest.mark.sampled(3)
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


POINTS = 0.02


def test_mcnemars_exact_power_is_the_sum_over_all_tables() -> None:
    n, d, psi = 40, 0.2, 0.4
    win, lose = (psi + d) / 2, (psi - d) / 2
    total = 0.0
    for a in range(n + 1):
        for b in range(n + 1 - a):
            if a + b and binomtest(min(a, b), a + b).pvalue <= 0.05:
                ways = math.comb(n, a) * math.comb(n - a, b)
                total += ways * win**a * lose**b * (1 - win - lose) ** (n - a - b)
    assert mcnemar_power(n, d, psi) == pytest.approx(total, abs=1e-12)


def test_mcnemars_power_without_a_difference_is_at_most_alpha() -> None:
    for n in (10, 100, 1000, 100_000):
        assert mcnemar_power(n, 0.0, 0.1) <= 0.05


def clustered_differences(rng: np.random.Generator, units: int, size: int, *, strata: int) -> np.ndarray:
    """Paired outcomes -1, 0, 1 of units whose cases share a latent tendency."""
    lean = rng.normal(0, 0.8, (units, 1))
    drawn = rng.normal(0.25 + lean, 1.0, (units, size))
    return np.where(drawn > 1.2, 1, np.where(drawn < -1.2, -1, 0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("units", "size", "strata"),
    [(12, 5, 1), pytest.param(40, 4, 10, marks=pytest.mark.slow), pytest.param(100, 3, 1, marks=pytest.mark.slow)],
)
def test_power_by_design_agrees_with_simulated_tests(units: int, size: int, strata: int) -> None:
    """The t test of the harness itself, on drawn samples; parameters are those of a very large draw."""
    rng = np.random.default_rng(units)
    large = clustered_differences(rng, 200_000, size, strata=strata).astype(float)
    difference, variance = large.mean(), large.mean(axis=1).var()
    unit = np.repeat(np.arange(units), size)
    stratum = np.arange(units) % strata
    runs, hits = 1500, 0
    for _ in range(runs):
        drawn = clustered_differences(rng, units, size, strata=strata).ravel()
        sample = make_sample(units * size, units=unit, strata=stratum[unit] if strata > 1 else None)
        both = np.column_stack([drawn > 0, drawn < 0]).astype(float)
        hits += (make_estimates(sample, rate(both)).difference(0, 1).p_value or 1.0) <= 0.05
    expected = difference_power(units, difference, variance, strata=strata)
    error = 2 * math.sqrt(expected * (1 - expected) / runs)
    assert hits / runs == pytest.approx(expected, abs=POINTS + error)


def test_the_design_effect_is_that_of_equal_correlated_cases() -> None:
    sample = PlannedSample(per_unit=4, icc=0.2, strata=2)
    assert sample.design_effect == pytest.approx(1.6)
    # A unit's mean: s^2 (1 + (m - 1) icc) / m.
    assert sample.unit_variance(0.25) == pytest.approx(0.25 * 1.6 / 4)
    assert PlannedSample(per_unit=5, icc=1.0).unit_variance(0.25) == pytest.approx(0.25)


@pytest.mark.parametrize(("units", "df_strata"), [(8, 1), (30, 5), (400, 1)])
def test_equivalence_agrees_with_simulated_tests(units: int, df_strata: int) -> None:
    rng = np.random.default_rng(units)
    margin, difference, variance, runs = 0.05, 0.01, 0.003 * units, 200_000
    se, df = math.sqrt(variance / units), units - df_strata
    from scipy.stats import t

    estimates = rng.normal(difference, se, runs)
    errors = se * np.sqrt(chi2.rvs(df, size=runs, random_state=rng) / df)
    half = t.ppf(0.95, df) * errors
    shown = np.mean((estimates - half > -margin) & (estimates + half < margin))
    found = equivalence_power(units, margin, difference, variance, strata=df_strata)
    assert found == pytest.approx(float(shown), abs=0.004)


def test_the_width_is_wilsons_for_independent_cases() -> None:
    width = width_of_rate(10_000, 0.9, PlannedSample())
    interval = wilson(9000, 10_000)
    assert width == pytest.approx(interval.high - interval.low, rel=2e-3)


def test_similar_cases_make_it_wider() -> None:
    alone, together = (width_of_rate(100, 0.8, PlannedSample(per_unit=10, icc=icc)) for icc in (0.0, 0.3))
    assert together / alone == pytest.approx(math.sqrt(PlannedSample(10, 0.3).design_effect), rel=0.1)


def test_the_smallest_number_that_suffices() -> None:
    assert smallest_number(lambda n: n * n >= 1000, 2) == 32
    assert smallest_number(lambda n: True, 6) == 6
    assert smallest_number(lambda n: False, 2) is None


def test_power_rises_with_units_until_it_suffices() -> None:
    variance = PlannedSample(per_unit=4, icc=0.2).unit_variance(paired_variance(0.02, 0.1))
    needed = smallest_number(lambda n: difference_power(n, 0.02, variance) >= 0.8, 2)
    assert needed is not None
    assert difference_power(needed, 0.02, variance) >= 0.8 > difference_power(needed - 1, 0.02, variance)


def test_neyman_gives_more_to_what_varies_more() -> None:
    weights, deviations = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.4, 0.0])
    assert neyman_allocation(weights, deviations, 36) == [10, 24, 2]
    assert sum(neyman_allocation(weights, deviations, 101)) == 101


def test_neymans_allocation_has_the_least_variance() -> None:
    weights, deviations, units = np.array([0.6, 0.4]), np.array([0.5, 0.2]), 30

    def variance(first: int) -> float:
        return float(np.sum((weights * deviations) ** 2 / np.array([first, units - first])))

    best = min(range(2, units - 1), key=variance)
    assert neyman_allocation(weights, deviations, units)[0] == best


def test_an_estimated_variance_lies_in_its_interval_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(4000):
        low, high = variance_interval(float(rng.normal(size=6).var(ddof=1)), 5)
        inside += low <= 1 <= high
    assert inside / 4000 == pytest.approx(0.95, abs=0.012)


def test_the_rules_of_three_and_thirty() -> None:
    # 2,995 trials: (1 - 0.001)^2995 is just below 5 %.
    assert rule_of_three(0.001) == 2995
    assert 0.999**2995 <= 0.05 < 0.999**2994
    assert rule_of_30(0.001) == 30_000
    # With 30 expected errors, the observed rate is within 30 % of the true one nine times in ten.
    n = rule_of_30(0.01)
    assert binom.cdf(39, n, 0.01) - binom.cdf(20, n, 0.01) == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: PlannedSample(per_unit=0.5),
        lambda: PlannedSample(per_unit=3, icc=1.5),
        lambda: PlannedSample(strata=0),
        lambda: paired_variance(0.3, 0.2),
        lambda: rule_of_30(0),
        lambda: equivalence_power(10, 0, 0, 1),
        lambda: neyman_allocation(np.ones(3), np.ones(3), 5),
    ],
)
def test_what_cannot_be_planned_is_a_value_error(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"expected|exceeds"):
        wrong()  # type: ignore[operator]
