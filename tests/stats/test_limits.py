"""Limits of intervals, against published tables, statsmodels, brute-force searches, and the rules they must obey."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import logit, stdtrit
from scipy.stats import chi2
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from harness.stats.arrays import FloatArray
from harness.stats.differences import paired_difference
from harness.stats.limits import (
    auc_end_limit,
    bounded_limits,
    cases_without_variance,
    difference_limits,
    end_limit,
    paired_limits,
    root_mean_square_limits,
    share_limits,
)
from harness.stats.paired import PairTable
from harness.stats.rates import Intervals, clopper_pearson, wilson
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.linearised import stratum_variances
from harness.stats.replication.sample import make_sample, unit_sums
from harness.stats.replication.statistic import SmoothFormula
from tests.simulation import experiments, slack


def limits_of(errors: npt.ArrayLike, size: int) -> tuple[float, float]:
    """The limits of a rate in units of one size, from the errors in each, through a real sample."""
    wrong = np.asarray(errors)
    outcomes = (np.arange(size) >= wrong[:, None]).ravel().astype(float)
    sample = make_sample(outcomes.size, units=np.repeat(np.arange(wrong.size), size))
    value = float(outcomes.mean())
    variance = stratum_variances(sample, unit_sums(sample, outcomes - value) / outcomes.size).sum()
    se = float(np.sqrt(variance)) if variance > 1e-24 else 0.0
    result = share_limits(value, se, wrong.size - 1, cases=outcomes.size, units=wrong.size)
    return float(result.low), float(result.high)


patterns = st.integers(2, 12).flatmap(
    lambda size: st.tuples(st.lists(st.integers(0, size), min_size=2, max_size=15), st.just(size))
)
shares = st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0])


def ends(limits: Intervals) -> tuple[float, float]:
    return float(limits.low), float(limits.high)


class TestShare:
    @pytest.mark.parametrize(("value", "se", "df"), [(0.9, 0.02, 39), (0.7, 0.1, 4), (0.42, 0.05, 120)])
    def test_inverts_the_score_test_with_students_t(self, value: float, se: float, df: float) -> None:
        result = share_limits(value, se, df, cases=1e6, units=1e6)
        size, t = value * (1 - value) / se**2, student.ppf(0.975, df)

        def excess(p: float) -> float:
            return float((value - p) ** 2 - t**2 * p * (1 - p) / size)

        assert result.low == pytest.approx(brentq(excess, 1e-9, value), abs=1e-9)
        assert result.high == pytest.approx(brentq(excess, value, 1 - 1e-9), abs=1e-9)

    @pytest.mark.parametrize(("x", "n"), [(58, 60), (45, 50), (300, 400), (399, 400)])
    def test_independent_cases_have_wilsons_limits_or_wider_exact_ones(self, x: int, n: int) -> None:
        value = x / n
        result = share_limits(value, np.sqrt(value * (1 - value) / n), np.inf, cases=n, units=n)
        wilson = proportion_confint(x, n, method="wilson")
        exact = proportion_confint(x, n, method="beta")
        assert result.low == pytest.approx(min(wilson[0], exact[0]), abs=1e-9)
        assert result.high == pytest.approx(wilson[1], abs=1e-9)

    def test_all_right_has_fewer_effective_cases_than_cases(self) -> None:
        assert share_limits(1, 0, 9, cases=10, units=10).low == pytest.approx(0.6915, abs=5e-5)  # Clopper-Pearson
        effective = 146 / (1 + 2**-0.25)
        assert share_limits(1, 0, 72, cases=146, units=73).low == pytest.approx(0.025 ** (1 / effective))
        assert share_limits(1, 0, 72, cases=146, units=73).low < 0.96
        known = share_limits(1, 0, 72, cases=146, units=73, design_effect=2)
        assert known.low == pytest.approx(clopper_pearson(73, 73).low)

    def test_effective_size_lies_between_units_and_cases(self) -> None:
        effective = cases_without_variance([10, 20, 100, 1e5], [10, 10, 10, 10])
        assert effective[0] == 10
        assert (np.diff(effective) > 0).all()
        assert (effective[1:] > 10).all()
        assert (effective[1:] < [20, 100, 1e5]).all()

    def test_first_errors_do_not_raise_the_lower_limit(self) -> None:
        result = [limits_of([1] * wrong + [0] * (40 - wrong), 10) for wrong in range(40)]
        assert all(after[0] <= before[0] for before, after in pairwise(result))
        assert all(after[1] < before[1] for before, after in pairwise(result))
        assert result[1][0] < 0.9886
        assert result[0][1] == 1

    @given(st.integers(2, 15), st.integers(1, 12), st.data())
    def test_an_error_in_another_unit_never_raises_a_limit(self, units: int, size: int, data: st.DataObject) -> None:
        wrong = data.draw(st.integers(0, units - 2))
        before, after = (limits_of([1] * n + [0] * (units - n), size) for n in (wrong, wrong + 1))
        assert after[0] <= before[0] + 1e-12
        assert after[1] <= before[1] + 1e-12

    @given(patterns)
    def test_no_errors_has_the_highest_lower_limit(self, pattern: tuple[list[int], int]) -> None:
        errors, size = pattern
        assert limits_of(errors, size)[0] <= limits_of([0] * len(errors), size)[0]

    @given(patterns)
    def test_limits_mirror_contain_the_value_and_are_never_certain(self, pattern: tuple[list[int], int]) -> None:
        errors, size = pattern
        cases, wrong = len(errors) * size, sum(errors)
        low, high = limits_of(errors, size)
        mirrored = limits_of([size - n for n in errors], size)
        value = 1 - wrong / cases
        assert (1 - high, 1 - low) == pytest.approx(mirrored, abs=1e-9)
        assert low <= value + 1e-12
        assert high >= value - 1e-12
        assert low < high
        assert (high < 1) == (wrong > 0)
        assert (low > 0) == (wrong < cases)
        if value >= 0.5:
            assert low <= clopper_pearson(cases - wrong, cases).low + 1e-12

    @given(shares, st.floats(0, 1), st.floats(1, 1e4), st.floats(2, 1e6), st.floats(0.01, 1))
    def test_always_two_numbers_around_the_value(
        self, value: float, se: float, df: float, cases: float, part: float
    ) -> None:
        result = share_limits(value, se, df, cases=cases, units=cases * part)
        assert 0 <= result.low <= value <= result.high <= 1

    def test_arrays_are_broadcast(self) -> None:
        result = share_limits([0.5, 0.9, 1.0], [0.1, 0.05, 0.0], 9, cases=100, units=[10, 10, 10])
        one = share_limits(0.9, 0.05, 9, cases=100, units=10)
        assert (result.low[1], result.high[1]) == (one.low, one.high)

    def test_a_confidence_above_1_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"confidence 95"):
            share_limits(0.9, 0.05, 9, cases=100, units=10, confidence=95)


class TestBounded:
    def test_is_a_t_interval_of_the_logit(self) -> None:
        result = bounded_limits(0.9, 0.02, 30, end=0.99)
        half = student.ppf(0.975, 30) * 0.02 / (0.9 * 0.1)
        assert logit([result.low, result.high]) == pytest.approx(logit(0.9) + np.array([-half, half]))

    def test_other_bounds_are_the_same_on_their_scale(self) -> None:
        result, scaled = (
            bounded_limits(0.8, 0.04, 30, end=0.99, bounds=(-1, 1)),
            bounded_limits(0.9, 0.02, 30, end=0.99),
        )
        assert (result.low + 1) / 2 == pytest.approx(scaled.low)
        assert (result.high + 1) / 2 == pytest.approx(scaled.high)

    def test_an_end_without_variance(self) -> None:
        result = bounded_limits([0.0, 1.0, 0.5], 0.0, 9, end=0.8)
        assert result.low[:2].tolist() == pytest.approx([0, 0.8])
        assert result.high[:2].tolist() == pytest.approx([0.2, 1])
        assert result.low[2] < 0.4
        assert result.high[2] > 0.6

    @given(st.floats(0, 1), st.floats(0, 0.5), st.floats(1, 100), st.floats(0.01, 0.999))
    def test_no_lower_limit_exceeds_that_at_the_end(self, value: float, se: float, df: float, end: float) -> None:
        result = bounded_limits(value, se, df, end=end)
        assert 0 <= result.low <= min(end, value) + 1e-12
        assert 1 >= result.high >= max(1 - end, value) - 1e-12

    def test_without_bounds_it_is_a_t_interval(self) -> None:
        free = (-np.inf, np.inf)
        result = bounded_limits([3.0, 3.0], [0.5, 0.0], 7, end=0.5, bounds=free)
        assert result.low.tolist() == pytest.approx([3 - 0.5 * stdtrit(7, 0.975), -np.inf])
        assert bounded_limits(0.1, 1.0, 7, end=0.5, bounds=(0, np.inf)).low == 0


class TestAreaEnd:
    @pytest.mark.parametrize(("m", "n"), [(2, 2), (5, 50), (50, 5), (30, 30), (1e4, 20)])
    def test_an_area_of_one_is_two_standard_errors_away(self, m: float, n: float) -> None:
        area = float(auc_end_limit(m, n))
        q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
        # Hanley and McNeil (1982), with the mean of both class sizes for each, as in Newcombe.
        size = (m + n) / 2
        spread = area * (1 - area) + (size - 1) * (q1 + q2 - 2 * area**2)
        assert (1 - area) / np.sqrt(spread / (m * n)) == pytest.approx(1.959964, rel=1e-5)

    def test_one_case_of_each_is_a_single_comparison(self) -> None:
        assert auc_end_limit(1, 1) == pytest.approx(float(wilson(1, 1).low))

    def test_no_overlap_is_rarer_than_the_tail(self) -> None:
        rng = np.random.default_rng(1)
        area = float(auc_end_limit(8, 8))
        positives, negatives = rng.exponential(area / (1 - area), (40_000, 8)), rng.exponential(1, (40_000, 8))
        assert 0.001 < (positives.min(axis=1) > negatives.max(axis=1)).mean() < 0.025

    def test_rises_with_either_class(self) -> None:
        result = auc_end_limit([5, 10, 10, 100], [5, 5, 10, 100])
        assert (np.diff(result) > 0).all()


# Newcombe (1998), Statistics in Medicine 17, 873-890, table II, method 10.
NEWCOMBE = [
    ((56, 70), (48, 80), (0.0524, 0.3339)),
    ((9, 10), (3, 10), (0.1705, 0.8090)),
    ((5, 56), (0, 29), (-0.0381, 0.1926)),
    ((0, 10), (0, 20), (-0.1611, 0.2775)),
    ((10, 10), (0, 20), (0.6791, 1.0)),
]


def wilson_of(x: float, n: float) -> tuple[float, Intervals]:
    return x / n, wilson(np.array(x), n)


class TestDifference:
    @pytest.mark.parametrize(("a", "b", "expected"), NEWCOMBE)
    def test_matches_newcombe(self, a: tuple[int, int], b: tuple[int, int], expected: tuple[float, float]) -> None:
        result = difference_limits(*wilson_of(*a), *wilson_of(*b))
        assert (result.low, result.high) == pytest.approx(expected, abs=5.1e-5)

    def test_with_a_correlation_it_is_newcombes_paired_interval(self) -> None:
        table = PairTable(n_ff=9, n_sf=12, n_fs=2, n_ss=21)
        phi = (21 * 9 - 12 * 2 - 22) / np.sqrt(33 * 11 * 23 * 21)  # continuity corrected, as in his method 10
        result = difference_limits(*wilson_of(33, 44), *wilson_of(23, 44), correlation=phi)
        expected = paired_difference(table).interval
        assert (result.low, result.high) == pytest.approx((expected.low, expected.high), abs=1e-12)

    def test_a_side_without_variance_is_not_certain(self) -> None:
        sure = share_limits(1, 0, 4, cases=20, units=5)
        other = share_limits(0.7, 0.0655, 49, cases=200, units=50)
        assert difference_limits(1, sure, 0.7, other).low < 0.15
        both = difference_limits(1, sure, 1, sure)
        assert both.low < -0.2
        assert both.high > 0.2

    def test_swapping_the_sides_mirrors_the_limits(self) -> None:
        a, b = wilson_of(9, 10), wilson_of(3, 10)
        one, other = difference_limits(*a, *b, correlation=0.3), difference_limits(*b, *a, correlation=0.3)
        assert ends(one) == pytest.approx((-float(other.high), -float(other.low)))


class TestPaired:
    def test_independent_cases_combine_wilsons_limits(self) -> None:
        a, b, n = 0.2, 0.1, 100
        result = paired_limits(a, b, np.sqrt((a + b - (a - b) ** 2) / n), np.inf, cases=n, units=n)
        r = -np.sqrt(a * b / ((1 - a) * (1 - b)))
        expected = difference_limits(*wilson_of(20, n), *wilson_of(10, n), correlation=r)
        assert ends(result) == pytest.approx(ends(expected), abs=1e-9)

    def test_one_against_none_in_ten_units_is_a_difference(self) -> None:
        result = paired_limits(1, 0, 0, 9, cases=10, units=10)
        assert result.low > 0.5
        assert result.high == 1

    def test_two_that_never_differ_may_differ_elsewhere(self) -> None:
        result = paired_limits(0, 0, 0, 9, cases=100, units=10)
        assert result.low == pytest.approx(-result.high)
        assert 0.1 < result.high < 0.5

    @given(shares, shares, st.floats(0, 0.5), st.floats(1, 1e3), st.floats(2, 1e5))
    def test_contains_the_value_and_mirrors(self, a: float, b: float, se: float, df: float, cases: float) -> None:
        a, b = a / max(a + b, 1), b / max(a + b, 1)
        result = paired_limits(a, b, se, df, cases=cases, units=cases / 2)
        turned = paired_limits(b, a, se, df, cases=cases, units=cases / 2)
        assert -1 <= result.low <= a - b <= result.high <= 1
        assert result.low < result.high
        assert ends(result) == pytest.approx((-float(turned.high), -float(turned.low)))


def test_end_limit_is_clopper_and_pearsons() -> None:
    assert end_limit(40, 40) == pytest.approx(float(clopper_pearson(40, 40).low))
    assert end_limit(400, 40, design_effect=4) == pytest.approx(float(clopper_pearson(100, 100).low))


def test_with_many_degrees_of_freedom_they_are_those_of_a_normal_deviation() -> None:
    """With the standard error that normal errors have, value / sqrt(2 n), and known: n m / sigma^2 is chi-square."""
    n, value = 40, 3.0
    limits = root_mean_square_limits(value, value / math.sqrt(2 * n), math.inf)
    expected = [value * math.sqrt(n / chi2.ppf(p, n)) for p in (0.975, 0.025)]
    assert [float(limits.low), float(limits.high)] == pytest.approx(expected, rel=1e-9)
    assert float(root_mean_square_limits(value, 0.3, 5).high) > float(root_mean_square_limits(value, 0.3, 50).high)


def test_without_variance_they_are_the_value() -> None:
    limits = root_mean_square_limits([0.0, 2.0], 0.0, 9)
    assert limits.low.tolist() == limits.high.tolist() == [0.0, 2.0]


def test_an_estimate_has_them() -> None:
    errors = np.random.default_rng(1).normal(size=30)
    columns = np.column_stack([errors**2, np.ones(30)])
    root = SmoothFormula(columns, (0.0, math.inf), formula=lambda t: (t[..., 0] / t[..., 1]) ** 0.5, parts=2, root=True)
    one = make_estimates(make_sample(30), root).estimate(0)
    assert one.interval is not None
    expected = root_mean_square_limits(one.value, one.se, 29)
    assert (one.interval.low, one.interval.high) == (float(expected.low), float(expected.high))
    wider = one.at(0.99)
    assert wider is not None
    assert wider.low < one.interval.low < one.value < one.interval.high < wider.high


def squares(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> tuple[FloatArray, float]:
    """Squared errors of units, and the root of their mean."""
    if kind == "normal":
        return rng.normal(size=shape) ** 2, 1.0
    if kind == "laplace":
        return rng.laplace(size=shape) ** 2, math.sqrt(2)
    if kind == "uniform":
        return rng.uniform(-1, 1, size=shape) ** 2, math.sqrt(1 / 3)
    # Units of five cases with an intraclass correlation of 0.3.
    shared = rng.normal(size=(*shape, 1))
    return ((math.sqrt(0.7) * rng.normal(size=(*shape, 5)) + math.sqrt(0.3) * shared) ** 2).mean(axis=2), 1.0


# As in docs/explanation/coverage.md; the limits of tails heavier than normal are too narrow with few units.
@pytest.mark.parametrize(
    ("kind", "units", "coverage"),
    [("normal", 10, 92.9), ("normal", 20, 93.1), ("normal", 50, 94.1), ("normal", 200, 94.7),
     ("clusters", 10, 93.9), ("clusters", 20, 93.9), ("clusters", 40, 94.4), ("uniform", 10, 95.0),
     ("laplace", 20, 89.0), ("laplace", 50, 91.3), ("laplace", 200, 93.1)],
)  # fmt: skip
@experiments(40_000, quick=2_000)
def test_coverage(kind: str, units: int, coverage: float, experiments: int) -> None:
    values, truth = squares(kind, np.random.default_rng([units, len(kind)]), (experiments, units))
    mean, error = values.mean(axis=1), values.std(axis=1, ddof=1) / math.sqrt(units)
    root = np.sqrt(mean)
    limits = root_mean_square_limits(root, error / (2 * root), units - 1)
    inside = 100 * ((limits.low <= truth) & (truth <= limits.high)).mean()
    assert inside == pytest.approx(coverage, abs=slack(0.5, full=40_000, experiments=experiments))
