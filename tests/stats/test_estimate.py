"""Differences of estimates from independent samples, tests derived from limits, and limits at another confidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.stats.arrays import FloatArray
from harness.stats.curves.scores import make_scored_cases
from harness.stats.curves.summaries import AREA, EQUAL_ERROR, summary_estimate
from harness.stats.curves.two_way import Subjects, two_way_rate
from harness.stats.differences import unpaired_difference
from harness.stats.estimate import (
    Estimate,
    IntervalKind,
    Scale,
    independent_difference,
    p_of_limits,
    scale_limits,
    t_p_values,
    with_adjusted,
)
from harness.stats.rates import Interval
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import make_sample
from harness.stats.replication.statistic import rate, ratio, total
from tests.simulation import experiments, slack

UNITS, SIZE = (12, 7), 5


def interval_of(result: Estimate) -> Interval:
    assert result.interval is not None
    return result.interval


def clustered(values: FloatArray, size: int = SIZE) -> Estimate:
    """The rate of cases in units of one size."""
    return make_estimate(make_sample(values.size, units=np.repeat(np.arange(values.size // size), size)), rate(values))


def mean_of(values: FloatArray, size: int = SIZE) -> Estimate:
    """A mean without bounds, such as of seconds."""
    sample = make_sample(values.size, units=np.repeat(np.arange(values.size // size), size))
    return make_estimate(sample, ratio(values, np.ones(values.size)))


def drawn(seed: int, rates: tuple[float, float] = (0.8, 0.6)) -> list[FloatArray]:
    """Successes of two samples; the rate varies between the units of each."""
    rng = np.random.default_rng(seed)
    return [
        (rng.random(units * SIZE) < np.repeat(rng.beta(4 * p, 4 * (1 - p), units), SIZE)).astype(np.float64)
        for units, p in zip(UNITS, rates, strict=True)
    ]


def unit_means(values: FloatArray) -> FloatArray:
    return np.asarray(values.reshape(-1, SIZE).mean(axis=1))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("of", [clustered, mean_of])
def test_units_of_one_size_have_welchs_test(seed: int, of: Callable[[FloatArray], Estimate]) -> None:
    """A rate is then the mean of its units' means."""
    a, b = drawn(seed)
    result = independent_difference(of(a), of(b))
    welch = stats.ttest_ind(unit_means(a), unit_means(b), equal_var=False)
    assert result.value == pytest.approx(a.mean() - b.mean(), abs=1e-12)
    assert result.value / result.se == pytest.approx(welch.statistic, rel=1e-9)
    assert result.df == pytest.approx(welch.df, rel=1e-9)
    assert result.p_value == pytest.approx(welch.pvalue, rel=1e-8)
    assert (result.cases, result.units) == (a.size + b.size, sum(UNITS))
    assert (result.design_effect, result.icc) == (None, None)


@pytest.mark.parametrize("seed", range(6))
def test_limits_of_both_sides_are_added_in_quadrature(seed: int) -> None:
    """Zou and Donner (2008): distances of both limits from their estimates, added in quadrature."""
    a, b = (clustered(values) for values in drawn(seed))
    result, one, other = interval_of(independent_difference(a, b)), interval_of(a), interval_of(b)
    gap = a.value - b.value
    assert result.low == pytest.approx(max(gap - np.hypot(a.value - one.low, other.high - b.value), -1), abs=1e-12)
    assert result.high == pytest.approx(min(gap + np.hypot(one.high - a.value, b.value - other.low), 1), abs=1e-12)
    assert result.low < gap < result.high


def test_limits_of_means_without_bounds() -> None:
    rng = np.random.default_rng(1)
    a, b = mean_of(rng.normal(100, 20, 60)), mean_of(rng.normal(40, 5, 35))
    result = interval_of(independent_difference(a, b))
    reach = np.hypot(stats.t.ppf(0.975, a.df) * a.se, stats.t.ppf(0.975, b.df) * b.se)
    assert (result.low, result.high) == pytest.approx((a.value - b.value - reach, a.value - b.value + reach), rel=1e-9)


def test_independent_cases_have_newcombes_interval_and_fishers_test() -> None:
    a, b = np.repeat([1.0, 0.0], [56, 14]), np.repeat([1.0, 0.0], [48, 32])
    result = independent_difference(*(make_estimate(make_sample(values.size), rate(values)) for values in (a, b)))
    assert result.p_value == pytest.approx(stats.fisher_exact(np.array([[56, 14], [48, 32]])).pvalue, rel=1e-9)
    # Newcombe (1998), Table II, example (a), method 10: 0.0524 to 0.3339.
    assert (interval_of(result).low, interval_of(result).high) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    want = unpaired_difference((56, 70), (48, 80)).interval
    assert (interval_of(result).low, interval_of(result).high) == pytest.approx((want.low, want.high), abs=1e-9)


