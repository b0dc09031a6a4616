"""The reported estimate: the choice of method, brute-force twins, zero variance, invariances."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import beta
from scipy.stats import t as student

from harness.stats.arrays import FloatArray
from harness.stats.estimate import Estimate
from harness.stats.rates import Interval, wilson
from harness.stats.replication.balanced import HalfSamples
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.hadamard import StoredHadamard
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample, make_sample
from harness.stats.replication.statistic import (
    WeightsStatistic,
    difference,
    full_values,
    rate,
    ratio,
    replicate_estimates,
    total,
)
from tests.simulation import examples


def drawn(strata: int, units: int, cases: int, seed: int) -> tuple[Sample, FloatArray, FloatArray]:
    """Strata of units of cases, with weights and successes of two algorithms."""
    rng = np.random.default_rng(seed)
    n = strata * units * cases
    sample = make_sample(
        n,
        strata=np.repeat(np.arange(strata), units * cases),
        units=np.repeat(np.arange(strata * units), cases),
        weights=rng.uniform(0.5, 2, n),
    )
    return sample, rng.binomial(1, 0.7, n).astype(float), rng.binomial(1, 0.5, n).astype(float)


def interval_of(result: Estimate) -> Interval:
    assert result.interval is not None
    return result.interval


def score_limits(value: float, size: float, df: float) -> Interval:
    """Wilson's limits with Student's t for z, by search: where the score test just accepts the value."""
    t = student.ppf(0.975, df)

    def excess(p: float) -> float:
        return float((value - p) ** 2 - t**2 * p * (1 - p) / size)

    return Interval(float(brentq(excess, 0.0, value, xtol=1e-14)), float(brentq(excess, value, 1.0, xtol=1e-14)))


def exact_low(successes: float, cases: float) -> float:
    """Clopper and Pearson's lower limit, from the beta distribution."""
    return float(beta.ppf(0.025, successes, cases - successes + 1))


def test_all_half_samples() -> None:
    """All 2^6 of them, for a ratio by hand; used as a design, they give the same variance for a linear statistic."""
    sample, a, b = drawn(6, 2, 3, seed=1)
    signs = np.array([(1, *choice) for choice in product((1, -1), repeat=6)], dtype=np.int8)
    halves = HalfSamples(StoredHadamard(signs), 6, 0.0)
    by_hand = []
    for choice in signs[:, 1:]:
        chosen = np.isin(sample.unit_of_case, 2 * np.arange(6) + (choice < 0))
        by_hand.append((sample.weights * a)[chosen].sum() / (sample.weights * b)[chosen].sum())
    np.testing.assert_allclose(replicate_estimates(halves, sample, ratio(a, b)), np.array(by_hand)[:, None], rtol=1e-12)
    everyone = halves.variance(replicate_estimates(halves, sample, total(a)), full_values(sample, total(a))[0])
    assert everyone.shape == (1,)
    assert make_estimate(sample, total(a)).se ** 2 == pytest.approx(everyone[0], rel=1e-12)


@pytest.mark.parametrize("fay", [0.0, 0.3])
@pytest.mark.parametrize(("units", "method"), [(2, "brr"), (3, "brr"), (5, "jackknife"), (4, "bootstrap")])
def test_any_function_of_weights_agrees_with_totals(units: int, method: str, fay: float) -> None:
    sample, a, b = drawn(5, units, 2, seed=2)
    replication = Replication(method=method, fay=fay, replicates=100)
    short = make_estimate(sample, difference(a, b), replication)
    long = make_estimate(sample, lambda w: float(w @ (a - b) / w.sum()), replication)
    assert (long.value, long.se, long.df) == pytest.approx((short.value, short.se, short.df), rel=1e-10)
    assert (long.replicates, long.method) == (short.replicates, short.method)


def test_grouped_and_random_agree_for_other_numbers_of_units() -> None:
    """The textbook variance is the mean over groupings: with 400 of them it agrees within 5 %."""
    sample, a, b = drawn(8, 6, 1, seed=3)
    everyone = make_estimate(sample, difference(a, b))
    several = make_estimate(sample, difference(a, b), Replication(groupings=400))
    assert (everyone.groupings, everyone.replicates, everyone.df) == ("all", None, 40)
    assert (several.groupings, several.replicates) == (400, 400 * 12)
    assert several.se**2 == pytest.approx(everyone.se**2, rel=0.05)


