"""The tests of the biometric zoo, against scipy and by permutation."""

import itertools

import numpy as np
import pytest
from scipy.stats import binomtest, hypergeom, kruskal

from harness.lab.zoo.statistics import kruskal_wallis, overlap, quarters


@pytest.mark.parametrize("rounded", [False, True])
def test_kruskal_and_wallis_as_scipy_has_it(rounded: bool) -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 6, 80)
    values = rng.normal(size=80) + groups * 0.1
    values = np.asarray(np.round(values, 1) if rounded else values, dtype=np.float64)
    found = kruskal_wallis(values, groups)
    expected = kruskal(*(values[groups == group] for group in range(6)))
    assert found is not None
    assert found.df == 5
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-10)
    assert kruskal_wallis(np.ones(4), np.array([0, 0, 1, 1])) is None
    assert kruskal_wallis(np.arange(4.0), np.zeros(4, dtype=np.int64)) is None


def test_quarters() -> None:
    low, high = quarters(np.array([5.0, 1, 4, 2, 3, 9, 8, 7, 6]))
    assert np.flatnonzero(low).tolist() == [1, 3]
    assert np.flatnonzero(high).tolist() == [5, 6]


def test_the_exact_test_counts_all_orders() -> None:
    """Eight people, two in each quarter: all 28 ways in which the second quarter can lie."""
    first = np.arange(8) < 2
    counts = [int(first[list(two)].sum()) for two in itertools.combinations(range(8), 2)]
    for count, chosen in ((0, [6, 7]), (1, [0, 7]), (2, [0, 1])):
        found = overlap(first, np.isin(np.arange(8), chosen))
        assert (found.count, found.expected) == (count, 0.5)
        assert found.p_value == pytest.approx(np.mean([one >= count for one in counts]))


@pytest.mark.parametrize("shared", [0, 1, 40, 100])
def test_both_p_values_as_scipy_has_them(shared: int) -> None:
    first = np.arange(400) < 100
    second = (np.arange(400) < shared) | ((np.arange(400) >= 100) & (np.arange(400) < 200 - shared))
    found = overlap(first, second)
    assert found.p_value == pytest.approx(hypergeom.sf(shared - 1, 400, 100, 100), rel=1e-9)
    assert found.p_binomial == pytest.approx(binomtest(shared, 400, 1 / 16, alternative="greater").pvalue, rel=1e-9)
