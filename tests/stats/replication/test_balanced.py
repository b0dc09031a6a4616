"""Balanced and grouped replicates against the textbook variance, their factors, and their degrees of freedom."""

from itertools import combinations

import numpy as np
import pytest

from harness.stats.arrays import FloatArray
from harness.stats.replication.balanced import GroupedHalves, balanced, grouped_halves
from harness.stats.replication.hadamard import hadamard
from harness.stats.replication.sample import Sample, make_sample, unit_sums

STRATA = (4, 7, 8, 12, 16, 28, 29, 100, 121, 122, 364, 481)
UNITS = (2, 3, 4, 5, 7, 8, 9, 11, 13)


def stratified(strata: int, units: int, rng: np.random.Generator) -> tuple[Sample, np.ndarray, np.ndarray]:
    share = rng.random(strata) + 0.1
    share /= share.sum()
    labels = np.repeat(np.arange(strata), units)
    sample = make_sample(strata * units, strata=labels, weights=np.repeat(share / units, units))
    return sample, rng.random((strata, units)), share


@pytest.mark.sampled(4)
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("strata", STRATA)
@pytest.mark.parametrize("fay", [0.0, 0.3])
def test_variance_of_a_mean_is_the_textbook_one(strata: int, units: int, fay: float) -> None:
    sample, values, share = stratified(strata, units, np.random.default_rng(strata * units))
    replicates = balanced(sample, fay=fay)
    sums = unit_sums(sample, values.ravel())
    textbook = (share**2 * values.var(axis=1, ddof=1) / units).sum()
    variance = replicates.variance(replicates.totals(sums), float(sums.sum()))
    assert variance == pytest.approx(textbook, rel=1e-12)
    assert replicates.df == strata * (units - 1)


@pytest.mark.parametrize(("strata", "units"), [(1, 2), (7, 2), (9, 2), (30, 2), (52, 2), (100, 2), (5, 3), (20, 4)])
def test_totals_are_the_factors_times_the_values(strata: int, units: int) -> None:
    rng = np.random.default_rng(1)
    sample, *_ = stratified(strata, units, rng)
    replicates = balanced(sample, fay=0.25)
    sums = rng.normal(size=(sample.units, 3))
    factors = np.concatenate(list(replicates.weights(block=5)))
    assert factors.shape == (replicates.count, sample.units)
    np.testing.assert_allclose(replicates.totals(sums), factors @ sums, atol=1e-11)
    np.testing.assert_allclose(replicates.totals(sums[:, 0]), factors @ sums[:, 0], atol=1e-11)


def strata_of(*sizes: int) -> Sample:
    return make_sample(sum(sizes), strata=np.repeat(np.arange(len(sizes)), sizes))


def textbook(sample: Sample, values: FloatArray) -> float:
    parts = np.split(values, np.cumsum(sample.stratum_sizes)[:-1])
    return float(sum(len(part) * part.var(ddof=1) for part in parts))


@pytest.mark.parametrize("size", [2, 3, 4, 5, 7])
def test_mean_over_all_groupings_is_the_textbook_variance(size: int) -> None:
    """Brute force: every way to choose the first half of one stratum."""
    values = np.random.default_rng(size).normal(size=size)
    first = size // 2
    offsets = []
    for chosen in combinations(range(size), first):
        offset = np.full(size, -np.sqrt(first / (size - first)))
        offset[list(chosen)] = np.sqrt((size - first) / first)
        offsets.append(offset)
    halves = GroupedHalves(hadamard(2), np.array([size]), np.array(offsets), 1.0)
    variance = halves.variance(halves.totals(values), float(values.sum()))
    assert variance == pytest.approx(size * values.var(ddof=1), rel=1e-12)


@pytest.mark.parametrize("fay", [0.0, 0.5])
@pytest.mark.parametrize("size", [3, 5])
def test_random_grouping_is_unbiased(size: int, fay: float) -> None:
    """Over 2,000 groupings the mean lies within 4 of its own standard errors of the textbook variance."""
    sample, rng = strata_of(*[size] * 6), np.random.default_rng(11)
    values = rng.normal(size=sample.units)
    halves = grouped_halves(sample, rng=rng, groupings=2000, fay=fay)
    squares = ((halves.totals(values) - values.sum()) / (1 - fay)) ** 2
    by_grouping = squares.reshape(2000, -1).mean(axis=1)
    error = by_grouping.std() / np.sqrt(2000)
    assert abs(by_grouping.mean() - textbook(sample, values)) < 4 * error
    assert error < 0.03 * textbook(sample, values)


@pytest.mark.parametrize(("size", "plain"), [(3, 5 / 4), (4, 1), (5, 13 / 12)])
def test_plain_factors_of_2_and_0_are_biased(size: int, plain: float) -> None:
    """Factors of 2 and 0 in place of the roots are off by (m1^2 + m2^2) / (2 m1 m2): 25 % for halves of one and two."""
    values = np.random.default_rng(2).normal(size=size)
    squares = []
    for chosen in combinations(range(size), size // 2):
        half = np.isin(np.arange(size), chosen)
        squares += [(values[half].mean() - values.mean()) ** 2, (values[~half].mean() - values.mean()) ** 2]
    assert np.mean(squares) == pytest.approx(plain * values.var(ddof=1) / size, rel=1e-12)


def test_strata_of_two_give_the_balanced_variance() -> None:
    sample, rng = strata_of(*[2] * 9), np.random.default_rng(4)
    values = rng.normal(size=(18, 2))
    halves = grouped_halves(sample, rng=rng, groupings=3)
    exact = balanced(sample)
    np.testing.assert_allclose(
        halves.variance(halves.totals(values), values.sum(axis=0)),
        exact.variance(exact.totals(values), values.sum(axis=0)),
        rtol=1e-12,
    )
    assert halves.df == 9


@pytest.mark.parametrize("fay", [0.0, 0.3])
def test_totals_of_groupings_are_the_factors_times_the_values(fay: float) -> None:
    sample, rng = strata_of(3, 2, 5, 4, 7), np.random.default_rng(6)
    halves = grouped_halves(sample, rng=rng, groupings=3, fay=fay)
    values = rng.normal(size=(sample.units, 2))
    factors = np.concatenate(list(halves.weights(block=3)))
    np.testing.assert_allclose(halves.totals(values), factors @ values, atol=1e-11)
    assert len(factors) == halves.count == 24


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("groupings", "size", "df"), [(1, 3, 8.0), (2, 3, 32 / 3), (2, 5, 12.8), (20, 5, 27.826)])
def test_degrees_of_freedom(groupings: int, size: int, df: float) -> None:
    """For normal data the df is 2 E[V]^2 / Var[V]. 20,000 samples, 100 for each design: 1.3 % error."""
    sample, rng = strata_of(*[size] * 8), np.random.default_rng(13)
    result = []
    for _ in range(200):
        halves = grouped_halves(sample, rng=rng, groupings=groupings)
        values = rng.normal(size=(sample.units, 100))
        result.append(halves.variance(halves.totals(values), values.sum(axis=0)))
    assert halves.df == pytest.approx(df, rel=1e-3)
    variances = np.concatenate(result)
    assert variances.mean() == pytest.approx(sample.units, rel=0.03)
    assert 2 * variances.mean() ** 2 / variances.var() == pytest.approx(df, rel=0.06)


def test_at_least_one_grouping() -> None:
    with pytest.raises(ValueError, match="0 groupings"):
        grouped_halves(strata_of(3, 3), rng=np.random.default_rng(0), groupings=0)