def test_defaults_by_design_and_statistic() -> None:
    two, a, b = drawn(4, 2, 3, seed=4)
    seven, c, _ = drawn(3, 6, 1, seed=4)

    def chosen(result: Estimate) -> tuple[object, ...]:
        return result.method, result.groupings, result.replicates, result.fay

    weighted = WeightsStatistic(lambda w: float(np.average(c, weights=w)))
    assert chosen(make_estimate(two, rate(a), Replication(complements=False))) == ("brr", None, 8, 0.0)
    assert chosen(make_estimate(two, rate(a, within=b), Replication(complements=False))) == ("brr", None, 8, 0.5)
    # Each half-sample and its complement; a linear statistic needs none.
    assert chosen(make_estimate(two, rate(a))) == ("brr", None, 16, 0.0)
    assert chosen(make_estimate(two, rate(a, within=b))) == ("brr", None, 16, 0.5)
    assert chosen(make_estimate(two, total(a))) == ("brr", None, 8, 0.0)
    assert chosen(make_estimate(make_sample(8, strata=np.repeat(np.arange(4), 2)), rate(a[:8]))) == ("brr", None, 8, 0)
    assert chosen(make_estimate(seven, rate(c))) == ("brr", "all", None, 0.0)
    assert chosen(make_estimate(seven, weighted)) == ("brr", 20, 80, 0.5)
    assert chosen(make_estimate(make_sample(18), rate(c))) == ("jackknife", None, 18, 0.0)
    grouped = Replication("group-jackknife", replicates=5)
    assert chosen(make_estimate(seven, rate(c), grouped)) == ("group-jackknife", None, 5, 0.0)


def test_without_strata_or_units_it_is_the_binomial() -> None:
    successes = np.repeat([1.0, 0.0], [30, 10])
    result = make_estimate(make_sample(40), rate(successes))
    assert result.se == pytest.approx(np.sqrt(0.75 * 0.25 / 39), rel=1e-12)
    assert result.design_effect == pytest.approx(1, rel=1e-12)
    assert result.df == 39


def test_design_effect_of_a_paired_difference() -> None:
    """Against [(n_sf + n_fs) / n - D^2] / (n - 1)."""
    rng = np.random.default_rng(5)
    a, b = rng.binomial(1, 0.8, 60).astype(float), rng.binomial(1, 0.6, 60).astype(float)
    result = make_estimate(make_sample(60, units=np.repeat(np.arange(20), 3)), difference(a, b))
    gap = a.mean() - b.mean()
    assert result.design_effect == pytest.approx(result.se**2 / (((a != b).mean() - gap**2) / 59), rel=1e-12)
    assert result.p_value is not None
    assert 0 < result.p_value < 1


def test_limits_near_the_end_are_wilsons_with_students_t() -> None:
    """One error in 20 cases: 19 effective ones, 10 degrees of freedom; at least as wide as the exact limit of 20."""
    successes = np.ones(20)
    successes[0] = 0
    result = make_estimate(make_sample(20, strata=np.repeat(np.arange(10), 2)), rate(successes))
    assert (result.se, result.df) == pytest.approx((0.05, 10))
    limits = score_limits(0.95, 0.95 * 0.05 / 0.05**2, 10)
    assert interval_of(result).low == pytest.approx(min(limits.low, exact_low(19, 20), exact_low(20, 20)), abs=1e-9)
    assert interval_of(result).high == pytest.approx(limits.high, abs=1e-9)
    # A t interval would pass 1: 2.228 is the 97.5 % point of Student's t with 10 degrees of freedom, from the table.
    assert interval_of(result).high < 1 < 0.95 + 2.228 * 0.05
    none = make_estimate(make_sample(20, strata=np.repeat(np.arange(10), 2)), rate(np.ones(20)))
    assert interval_of(result).low < interval_of(none).low


def test_a_t_interval_without_bounds() -> None:
    """2.228 is the 97.5 % point of Student's t with 10 degrees of freedom, from the table."""
    successes = np.ones(20)
    successes[0] = 0
    result = make_estimate(make_sample(20, strata=np.repeat(np.arange(10), 2)), total(successes))
    assert (interval_of(result).low, interval_of(result).high) == pytest.approx((19 - 2.228, 19 + 2.228), abs=1e-3)


