"""Summaries of curves, of cases and of elements: identities with DeLong, brute-force replicates, coverage."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score

from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.curves.roc import auc, equal_error, point_at_fpr
from harness.stats.curves.scores import make_scored_cases, threshold_counts
from harness.stats.curves.summaries import (
    AREA,
    EQUAL_ERROR,
    CurveSummary,
    ScoredElements,
    element_sample,
    element_statistic,
    fnr_at_fpr,
    summary_difference,
    summary_estimate,
    summary_statistic,
)
from harness.stats.estimate import Estimate
from harness.stats.limits import auc_end_limit, cases_without_variance
from harness.stats.rates import Interval
from harness.stats.replication.estimates import make_estimate, make_estimates
from harness.stats.replication.method import Method, Replication, variance_method
from harness.stats.replication.sample import Sample, make_sample, unit_sums
from harness.stats.replication.statistic import WeightsStatistic
from tests.simulation import examples, experiments, slack

LINEAR = Replication(method="linearised")


def draw(seed: int, units: int = 2) -> tuple[FloatArray, FloatArray, BoolArray, Sample]:
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(5 * units), 6)
    positive = np.arange(unit.size) % 3 == 0
    common = rng.normal(size=5 * units)[unit] + positive
    a, b = (np.round(2 * (common + rng.normal(size=unit.size))) for _ in range(2))
    sample = make_sample(unit.size, strata=unit // units, units=unit, weights=rng.random(unit.size) + 0.2)
    return a, b, positive, sample


def interval_of(result: Estimate) -> Interval:
    assert result.interval is not None
    return result.interval


def direct(summary: str, scores: FloatArray, positive: BoolArray, weights: FloatArray) -> float:
    counts = threshold_counts(scores, positive, weights=weights)
    if summary == "auc":
        return auc(counts)
    return equal_error(counts).rate if summary == "eer" else point_at_fpr(counts, 0.2).fnr


SUMMARIES: list[tuple[str, CurveSummary]] = [
    ("auc", AREA),
    ("eer", EQUAL_ERROR),
    ("fnmr", fnr_at_fpr(0.2)),
]


@pytest.mark.parametrize(("name", "summary"), SUMMARIES)
@pytest.mark.parametrize("units", [2, 3, 4])
@pytest.mark.parametrize("method", ["brr", "jackknife", "bootstrap"])
def test_each_replicate_is_the_curve_with_its_weights(
    name: str, summary: CurveSummary, units: int, method: str
) -> None:
    scores, _, positive, sample = draw(1, units)
    replication = Replication(method=method, replicates=60)
    if method == "jackknife" and not summary.smooth:
        with pytest.raises(ValueError, match="jackknife is wrong"):
            summary_estimate(summary, make_scored_cases(scores, positive), sample, replication)
        return
    result = summary_estimate(summary, make_scored_cases(scores, positive), sample, replication)
    assert result.value == pytest.approx(direct(name, scores, positive, sample.weights), abs=1e-12)
    replicates = variance_method(sample, WeightsStatistic(lambda w: 0.0), replication).replicates
    assert replicates is not None
    factors = np.concatenate(list(replicates.weights()))
    values = np.array([direct(name, scores, positive, f[sample.unit_of_case] * sample.weights) for f in factors])
    want = float(replicates.variance(values, result.value))
    assert result.se**2 == pytest.approx(want, rel=1e-9)
    assert (result.method, result.replicates, result.df) == (method, replicates.count, replicates.df)
    assert sample.target == "these strata, new units"


@pytest.mark.parametrize("summary", [AREA, EQUAL_ERROR])
@pytest.mark.parametrize("method", ["brr", "linearised", "bootstrap"])
def test_cells_are_single_summaries_of_their_cases(summary: CurveSummary, method: str) -> None:
    """Two runs, and one of them in a group: the members of a statistic, with the covariance between them."""
    a, b, positive, sample = draw(6, 3)
    one, other = (make_scored_cases(scores, positive, weights=sample.weights) for scores in (a, b))
    inside = np.arange(a.size) % 6 != 1
    replication = Replication(method=method, replicates=60)
    joint = make_estimates(sample, summary_statistic(summary, [(one, None), (other, None), (one, inside)]), replication)
    for member, scores in enumerate((a, b)):
        single = summary_estimate(summary, make_scored_cases(scores, positive), sample, replication)
        assert (joint.values[member], joint.se[member]) == pytest.approx((single.value, single.se), rel=1e-9)
    weights = sample.weights * inside
    assert joint.values[2] == pytest.approx(direct(summary.name, a, positive, weights), abs=1e-12)
    gap = summary_difference(
        summary, make_scored_cases(a, positive), make_scored_cases(b, positive), sample, replication
    )
    result = joint.difference(0, 1)
    assert (result.value, result.se, result.p_value) == pytest.approx((gap.value, gap.se, gap.p_value), rel=1e-9)
    replicates = variance_method(sample, summary_statistic(summary, [(one, None)]), replication).replicates
    if replicates is not None:
        factors = np.concatenate(list(replicates.weights()))
        values = [direct(summary.name, a, positive, f[sample.unit_of_case] * weights) for f in factors]
        assert joint.se[2] ** 2 == pytest.approx(
            float(replicates.variance(np.array(values), joint.values[2])), rel=1e-9
        )


@pytest.mark.parametrize("seed", range(5))
def test_jackknife_within_classes_is_delong(seed: int) -> None:
    # Leaving out one case of a class changes the area by its placement: the two variances are the same formula.
    a, b, positive, _ = draw(seed)
    one, other = make_scored_cases(a, positive), make_scored_cases(b, positive)
    sample = make_sample(a.size, strata=positive.astype(int))
    replication = Replication(method="jackknife")
    se = summary_estimate(AREA, one).se
    assert summary_estimate(AREA, one, sample, replication).se == pytest.approx(se, rel=1e-10)
    assert summary_estimate(AREA, one, sample, LINEAR).se == pytest.approx(se, rel=1e-10)
    gap_se = summary_difference(AREA, one, other).se
    assert summary_difference(AREA, one, other, sample, replication).se == pytest.approx(gap_se, rel=1e-10)
    assert summary_difference(AREA, one, other, sample, LINEAR).se == pytest.approx(gap_se, rel=1e-10)


def test_linearised_and_jackknifed_area_agree_for_many_units() -> None:
    # They differ to second order in 1 / units.
    a, b, positive, sample = draw(2, units=60)
    one, other = make_scored_cases(a, positive), make_scored_cases(b, positive)
    for linear, jackknifed in (
        [summary_estimate(AREA, one, sample, way) for way in (LINEAR, Replication("jackknife"))],
        [summary_difference(AREA, one, other, sample, way) for way in (LINEAR, Replication("jackknife"))],
    ):
        assert (linear.method, jackknifed.method) == ("linearised", "jackknife")
        assert linear.value == pytest.approx(jackknifed.value, abs=1e-12)
        assert linear.se == pytest.approx(jackknifed.se, rel=0.02)
        assert linear.df == jackknifed.df


def test_linearised_and_bootstrapped_equal_error_rate_agree() -> None:
    # Smooth scores of many units; the slope of the curve is estimated, so they agree no better than this.
    rng = np.random.default_rng(8)
    unit = np.repeat(np.arange(300), 6)
    positive = np.arange(unit.size) % 3 == 0
    common = 0.5 * rng.normal(size=300)[unit] + 1.5 * positive
    a, b = (common + rng.normal(size=unit.size) for _ in range(2))
    sample = make_sample(unit.size, units=unit)
    one, other = make_scored_cases(a, positive), make_scored_cases(b, positive)
    fast, slow = (
        summary_estimate(EQUAL_ERROR, one, sample),
        summary_estimate(EQUAL_ERROR, one, sample, Replication("bootstrap", replicates=400)),
    )
    assert fast.value == pytest.approx(slow.value, abs=1e-12)
    # 400 resamples: the bootstrap's standard error has a relative error of 4 %.
    assert (fast.method, slow.method, slow.replicates) == ("linearised", "bootstrap", 400)
    assert fast.se == pytest.approx(slow.se, rel=0.15)
    # Without a linear form the bootstrap is the default.
    assert summary_estimate(fnr_at_fpr(0.2), one, sample, Replication(replicates=50)).method == "bootstrap"
    gap = summary_difference(EQUAL_ERROR, one, other, sample)
    assert gap.p_value is not None
    assert (gap.p_value < 0.05) == (not interval_of(gap).low <= 0 <= interval_of(gap).high)


@given(st.integers(0, 500))
@examples(20)
def test_invariances(seed: int) -> None:
    a, b, positive, sample = draw(seed)
    one, other = make_scored_cases(a, positive), make_scored_cases(b, positive)
    gap, back = (summary_difference(AREA, *pair, sample, LINEAR) for pair in ((one, other), (other, one)))
    assert (gap.value, gap.se) == pytest.approx((-back.value, back.se), abs=1e-12)
    assert (interval_of(gap).low, interval_of(gap).high) == pytest.approx(
        (-interval_of(back).high, -interval_of(back).low), abs=1e-9
    )
    area = summary_estimate(AREA, one, sample, LINEAR)
    bent = summary_estimate(AREA, make_scored_cases(np.exp(a), positive), sample, LINEAR)
    assert bent.se == pytest.approx(area.se, abs=1e-12)
    swapped = summary_estimate(AREA, make_scored_cases(a, ~positive), sample, LINEAR)
    assert swapped.value == pytest.approx(1 - area.value, abs=1e-12)
    assert (interval_of(swapped).low, interval_of(swapped).high) == pytest.approx(
        (1 - interval_of(area).high, 1 - interval_of(area).low), abs=1e-9
    )
    eer = summary_estimate(EQUAL_ERROR, make_scored_cases(a, positive), sample)
    turned = summary_estimate(EQUAL_ERROR, make_scored_cases(-a, positive, larger_is_better=False), sample)
    assert (turned.value, turned.se) == pytest.approx((eer.value, eer.se), abs=1e-12)


@experiments(400, quick=100)
def test_the_delete_one_jackknife_is_wrong_for_equal_error_rates(experiments: int) -> None:
    # 400 draws estimate the true standard error to 3.5 %; the linear form is right, the jackknife at least a fifth
    # too large.
    rng = np.random.default_rng(9)
    unit = np.repeat(np.arange(100), 6)
    positive = np.arange(600) % 3 == 0
    sample = make_sample(600, units=unit)
    rates, linear, jackknifed = [], [], []
    for i in range(experiments):
        cases = make_scored_cases(0.5 * rng.normal(size=100)[unit] + 1.5 * positive + rng.normal(size=600), positive)
        result = summary_estimate(EQUAL_ERROR, cases, sample, LINEAR)
        rates.append(result.value)
        linear.append(result.se)
        if i < experiments * 0.15:
            # The same function, without saying that it is not smooth.
            curve = summary_statistic(EQUAL_ERROR, [(cases, None)]).function
            jackknifed.append(make_estimate(sample, WeightsStatistic(curve), Replication("jackknife")).se)
    truth = np.std(rates)
    allowed = slack(0.11, full=400, experiments=experiments)
    assert np.sqrt(np.mean(np.square(linear))) == pytest.approx(truth, rel=allowed)
    assert np.sqrt(np.mean(np.square(jackknifed))) > 1.2 * truth


def test_no_difference_has_p_1_and_fay_is_a_half() -> None:
    a, _, positive, sample = draw(3)
    one, bent = make_scored_cases(a, positive), make_scored_cases(np.exp(a), positive)
    same = summary_difference(AREA, one, bent, sample)
    assert (same.value, same.p_value) == (0.0, 1.0)
    assert (same.method, same.fay) == ("brr", 0.5)
    assert summary_difference(AREA, one, one, sample, LINEAR).p_value == 1.0
    assert summary_difference(EQUAL_ERROR, one, bent, sample, LINEAR).p_value == 1.0


def test_difference_has_a_p_value() -> None:
    a, b, positive, sample = draw(4)
    result = summary_difference(AREA, make_scored_cases(a, positive), make_scored_cases(b, positive), sample)
    assert result.p_value is not None
    assert result.p_value == pytest.approx(2 * student.sf(abs(result.value) / result.se, result.df))
    assert (result.p_value < 0.05) == (not interval_of(result).low <= 0 <= interval_of(result).high)
    assert summary_estimate(AREA, make_scored_cases(a, positive), sample, LINEAR).p_value is None


def test_perfect_separation_is_not_certain() -> None:
    _, _, positive, sample = draw(5)
    perfect = make_scored_cases(positive.astype(float), positive)
    result = summary_estimate(AREA, perfect, sample)
    assert (result.value, interval_of(result).high) == (1.0, 1.0)
    # Each class has the effective size of its cases in 10 units, by Kish's numbers.
    sizes = []
    for of in (positive, ~positive):
        by_unit = unit_sums(sample, of)
        cases = sample.weights[of].sum() ** 2 / (sample.weights[of] ** 2).sum()
        sizes.append(float(cases_without_variance(cases, by_unit.sum() ** 2 / (by_unit**2).sum())))
    assert interval_of(result).low == pytest.approx(float(auc_end_limit(*sizes)))
    # Classes of 20 and 40 independent cases would have larger effective sizes.
    assert interval_of(result).low < float(auc_end_limit(20, 40))
    fast = summary_estimate(AREA, perfect, sample, LINEAR)
    assert (fast.se, fast.interval) == (0.0, result.interval)
    # Nearly perfect is no more certain than perfect.
    scores = positive.astype(float)
    scores[np.flatnonzero(~positive)[0]] = 2.0
    nearly = summary_estimate(AREA, make_scored_cases(scores, positive), sample, LINEAR)
    assert nearly.se > 0
    assert interval_of(nearly).low <= interval_of(fast).low


@pytest.mark.slow
@experiments(500, quick=100)
def test_coverage_for_new_subjects(experiments: int) -> None:
    # Each subject has its own level, for genuine scores only: DeLong's interval treats its 6 scores as independent.
    # 500 draws: a coverage of 95 % is estimated with a standard error of 1 %.
    from scipy.special import ndtr

    rng = np.random.default_rng(6)
    unit = np.repeat(np.arange(30), 12)
    positive = np.arange(360) % 2 == 0
    sample = make_sample(360, units=unit)
    truth, eer = float(ndtr(1 / np.sqrt(2.5))), float(ndtr(-1 / (1 + np.sqrt(1.5))))
    inside = naive = errors = 0
    for _ in range(experiments):
        scores = rng.normal(size=360) + np.where(positive, 1 + np.sqrt(0.5) * rng.normal(size=30)[unit], 0)
        result = interval_of(summary_estimate(AREA, make_scored_cases(scores, positive), sample))
        inside += result.low <= truth <= result.high
        error = interval_of(summary_estimate(EQUAL_ERROR, make_scored_cases(scores, positive), sample))
        errors += error.low <= eer <= error.high
        plain = interval_of(summary_estimate(AREA, make_scored_cases(scores, positive)))
        naive += plain.low <= truth <= plain.high
    allowed = slack(0.03, full=500, experiments=experiments)
    assert abs(inside / experiments - 0.95) <= allowed
    assert abs(errors / experiments - 0.95) <= allowed
    assert naive <= 0.88 * experiments


def test_cases_that_do_not_belong_together_are_refused() -> None:
    a, b, positive, sample = draw(7)
    cases = make_scored_cases(a, positive)
    with pytest.raises(ValueError, match="different cases"):
        summary_difference(AREA, cases, make_scored_cases(b, ~positive))
    with pytest.raises(ValueError, match="different cases"):
        summary_difference(AREA, cases, make_scored_cases(b, ~positive), sample, LINEAR)
    with pytest.raises(ValueError, match="different cases"):
        summary_difference(AREA, cases, make_scored_cases(b, ~positive), sample)
    with pytest.raises(ValueError, match="weights of the cases differ"):
        summary_estimate(AREA, make_scored_cases(a, positive, weights=np.ones(a.size)), sample, LINEAR)
    with pytest.raises(ValueError, match="expected one per case"):
        summary_estimate(AREA, make_scored_cases(a[:-1], positive[:-1]), sample, LINEAR)


def test_wrong_options_are_named() -> None:
    a, b, positive, sample = draw(7)
    with pytest.raises(ValueError, match="limit 2"):
        fnr_at_fpr(2)
    with pytest.raises(ValueError, match="confidence"):
        summary_difference(
            AREA, make_scored_cases(a, positive), make_scored_cases(b, positive), sample, Replication(confidence=95)
        )
    with pytest.raises(ValueError, match="no negative case"):
        summary_estimate(AREA, make_scored_cases(a, np.ones(a.size)), sample)
    with pytest.raises(ValueError, match=r"false negative rate at fpr 0\.1 has no linear form"):
        summary_estimate(fnr_at_fpr(0.1), make_scored_cases(a, positive), sample, LINEAR)


CASES = 24


def elements(seed: int) -> ScoredElements:
    """Cases of different sizes, whose elements are alike."""
    rng = np.random.default_rng(seed)
    case = np.repeat(np.arange(CASES), rng.integers(3, 30, CASES))
    positive = rng.random(case.size) < 0.4
    shift = rng.normal(0, 0.7, CASES)[case]
    score = np.round(positive * 1.2 + shift + rng.normal(0, 1, case.size), 1)
    return ScoredElements(make_scored_cases(score, positive, weights=rng.integers(1, 5, case.size)), case)


def written_out(found: ScoredElements) -> ScoredElements:
    """The same with an element for each unit of weight."""
    times = found.weight.astype(int)
    scored = make_scored_cases(np.repeat(found.scored.better, times), np.repeat(found.scored.positive, times))
    return ScoredElements(scored, np.repeat(found.case, times))


def test_the_area_is_that_of_all_elements() -> None:
    found = elements(1)
    estimates = make_estimates(make_sample(CASES), element_statistic(AREA, [(found, None)]))
    whole = written_out(found).scored
    assert estimates.estimate(0).value == pytest.approx(roc_auc_score(whole.positive, whole.better), abs=1e-12)


@pytest.mark.parametrize("summary", [AREA, EQUAL_ERROR], ids=lambda one: one.name)
def test_elements_that_are_alike_can_be_one_with_their_weight(summary: CurveSummary) -> None:
    found = elements(2)
    one, other = (
        make_estimates(make_sample(CASES), element_statistic(summary, [(each, None)])).estimate(0)
        for each in (found, written_out(found))
    )
    assert (one.value, one.se) == pytest.approx((other.value, other.se), rel=1e-12)


def test_one_element_a_case_is_an_ordinary_curve() -> None:
    rng = np.random.default_rng(3)
    positive = np.arange(60) % 2 == 0
    scored = make_scored_cases(rng.normal(positive, 1.0), positive)
    sample = make_sample(60, strata=np.arange(60) // 20)
    ordinary = make_estimates(
        sample, summary_statistic(AREA, [(replace(scored, weights=sample.weights), None)])
    ).estimate(0)
    spread = make_estimates(sample, element_statistic(AREA, [(ScoredElements(scored, np.arange(60)), None)])).estimate(
        0
    )
    assert (spread.value, spread.se) == pytest.approx((ordinary.value, ordinary.se), rel=1e-12)


def test_the_error_is_that_of_leaving_out_whole_cases() -> None:
    """The delete-one jackknife over cases, written out: no element is left out without its case."""
    found = elements(4)
    whole = written_out(found)
    left = [
        roc_auc_score(whole.scored.positive[whole.case != case], whole.scored.better[whole.case != case])
        for case in range(CASES)
    ]
    area = roc_auc_score(whole.scored.positive, whole.scored.better)
    jackknife = np.sqrt((CASES - 1) / CASES * np.sum((np.array(left) - area) ** 2))
    sample = make_sample(CASES, units=np.arange(CASES))
    estimate = make_estimates(
        sample, element_statistic(AREA, [(found, None)]), Replication(method=Method.JACKKNIFE)
    ).estimate(0)
    assert estimate.se == pytest.approx(jackknife, rel=1e-9)
    linear = make_estimates(sample, element_statistic(AREA, [(found, None)]), Replication(method=Method.LINEARISED))
    assert linear.estimate(0).se == pytest.approx(jackknife, rel=0.1)


def test_a_difference_is_paired_by_case() -> None:
    """Two runs with the same scores differ by 0, without error."""
    found = elements(5)
    statistic = element_statistic(AREA, [(found, None), (found, None)])
    difference = make_estimates(make_sample(CASES), statistic).difference(0, 1)
    assert difference.value == 0
    assert difference.se == pytest.approx(0, abs=1e-12)


def test_cases_outside_a_group_do_not_count() -> None:
    found = elements(6)
    inside = np.arange(CASES) % 3 == 0
    estimate = make_estimates(make_sample(CASES), element_statistic(AREA, [(found, inside)])).estimate(0)
    whole = written_out(found)
    part = inside[whole.case]
    assert estimate.value == pytest.approx(
        roc_auc_score(whole.scored.positive[part], whole.scored.better[part]), abs=1e-12
    )


def test_elements_are_in_the_unit_of_their_case() -> None:
    found = elements(7)
    sample = make_sample(CASES, units=np.arange(CASES) // 3, weights=np.arange(1, CASES + 1))
    spread = element_sample(sample, found)
    assert spread.units == sample.units
    assert np.array_equal(spread.unit_of_case, (np.arange(CASES) // 3)[found.case])
    assert spread.weights == pytest.approx((found.case + 1) * found.weight)
