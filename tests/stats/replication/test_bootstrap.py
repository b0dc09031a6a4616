"""Rao and Wu's bootstrap against all resamples, and against the textbook variance."""

from itertools import product

import numpy as np
import pytest

from harness.stats.replication.resampling import RescaledBootstrap, rescaled_bootstrap
from harness.stats.replication.sample import make_sample


def test_all_resamples_give_the_textbook_variance() -> None:
    """Brute force: strata of 2 and 4 units, all 2 x 4^3 ways to draw 1 and 3 of them."""
    values = np.random.default_rng(0).normal(size=6)
    draws = [
        np.concatenate([np.bincount([one], minlength=2), np.bincount(others, minlength=4)])
        for one in range(2)
        for others in product(range(4), repeat=3)
    ]
    bootstrap = RescaledBootstrap(np.array(draws, dtype=np.uint16), np.array([2, 4]))
    textbook = 2 * values[:2].var(ddof=1) + 4 * values[2:].var(ddof=1)
    assert bootstrap.variance(bootstrap.totals(values), float(values.sum())) == pytest.approx(textbook, rel=1e-12)
    assert bootstrap.df == 4


def test_each_stratum_draws_one_unit_fewer_than_it_has() -> None:
    sample = make_sample(20, strata=np.repeat([1, 2, 3, 4], [2, 3, 3, 12]))
    bootstrap = rescaled_bootstrap(sample, rng=np.random.default_rng(1), replicates=150)
    factors = np.concatenate(list(bootstrap.weights()))
    assert factors.shape == (150, 20)
    for stratum, size in enumerate([2, 3, 3, 12]):
        np.testing.assert_allclose(factors[:, sample.stratum_of_unit == stratum].sum(axis=1), size)
    values = np.random.default_rng(2).normal(size=(20, 2))
    np.testing.assert_allclose(bootstrap.totals(values), factors @ values, atol=1e-12)


def test_whole_units_are_drawn_and_the_variance_is_right() -> None:
    """20,000 replicates: the error of the variance is sqrt(2 / 20,000) = 1 %; 4 % allowed."""
    rng = np.random.default_rng(3)
    sample = make_sample(60, strata=np.repeat([0, 1, 2], 20), units=np.repeat(np.arange(15), 4))
    assert (sample.units, sample.strata) == (15, 3)
    values = rng.normal(size=15)
    bootstrap = rescaled_bootstrap(sample, rng=rng, replicates=20_000)
    textbook = sum(5 * values[i : i + 5].var(ddof=1) for i in (0, 5, 10))
    assert bootstrap.variance(bootstrap.totals(values), float(values.sum())) == pytest.approx(textbook, rel=0.04)


def test_at_least_two_replicates() -> None:
    with pytest.raises(ValueError, match="1 replicates"):
        rescaled_bootstrap(make_sample(5), rng=np.random.default_rng(0), replicates=1)