@pytest.mark.parametrize("success", [0.0, 1.0])
@pytest.mark.parametrize("strata", [7, 10, 101])
def test_zero_variance_of_a_rate_is_not_certain(success: float, strata: int) -> None:
    sample = make_sample(4 * strata, strata=np.repeat(np.arange(strata), 4), units=np.repeat(np.arange(2 * strata), 2))
    result = make_estimate(sample, rate(np.full(4 * strata, success)))
    assert (result.se, result.design_effect) == (0, None)
    # Pairs of cases with a correlation of 2^(-1/4): the effective number is the cases over 1 + 2^(-1/4).
    low = exact_low(4 * strata / (1 + 2**-0.25), 4 * strata / (1 + 2**-0.25))
    known = (low, 1.0) if success else (0.0, 1 - low)
    assert (interval_of(result).low, interval_of(result).high) == pytest.approx(known, abs=1e-9)
    told = make_estimate(sample, rate(np.full(4 * strata, success)), Replication(design_effect=1.6))
    low = exact_low(4 * strata / 1.6, 4 * strata / 1.6)
    known = (low, 1.0) if success else (0.0, 1 - low)
    assert (interval_of(told).low, interval_of(told).high) == pytest.approx(known, abs=1e-9)
    assert interval_of(told).high - interval_of(told).low < interval_of(result).high - interval_of(result).low
    # Never more certain than the exact limits of as many independent cases, never less than of as many units.
    assert exact_low(2 * strata, 2 * strata) < 1 - (interval_of(result).high - interval_of(result).low)
    assert 1 - (interval_of(result).high - interval_of(result).low) < exact_low(4 * strata, 4 * strata)


def test_zero_variance_between_units_that_agree() -> None:
    """Strata explain everything: the error is zero, but the interval is not a single point."""
    result = make_estimate(make_sample(8, strata=np.repeat(np.arange(4), 2)), rate([1, 1, 0, 0, 1, 1, 1, 1]))
    assert (result.se, result.value, result.design_effect) == (0, 0.75, 0)
    limits = score_limits(0.75, 8, 4)
    low = min(limits.low, exact_low(6, 8), exact_low(8, 8))
    high = max(limits.high, 1 - exact_low(8, 8))
    assert (interval_of(result).low, interval_of(result).high) == pytest.approx((low, high), abs=1e-9)
    assert interval_of(result).low < wilson(6, 8).low < wilson(6, 8).high < interval_of(result).high


def test_zero_variance_of_a_rate_within_few_cases_counts_only_those() -> None:
    within = np.repeat([1.0, 0.0], [12, 188])
    result = make_estimate(make_sample(200, units=np.repeat(np.arange(100), 2)), rate(np.ones(200), within=within))
    effective = 12 / (1 + 2**-0.25)
    assert interval_of(result).low == pytest.approx(exact_low(effective, effective), abs=1e-9)
    assert interval_of(result).high == 1
    assert (result.se, result.df) == (0, 5)


def test_zero_variance_of_a_difference() -> None:
    sample = make_sample(20, strata=np.repeat(np.arange(10), 2))
    stretch = student.ppf(0.975, 10) / student.ppf(0.975, 1e12)
    reach = stretch * wilson(0, 20).high
    same = make_estimate(sample, difference(np.ones(20), np.ones(20)))
    assert (same.value, same.se, same.p_value) == (0, 0, 1)
    assert interval_of(same).high == -interval_of(same).low == pytest.approx(reach)
    apart = make_estimate(sample, difference(np.ones(20), np.zeros(20)))
    # The exact sign-flip test: only two of the 2^20 flips are as extreme.
    assert apart.p_value == pytest.approx(2 * 0.5**20)
    assert apart.p_sign_flip == apart.p_value
    assert interval_of(apart).high == 1
    # Both shares have limits, 1 from below and 0 from above; added in quadrature.
    assert interval_of(apart).low == pytest.approx(1 - np.sqrt(2) * reach)
    assert 0.7 < interval_of(apart).low < 1


def test_zero_variance_without_bounds_says_nothing() -> None:
    result = make_estimate(make_sample(4, strata=[1, 1, 2, 2]), total(np.ones(4)))
    assert (interval_of(result).low, interval_of(result).high) == (-np.inf, np.inf)


def test_satterthwaite_counts_the_strata_that_vary() -> None:
    """One stratum of three with all the variance: 2 degrees of freedom, not 4; equal strata keep theirs."""
    sample = make_sample(6, strata=np.repeat([1, 2], 3))
    lopsided = make_estimate(sample, total([0, 1, 5, 2, 2, 2]), Replication(df="satterthwaite"))
    even = make_estimate(sample, total([0, 1, 5, 1, 2, 6]), Replication(df="satterthwaite"))
    assert (lopsided.df, even.df) == pytest.approx((2, 4))
    with pytest.raises(ValueError, match=r"df satterthwaite: this statistic has no linear form.*; use design"):
        make_estimate(sample, WeightsStatistic(lambda w: float(w[0])), Replication(df="satterthwaite"))


