"""Planning: power against simulation, and against exact sums; widths against the limits that a run would have."""

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest, chi2

from harness.stats.power import (
    PlannedSample,
    difference_power,
    equivalence_power,
    mcnemar_power,
    neyman_allocation,
    paired_variance,
    rule_of_30,
    rule_of_three,
    smallest_number,
    variance_interval,
    width_of_rate,
)
from harness.stats.rates import wilson
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.sample import make_sample
from harness.stats.replication.statistic import rate

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
