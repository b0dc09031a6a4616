"""Balanced replicates against the textbook variance, which they must equal exactly, and against their factors."""

import numpy as np
import pytest

from harness.stats.replication.balanced import balanced
from harness.stats.replication.sample import Sample, make_sample, unit_sums

STRATA = (4, 7, 8, 12, 16, 28, 29, 100, 121, 122, 364, 481)
UNITS = (2, 3, 4, 5, 7, 8, 9, 11, 13)


def stratified(strata: int, units: int, rng: np.random.Generator) -> tuple[Sample, np.ndarray, np.ndarray]:
    share = rng.random(strata) + 0.1
    share /= share.sum()
    labels = np.repeat(np.arange(strata), units)
    sample = make_sample(strata * units, strata=labels, weights=np.repeat(share / units, units))
    return sample, rng.random((strata, units)), share


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
