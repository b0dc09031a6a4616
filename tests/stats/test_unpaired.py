"""Rates of different cases: Fisher's test against scipy and exact sums, the interval against statsmodels."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import fisher_exact as scipy_fisher
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

from harness.stats.differences import fisher_exact, unpaired_difference
from harness.stats.rates import Interval


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
def test_newcombe_published(a: tuple[int, int], b: tuple[int, int], low: float, high: float) -> None:
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


def test_no_cases() -> None:
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
