"""Curves over elements: the areas are those of all elements, the errors those of the cases that they belong to."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from harness.stats.curves.scores import make_scored_cases
from harness.stats.curves.summaries import (
    AREA,
    EQUAL_ERROR,
    CurveSummary,
    ScoredElements,
    element_sample,
    element_statistic,
    summary_statistic,
)
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.method import Method, Replication
from harness.stats.replication.sample import make_sample

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
