"""Cumulative match curves and median ranks: against loops, replication at each rank, and explicit resamples."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.arrays import FloatArray
from harness.stats.identification import (
    bootstrap_cmc,
    bootstrap_median_rank,
    cmc,
    median_rank_statistic,
    medians_of_counts,
    replicated_cmc,
)
from harness.stats.rates import wilson
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample, make_sample
from harness.stats.replication.statistic import rate

RANKS = st.lists(st.one_of(st.integers(1, 9).map(float), st.just(np.inf), st.just(np.nan)), min_size=1, max_size=30)


def draw(seed: int, units: int = 2) -> tuple[FloatArray, Sample]:
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(8 * units), 4)
    rank = np.minimum(rng.geometric((0.3 + 0.5 * rng.random(8 * units))[unit]), 12).astype(float)
    rank[rng.random(rank.size) < 0.05] = np.inf
    rank[rng.random(rank.size) < 0.05] = np.nan
    return rank, make_sample(rank.size, strata=unit // units, units=unit, weights=rng.random(rank.size) + 0.1)


@given(RANKS.filter(lambda r: not np.isnan(r).all()))
def test_rates_equal_a_count(values: list[float]) -> None:
    # The human ID paper (2001), equation 7: the share of probes within rank tau.
    result = cmc(values)
    known = [r for r in values if not np.isnan(r)]
    assert result.probes == len(known)
    for rank, got in zip(result.ranks, result.bands.rate, strict=True):
        assert got == pytest.approx(sum(r <= rank for r in known) / len(known))
    assert (np.diff(result.bands.rate) >= 0).all()


def test_weights_are_repeated_probes_and_wilson_is_wilson() -> None:
    rank = np.array([1, 3, 2, np.inf, 1, 5])
    times = np.array([1, 2, 3, 1, 2, 1])
    np.testing.assert_allclose(cmc(rank, weights=times).bands.rate, cmc(np.repeat(rank, times)).bands.rate)
    np.testing.assert_allclose(cmc(rank, weights=0.3 * times).bands.low, cmc(rank, weights=times).bands.low)
    result = cmc(rank, limit=2)
    np.testing.assert_array_equal(result.ranks, [1, 2])
    want = wilson(3, 6)
    assert (result.bands.low[1], result.bands.high[1]) == pytest.approx((want.low, want.high))


def test_all_at_rank_one_is_not_certain() -> None:
    result = cmc(np.ones(20))
    np.testing.assert_array_equal(result.ranks, [1])
    assert result.bands.rate[0] == 1
    assert result.bands.low[0] == pytest.approx(wilson(20, 20).low)
    assert bootstrap_cmc(np.ones(20), rng=np.random.default_rng(0)).bands.low[0] == pytest.approx(wilson(20, 20).low)


def test_nothing_found_within_the_limit() -> None:
    result = cmc([np.inf, np.inf])
    np.testing.assert_array_equal(result.bands.rate, [0.0])
    np.testing.assert_array_equal(cmc([7, 9], limit=3).bands.rate, [0, 0, 0])


@pytest.mark.parametrize("units", [2, 3, 4])
@pytest.mark.parametrize("method", ["auto", "jackknife"])
def test_each_rank_equals_its_own_replication(units: int, method: str) -> None:
    rank, sample = draw(1, units)
    replication = Replication(method=method)
    result = replicated_cmc(rank, sample, replication=replication)
    known = ~np.isnan(rank)
    low, high = [], []
    for r, value, se in zip(result.ranks, result.bands.rate, result.bands.se, strict=True):
        want = make_estimate(sample, rate(rank <= r, within=known), replication)
        assert value == pytest.approx(want.value, abs=1e-12)
        assert se == pytest.approx(want.se, abs=1e-12)
        assert want.interval is not None
        low.append(want.interval.low)
        high.append(want.interval.high)
    # A rate that rises with the rank is never below its lower limit at an earlier rank.
    np.testing.assert_allclose(result.bands.low, np.maximum.accumulate(low), rtol=0, atol=1e-12)
    np.testing.assert_allclose(result.bands.high, np.minimum.accumulate(high[::-1])[::-1], rtol=0, atol=1e-12)
    assert (np.diff(result.bands.low) >= 0).all()
    assert (np.diff(result.bands.high) >= 0).all()
    assert result.bands.target == "these strata, new units"


def test_bootstrap_has_the_binomial_error() -> None:
    # 20,000 resamples estimate a standard deviation to 0.5 %.
    rank, _ = draw(2)
    result = bootstrap_cmc(rank, rng=np.random.default_rng(2), replicates=20_000)
    p = result.bands.rate
    np.testing.assert_allclose(result.bands.se, np.sqrt(p * (1 - p) / result.probes), rtol=0.03)
    assert (result.bands.low <= p).all()
    assert (result.bands.high >= p).all()


@given(st.integers(0, 1000))
def test_medians_of_counts_are_medians(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels = np.sort(rng.choice(20, size=4, replace=False)).astype(float)
    n = int(rng.integers(1, 9))
    times = rng.multinomial(n, np.full(4, 0.25), size=5)
    want = [np.median(np.repeat(levels, row)) for row in times]
    np.testing.assert_array_equal(medians_of_counts(levels, times), want)


def test_median_rank_interval_equals_resampling() -> None:
    # 20,000 resamples on either side: the limits of such a coarse statistic are the same.
    rank, _ = draw(3)
    known = np.minimum(rank[~np.isnan(rank)], 5)
    result = bootstrap_median_rank(rank, limit=5, rng=np.random.default_rng(3), replicates=20_000)
    rng = np.random.default_rng(4)
    resampled = np.median(known[rng.integers(0, known.size, (20_000, known.size))], axis=1)
    assert result.value == np.median(known)
    assert result.interval is not None
    assert (result.interval.low, result.interval.high) == tuple(np.quantile(resampled, [0.025, 0.975]))
    assert result.se == pytest.approx(resampled.std(), rel=0.05, abs=1e-9)
    assert (result.method, result.replicates, result.confidence) == ("bootstrap", 20_000, 0.95)


def test_median_rank_is_replicated() -> None:
    rank, sample = draw(5)
    result = make_estimate(sample, median_rank_statistic(rank, limit=10), Replication(method="brr"))
    known = ~np.isnan(rank)
    order = np.argsort(rank[known])
    below = np.cumsum(sample.weights[known][order])
    assert result.value == np.minimum(rank[known][order], 10)[np.searchsorted(below, below[-1] / 2)]
    assert result.interval is not None
    assert 1 <= result.interval.low <= result.value < result.interval.high <= 10
    with pytest.raises(ValueError, match="jackknife is wrong for median rank"):
        make_estimate(sample, median_rank_statistic(rank, limit=10), Replication(method="jackknife"))


@pytest.mark.parametrize(
    ("rank", "options", "words"),
    [
        ([0.0, 1.0], {}, r"rank 0\.0"),
        ([1.5], {}, r"rank 1\.5"),
        ([-np.inf], {}, "rank -inf"),
        ([np.nan], {}, "no probe"),
        ([1.0], {"limit": 0}, "smallest rank"),
        ([1.0], {"weights": [1.0, 2.0]}, "one of each"),
        ([1.0], {"weights": [-1.0]}, "weights"),
    ],
)
def test_wrong_input_is_named(rank: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        cmc(rank, **options)


def test_wrong_median_options_are_named() -> None:
    with pytest.raises(ValueError, match="none is in the gallery"):
        bootstrap_median_rank([np.nan], rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="confidence"):
        bootstrap_median_rank([1], rng=np.random.default_rng(0), confidence=1)
