"""Replicated and linearised summaries: jackknife identities with DeLong, brute-force replicates, coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.stats.curves.auc import auc
from harness.stats.curves.cases import BoolArray, FloatArray, make_cases
from harness.stats.curves.clustered import clustered_difference, clustered_summary
from harness.stats.curves.counts import threshold_counts
from harness.stats.curves.delong import auc_interval, delong_test
from harness.stats.curves.equal_error import equal_error
from harness.stats.curves.operating import fnmr_at_fmr
from harness.stats.curves.replicated import (
    AREA,
    EQUAL_ERROR,
    Summary,
    curve_statistic,
    fnr_at_fpr,
    replicated_difference,
    replicated_summary,
)
from harness.stats.rates import wilson
from harness.stats.replication.estimate import replicate
from harness.stats.replication.plan import Plan, choose
from harness.stats.replication.sample import Sample, make_sample
from harness.stats.replication.statistic import OfWeights


def draw(seed: int, units: int = 2) -> tuple[FloatArray, FloatArray, BoolArray, Sample]:
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(5 * units), 6)
    positive = np.arange(unit.size) % 3 == 0
    common = rng.normal(size=5 * units)[unit] + positive
    a, b = (np.round(2 * (common + rng.normal(size=unit.size))) for _ in range(2))
    sample = make_sample(unit.size, strata=unit // units, units=unit, weights=rng.random(unit.size) + 0.2)
    return a, b, positive, sample


def direct(summary: str, scores: FloatArray, positive: BoolArray, weights: FloatArray) -> float:
    counts = threshold_counts(scores, positive, weights=weights)
    if summary == "auc":
        return auc(counts)
    return equal_error(counts).rate if summary == "eer" else fnmr_at_fmr(counts, 0.2).fnmr


SUMMARIES: list[tuple[str, Summary]] = [
    ("auc", AREA),
    ("eer", EQUAL_ERROR),
    ("fnmr", fnr_at_fpr(0.2)),
]


@pytest.mark.parametrize(("name", "summary"), SUMMARIES)
@pytest.mark.parametrize("units", [2, 3, 4])
@pytest.mark.parametrize("method", ["brr", "jackknife", "bootstrap"])
def test_each_replicate_is_the_curve_with_its_weights(name: str, summary: Summary, units: int, method: str) -> None:
    scores, _, positive, sample = draw(1, units)
    plan = Plan(method=method, replicates=60)
    if method == "jackknife" and not summary.smooth:
        with pytest.raises(ValueError, match="jackknife is wrong"):
            replicated_summary(summary, make_cases(scores, positive), sample, plan=plan)
        return
    found = replicated_summary(summary, make_cases(scores, positive), sample, plan=plan)
    assert found.estimate.estimate == pytest.approx(direct(name, scores, positive, sample.weights), abs=1e-12)
    replicates = choose(sample, OfWeights(lambda w: 0.0), plan).replicates
    assert replicates is not None
    factors = np.concatenate(list(replicates.weights()))
    values = np.array([direct(name, scores, positive, f[sample.unit_of_case] * sample.weights) for f in factors])
    want = float(replicates.variance(values, found.estimate.estimate))
    assert found.estimate.se**2 == pytest.approx(want, rel=1e-9)
    assert found.target == "these strata, new units"


@pytest.mark.parametrize("seed", range(5))
def test_jackknife_within_classes_is_delong(seed: int) -> None:
    # Leaving out one case of a class moves the area by its placement: the two variances are the same formula.
    a, b, positive, _ = draw(seed)
    one, other = make_cases(a, positive), make_cases(b, positive)
    sample = make_sample(a.size, strata=positive.astype(int))
    plan = Plan(method="jackknife")
    se = auc_interval(one).se
    assert replicated_summary(AREA, one, sample, plan=plan).estimate.se == pytest.approx(se, rel=1e-10)
    assert clustered_summary("auc", one, sample).se == pytest.approx(se, rel=1e-10)
    gap_se = delong_test(one, other).se
    assert replicated_difference(AREA, one, other, sample, plan=plan).estimate.se == pytest.approx(gap_se, rel=1e-10)
    assert clustered_difference("auc", one, other, sample).se == pytest.approx(gap_se, rel=1e-10)


def test_linearised_and_jackknifed_area_agree_for_many_units() -> None:
    # They differ to second order in 1 / units.
    a, b, positive, sample = draw(2, units=60)
    one, other, plan = make_cases(a, positive), make_cases(b, positive), Plan("jackknife")
    slow = replicated_summary(AREA, one, sample, plan=plan), replicated_difference(AREA, one, other, sample, plan=plan)
    fast = clustered_summary("auc", one, sample), clustered_difference("auc", one, other, sample)
    for linear, jackknifed in zip(fast, slow, strict=True):
        assert linear.estimate == pytest.approx(jackknifed.estimate.estimate, abs=1e-12)
        assert linear.se == pytest.approx(jackknifed.estimate.se, rel=0.02)
        assert linear.df == jackknifed.estimate.df
        assert linear.target == jackknifed.target


def test_linearised_and_bootstrapped_equal_error_rate_agree() -> None:
    # Smooth scores of many units; the slope of the curve is estimated, hence not closer.
    rng = np.random.default_rng(8)
    unit = np.repeat(np.arange(300), 6)
    positive = np.arange(unit.size) % 3 == 0
    common = 0.5 * rng.normal(size=300)[unit] + 1.5 * positive
    a, b = (common + rng.normal(size=unit.size) for _ in range(2))
    sample, plan = make_sample(unit.size, units=unit), Plan(replicates=400)
    fast, slow = (
        clustered_summary("eer", make_cases(a, positive), sample),
        replicated_summary(EQUAL_ERROR, make_cases(a, positive), sample, plan=plan),
    )
    assert fast.estimate == pytest.approx(slow.estimate.estimate, abs=1e-12)
    # 400 resamples: the bootstrap's standard error has a relative error of 4 %.
    assert slow.estimate.method == "bootstrap"
    assert fast.se == pytest.approx(slow.estimate.se, rel=0.15)
    gap = clustered_difference("eer", make_cases(a, positive), make_cases(b, positive), sample)
    assert gap.p_value is not None
    assert (gap.p_value < 0.05) == (not gap.interval.low <= 0 <= gap.interval.high)


@given(st.integers(0, 500))
@settings(max_examples=20)
def test_invariances(seed: int) -> None:
    a, b, positive, sample = draw(seed)
    one, other = make_cases(a, positive), make_cases(b, positive)
    gap, back = clustered_difference("auc", one, other, sample), clustered_difference("auc", other, one, sample)
    assert (gap.estimate, gap.se) == pytest.approx((-back.estimate, back.se), abs=1e-12)
    area = clustered_summary("auc", one, sample)
    assert clustered_summary("auc", make_cases(np.exp(a), positive), sample).se == pytest.approx(area.se, abs=1e-12)
    swapped = clustered_summary("auc", make_cases(a, ~positive), sample)
    assert swapped.estimate == pytest.approx(1 - area.estimate, abs=1e-12)
    eer = replicated_summary(EQUAL_ERROR, make_cases(a, positive), sample).estimate
    turned = replicated_summary(EQUAL_ERROR, make_cases(-a, positive, larger_is_better=False), sample).estimate
    assert (turned.estimate, turned.se) == pytest.approx((eer.estimate, eer.se), abs=1e-12)


def test_the_delete_one_jackknife_is_wrong_for_equal_error_rates() -> None:
    # 400 draws estimate the true standard error to 3.5 %; the linear form is right, the jackknife a fifth too large
    # at the least.
    rng = np.random.default_rng(9)
    unit = np.repeat(np.arange(100), 6)
    positive = np.arange(600) % 3 == 0
    sample = make_sample(600, units=unit)
    rates, linear, jackknifed = [], [], []
    for i in range(400):
        cases = make_cases(0.5 * rng.normal(size=100)[unit] + 1.5 * positive + rng.normal(size=600), positive)
        found = clustered_summary("eer", cases, sample)
        rates.append(found.estimate)
        linear.append(found.se)
        if i < 60:
            jackknifed.append(replicate(sample, curve_statistic(EQUAL_ERROR, cases), Plan("jackknife")).se)
    truth = np.std(rates)
    assert np.sqrt(np.mean(np.square(linear))) == pytest.approx(truth, rel=0.11)
    assert np.sqrt(np.mean(np.square(jackknifed))) > 1.2 * truth


def test_no_difference_has_p_1_and_fay_is_a_half() -> None:
    a, _, positive, sample = draw(3)
    same = replicated_difference(AREA, make_cases(a, positive), make_cases(np.exp(a), positive), sample).estimate
    assert (same.estimate, same.p_value) == (0.0, 1.0)
    assert same.fay == 0.5
    assert clustered_difference("auc", make_cases(a, positive), make_cases(a, positive), sample).p_value == 1.0


def test_difference_has_a_p_value() -> None:
    a, b, positive, sample = draw(4)
    found = replicated_difference(AREA, make_cases(a, positive), make_cases(b, positive), sample).estimate
    assert found.p_value is not None
    assert (found.p_value < 0.05) == (not found.interval.low <= 0 <= found.interval.high)
    assert clustered_summary("auc", make_cases(a, positive), sample).p_value is None


def test_perfect_separation_is_no_certainty() -> None:
    _, _, positive, sample = draw(5)
    found = replicated_summary(AREA, make_cases(positive.astype(float), positive), sample).estimate
    assert found.estimate == 1.0
    assert found.interval.low <= wilson(10, 10).low
    fast = clustered_summary("auc", make_cases(positive.astype(float), positive), sample)
    assert (fast.se, fast.interval) == (0.0, found.interval)


def test_coverage_for_new_subjects() -> None:
    # Each subject has its own level, for genuine scores only: DeLong's interval takes its 6 scores for independent.
    # 500 draws: a coverage of 95 % is estimated with a standard error of 1 %.
    from scipy.special import ndtr

    rng = np.random.default_rng(6)
    unit = np.repeat(np.arange(30), 12)
    positive = np.arange(360) % 2 == 0
    sample = make_sample(360, units=unit)
    truth, eer = float(ndtr(1 / np.sqrt(2.5))), float(ndtr(-1 / (1 + np.sqrt(1.5))))
    inside = naive = errors = 0
    for _ in range(500):
        scores = rng.normal(size=360) + np.where(positive, 1 + np.sqrt(0.5) * rng.normal(size=30)[unit], 0)
        found = clustered_summary("auc", make_cases(scores, positive), sample).interval
        inside += found.low <= truth <= found.high
        error = clustered_summary("eer", make_cases(scores, positive), sample).interval
        errors += error.low <= eer <= error.high
        plain = auc_interval(make_cases(scores, positive)).interval
        naive += plain.low <= truth <= plain.high
    assert 0.92 * 500 <= inside <= 0.98 * 500
    assert 0.92 * 500 <= errors <= 0.98 * 500
    assert naive <= 0.88 * 500


def test_cases_that_do_not_belong_together_are_refused() -> None:
    a, b, positive, sample = draw(7)
    cases = make_cases(a, positive)
    with pytest.raises(ValueError, match="different cases"):
        delong_test(cases, make_cases(b, ~positive))
    with pytest.raises(ValueError, match="different cases"):
        clustered_difference("auc", cases, make_cases(b, ~positive), sample)
    with pytest.raises(ValueError, match="different cases"):
        replicated_difference(AREA, cases, make_cases(b, ~positive), sample)
    with pytest.raises(ValueError, match="other weights"):
        clustered_summary("auc", make_cases(a, positive, weights=np.ones(a.size)), sample)
    with pytest.raises(ValueError, match="one score a case"):
        clustered_summary("auc", make_cases(a[:-1], positive[:-1]), sample)


def test_wrong_options_are_named() -> None:
    a, b, positive, sample = draw(7)
    with pytest.raises(ValueError, match="limit 2"):
        fnr_at_fpr(2)
    with pytest.raises(ValueError, match="confidence"):
        clustered_difference("auc", make_cases(a, positive), make_cases(b, positive), sample, confidence=95)
    with pytest.raises(ValueError, match="no negative case"):
        replicated_summary(AREA, make_cases(a, np.ones(a.size)), sample)
