"""Costs of scores: against loops, scikit-learn's isotonic regression and its Brier score, and numeric derivatives."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss

from harness.stats.arrays import FloatArray
from harness.stats.curves.costs import (
    DetectionPrior,
    calibrated,
    calibration_error,
    log_cost,
    minimum_detection_cost,
    minimum_log_cost,
    reliability,
    squared_error,
)
from harness.stats.curves.scores import ScoredCases, make_scored_cases
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.sample import make_sample
from harness.stats.replication.statistic import WeightsStatistic
from tests.simulation import experiments, slack

PRIOR = DetectionPrior(10, 1, 0.01)


def cases(seed: int = 0, n: int = 80, *, larger: bool = True) -> ScoredCases:
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    scores = np.round(rng.normal(np.where(positive, 1.2, -0.8), 1.5), 1)
    return make_scored_cases(scores if larger else -scores, positive, larger_is_better=larger)


def probabilities(seed: int = 0, n: int = 300) -> ScoredCases:
    rng = np.random.default_rng(seed)
    said = rng.beta(1, 1, n)
    return make_scored_cases(said, rng.random(n) < said**1.5)


def value(statistic: object, n: int) -> float:
    return float(make_estimates(make_sample(n), statistic).estimate(0).value)  # type: ignore[arg-type]


def test_the_log_cost_is_its_formula() -> None:
    found = cases()
    total = {True: 0.0, False: 0.0}
    for score, positive in zip(found.better.tolist(), found.positive.tolist(), strict=True):
        total[positive] += math.log2(1 + math.exp(-score if positive else score))
    count = int(found.positive.sum())
    expected = (total[True] / count + total[False] / (80 - count)) / 2
    assert value(log_cost([(found, None)]), 80) == pytest.approx(expected, abs=1e-12)


def test_scores_that_say_nothing_cost_one_bit() -> None:
    found = make_scored_cases(np.zeros(10), np.arange(10) % 2 == 0)
    assert value(log_cost([(found, None)]), 10) == pytest.approx(1.0)
    assert value(minimum_log_cost([(found, None)]), 10) == pytest.approx(1.0)


@pytest.mark.parametrize("larger", [True, False])
def test_the_minimum_is_that_of_isotonic_regression(larger: bool) -> None:
    """scikit-learn's regression gives posteriors; the prior odds of the sample are taken out again."""
    found = cases(1, larger=larger)
    n_pos, n_neg = int(found.positive.sum()), int((~found.positive).sum())
    posterior = IsotonicRegression().fit_transform(found.better, found.positive.astype(float))
    with np.errstate(divide="ignore"):
        llr = np.log(posterior) - np.log1p(-posterior) - math.log(n_pos / n_neg)
    assert calibrated(found) == pytest.approx(llr, abs=1e-9)
    cost = np.logaddexp(0, np.where(found.positive, -llr, llr)) / math.log(2)
    expected = (cost[found.positive].mean() + cost[~found.positive].mean()) / 2
    assert value(minimum_log_cost([(found, None)]), 80) == pytest.approx(expected, abs=1e-9)


def test_a_monotone_transformation_does_not_change_the_minimum() -> None:
    found = cases(2)
    bent = make_scored_cases(np.exp(found.better / 3) - 7, found.positive)
    both = [value(minimum_log_cost([(one, None)]), 80) for one in (found, bent)]
    assert both[0] == pytest.approx(both[1], abs=1e-12)
    assert both[0] <= value(log_cost([(found, None)]), 80)


def test_the_minimum_detection_cost_is_that_of_the_best_threshold() -> None:
    found = cases(3)
    costs = []
    for threshold in [*found.better.tolist(), math.inf]:
        accepted = found.better >= threshold
        misses, alarms = np.mean(~accepted[found.positive]), np.mean(accepted[~found.positive])
        costs.append((10 * 0.01 * misses + 0.99 * alarms) / min(10 * 0.01, 0.99))
    assert value(minimum_detection_cost([(found, None)], PRIOR), 80) == pytest.approx(min(costs), abs=1e-12)


@pytest.mark.parametrize(
    "make", [minimum_log_cost, lambda cells: minimum_detection_cost(cells, PRIOR)], ids=["cllr", "dcf"]
)
def test_the_linear_form_is_the_derivative(make: Callable[..., WeightsStatistic]) -> None:
    """The envelope theorem: holding the minimiser fixed gives the first-order change."""
    found = cases(4)
    statistic = make([(found, None)])
    assert statistic.linear is not None
    weights = np.random.default_rng(5).uniform(0.8, 1.2, 80)
    slopes = statistic.linear(weights)[:, 0]
    for case in range(0, 80, 7):
        step = np.zeros(80)
        step[case] = 1e-6
        rise = statistic.members(weights + step)[0] - statistic.members(weights - step)[0]
        assert slopes[case] == pytest.approx(rise / 2e-6, abs=1e-6)


