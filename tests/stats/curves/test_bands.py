"""Bands: against replication point by point, all half-samples, binomial quantiles, and coverage by simulation."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.curves import cumulative_rates
from harness.stats.curves.bands import CurveBands, bootstrap_bands, replicated_bands, wilson_bands
from harness.stats.curves.scores import make_scored_cases, threshold_counts
from harness.stats.rates import wilson
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.linearised import stratum_variances
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample, make_sample
from harness.stats.replication.statistic import rate
from tests.simulation import examples, experiments, slack


def draw(seed: int, strata: int = 6, units: int = 2, cases: int = 5) -> tuple[FloatArray, BoolArray, Sample]:
    """Clustered scores with ties, weights and a few infinite scores."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(strata * units), cases)
    positive = np.arange(unit.size) % 5 < 2
    scores = np.round(2 * (rng.normal(size=unit.size) + positive + rng.normal(size=strata * units)[unit]))
    scores[rng.random(unit.size) < 0.03] = -np.inf
    scores[0] = np.inf
    weights = rng.random(unit.size) + 0.1
    return scores, positive, make_sample(unit.size, strata=unit // units, units=unit, weights=weights)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("units", [2, 3, 4, 6])
@pytest.mark.parametrize(
    "replication",
    [
        Replication(),
        Replication(fay=0.2),
        Replication(method="jackknife"),
        Replication(method="linearised", confidence=0.9),
    ],
)
def test_each_point_equals_its_own_replication(units: int, replication: Replication) -> None:
    scores, positive, sample = draw(1, units=units)
    counts = threshold_counts(scores, positive, weights=sample.weights)
    at = np.arange(counts.threshold.size)
    bands = replicated_bands(make_scored_cases(scores, positive), sample, at, replication=replication)
    np.testing.assert_allclose(bands.tpr.rate, counts.tpr, rtol=0, atol=1e-12)
    np.testing.assert_allclose(bands.fpr.rate, counts.fpr, rtol=0, atol=1e-12)
    accepted = (scores[:, None] >= counts.threshold) & (at > 0)
    for within, band in ((positive, bands.tpr), (~positive, bands.fpr)):
        low, high = [], []
        for j in at:
            want = make_estimate(sample, rate(accepted[:, j], within=within), replication)
            assert band.se[j] == pytest.approx(want.se, abs=1e-12)
            assert band.df == want.df
            assert want.interval is not None
            low.append(want.interval.low)
            high.append(want.interval.high)
        # A rate that only rises along the curve is never below an earlier lower limit.
        np.testing.assert_allclose(band.low, np.maximum.accumulate(low), rtol=0, atol=1e-9)
        np.testing.assert_allclose(band.high, np.minimum.accumulate(high[::-1])[::-1], rtol=0, atol=1e-9)


def test_bootstrap_replicates_equal_replication_and_limits_are_percentiles() -> None:
    scores, positive, sample = draw(2, strata=5, units=4)
    replication = Replication(method="bootstrap", replicates=300, seed=4)
    bands = replicated_bands(make_scored_cases(scores, positive), sample, replication=replication)
    j = int(np.argmin(np.abs(bands.tpr.rate - 0.5)))
    want = make_estimate(sample, rate(scores >= bands.threshold[j], within=positive), replication)
    assert bands.tpr.se[j] == pytest.approx(want.se, abs=1e-12)
    assert bands.tpr.method == "bootstrap"
    assert bands.tpr.replicates == 300
    # Percentile limits agree with the normal ones to the order of the skewness.
    assert bands.tpr.low[j] == pytest.approx(want.value - 1.96 * want.se, abs=0.3 * want.se)
    assert bands.tpr.high[j] == pytest.approx(want.value + 1.96 * want.se, abs=0.3 * want.se)


def test_balanced_bands_equal_all_half_samples() -> None:
    # One positive and one negative per unit, so the rate is linear: all of the 2^5 half-samples count.
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(10), 2)
    positive = np.arange(20) % 2 == 0
    scores = rng.normal(size=20)
    sample = make_sample(20, strata=unit // 2, units=unit)
    bands = replicated_bands(make_scored_cases(scores, positive), sample, replication=Replication(fay=0.0))
    accepted = scores[positive] >= bands.threshold[:, None]
    halves = [
        accepted[:, np.arange(5) * 2 + np.array(pick)].mean(axis=1) for pick in itertools.product((0, 1), repeat=5)
    ]
    want = ((np.array(halves) - bands.tpr.rate) ** 2).mean(axis=0)
    np.testing.assert_allclose(bands.tpr.se**2, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", ["brr", "bootstrap", "jackknife", "linearised"])
def test_blocks_of_points_change_nothing(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    scores, positive, sample = draw(4)
    replication = Replication(method=method, replicates=50)
    whole = replicated_bands(make_scored_cases(scores, positive), sample, replication=replication)
    monkeypatch.setattr(cumulative_rates, "_BLOCK_ELEMENTS", 40)
    parts = replicated_bands(make_scored_cases(scores, positive), sample, replication=replication)
    same_bands(whole, parts)


def test_many_units_use_the_textbook_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, positive, sample = draw(4)
    monkeypatch.setattr(cumulative_rates, "_MANY", 10)
    same_bands(
        replicated_bands(make_scored_cases(scores, positive), sample),
        replicated_bands(make_scored_cases(scores, positive), sample, replication=Replication("linearised")),
    )
    assert replicated_bands(make_scored_cases(scores, positive), sample).tpr.method == "linearised"
    assert (
        replicated_bands(make_scored_cases(scores, positive), sample, replication=Replication("brr")).tpr.method
        == "brr"
    )


@pytest.mark.parametrize("lone", ["remove", "certainty", "adjust", "average"])
def test_lone_units_are_treated_as_replication_does(lone: str) -> None:
    scores, positive, sample = draw(13, strata=4, units=3)
    strata = np.where(sample.unit_of_case == 0, 99, sample.stratum_of_unit[sample.unit_of_case])
    other = make_sample(sample.cases, strata=strata, units=sample.unit_of_case, weights=sample.weights, lone=lone)
    bands = replicated_bands(make_scored_cases(scores, positive), other, replication=Replication("linearised"))
    for j in range(1, bands.at.size - 1):
        want = make_estimate(other, rate(scores >= bands.threshold[j], within=positive), Replication("linearised"))
        assert bands.tpr.se[j] == pytest.approx(want.se, abs=1e-12)


@given(st.integers(0, 300))
def test_square_steps_add_up_to_squared_totals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    group, place, w = rng.integers(0, 4, 30), rng.integers(0, 6, 30), rng.random(30)
    steps = cumulative_rates.square_steps(group, place, w)
    for j in range(6):
        want = sum(w[(group == g) & (place <= j)].sum() ** 2 for g in range(4))
        assert steps[place <= j].sum() == pytest.approx(want, abs=1e-12)


@given(st.integers(0, 300), st.sampled_from(["remove", "certainty", "adjust", "average"]))
@examples(40)
def test_errors_from_sums_are_those_of_units_taken_one_by_one(seed: int, lone: str) -> None:
    """The twin has an array of units by points, and squares deviations from the means of strata."""
    rng = np.random.default_rng(seed)
    strata = rng.integers(0, 4, 60)
    strata[0] = 9
    units, place = strata * 5 + rng.integers(0, 4, 60), rng.integers(0, 8, 60)
    sample = make_sample(60, strata=strata, units=units, weights=rng.random(60) + 0.1, lone=lone)
    along = cumulative_rates.RateErrors(sample, sample.unit_of_case, place, 7)
    weights = [np.where(of, sample.weights, 0.0) for of in (rng.random((2, 60)) < 0.6)]
    linear = [_linearised(sample, place, of, 7) for of in weights]
    a, b = (along.sums(of) for of in weights)
    own, other, both = (stratum_variances(sample, of).sum(axis=0) for of in (*linear, linear[0] + linear[1]))
    np.testing.assert_allclose(along.variance(a), own, rtol=1e-12, atol=1e-17)
    np.testing.assert_allclose(along.variance(b), other, rtol=1e-12, atol=1e-17)
    np.testing.assert_allclose(along.covariance(a, b), (both - own - other) / 2, rtol=0, atol=1e-15)


def _linearised(sample: Sample, place: IntArray, weights: FloatArray, points: int) -> FloatArray:
    entered = np.where(place[:, None] <= np.arange(points), weights[:, None], 0.0)
    linear = (entered - weights[:, None] * entered.sum(axis=0) / weights.sum()) / weights.sum()
    return np.stack([np.bincount(sample.unit_of_case, of, sample.units) for of in linear.T], axis=1)


@pytest.mark.slow
def test_few_errors_at_either_end_of_a_curve_keep_their_digits() -> None:
    """One positive in a million enters last: by hand, the variance over units of one case each is 1 / n^2."""
    n = 1_000_000
    sample, place = make_sample(n), np.zeros(n, dtype=np.intp)
    place[7] = 1
    last = cumulative_rates.RateErrors(sample, sample.unit_of_case, place, 1)
    first = cumulative_rates.RateErrors(sample, sample.unit_of_case, 1 - place, 1)
    for along in (last, first):
        assert along.variance(along.sums(np.ones(n)))[0] == pytest.approx(1 / n**2, rel=1e-12)


def same_bands(a: CurveBands, b: CurveBands) -> None:
    for one, other in ((a.tpr, b.tpr), (a.fpr, b.fpr)):
        for name in ("rate", "se", "low", "high"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=1e-11)


@given(st.integers(0, 1000), st.floats(0.01, 100))
@examples(25)
def test_invariances(seed: int, factor: float) -> None:
    scores, positive, sample = draw(seed)
    bands = replicated_bands(make_scored_cases(scores, positive), sample)
    strata = sample.stratum_of_unit[sample.unit_of_case]
    scaled = make_sample(sample.cases, strata=strata, units=sample.unit_of_case, weights=factor * sample.weights)
    same_bands(bands, replicated_bands(make_scored_cases(scores, positive), scaled))
    same_bands(bands, replicated_bands(make_scored_cases(np.arctan(scores), positive), sample))
    same_bands(bands, replicated_bands(make_scored_cases(-scores, positive, larger_is_better=False), sample))
    swapped = replicated_bands(make_scored_cases(scores, ~positive), sample)
    np.testing.assert_allclose(swapped.tpr.se, bands.fpr.se, rtol=0, atol=1e-12)
    order = np.random.default_rng(seed).permutation(sample.cases)
    moved = make_sample(
        sample.cases, strata=strata[order], units=sample.unit_of_case[order], weights=sample.weights[order]
    )
    same_bands(bands, replicated_bands(make_scored_cases(scores[order], positive[order]), moved))


def test_a_band_is_never_certain() -> None:
    scores, positive, sample = draw(5)
    bands = replicated_bands(make_scored_cases(scores, positive), sample)
    assert bands.tpr.se[0] == 0
    assert (bands.tpr.low[0], bands.tpr.low[-1] < 1) == (0.0, True)
    assert 0 < bands.tpr.high[0] < 1
    assert bands.tpr.high[-1] == 1
    # 12 units, the positives of each counted as one: Kish's number is at most 12.
    assert bands.tpr.low[-1] <= wilson(12, 12).low
    looser = replicated_bands(make_scored_cases(scores, positive), sample, replication=Replication(design_effect=2.0))
    assert looser.tpr.low[-1] < bands.tpr.low[-1]


def test_half_a_sample_without_positives_is_refused_with_the_remedy() -> None:
    scores, positive, sample = draw(6)
    lone = np.zeros_like(positive)
    lone[2] = True
    with pytest.raises(ValueError, match=r"rho of 0\.5"):
        replicated_bands(make_scored_cases(scores, lone), sample, replication=Replication(fay=0.0))
    assert replicated_bands(make_scored_cases(scores, lone), sample).tpr.fay == 0.5


@pytest.mark.parametrize(
    ("strata", "units", "target"),
    [
        (True, True, "these strata, new units"),
        (False, True, "new units"),
        (True, False, "these strata, new cases"),
        (False, False, "new cases"),
    ],
)
def test_the_target_is_named(strata: bool, units: bool, target: str) -> None:
    scores, positive, sample = draw(7)
    group = sample.stratum_of_unit[sample.unit_of_case]
    other = make_sample(sample.cases, strata=group if strata else None, units=sample.unit_of_case if units else None)
    assert replicated_bands(make_scored_cases(scores, positive), other).tpr.target == target
    assert wilson_bands(threshold_counts(scores, positive)).tpr.target == "new independent cases"


@pytest.mark.parametrize("weighted", [False, True])
def test_wilson_bands_are_wilson_at_every_point(weighted: bool) -> None:
    scores, positive, sample = draw(8)
    counts = threshold_counts(scores, positive, weights=sample.weights if weighted else None)
    bands = wilson_bands(counts, confidence=0.9)
    n = counts.positives.effective
    for j, value in enumerate(counts.tpr):
        want = wilson(value * n, n, confidence=0.9)
        assert (bands.tpr.low[j], bands.tpr.high[j]) == pytest.approx((want.low, want.high), abs=1e-12)
    some = wilson_bands(counts, [0, 3, 5])
    np.testing.assert_array_equal(some.threshold, counts.threshold[[0, 3, 5]])


@pytest.mark.slow
def test_bootstrap_bands_have_binomial_quantiles() -> None:
    # 40,000 resamples of 50 positives: a standard deviation is estimated to 0.35 %, a quantile to a step of 1/50.
    from scipy.special import bdtrik

    rng = np.random.default_rng(9)
    positive = np.arange(120) < 50
    counts = threshold_counts(rng.normal(size=120) + positive, positive)
    bands = bootstrap_bands(counts, rng=rng, replicates=40_000)
    inner = (bands.tpr.rate > 0.1) & (bands.tpr.rate < 0.9)
    p = bands.tpr.rate[inner]
    np.testing.assert_allclose(bands.tpr.se[inner], np.sqrt(p * (1 - p) / 50), rtol=0.02)
    np.testing.assert_allclose(bands.tpr.low[inner], bdtrik(0.025, 50, p) / 50, rtol=0, atol=1.01 / 50)
    np.testing.assert_allclose(bands.tpr.high[inner], bdtrik(0.975, 50, p) / 50, rtol=0, atol=1.01 / 50)
    # The points of a curve move together, and the end stays, but its limits have a width too.
    assert bands.tpr.low[-1] == pytest.approx(wilson(50, 50).low)


@experiments(500, quick=125)
def test_coverage_for_new_subjects(experiments: int) -> None:
    # 40 subjects with 5 genuine scores each, and the same for impostors; half of the variance between subjects.
    # 500 draws: a coverage of 95 % is estimated with a standard error of 1 %.
    rng = np.random.default_rng(10)
    unit = np.repeat(np.arange(40), 10)
    positive = np.arange(400) % 2 == 0
    sample = make_sample(400, units=unit)
    inside = naive = 0
    for _ in range(experiments):
        scores = rng.normal(size=40)[unit] + rng.normal(size=400) + positive
        scores[0] = 1.0
        counts = threshold_counts(scores, positive)
        at = np.flatnonzero(counts.threshold == 1.0)
        band = replicated_bands(make_scored_cases(scores, positive), sample, at).tpr
        inside += band.low[0] <= 0.5 <= band.high[0]
        wide = wilson_bands(counts, at).tpr
        naive += wide.low[0] <= 0.5 <= wide.high[0]
    assert abs(inside / experiments - 0.95) <= slack(0.03, full=500, experiments=experiments)
    assert naive <= 0.9 * experiments


def test_wrong_options_are_named() -> None:
    scores, positive, sample = draw(11)
    counts = threshold_counts(scores, positive, weights=sample.weights)
    with pytest.raises(ValueError, match="ascending places"):
        wilson_bands(counts, [3, 2])
    with pytest.raises(ValueError, match="ascending places"):
        replicated_bands(make_scored_cases(scores, positive), sample, [10_000])
    with pytest.raises(ValueError, match="confidence 95"):
        replicated_bands(make_scored_cases(scores, positive), sample, replication=Replication(confidence=95))
    with pytest.raises(ValueError, match="unequal weights"):
        bootstrap_bands(counts, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="two or more"):
        bootstrap_bands(threshold_counts(scores, positive), rng=np.random.default_rng(0), replicates=1)
