"""Newcombe's intervals, paired and not, odds ratio, Fisher's test: published examples, scipy, statsmodels, coverage."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import fisher_exact as scipy_fisher
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

from harness.stats.differences import (
    fisher_exact,
    paired_difference,
    paired_differences,
    paired_odds_ratio,
    unpaired_difference,
)
from harness.stats.paired import PairTable, PairTables, pairwise_tables
from harness.stats.rates import Interval, clopper_pearson

tables = st.builds(PairTable, *[st.integers(0, 40)] * 4)
# Airway hyper-responsiveness (Bentur 2009), the example of Fagerland, Lydersen and Laake (2014).
BENTUR = PairTable(n_ff=12, n_sf=1, n_fs=7, n_ss=1)


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [
        (BENTUR, -0.507, -0.026),
        (
            PairTable(n_ff=22, n_sf=5, n_fs=0, n_ss=14),
            0.011,
            0.226,
        ),  # Altman and others, Statistics with Confidence, 2000
        (PairTable(n_ff=0, n_sf=12, n_fs=2, n_ss=36), 0.057, 0.340),  # Newcombe (1998)
    ],
)
def test_newcombe_published(table: PairTable, low: float, high: float) -> None:
    got = paired_difference(table)
    assert (got.interval.low, got.interval.high) == pytest.approx((low, high), abs=0.0005)
    assert got.estimate == (table.n_sf - table.n_fs) / table.n


def test_odds_ratio_published() -> None:
    # Fagerland, Lydersen and Laake (2014): 0.14, transformed Wilson 0.02 to 0.89, Clopper-Pearson 0.003 to 1.11.
    score, exact = paired_odds_ratio(BENTUR), paired_odds_ratio(BENTUR, exact=True)
    assert score.estimate == exact.estimate == pytest.approx(1 / 7)
    assert (score.interval.low, score.interval.high) == pytest.approx((0.02, 0.89), abs=0.005)
    assert (exact.interval.low, exact.interval.high) == pytest.approx((0.003, 1.11), abs=0.005)


@given(table=tables, confidence=st.sampled_from([0.8, 0.95, 0.99]))
def test_swapping_a_and_b_mirrors(table: PairTable, confidence: float) -> None:
    assume(table.n > 0)
    here, there = (paired_difference(t, confidence=confidence) for t in (table, table.swapped()))
    assert here.estimate == -there.estimate
    assert here.interval.low == pytest.approx(-there.interval.high, abs=1e-12)
    assert -1 <= here.interval.low <= here.estimate <= here.interval.high <= 1


@given(table=tables)
def test_swapping_success_and_failure_mirrors(table: PairTable) -> None:
    assume(table.n > 0)
    failures = PairTable(n_ff=table.n_ss, n_sf=table.n_fs, n_fs=table.n_sf, n_ss=table.n_ff)
    here, there = paired_difference(table), paired_difference(failures)
    assert here.interval.low == pytest.approx(-there.interval.high, abs=1e-9)


@given(table=tables)
def test_odds_ratio_swapped_is_inverted(table: PairTable) -> None:
    assume(table.n_sf > 0 and table.n_fs > 0)
    here, there = paired_odds_ratio(table), paired_odds_ratio(table.swapped())
    assert here.estimate * there.estimate == pytest.approx(1)
    assert here.interval.low * there.interval.high == pytest.approx(1)


def test_odds_ratio_of_one_winner_and_of_none() -> None:
    assert paired_odds_ratio(PairTable(0, 5, 0, 0)).interval.high == math.inf
    assert paired_odds_ratio(PairTable(0, 5, 0, 0)).estimate == math.inf
    assert paired_odds_ratio(PairTable(0, 0, 5, 0)).estimate == 0.0
    nothing = paired_odds_ratio(PairTable(3, 0, 0, 4))
    assert math.isnan(nothing.estimate)
    assert nothing.interval == Interval(0.0, math.inf)


def test_odds_ratio_excludes_1_with_the_exact_test() -> None:
    # Clopper and Pearson's interval inverts the exact test: p is below 5 % exactly when it excludes 1.
    share = clopper_pearson(22, 30)
    got = paired_odds_ratio(PairTable(0, 22, 8, 0), exact=True).interval
    assert (got.low, got.high) == pytest.approx((share.low / (1 - share.low), share.high / (1 - share.high)))
    assert got.low > 1


def test_design_effect_is_a_smaller_sample() -> None:
    table = PairTable(n_ff=40, n_sf=24, n_fs=8, n_ss=60)
    quarter = PairTable(n_ff=10, n_sf=6, n_fs=2, n_ss=15)
    got = paired_difference(table, design_effect=4.0).interval
    expected = paired_difference(quarter).interval
    assert (got.low, got.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_many_pairs_equal_one_by_one() -> None:
    rng = np.random.default_rng(3)
    pairs = pairwise_tables(rng.random((5, 40)) < 0.7)
    estimates, limits = paired_differences(pairs)
    for index in range(len(pairs)):
        one = paired_difference(pairs.table(index))
        assert (estimates[index], limits.low[index], limits.high[index]) == pytest.approx(
            (one.estimate, one.interval.low, one.interval.high), abs=1e-14
        )


def test_no_cases() -> None:
    got = paired_difference(PairTable(0, 0, 0, 0))
    assert math.isnan(got.estimate)
    assert got.interval == Interval(-1.0, 1.0)


@pytest.mark.parametrize(
    "p", [(0.2, 0.2, 0.1, 0.5), (0.1, 0.05, 0.05, 0.8), (0.3, 0.3, 0.3, 0.1), (0.05, 0.1, 0.05, 0.8)]
)
def test_coverage_summed_over_all_tables_of_40_cases(p: tuple[float, float, float, float]) -> None:
    # No simulation: every possible table with its multinomial probability.
    n = 40
    cells = np.array([(a, b, c, n - a - b - c) for a, b, c in product(range(n + 1), repeat=3) if a + b + c <= n])
    probability = np.exp(gammaln(n + 1) - gammaln(cells + 1).sum(axis=1) + cells @ np.log(p))
    assert probability.sum() == pytest.approx(1, abs=1e-9)
    _, limits = paired_differences(PairTables(cells[:, 0], cells[:, 0], *cells.T))
    difference = p[1] - p[2]
    covered = probability[(limits.low <= difference) & (difference <= limits.high)].sum()
    assert 0.94 <= covered <= 0.985


@st.composite
def samples(draw: st.DrawFn) -> tuple[int, int]:
    cases = draw(st.integers(1, 30))
    return draw(st.integers(0, cases)), cases


@pytest.mark.parametrize(
    ("a", "b", "low", "high"),
    [
        # Newcombe (1998), Interval estimation for the difference between independent proportions, table II, method 10.
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 10), 0.6075, 1.0000),
    ],
)
def test_newcombe_of_independent_samples_published(
    a: tuple[int, int], b: tuple[int, int], low: float, high: float
) -> None:
    got = unpaired_difference(a, b).interval
    assert (got.low, got.high) == pytest.approx((low, high), abs=0.00005)


@given(a=samples(), b=samples())
def test_interval_matches_statsmodels(a: tuple[int, int], b: tuple[int, int]) -> None:
    got = unpaired_difference(a, b).interval
    assert (got.low, got.high) == pytest.approx(confint_proportions_2indep(*a, *b, method="newcomb"), abs=1e-9)


@given(a=samples(), b=samples())
def test_fisher_matches_an_exact_sum_of_integers(a: tuple[int, int], b: tuple[int, int]) -> None:
    (x, n), (y, k) = a, b
    tables = {i: math.comb(n, i) * math.comb(k, x + y - i) for i in range(max(0, x + y - k), min(n, x + y) + 1)}
    expected = Fraction(sum(ways for ways in tables.values() if ways <= tables[x]), sum(tables.values()))
    assert fisher_exact(a, b) == pytest.approx(float(expected), rel=1e-11)


def test_fisher_matches_scipy_at_size() -> None:
    a, b = (900, 1000), (1700, 2000)
    expected = scipy_fisher(np.array([[900, 100], [1700, 300]])).pvalue
    assert fisher_exact(a, b) == pytest.approx(expected, rel=1e-9)


def test_fisher_of_a_million() -> None:
    # Near the middle of the distribution Fisher's p is the normal one with a correction of half a case.
    got = unpaired_difference((500_700, 10**6), (500_000, 10**6))
    assert got.p_fisher == pytest.approx(got.p_z, rel=0.01)


@given(a=samples(), b=samples())
def test_swapping_mirrors(a: tuple[int, int], b: tuple[int, int]) -> None:
    here, there = unpaired_difference(a, b), unpaired_difference(b, a)
    assert here.z == pytest.approx(-there.z)
    assert here.interval.low == pytest.approx(-there.interval.high)
    assert here.p_fisher == pytest.approx(there.p_fisher, rel=1e-9)
    assert here.interval.low - 1e-12 <= here.difference <= here.interval.high + 1e-12


@given(a=samples(), b=samples())
def test_z_matches_statsmodels(a: tuple[int, int], b: tuple[int, int]) -> None:
    assume(0 < a[0] + b[0] < a[1] + b[1])
    expected = proportions_ztest([a[0], b[0]], [a[1], b[1]])
    got = unpaired_difference(a, b)
    assert (got.z, got.p_z) == pytest.approx(expected, abs=1e-12)


def test_design_effects_are_smaller_samples() -> None:
    clustered = unpaired_difference((40, 80), (30, 90), design_effects=(2.0, 3.0))
    smaller = unpaired_difference((20, 40), (10, 30))
    assert (clustered.interval.low, clustered.interval.high) == pytest.approx(
        (smaller.interval.low, smaller.interval.high)
    )
    assert abs(clustered.z) < abs(unpaired_difference((40, 80), (30, 90)).z)


def test_no_independent_cases() -> None:
    got = unpaired_difference((0, 0), (3, 5))
    assert math.isnan(got.difference)
    assert got.interval == Interval(-1.0, 1.0)
    assert (got.z, got.p_z, got.p_fisher) == (0.0, 1.0, 1.0)


def test_no_variance() -> None:
    got = unpaired_difference((5, 5), (7, 7))
    assert (got.z, got.p_z, got.p_fisher) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("counts", [(3, 2), (-1, 2), (1.5, 2)])
def test_wrong_counts_are_refused(counts: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="whole numbers"):
        unpaired_difference(counts, (1, 2))