@given(seed=st.integers(0, 300))
def test_swapping_the_sides_only_changes_the_sign(seed: int) -> None:
    a, b = (clustered(values) for values in drawn(seed))
    result, back = independent_difference(a, b), independent_difference(b, a)
    assert (result.value, result.se, result.df) == pytest.approx((-back.value, back.se, back.df), abs=1e-12)
    assert result.p_value == pytest.approx(back.p_value)
    assert (interval_of(result).low, interval_of(result).high) == pytest.approx(
        (-interval_of(back).high, -interval_of(back).low), abs=1e-12
    )


@pytest.mark.parametrize("of", [clustered, mean_of])
def test_a_side_without_variance_is_not_certain(of: Callable[[FloatArray], Estimate]) -> None:
    """Five units that are always right against a rate of 0.8: the t test would treat the first as known."""
    _, b = drawn(3)
    sure, other = of(np.ones(25)), of(b)
    assert sure.se == 0
    result = independent_difference(sure, other)
    assert (result.se, result.df) == (other.se, min(sure.df, other.df))
    assert result.p_value is not None
    assert result.p_value > float(t_p_values(result.value, result.se, result.df))
    # The p-value matches the interval: it is the level at which the interval just excludes 0.
    assert (result.p_value == 1) == (of is mean_of)
    if of is clustered:
        for error, left_out in ((result.p_value * 1.001, True), (result.p_value * 0.999, False)):
            edge = interval_of(
                independent_difference(replace(sure, confidence=1 - error), replace(other, confidence=1 - error))
            )
            assert (not edge.low <= 0 <= edge.high) == left_out
    # Wider than with the uncertainty of the other side alone.
    assert interval_of(result).high - interval_of(result).low > interval_of(other).high - interval_of(other).low


@experiments(400, quick=100)
def test_a_side_without_variance_keeps_the_size_of_the_test(experiments: int) -> None:
    """Rates of 0.97 on both sides, one with 5 units of 10: at most 7 % of 400 null experiments are called different.

    If the side of 5 units has no error, which is most of the time, a t test treats it as certain.
    """
    rng = np.random.default_rng(8)
    called = certain = 0
    for _ in range(experiments):
        a, b = (rng.random(50) < 0.97).astype(float), (rng.random(800) < 0.97).astype(float)
        one, other = clustered(a, 10), clustered(b, 10)
        result = independent_difference(one, other)
        assert result.p_value is not None
        called += result.p_value < 0.05
        certain += bool(float(t_p_values(result.value, result.se, result.df)) < 0.05)
    assert called <= (0.05 + slack(0.02, full=400, experiments=experiments)) * experiments
    assert certain >= 0.1 * experiments


def test_both_sides_without_variance() -> None:
    right, wrong = clustered(np.ones(60)), clustered(np.zeros(35))
    result = independent_difference(right, wrong)
    assert (result.value, result.se) == (1.0, 0.0)
    assert result.p_value is not None
    assert 0 < result.p_value < 0.05
    assert 0 < interval_of(result).low < interval_of(result).high == 1
    same = independent_difference(right, clustered(np.ones(35)))
    assert (same.value, same.p_value) == (0.0, 1.0)
    assert interval_of(same).low < 0 < interval_of(same).high


def test_a_side_without_an_interval_gives_none() -> None:
    """A group with the cases of a single unit."""
    a, b = (clustered(values) for values in drawn(4))
    sample = make_sample(20, units=np.repeat(np.arange(4), 5))
    lone = make_estimate(sample, rate(drawn(4)[0][:20], within=np.repeat([1.0, 0.0], [5, 15])))
    assert lone.interval is None
    for result in (independent_difference(a, lone), independent_difference(lone, b)):
        assert (result.interval, result.p_value) == (None, None)


def test_two_areas_of_independent_cases_have_the_normal_test() -> None:
    """DeLong's variances, added; infinite degrees of freedom on both sides stay infinite."""
    rng = np.random.default_rng(5)
    areas = []
    for n, d in ((80, 1.5), (60, 0.5)):
        positive = np.arange(n) % 2 == 0
        areas.append(summary_estimate(AREA, make_scored_cases(rng.normal(size=n) + d * positive, positive)))
    result = independent_difference(*areas)
    z = (areas[0].value - areas[1].value) / np.hypot(areas[0].se, areas[1].se)
    assert result.df == np.inf
    assert result.p_value == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-9)
    # One side with units: Welch's degrees of freedom are those of its share of the variance.
    sided = independent_difference(areas[0], replace(areas[1], df=7.0))
    assert sided.df == pytest.approx(7 * (1 + (areas[0].se / areas[1].se) ** 2) ** 2, rel=1e-9)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_a_difference_at_another_confidence_equals_one_computed_at_it(confidence: float) -> None:
    a, b = drawn(2)
    at_first = independent_difference(clustered(a), clustered(b)).at(confidence)
    made = independent_difference(
        *(replace(clustered(x), interval=clustered(x).at(confidence), confidence=confidence) for x in (a, b))
    )
    assert at_first is not None
    assert (at_first.low, at_first.high) == pytest.approx((interval_of(made).low, interval_of(made).high), abs=1e-9)


