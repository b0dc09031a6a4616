"""The sign-flip test: all flips by brute force, scipy's permutations, the sign test, McNemar's exact p; invariances."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test

from harness.stats import sign_flip as module
from harness.stats.paired import PairTable, mcnemar
from harness.stats.sign_flip import FlipMethod, SignFlip, sign_flip

counts = st.lists(st.integers(-9, 9), max_size=10)


def result(sums: npt.ArrayLike) -> SignFlip:
    got = sign_flip(sums)
    assert got is not None
    return got


def brute_force(sums: list[int]) -> float:
    """Every flip, in integers: no rounding."""
    seen = abs(sum(sums))
    flips = product((1, -1), repeat=len(sums))
    far = [abs(sum(sign * x for sign, x in zip(signs, sums, strict=True))) >= seen for signs in flips]
    return sum(far) / len(far)


@given(sums=counts)
def test_all_flips(sums: list[int]) -> None:
    assert result(sums).p_value == brute_force(sums)


@given(sums=counts)
def test_convolution_counts_the_same_flips(sums: list[int]) -> None:
    assume(any(sums))
    p_value = module._by_convolution(np.array([x for x in sums if x], dtype=float))
    assert p_value == pytest.approx(brute_force(sums), rel=1e-12)


@given(seed=st.integers(0, 1_000), n=st.integers(20, 24))
def test_both_methods_agree_on_more_units(seed: int, n: int) -> None:
    sums = np.random.default_rng(seed).integers(1, 30, n) * np.random.default_rng(seed + 1).choice([1, -1], n)
    assert module._by_convolution(sums.astype(float)) == pytest.approx(result(sums).p_value, rel=1e-12)


@given(tenths=st.lists(st.integers(-30, 30), min_size=1, max_size=9))
def test_ties_of_decimal_numbers_are_ties(tenths: list[int]) -> None:
    # 0.1 + 0.2 is not 0.3 in binary, and rounding depends on the order.
    assert result([x / 10 for x in tenths]).p_value == brute_force(tenths)
    assert result([0.1, 0.2, -0.3]).p_value == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_matches_scipys_permutations(seed: int) -> None:
    sums = np.random.default_rng(seed).normal(0.3, 1, size=10)
    # All 1,024 flips.
    expected = permutation_test((sums,), np.sum, permutation_type="samples", n_resamples=9_999)
    assert result(sums).p_value == pytest.approx(expected.pvalue, rel=1e-12)


@given(plus=st.integers(0, 400), minus=st.integers(0, 400), size=st.floats(0.001, 1_000))
def test_units_of_one_size_are_the_sign_test(plus: int, minus: int, size: float) -> None:
    assume(plus + minus)
    got = result([size] * plus + [-size] * minus)
    assert got.p_value == pytest.approx(binomtest(plus, plus + minus).pvalue, rel=1e-10)
    assert got.units == plus + minus


@pytest.mark.parametrize(("n_sf", "n_fs"), [(60, 38), (22, 8), (3, 1), (0, 7), (20_000, 19_000)])
def test_cases_as_units_are_mcnemars_exact_test(n_sf: int, n_fs: int) -> None:
    outcomes = np.repeat([1.0, -1.0, 0.0], [n_sf, n_fs, 500])
    assert result(outcomes).p_value == pytest.approx(mcnemar(PairTable(0, n_sf, n_fs, 500)).p_exact, rel=1e-9)


@given(sums=st.lists(st.integers(-6, 6), min_size=1, max_size=60), seed=st.integers(0, 99), scale=st.floats(1e-6, 1e6))
def test_order_direction_scale_and_zeros_do_not_matter(sums: list[int], seed: int, scale: float) -> None:
    here, values = result(sums), np.array(sums, dtype=float)
    shuffled = np.random.default_rng(seed).permutation(np.concatenate((values, np.zeros(5))))
    for there in (result(shuffled), result(-values), result(scale * values)):
        assert there.p_value == pytest.approx(here.p_value, rel=1e-12)
        assert there.units == here.units == np.count_nonzero(values)


def test_units_that_all_agree() -> None:
    assert result([0.2, 0.1, 0.4, 0.3, 0.5]).p_value == 2 / 2**5
    assert result(range(1, 31)).p_value == pytest.approx(2 / 2**30, rel=1e-12)


def test_no_difference_at_all() -> None:
    assert result([]) == result([0, 0]) == SignFlip(1.0, 0, FlipMethod.ENUMERATION)
    assert result([3, -3]).p_value == 1.0


def test_the_method_is_named() -> None:
    rng = np.random.default_rng(5)
    assert result(rng.normal(size=24)).method is FlipMethod.ENUMERATION
    assert result(rng.integers(1, 50, 25) / 700).method is FlipMethod.CONVOLUTION
    # Sums without a common step, and with too many steps for an exact answer.
    assert sign_flip(rng.normal(size=25)) is None
    assert sign_flip(rng.integers(10**5, 10**6, 30)) is None


def test_many_units_against_their_normal_limit() -> None:
    # 300 units of 1 to 20 cases: the sum's variance under sign flips is the sum of squares.
    rng = np.random.default_rng(6)
    sums = rng.integers(1, 21, 300) * rng.choice([1, -1], 300, p=[0.55, 0.45])
    z = (abs(sums.sum()) - 1) / math.sqrt((sums**2).sum())
    assert result(sums).p_value == pytest.approx(math.erfc(z / math.sqrt(2)), rel=0.01)


def test_keeps_its_level_whatever_the_distribution() -> None:
    # Few units with skewed sizes and random signs: p <= 5 % in at most 5 % of 2,000 experiments (standard error 0.5 %),
    # and uniform as far as p can be.
    rng = np.random.default_rng(7)
    p = np.array([result(rng.pareto(1.5, 10) * rng.choice([1, -1], 10)).p_value for _ in range(2_000)])
    for level in (0.05, 0.2, 0.5):
        assert float((p <= level).mean()) == pytest.approx(level, abs=4 * math.sqrt(level * (1 - level) / 2_000))


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        sign_flip([[1.0]])
    with pytest.raises(ValueError, match="finite"):
        sign_flip([1.0, math.nan])
