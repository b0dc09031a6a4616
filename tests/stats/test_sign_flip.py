"""Sign flips and exchanges: all of them by brute force, scipy's permutations, McNemar's p; the best of several."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest, permutation_test

from harness.stats import sign_flip as module
from harness.stats.arrays import FloatArray
from harness.stats.paired import PairTable, mcnemar
from harness.stats.sign_flip import FlipMethod, SignFlip, best_of, exchange_test, sign_flip
from tests.simulation import experiments

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


units = st.lists(st.tuples(*[st.integers(0, 6)] * 4), min_size=1, max_size=7)


def ratio(totals: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(totals[..., 0] / totals[..., 1])


def total(totals: FloatArray) -> FloatArray:
    return totals[..., 0]


def all_exchanges(rows: list[tuple[int, int, int, int]]) -> float:
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
    assert got.p_value == pytest.approx(all_exchanges(rows), rel=1e-12)
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


LEADS = arrays(np.float64, st.tuples(st.integers(2, 8), st.integers(1, 4)), elements=st.integers(-3, 3).map(float))


def exact(leads: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """The share of all sign patterns whose best candidate leads as clearly."""
    scale = np.sqrt((leads**2).sum(axis=0))
    scaled = leads[:, scale > 0] / scale[scale > 0]
    observed = max(scaled.sum(axis=0).max(initial=-np.inf), 0.0 if (scale == 0).any() else -np.inf)
    count = 0
    for signs in product([-1.0, 1.0], repeat=len(leads)):
        best = (np.array(signs) @ scaled).max(initial=-np.inf)
        count += max(best, 0.0 if (scale == 0).any() else -np.inf) >= observed - 1e-9
    return float(count / 2 ** len(leads))


@given(LEADS)
def test_p_value_agrees_with_all_sign_patterns(leads: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    result = best_of(leads, rng=np.random.default_rng(0), flips=4000)
    # Four standard errors of a share of 4,000, and the one added to numerator and denominator.
    assert result.p_value == pytest.approx(exact(leads), abs=4 * np.sqrt(0.25 / 4000) + 1 / 4000)


def test_one_candidate_is_the_sign_flip_test_which_is_the_sign_test_for_leads_of_one() -> None:
    # 9 of 10 discordant pairs in favour: P(X >= 9) = 11/1024, the one-sided exact McNemar.
    leads = np.array([[1.0]] * 9 + [[-1.0]] + [[0.0]] * 30)
    result = best_of(leads, rng=np.random.default_rng(1), flips=200_000)
    assert result.p_value == pytest.approx(11 / 1024, abs=4 * np.sqrt(0.0107 / 200_000))


def test_the_best_of_many_that_are_no_better_is_seldom_found_better() -> None:
    # 20 candidates and the standard are all coin tosses: an uncorrected test errs in most experiments.
    rng = np.random.default_rng(2)
    errors, naive, experiments = 0, 0, 300
    for _ in range(experiments):
        standard = rng.random(60) < 0.7
        leads = (rng.random((20, 60)) < 0.7).T.astype(float) - standard[:, None]
        errors += best_of(leads, rng=rng, flips=199).p_value <= 0.05
        single = max(range(20), key=lambda k: leads[:, k].sum())
        naive += best_of(leads[:, [single]], rng=rng, flips=199).p_value <= 0.05
    # 5 % of 300 is 15 with a standard error of 3.8; three of them above.
    assert errors <= 15 + 3 * 3.8
    assert naive > 2 * (15 + 3 * 3.8)


def test_a_candidate_that_is_better_is_found_among_many() -> None:
    rng = np.random.default_rng(3)
    leads = rng.normal(size=(200, 50))
    leads[:, 7] += 0.5
    result = best_of(leads, rng=rng)
    assert (result.best, result.candidates) == (7, 50)
    assert result.p_value < 0.01


@pytest.mark.parametrize("leads", [[], [1.0, 2.0], [[np.nan]], np.empty((0, 3))])
def test_nonsense_is_refused(leads: object) -> None:
    with pytest.raises(ValueError, match="leads"):
        best_of(leads, rng=np.random.default_rng(0))  # type: ignore[arg-type]