@pytest.mark.parametrize(("value", "se", "df"), [(0.3, 0.1, 9.0), (-0.02, 0.1, 4.0), (2.0, 0.3, np.inf), (0.0, 1.0, 5)])
def test_p_of_limits_inverts_them(value: float, se: float, df: float) -> None:
    """With Student's limits, the matching test is the t test."""

    def limits(confidence: float) -> Interval:
        half = float(stats.t.ppf((1 + confidence) / 2, df)) * se
        return Interval(value - half, value + half)

    assert p_of_limits(limits) == pytest.approx(float(t_p_values(value, se, df)), rel=1e-6)


def test_p_of_limits_at_its_ends() -> None:
    assert p_of_limits(lambda confidence: Interval(0.1, 0.2)) == pytest.approx(1e-12)
    assert p_of_limits(lambda confidence: Interval(-0.1, 0.2)) == 1.0
    # Limits that touch 0 contain it.
    assert p_of_limits(lambda confidence: Interval(0.0, 0.2)) == 1.0


@given(value=st.floats(-5, 5), se=st.floats(0.01, 5), df=st.floats(1, 200))
def test_p_values_are_scipys(value: float, se: float, df: float) -> None:
    assert float(t_p_values(value, se, df)) == pytest.approx(2 * stats.t.sf(abs(value) / se, df), rel=1e-9)
    assert float(t_p_values(value, se, np.inf)) == pytest.approx(2 * stats.norm.sf(abs(value) / se), rel=1e-9)
    assert float(t_p_values(value, 0.0, df)) == 1.0


def estimates_at(confidence: float) -> list[Estimate]:
    """One of each kind."""
    rng, replication = np.random.default_rng(7), Replication(confidence=confidence)
    y, positive = (rng.random(60) < 0.8).astype(float), np.arange(60) % 2 == 0
    cases = make_scored_cases(rng.normal(size=60) + positive, positive)
    units, independent = make_sample(60, units=np.repeat(np.arange(12), 5)), make_sample(60)
    pairs = Subjects.of(*np.triu_indices(9, 1))
    return [
        make_estimate(independent, rate(y), replication),
        make_estimate(units, rate(y), replication),
        make_estimate(units, rate(np.ones(60)), replication),
        make_estimate(units, rate(np.ones(60)), replace(replication, design_effect=1.5)),
        make_estimate(units, total(y), replication),
        make_estimate(units, ratio(y, np.ones(60), bounds=(0.0, np.inf)), replication),
        make_estimate(units, ratio(y, np.ones(60), bounds=(-1.0, 1.0)), replication),
        summary_estimate(AREA, cases, units, replication),
        summary_estimate(AREA, cases, replication=replication),
        summary_estimate(EQUAL_ERROR, cases, units, replication),
        summary_estimate(AREA, make_scored_cases(positive.astype(float), positive), units, replication),
        two_way_rate(rng.random(36) < 0.2, pairs, confidence=confidence),
    ]


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.99, 0.999])
def test_an_interval_at_another_confidence_equals_one_computed_at_it(confidence: float) -> None:
    for first, made in zip(estimates_at(0.95), estimates_at(confidence), strict=True):
        result = first.at(confidence)
        assert result is not None
        assert (result.low, result.high) == pytest.approx((interval_of(made).low, interval_of(made).high), rel=1e-9)
        assert first.at(0.95) == first.interval
        assert (first.value, first.se, first.df) == (made.value, made.se, made.df)


def test_an_estimate_without_an_interval_has_none_at_any_confidence() -> None:
    assert Estimate(0.5, 0.1, 0.0, None).at(0.9) is None


def test_limits_without_bounds_are_students() -> None:
    result = scale_limits(Scale(IntervalKind.PLAIN), 3.0, 0.5, 8.0, 0.9)
    assert (result.low, result.high) == pytest.approx(stats.t.interval(0.9, 8, loc=3, scale=0.5))
    clipped = scale_limits(Scale(IntervalKind.PLAIN, (2.5, np.inf)), 3.0, 0.5, 8.0, 0.9)
    assert (clipped.low, clipped.high) == pytest.approx((2.5, stats.t.interval(0.9, 8, loc=3, scale=0.5)[1]))


def test_adjusted_p_values_are_holms_and_none_stays_none() -> None:
    """Holm's by hand: 3 x 0.01, 2 x 0.02, and 0.04 or the one before it."""
    p_values = [0.04, 0.01, None, 0.02]
    result = [None, *(Estimate(0.1, 0.1, 5.0, None, p_value=p) for p in p_values)]
    adjusted = with_adjusted(result)
    assert adjusted[0] is None
    assert [one.p_adjusted for one in adjusted if one is not None] == [
        pytest.approx(0.04), pytest.approx(0.03), None, pytest.approx(0.04),
    ]  # fmt: skip
    assert [one.p_value for one in adjusted if one is not None] == p_values


def test_without_degrees_of_freedom_there_is_a_difference_and_no_test() -> None:
    """A group may have one unit of every stratum."""
    a, b = (clustered(values) for values in drawn(0))
    lone = replace(a, df=0, interval=None)
    for one, other in ((lone, b), (b, lone), (lone, lone)):
        result = independent_difference(one, other)
        assert result.value == one.value - other.value
        assert (result.df, result.interval, result.p_value) == (0, None, None)