def test_a_replicate_without_an_estimate_names_the_remedy() -> None:
    sample = make_sample(4, strata=[1, 1, 2, 2])
    few = rate([1, 0, 1, 1], within=[1, 0, 0, 0])
    with pytest.raises(ValueError, match=r"use Fay's rho of 0\.5"):
        make_estimate(sample, few, Replication("brr", fay=0.0))
    assert make_estimate(sample, few).value == 1
    # By default it uses the linear form, which every part of a sample has.
    alone, linear = (
        make_estimate(sample, few, replication) for replication in (Replication(fay=0.0), Replication("linearised"))
    )
    assert (alone.method, alone.replicates, alone.fay) == ("linearised", None, 0.0)
    assert (alone.value, alone.se, alone.df) == (linear.value, linear.se, linear.df)
    with pytest.raises(ValueError, match=r"replicate .* has no estimate"):
        make_estimate(sample, lambda w: float(w[0] / w[:2].sum() if w[0] else np.nan), Replication(fay=0.0))
    with pytest.raises(ValueError, match="whole sample's estimate is nan"):
        make_estimate(sample, rate([1, 0, 1, 1], within=[0, 0, 0, 0]))


@pytest.mark.parametrize(
    ("replication", "message"),
    [
        (Replication(method="magic"), "method 'magic': expected one of auto, brr"),
        (Replication(fay=1.0), "Fay's rho 1.0"),
        (Replication(confidence=95), "confidence 95"),
        (Replication(method="group-jackknife", replicates=1), "1 groups"),
        (Replication(method="bootstrap", replicates=0), "0 replicates"),
    ],
)
def test_options_that_are_refused(replication: Replication, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_estimate(make_sample(4, strata=[1, 1, 2, 2]), rate([1, 0, 1, 0]), replication)


def test_values_that_are_refused() -> None:
    with pytest.raises(ValueError, match="case 1 has 2"):
        rate([0, 2])
    with pytest.raises(ValueError, match="2 and 3 values"):
        difference([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="has 3 cases, but the sample has 4"):
        make_estimate(make_sample(4), rate([0, 1, 1]))


@given(
    strata=st.integers(2, 9),
    units=st.sampled_from([2, 3, 4, 6]),
    seed=st.integers(0, 1000),
    scale=st.floats(0.01, 100),
)
@examples(40)
def test_invariances(strata: int, units: int, seed: int, scale: float) -> None:
    """Cases in any order, weights on any scale, algorithms swapped: a difference only changes its sign."""
    sample, a, b = drawn(strata, units, 2, seed)
    n, rng = sample.cases, np.random.default_rng(seed)
    stratum = np.repeat(np.arange(strata), 2 * units)
    unit = np.repeat(np.arange(strata * units), 2)
    order = rng.permutation(n)
    shuffled = make_sample(n, strata=stratum[order], units=unit[order], weights=scale * sample.weights[order])
    result = make_estimate(sample, difference(a, b))
    moved = make_estimate(shuffled, difference(b[order], a[order]))
    assert moved.value == pytest.approx(-result.value, rel=1e-9, abs=1e-12)
    assert moved.se == pytest.approx(result.se, rel=1e-9, abs=1e-12)
    assert (interval_of(moved).low, interval_of(moved).high) == pytest.approx(
        (-interval_of(result).high, -interval_of(result).low), rel=1e-9, abs=1e-9
    )
    assert moved.p_value == pytest.approx(result.p_value, rel=1e-6)


@given(strata=st.integers(1, 12), units=st.sampled_from([2, 3, 4, 5]), seed=st.integers(0, 1000))
@examples(40)
def test_permuting_strata_does_not_change_a_total(strata: int, units: int, seed: int) -> None:
    """Which stratum meets which column of the array must not matter to a linear statistic."""
    sample, a, _ = drawn(strata, units, 2, seed)
    names = np.random.default_rng(seed).permutation(strata)[np.repeat(np.arange(strata), 2 * units)]
    renamed = make_sample(
        sample.cases, strata=names, units=np.repeat(np.arange(strata * units), 2), weights=sample.weights
    )
    assert make_estimate(renamed, total(a)).se == pytest.approx(make_estimate(sample, total(a)).se, rel=1e-9, abs=1e-12)