def test_cases_outside_a_group_do_not_count() -> None:
    found = cases(6)
    inside = np.arange(80) % 2 == 0
    part = make_scored_cases(found.better[inside], found.positive[inside])
    for make in (log_cost, minimum_log_cost, lambda cells: minimum_detection_cost(cells, PRIOR)):
        assert value(make([(found, inside)]), 80) == pytest.approx(value(make([(part, None)]), 40), abs=1e-12)


def test_the_brier_score_is_scikit_learns() -> None:
    found = probabilities()
    expected = brier_score_loss(found.positive, found.better)
    assert value(squared_error([(found, None)]), 300) == pytest.approx(expected, abs=1e-12)


def test_the_calibration_error_is_its_definition() -> None:
    found = probabilities(1)
    total = 0.0
    for low in range(15):
        of = (found.better >= low / 15) & ((found.better < (low + 1) / 15) | ((low == 14) & (found.better == 1)))
        if of.any():
            total += of.mean() * abs(found.better[of].mean() - found.positive[of].mean())
    assert value(calibration_error([(found, None)]), 300) == pytest.approx(total, abs=1e-12)


def test_reliability_bins_hold_all_cases() -> None:
    found = reliability(probabilities(2), 10)
    assert found.weight.sum() == 300
    assert (np.diff(found.probability) > 0).all()


def test_calibration_needs_probabilities() -> None:
    for make in (squared_error, calibration_error):
        with pytest.raises(ValueError, match="is not a probability"):
            make([(cases(), None)])


@pytest.mark.parametrize("prior", [(0, 1, 0.5), (1, math.inf, 0.5), (1, 1, 1)])
def test_impossible_costs_are_refused(prior: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="expected costs above 0"):
        DetectionPrior(*prior)


def coverage(make: Callable[..., object], truth: float, draw: Callable[[np.random.Generator], ScoredCases],
             count: int) -> float:  # fmt: skip
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(count):
        found = draw(rng)
        interval = make_estimates(make_sample(found.positive.size), make([(found, None)])).estimate(0).interval  # type: ignore[arg-type]
        covered += interval is not None and interval.low <= truth <= interval.high
    return covered / count


def drawn(rng: np.random.Generator, n: int = 200) -> ScoredCases:
    positive = np.arange(n) % 2 == 0
    return make_scored_cases(rng.normal(np.where(positive, 1.0, -1.0), 1.0), positive)


@pytest.mark.sampled(4)
@experiments(1000, quick=150)
@pytest.mark.parametrize("name", ["cllr", "min_cllr", "min_dcf"])
def test_intervals_cover(name: str, experiments: int) -> None:
    """A minimum over all transformations fits the sample itself: its interval is for new samples of the same size."""
    make: Callable[..., object] = {
        "cllr": log_cost,
        "min_cllr": minimum_log_cost,
        "min_dcf": lambda cells: minimum_detection_cost(cells, DetectionPrior(1, 1, 0.5)),
    }[name]
    rng = np.random.default_rng(1)
    truth = float(np.mean([value(make([(drawn(rng), None)]), 200) for _ in range(experiments)]))
    found = coverage(make, truth, drawn, experiments)
    assert found == pytest.approx(0.95, abs=slack(0.03, full=1000, experiments=experiments))


def test_the_minimum_log_cost_of_few_cases_is_too_low() -> None:
    """What the documentation says of it: the true value is 0.512, and 200 cases give 0.07 less on average."""
    rng = np.random.default_rng(2)
    large = minimum_log_cost([(drawn(rng, 400_000), None)]).members(np.ones(400_000))[0]
    small = [minimum_log_cost([(drawn(rng), None)]).members(np.ones(200))[0] for _ in range(100)]
    assert large == pytest.approx(0.512, abs=0.003)
    assert np.mean(small) - large == pytest.approx(-0.07, abs=0.02)


def test_weights_are_multiplicities() -> None:
    found = cases(8, n=30)
    times = np.random.default_rng(9).integers(1, 4, 30)
    many = make_scored_cases(np.repeat(found.better, times), np.repeat(found.positive, times))
    for make in (minimum_log_cost, lambda cells: minimum_detection_cost(cells, PRIOR)):
        weighted: FloatArray = make([(found, None)]).members(times.astype(np.float64))
        plain = make([(many, None)]).members(np.ones(int(times.sum())))
        assert weighted == pytest.approx(plain, abs=1e-12)
