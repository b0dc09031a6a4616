"""Exchange tests: all exchanges by brute force, scipy's permutations, sums as a special case, draws at random."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test

from harness.stats.arrays import FloatArray
from harness.stats.sign_flip import FlipMethod, exchange_test, sign_flip
from tests.simulation import experiments

units = st.lists(st.tuples(*[st.integers(0, 6)] * 4), min_size=1, max_size=7)


def ratio(totals: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(totals[..., 0] / totals[..., 1])


def total(totals: FloatArray) -> FloatArray:
    return totals[..., 0]


def brute_force(rows: list[tuple[int, int, int, int]]) -> float:
    """Ratios of whole numbers, in whole numbers: x / y - u / v is compared as (x v - u y) / (y v)."""

    def gap(swaps: tuple[bool, ...]) -> tuple[int, int]:
        placed = [(u, v, x, y) if swap else (x, y, u, v) for (x, y, u, v), swap in zip(rows, swaps, strict=True)]
        x, y, u, v = (sum(column) for column in zip(*placed, strict=True))
        return abs(x * v - u * y), y * v

    top, below = gap((False,) * len(rows))
    far = [not b or t * below >= top * b for t, b in map(gap, product((False, True), repeat=len(rows)))]
    return sum(far) / len(far)


@given(rows=units)
def test_all_exchanges_of_a_ratio(rows: list[tuple[int, int, int, int]]) -> None:
    table = np.array(rows, dtype=np.float64)
    if not table[:, 1].sum() or not table[:, 3].sum():
        return
    got = exchange_test(table[:, :2], table[:, 2:], ratio, rng=np.random.default_rng(0))
    assert got.p_value == pytest.approx(brute_force(rows), rel=1e-12)
    assert (got.method, got.flips) == (FlipMethod.ENUMERATION, None)
    assert got.units == sum(row[:2] != row[2:] for row in rows)


@given(seed=st.integers(0, 500), n=st.integers(1, 12))
def test_of_sums_it_is_the_sign_flip_test(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 9, (2, n, 1)).astype(np.float64)
    exact = sign_flip((a - b)[:, 0])
    assert exact is not None
    assert exchange_test(a, b, total, rng=rng).p_value == pytest.approx(exact.p_value, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_random_exchanges_are_near_scipys_permutations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = np.stack([rng.normal(0.2, 1, (60, 1)), rng.normal(size=(60, 1))])
    got = exchange_test(a, b, total, rng=rng, flips=9_999)
    twin = permutation_test(((a - b)[:, 0],), np.sum, permutation_type="samples", n_resamples=9_999, rng=rng).pvalue
    assert (got.method, got.flips) == (FlipMethod.MONTE_CARLO, 9_999)
    # Four standard errors of the difference of two shares of 9,999 draws.
    assert abs(got.p_value - twin) < 4 * math.sqrt(2 * twin * (1 - twin) / 9_999) + 1e-4


@given(seed=st.integers(0, 500), n=st.integers(20, 200), most=st.sampled_from([1, 5, 300]))
def test_whole_numbers_are_counted_in_bits_as_others_are_added(seed: int, n: int, most: int) -> None:
    """Seven thirds of all numbers are not whole: the same subsets are drawn, and added as floats."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, most + 1, (2, n, 2)).astype(np.float64)
    whole, parts = (
        exchange_test(a * size, b * size, total, rng=np.random.default_rng(seed), flips=150) for size in (1, 7 / 3)
    )
    assert whole == parts


def test_units_that_differ_by_rounding_only_have_no_part() -> None:
    rng = np.random.default_rng(8)
    a, b = rng.uniform(1, 2, (2, 40, 1))
    same = rng.uniform(1, 2, (10, 1))
    alone, among = (
        exchange_test(first, second, total, rng=np.random.default_rng(1), flips=150)
        for first, second in ((a, b), (np.vstack([same, a]), np.vstack([same * (1 + 1e-15), b])))
    )
    assert alone == among


def test_enumeration_and_draws_agree_where_both_are_possible() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.uniform(0.5, 2, (2, 12, 2))
    exact = exchange_test(a, b, ratio, rng=rng, flips=4_096)
    drawn = exchange_test(a, b, ratio, rng=rng, flips=4_095)
    assert (exact.flips, drawn.flips) == (None, 4_095)
    assert drawn.p_value == pytest.approx(exact.p_value, abs=4 * math.sqrt(exact.p_value / 4_095))


@experiments(20_000, quick=2_000)
def test_p_is_valid_if_the_two_are_alike(experiments: int) -> None:
    """Ratios with denominators of their own, skewed: P(p <= 0.05) is at most 0.05, up to chance."""
    rng = np.random.default_rng(4)
    data = rng.exponential(size=(experiments, 2, 8, 2)) ** 2
    small = sum(exchange_test(a, b, ratio, rng=rng).p_value <= 0.05 for a, b in data)
    assert small / experiments <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / experiments)
    assert small / experiments >= 0.03


def test_edges() -> None:
    rng = np.random.default_rng(0)
    same = np.ones((30, 2))
    assert exchange_test(same, same, ratio, rng=rng).p_value == 1
    # Without a value an exchange counts as far: one unit has all of the denominator.
    a, b = np.array([[1.0, 1.0], [3.0, 0.0]]), np.array([[2.0, 0.0], [1.0, 1.0]])
    assert exchange_test(a, b, ratio, rng=rng).p_value == 1
    with pytest.raises(ValueError, match="units x columns"):
        exchange_test([1.0], [2.0], total, rng=rng)
    a, b = np.random.default_rng(5).normal(size=(2, 50, 1))
    seeds = [exchange_test(a, b, total, rng=np.random.default_rng(s)) for s in (1, 1, 2, 3)]
    assert seeds[0] == seeds[1]
    assert len(set(seeds)) > 1
