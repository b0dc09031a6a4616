"""Jackknives and Rao and Wu's bootstrap: the textbook variance, R's figures, unbiased groups, all resamples."""

import json
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

from harness.stats.arrays import FloatArray
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.replicates import Centre
from harness.stats.replication.resampling import (
    DeleteGroup,
    RescaledBootstrap,
    delete_group,
    delete_one,
    rescaled_bootstrap,
)
from harness.stats.replication.sample import Sample, make_sample
from harness.stats.replication.statistic import rate, ratio

REFERENCE = json.loads((Path(__file__).parents[2] / "data" / "replication" / "lone_reference.json").read_text())


def strata_of(*sizes: int) -> Sample:
    return make_sample(sum(sizes), strata=np.repeat(np.arange(len(sizes)), sizes))


def textbook(sample: Sample, values: FloatArray) -> float:
    parts = np.split(values, np.cumsum(sample.stratum_sizes)[:-1])
    return float(sum(len(part) * part.var(ddof=1) for part in parts))


def test_delete_one_of_a_total_is_the_textbook_variance() -> None:
    sample, values = strata_of(2, 3, 7, 4), np.random.default_rng(0).normal(size=16)
    jackknife = delete_one(sample)
    variance = jackknife.variance(jackknife.totals(values), float(values.sum()))
    assert variance == pytest.approx(textbook(sample, values), rel=1e-12)
    assert (jackknife.df, jackknife.count) == (12, 16)


@pytest.mark.parametrize("centre", ["full", "mean"])
def test_units_without_strata_as_in_r(centre: Centre) -> None:
    cases = {key: np.array(values) for key, values in REFERENCE["input"].items()}
    selected = ~np.isin(cases["stratum"], [2, 5, 8])
    sample = make_sample(int(selected.sum()), units=cases["psu"][selected], weights=cases["w"][selected])
    expected = REFERENCE["one_stratum"][centre]
    mean = make_estimate(sample, rate(cases["a"][selected]), Replication(centre=centre))
    quotient = make_estimate(sample, ratio(cases["a"][selected], cases["b"][selected]), Replication(centre=centre))
    assert (mean.method, mean.df) == ("jackknife", expected["df"])
    assert mean.se**2 == pytest.approx(expected["mean_variance"], rel=1e-10)
    assert quotient.se**2 == pytest.approx(expected["ratio_variance"], rel=1e-10)


def test_totals_are_the_factors_times_the_values() -> None:
    rng = np.random.default_rng(1)
    sample = strata_of(2, 3, 7, 4)
    values = rng.normal(size=(16, 2))
    for design in (delete_one(sample), delete_group(sample, rng=rng, groups=5)):
        factors = np.concatenate(list(design.weights(block=3)))
        assert factors.shape == (design.count, 16)
        np.testing.assert_allclose(design.totals(values), factors @ values, atol=1e-12)
        np.testing.assert_allclose(design.totals(values[:, 0]), factors @ values[:, 0], atol=1e-12)


def test_a_group_for_each_unit_is_delete_one() -> None:
    sample, rng = make_sample(8), np.random.default_rng(2)
    values = rng.normal(size=8)
    groups, ones = delete_group(sample, rng=rng, groups=8), delete_one(sample)
    np.testing.assert_allclose(sorted(groups.totals(values)), sorted(ones.totals(values)), atol=1e-12)
    assert groups.variance(groups.totals(values), values.sum()) == pytest.approx(
        ones.variance(ones.totals(values), values.sum()), rel=1e-12
    )


@pytest.mark.parametrize(("size", "groups"), [(3, 4), (4, 4), (5, 2), (5, 3), (6, 4)])
def test_mean_over_all_deals_is_the_textbook_variance(size: int, groups: int) -> None:
    """Brute force: every way to deal one stratum to the groups, including more groups than units."""
    values = np.random.default_rng(size).normal(size=size)
    result = []
    for order in permutations(range(size)):
        design = DeleteGroup(np.zeros(size, dtype=np.int64), np.array([size]), np.array(order) % groups, groups)
        result.append(float(design.variance(design.totals(values), float(values.sum()))))
    assert np.mean(result) == pytest.approx(size * values.var(ddof=1), rel=1e-12)


def test_groups_are_unbiased_over_strata() -> None:
    """Cross terms of strata vanish on average: 4,000 deals, within 4 standard errors."""
    sample, rng = strata_of(2, 3, 7, 4), np.random.default_rng(3)
    values = rng.normal(size=16)
    result = []
    for _ in range(4000):
        design = delete_group(sample, rng=rng, groups=4)
        result.append(float(design.variance(design.totals(values), float(values.sum()))))
    assert abs(np.mean(result) - textbook(sample, values)) < 4 * np.std(result) / np.sqrt(4000)
    assert design.df == 3


def test_at_least_two_groups() -> None:
    with pytest.raises(ValueError, match="1 groups"):
        delete_group(make_sample(5), rng=np.random.default_rng(0), groups=1)


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
