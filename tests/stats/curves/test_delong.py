"""DeLong's variance: against pROC's stored values, the explicit kernel, and with a variance of 0."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit

from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.curves.roc import placements
from harness.stats.curves.scores import ScoredCases, make_scored_cases
from harness.stats.curves.summaries import AREA, summary_difference, summary_estimate, summary_statistic
from harness.stats.estimate import Estimate
from harness.stats.limits import auc_end_limit, difference_limits
from harness.stats.rates import Interval, normal_quantile
from harness.stats.replication.estimates import Estimates, make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import make_sample
from tests.simulation import experiments, slack

SETS = json.loads((Path(__file__).parents[2] / "data" / "curves" / "proc.json").read_text())["sets"]


def draw(seed: int, n: int = 40) -> tuple[FloatArray, FloatArray, BoolArray]:
    rng = np.random.default_rng(seed)
    positive = np.arange(n) < n // 3
    common = rng.normal(size=n) + positive
    return np.round(common + rng.normal(size=n)), np.round(common + rng.normal(size=n)), positive


def areas_of(*columns: ScoredCases) -> Estimates:
    """Areas of several columns of scores on the same independent cases, with their covariance."""
    return make_estimates(make_sample(columns[0].better.size), summary_statistic(AREA, [(c, None) for c in columns]))


def area_of(cases: ScoredCases) -> Estimate:
    result = summary_estimate(AREA, cases)
    assert (result.method, result.df) == ("linearised", np.inf)
    return result


def interval_of(result: Estimate) -> Interval:
    assert result.interval is not None
    return result.interval


def brute_structure(scores: FloatArray, positive: BoolArray) -> tuple[float, FloatArray, FloatArray]:
    kernel = (scores[positive, None] > scores[~positive]) + 0.5 * (scores[positive, None] == scores[~positive])
    return float(kernel.mean()), kernel.mean(axis=1), kernel.mean(axis=0)


@pytest.mark.parametrize("stored", SETS, ids=lambda s: s["input"]["name"])
def test_variances_and_test_equal_proc(stored: dict[str, Any]) -> None:
    scores, want = stored["input"], stored["reference"]
    columns = [make_scored_cases(scores[c], scores["label"]) for c in ("s1", "s2")]
    areas = areas_of(*columns)
    assert areas.covariance[0, 0] == pytest.approx(want["var1"], rel=1e-11)
    assert areas.covariance[1, 1] == pytest.approx(want["var2"], rel=1e-11)
    assert areas.covariance[0, 1] == pytest.approx(want["cov12"], rel=1e-11)
    test = summary_difference(AREA, columns[0], columns[1])
    assert test.value / test.se == pytest.approx(want["delong_z"], rel=1e-10)
    assert test.p_value == pytest.approx(want["delong_p"], rel=1e-10)
    for column, key in zip(columns, ("ci1", "ci2"), strict=True):
        got, half = area_of(column), normal_quantile(0.95) * area_of(column).se
        limits = [max(got.value - half, 0.0), got.value, min(got.value + half, 1.0)]
        np.testing.assert_allclose(limits, want[key], rtol=0, atol=1e-12)
        # The reported interval is the same on the logit scale: as long to first order, and within 0 and 1.
        low, high = logit(interval_of(got).low), logit(interval_of(got).high)
        centre, reach = logit(got.value), half / (got.value * (1 - got.value))
        assert (low, high) == pytest.approx((centre - reach, centre + reach), rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_covariance_equals_the_explicit_kernel(seed: int) -> None:
    a, b, positive = draw(seed)
    (auc_a, p_a, n_a), (auc_b, p_b, n_b) = brute_structure(a, positive), brute_structure(b, positive)
    areas = areas_of(make_scored_cases(a, positive), make_scored_cases(b, positive))
    np.testing.assert_allclose(areas.values, [auc_a, auc_b], rtol=0, atol=1e-13)
    want = np.cov(p_a, p_b) / p_a.size + np.cov(n_a, n_b) / n_a.size
    np.testing.assert_allclose(areas.covariance, want, rtol=1e-10, atol=1e-15)


def test_placements_average_to_the_area_in_both_classes() -> None:
    a, _, positive = draw(1)
    weights = np.random.default_rng(1).random(a.size)
    placed = placements(make_scored_cases(a, positive, weights=weights))
    for of in (positive, ~positive):
        assert np.average(placed.values[of], weights=weights[of]) == pytest.approx(placed.auc, abs=1e-13)


@given(st.integers(0, 1000))
def test_invariances(seed: int) -> None:
    a, b, positive = draw(seed, 20)
    one, other = make_scored_cases(a, positive), make_scored_cases(b, positive)
    test, back = summary_difference(AREA, one, other), summary_difference(AREA, other, one)
    assert (test.value, test.se) == pytest.approx((-back.value, back.se), abs=1e-9)
    assert test.p_value == pytest.approx(back.p_value, abs=1e-9)
    assert (interval_of(test).low, interval_of(test).high) == pytest.approx(
        (-interval_of(back).high, -interval_of(back).low), abs=1e-9
    )
    result = area_of(one)
    assert area_of(make_scored_cases(np.exp(a), positive)).se == pytest.approx(result.se, abs=1e-12)
    swapped = area_of(make_scored_cases(a, ~positive, larger_is_better=False))
    assert (swapped.value, swapped.se) == pytest.approx((result.value, result.se), abs=1e-12)
    assert areas_of(one, other).values[0] == result.value
    equal = area_of(make_scored_cases(a, positive, weights=np.full(a.size, 3.5)))
    assert equal.se == pytest.approx(result.se, abs=1e-12)
    assert (interval_of(equal).low, interval_of(equal).high) == pytest.approx(
        (interval_of(result).low, interval_of(result).high), abs=1e-9
    )


def test_a_column_against_itself_or_its_transform_does_not_differ() -> None:
    a, _, positive = draw(2)
    for other in (a, np.exp(a)):
        test = summary_difference(AREA, make_scored_cases(a, positive), make_scored_cases(other, positive))
        assert (test.value, test.se, test.p_value) == (0.0, 0.0, 1.0)
        assert interval_of(test).low < 0 < interval_of(test).high


def test_perfect_separation_is_not_certain() -> None:
    result = area_of(make_scored_cases([5.0, 6.0, 7.0, 1.0, 2.0, 3.0, 4.0], [1, 1, 1, 0, 0, 0, 0]))
    assert (result.value, result.se) == (1.0, 0.0)
    # No overlap of 3 and 4: the lower limit that the sizes of the classes allow.
    assert interval_of(result).low == pytest.approx(float(auc_end_limit(3, 4)))
    assert 0.3 < interval_of(result).low < 0.9
    assert interval_of(result).high == 1.0
    # More of either class is more certain.
    more = area_of(make_scored_cases([5.0, 6.0, 7.0, 8.0, 1.0, 2.0, 3.0, 4.0], [1, 1, 1, 1, 0, 0, 0, 0]))
    assert interval_of(more).low > interval_of(result).low


def test_perfect_against_useless_is_not_certain() -> None:
    """Two areas without variance: their limits, added in quadrature, and the p-value at which these exclude 0."""
    one, other = make_scored_cases([5.0, 6.0, 1.0, 2.0], [1, 1, 0, 0]), make_scored_cases([0.0] * 4, [1, 1, 0, 0])
    test = summary_difference(AREA, one, other)
    assert (test.value, test.se) == (0.5, 0.0)
    assert test.p_value is not None
    assert 0 < test.p_value < 1
    limits = [make_estimates(make_sample(4), summary_statistic(AREA, [(cases, None)])).limits for cases in (one, other)]
    want = difference_limits(1.0, limits[0], 0.5, limits[1])
    assert (interval_of(test).low, interval_of(test).high) == pytest.approx((want.low[0], want.high[0]))
    for confidence, left_out in ((1 - 1.01 * test.p_value, True), (1 - 0.99 * test.p_value, False)):
        edge = interval_of(summary_difference(AREA, one, other, replication=Replication(confidence=confidence)))
        assert (not edge.low <= 0 <= edge.high) == left_out


@experiments(1000, quick=200)
def test_coverage_for_independent_cases(experiments: int) -> None:
    # Normal scores with d' = 1: the true area is Phi(1 / sqrt(2)). 1,000 draws: a coverage of 95 % is estimated
    # with a standard error of 0.7 %, so that 92.5 to 97.5 % is more than three of them.
    from scipy.special import ndtr

    rng = np.random.default_rng(5)
    positive = np.arange(120) < 50
    truth = float(ndtr(1 / np.sqrt(2)))
    inside = 0
    for _ in range(experiments):
        result = interval_of(area_of(make_scored_cases(rng.normal(size=120) + positive, positive)))
        inside += result.low <= truth <= result.high
    assert abs(inside / experiments - 0.95) <= slack(0.025, full=1000, experiments=experiments)


def test_cases_of_weight_0_do_not_count() -> None:
    a, _, positive = draw(3)
    keep = np.arange(a.size) % 4 > 0
    weighted = summary_estimate(AREA, make_scored_cases(a, positive, weights=2.0 * keep))
    part = area_of(make_scored_cases(a[keep], positive[keep]))
    assert (weighted.value, weighted.se) == pytest.approx((part.value, part.se), abs=1e-12)
    assert weighted.df == part.df
    assert (interval_of(weighted).low, interval_of(weighted).high) == pytest.approx(
        (interval_of(part).low, interval_of(part).high), abs=1e-9
    )
    with pytest.raises(ValueError, match="no positive case"):
        placements(make_scored_cases(a, positive, weights=1.0 * ~positive))


def test_too_few_cases_are_refused() -> None:
    with pytest.raises(ValueError, match="1 positive cases"):
        summary_estimate(AREA, make_scored_cases([1.0, 2.0, 3.0], [1, 0, 0]))
