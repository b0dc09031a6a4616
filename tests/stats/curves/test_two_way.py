"""Two-way variance: against leaving out subjects one by one, cluster identities, and coverage by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.curves.roc import equal_error
from harness.stats.curves.scores import make_scored_cases, threshold_counts
from harness.stats.curves.summaries import AREA, summary_estimate
from harness.stats.curves.two_way import Subjects, two_way_bands, two_way_rate, two_way_summary
from harness.stats.estimate import Estimate
from harness.stats.limits import share_limits
from harness.stats.rates import Interval, clopper_pearson, wilson
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import make_sample
from harness.stats.replication.statistic import rate
from tests.simulation import examples, experiments, slack


def comparisons(k: int, genuine: int) -> tuple[IntArray, IntArray]:
    """All pairs of k subjects, and some comparisons of each with itself."""
    i, j = np.triu_indices(k, 1)
    own = np.repeat(np.arange(k), genuine)
    return np.concatenate([own, i]), np.concatenate([own, j])


def draw(seed: int, k: int = 8, spread: float = 0.5) -> tuple[FloatArray, BoolArray, Subjects, FloatArray]:
    rng = np.random.default_rng(seed)
    a, b = comparisons(k, 2)
    level = spread * rng.normal(size=k)
    positive = a == b
    scores = np.round(3 * (level[a] + level[b] + rng.normal(size=a.size) + 1.5 * positive))
    return scores, positive, Subjects.of(a, b), rng.random(a.size) + 0.2


def interval_of(result: Estimate) -> Interval:
    assert result.interval is not None
    return result.interval


def brute_variance(y: FloatArray, w: FloatArray, a: IntArray, b: IntArray, *, sides: int) -> float:
    """Leave out each subject in turn; then subtract each cell of two subjects once."""
    mean = np.average(y, weights=w)
    total = 0.0
    people = sorted(set(a.tolist()) | set(b.tolist()))
    for s in people:
        rest = (a != s) & (b != s)
        n = len(people) if sides == 1 else len(set(a.tolist())) if s in a else len(set(b.tolist()))
        total += (n - 1) / n * float(np.average(y[rest], weights=w[rest]) - mean) ** 2
    twice = 0.0
    for pair in {(min(p), max(p)) for p in zip(a.tolist(), b.tolist(), strict=True) if p[0] != p[1]}:
        inside = (np.minimum(a, b) == pair[0]) & (np.maximum(a, b) == pair[1])
        twice += float((w[inside] * (y[inside] - mean)).sum() / w.sum()) ** 2
    return max(total - twice, total / 2)


@pytest.mark.parametrize("seed", range(6))
def test_one_set_of_subjects_equals_leaving_out_each(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 7, 60), rng.integers(0, 7, 60)
    y, w = (rng.random(60) < 0.3).astype(float), rng.random(60)
    result = two_way_rate(y, Subjects.of(a, b), weights=w)
    assert result.se**2 == pytest.approx(brute_variance(y, w, a, b, sides=1), rel=1e-10)
    assert (result.df, result.units, result.cases, result.method) == (6, 7, 60, "two-way")
    # Kish's number of comparisons, and Student's t: the limits of a share.
    cases = w.sum() ** 2 / (w**2).sum()
    want = share_limits(result.value, result.se, 6, cases=cases, units=cases)
    assert (interval_of(result).low, interval_of(result).high) == pytest.approx((float(want.low), float(want.high)))


@pytest.mark.parametrize("seed", range(6))
def test_rows_and_columns_equal_leaving_out_each(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 5, 60), 100 + rng.integers(0, 9, 60)
    y, w = (rng.random(60) < 0.3).astype(float), rng.random(60)
    result = two_way_rate(y, Subjects.of(a, b), weights=w)
    assert result.se**2 == pytest.approx(brute_variance(y, w, a, b, sides=2), rel=1e-10)
    assert (result.df, result.units) == (4, 14)


def test_each_subject_with_itself_is_the_cluster_jackknife() -> None:
    rng = np.random.default_rng(1)
    unit = np.repeat(np.arange(12), 4)
    y = (rng.random(48) < 0.6).astype(float)
    want = make_estimate(make_sample(48, units=unit), rate(y), Replication(method="jackknife"))
    result = two_way_rate(y, Subjects.of(unit, unit))
    assert result.se == pytest.approx(want.se, rel=1e-10)
    assert (interval_of(result).low, interval_of(result).high) == pytest.approx(
        (interval_of(want).low, interval_of(want).high)
    )


def test_scores_that_share_no_subject_are_independent() -> None:
    rng = np.random.default_rng(2)
    y = (rng.random(400) < 0.4).astype(float)
    result = two_way_rate(y, Subjects.of(np.arange(400), 1000 + np.arange(400)))
    assert result.se == pytest.approx(np.sqrt(y.var() / 400), rel=0.01)
    assert result.design_effect == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("repeats", [1, 3])
def test_bands_equal_the_rate_at_each_threshold(repeats: int) -> None:
    scores, positive, subjects, weights = draw(3)
    if repeats > 1:
        rng = np.random.default_rng(3)
        scores = np.concatenate([scores + rng.integers(-2, 3, scores.size) for _ in range(repeats)])
        positive, weights = np.tile(positive, repeats), np.tile(weights, repeats)
        subjects = Subjects.of(np.tile(subjects.first, repeats), np.tile(subjects.second, repeats))
    bands = two_way_bands(make_scored_cases(scores, positive, weights=weights), subjects)
    for j, threshold in enumerate(bands.threshold[1:-1], start=1):
        for of, band in ((positive, bands.tpr), (~positive, bands.fpr)):
            part = Subjects.of(subjects.first[of], subjects.second[of])
            want = two_way_rate(scores[of] >= threshold, part, weights=weights[of])
            assert band.se[j] == pytest.approx(want.se, abs=1e-12)
            limits = interval_of(want)
            assert (band.low[j], band.high[j]) == pytest.approx((limits.low, limits.high), abs=1e-12)
    assert bands.fpr.target == "new subjects on both sides"
    # If nothing varies, the s cases of a subject are assumed to have a correlation of s^(-1/4).
    own = weights[positive]
    cases = own.sum() ** 2 / (own**2).sum()
    effective = cases / (1 + (cases / 8 - 1) * (cases / 8) ** -0.25)
    assert bands.tpr.rate[-1] == 1
    assert bands.tpr.low[-1] == pytest.approx(0.025 ** (1 / effective))
    assert clopper_pearson(8, 8).low < bands.tpr.low[-1] < 0.025 ** (1 / cases)


@given(st.integers(0, 300))
@examples(25)
def test_invariances(seed: int) -> None:
    scores, positive, subjects, weights = draw(seed)
    area = two_way_summary("auc", make_scored_cases(scores, positive, weights=weights), subjects)
    eer = two_way_summary("eer", make_scored_cases(scores, positive, weights=weights), subjects)
    assert eer.value == pytest.approx(equal_error(threshold_counts(scores, positive, weights=weights)).rate)
    turned = Subjects.of(subjects.second, subjects.first)
    names = np.array([f"s{x}" for x in np.random.default_rng(seed).permutation(8)])
    renamed = Subjects.of(names[subjects.first], names[subjects.second])
    for other in (turned, renamed):
        assert two_way_summary(
            "auc", make_scored_cases(scores, positive, weights=3 * weights), other
        ).se == pytest.approx(area.se, rel=1e-9)
        assert two_way_summary(
            "eer", make_scored_cases(np.exp(scores), positive, weights=weights), other
        ).se == pytest.approx(eer.se, rel=1e-9)
    swapped = two_way_summary("auc", make_scored_cases(-scores, ~positive, weights=weights), subjects)
    assert (swapped.value, swapped.se) == pytest.approx((area.value, area.se), rel=1e-9)
    distance = two_way_summary(
        "eer", make_scored_cases(-scores, positive, weights=weights, larger_is_better=False), subjects
    )
    assert (distance.value, distance.se) == pytest.approx((eer.value, eer.se), rel=1e-9)


@pytest.mark.slow
def test_false_match_rate_is_covered_unlike_by_the_usual_interval() -> None:
    # 40 subjects, all 780 pairs; a subject's level is 2 % of a score's variance (correlation 0.02 between scores that
    # share one). 1,500 draws: a coverage of 95 % is estimated with a standard error of 0.56 %.
    rng = np.random.default_rng(4)
    i, j = np.triu_indices(40, 1)
    subjects = Subjects.of(i, j)
    truth = float(ndtr(-1.0))
    inside = usual = 0
    for _ in range(1500):
        level = np.sqrt(0.02) * rng.normal(size=40)
        accepted = level[i] + level[j] + np.sqrt(0.96) * rng.normal(size=i.size) >= 1.0
        result = interval_of(two_way_rate(accepted, subjects))
        inside += result.low <= truth <= result.high
        plain = wilson(int(accepted.sum()), i.size)
        usual += plain.low <= truth <= plain.high
    assert 0.93 * 1500 <= inside <= 0.97 * 1500
    assert 0.84 * 1500 <= usual <= 0.9 * 1500


def test_rows_and_columns_of_a_rectangle_are_covered() -> None:
    rng = np.random.default_rng(5)
    i, j = (x.ravel() for x in np.meshgrid(np.arange(15), np.arange(60), indexing="ij"))
    subjects = Subjects.of(i, 1000 + j)
    truth = float(ndtr(-0.5))
    inside = usual = 0
    for _ in range(1000):
        level = 0.2 * rng.normal(size=15)[i] + 0.2 * rng.normal(size=60)[j]
        accepted = level + np.sqrt(0.92) * rng.normal(size=i.size) >= 0.5
        result = interval_of(two_way_rate(accepted, subjects))
        inside += result.low <= truth <= result.high
        plain = wilson(int(accepted.sum()), i.size)
        usual += plain.low <= truth <= plain.high
    assert 0.93 * 1000 <= inside <= 0.97 * 1000
    assert usual <= 0.85 * 1000


@experiments(600, quick=120)
def test_area_and_equal_error_rate_are_covered(experiments: int) -> None:
    # Levels that raise genuine and impostor scores alike: an area is more certain than with independent scores.
    # 600 draws: a coverage of 95 % is estimated with a standard error of 0.9 %, a standard error to 3 %.
    rng = np.random.default_rng(6)
    a, b = comparisons(50, 3)
    positive, subjects = a == b, Subjects.of(a, b)
    spread = np.sqrt(4 * 0.06 + 0.88)
    area, eer = float(ndtr(1.5 / np.hypot(1, spread))), float(ndtr(-1.5 / (1 + spread)))
    inside = np.zeros(2)
    areas, rates, naive = [], [], []
    for _ in range(experiments):
        level = np.sqrt(0.06) * rng.normal(size=50)
        scores = level[a] + level[b] + np.sqrt(0.88) * rng.normal(size=a.size) + 1.5 * positive
        result, error = (
            two_way_summary("auc", make_scored_cases(scores, positive), subjects),
            two_way_summary("eer", make_scored_cases(scores, positive), subjects),
        )
        inside += [
            interval_of(result).low <= area <= interval_of(result).high,
            interval_of(error).low <= eer <= interval_of(error).high,
        ]
        areas.append((result.value, result.se))
        rates.append((error.value, error.se))
        naive.append(summary_estimate(AREA, make_scored_cases(scores, positive)).se)
    assert (abs(inside / experiments - 0.95) <= slack(0.03, full=600, experiments=experiments)).all()
    for drawn in (np.array(areas), np.array(rates)):
        assert drawn[:, 1].mean() == pytest.approx(drawn[:, 0].std(), rel=slack(0.1, full=600, experiments=experiments))
    if experiments == 600:  # fewer cannot distinguish 2 % from 0
        assert np.mean(naive) > np.array(areas)[:, 0].std() * 1.02


def test_wrong_input_is_named() -> None:
    with pytest.raises(ValueError, match="shapes"):
        Subjects.of([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="three or more"):
        Subjects.of([1, 1, 2], [3, 4, 5])
    # Subject 1 is in every comparison.
    star = Subjects.of([1, 1, 4], [2, 3, 1])
    with pytest.raises(ValueError, match="nothing is left"):
        two_way_rate([1, 0, 0], star)
    pairs = Subjects.of([1, 2, 3, 4], [2, 3, 4, 1])
    with pytest.raises(ValueError, match="expected a 0 or 1"):
        two_way_rate([1, 0, 2, 0], pairs)
    with pytest.raises(ValueError, match="all 0"):
        two_way_rate([1, 0, 1, 0], pairs, weights=[0, 0, 0, 0])
    with pytest.raises(ValueError, match="weight 1"):
        two_way_rate([1, 0, 1, 0], pairs, weights=[1, -1, 0, 0])
    with pytest.raises(ValueError, match="expected the same cases"):
        two_way_summary("auc", make_scored_cases([1.0, 2.0, 3.0], [1, 0, 1]), pairs)
    with pytest.raises(ValueError, match="one of auc, eer"):
        two_way_summary("d-prime", make_scored_cases([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0]), pairs)
    with pytest.raises(ValueError, match="confidence"):
        two_way_rate([1, 0, 1, 0], pairs, confidence=2)
