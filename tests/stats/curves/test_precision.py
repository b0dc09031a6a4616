"""Average precision against scikit-learn, its linear form against derivatives and a bootstrap, and coverage."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.curves.bands import PRECISION_POINTS, precision_band
from harness.stats.curves.scores import Order, counts_of, make_scored_cases
from harness.stats.curves.summaries import (
    AVERAGE_PRECISION,
    FOUND_PRECISION,
    CurveSummary,
    influence,
    summary_difference,
    summary_estimate,
    summary_slopes,
)
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import make_sample
from tests.simulation import experiments, slack

EXACT = 1e-12
FULL = 1000


def tied(seed: int, cases: int = 80) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Scores with many ties, classes and weights."""
    rng = np.random.default_rng(seed)
    positive = rng.random(cases) < 0.4
    positive[:2] = True, False
    return rng.integers(0, 15, cases) + 3.0 * positive, positive, rng.uniform(0.1, 3.0, cases)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_that_of_scikit_learn(seed: int) -> None:
    scores, positive, weights = tied(seed)
    cases = make_scored_cases(scores, positive, weights=weights)
    truth = average_precision_score(positive, scores, sample_weight=weights)
    assert influence("average_precision", cases).estimate == pytest.approx(truth, abs=EXACT)
    sample = make_sample(scores.size, weights=weights)
    assert summary_estimate(AVERAGE_PRECISION, cases, sample).value == pytest.approx(truth, abs=EXACT)


@pytest.mark.parametrize("summary", [AVERAGE_PRECISION, FOUND_PRECISION], ids=lambda one: one.name)
def test_the_linear_form_is_the_derivative(summary: CurveSummary) -> None:
    """By central differences, at unequal weights; the sum over all cases is 0, as only ratios of weights matter."""
    scores, positive, weights = tied(7, 40)
    cases = make_scored_cases(scores, positive)
    order = Order.of(cases.better)
    hit = positive[order.cases]

    def value(w: FloatArray) -> float:
        tp, fp = (np.cumsum(np.where(of, w[order.cases], 0.0))[order.ends] for of in (hit, ~hit))
        return summary.of_totals(np.append(0.0, tp), np.append(0.0, fp))

    step = 1e-6 * np.eye(40)
    slopes = [(value(weights + one) - value(weights - one)) / 2e-6 for one in step]
    found = summary_slopes(summary, cases, order, weights)
    assert found == pytest.approx(slopes, abs=1e-7)
    assert weights @ found == pytest.approx(0.0, abs=EXACT)


def test_what_is_never_found_adds_nothing() -> None:
    """Two of four objects found, each after one false detection: (1/2 + 2/4) / 4."""
    scores = np.array([9.0, 8.0, 7.0, 6.0, -np.inf, -np.inf, -np.inf])
    positive = np.array([False, True, False, True, True, True, False])
    cases = make_scored_cases(scores, positive)
    assert influence("average_precision_found", cases).estimate == pytest.approx((1 / 2 + 2 / 4) / 4, abs=EXACT)


@pytest.mark.slow
def test_the_standard_error_is_that_of_a_bootstrap_of_each_class() -> None:
    rng = np.random.default_rng(3)
    positive = np.arange(600) < 150
    scores = rng.normal(size=600) + 1.2 * positive
    ours = summary_estimate(AVERAGE_PRECISION, make_scored_cases(scores, positive)).se
    drawn = []
    for _ in range(400):
        own = np.concatenate([rng.integers(0, 150, 150), rng.integers(150, 600, 450)])
        drawn.append(average_precision_score(positive[own], scores[own]))
    assert ours == pytest.approx(float(np.std(drawn)), rel=0.12)


def test_the_linear_form_agrees_with_the_jackknife_of_clusters() -> None:
    rng = np.random.default_rng(5)
    positive = rng.random(400) < 0.4
    scores = rng.normal(size=400) + 1.5 * positive
    sample = make_sample(400, units=np.repeat(np.arange(100), 4))
    linear, jackknife = (
        summary_estimate(AVERAGE_PRECISION, make_scored_cases(scores, positive), sample, Replication(method=method))
        for method in ("linearised", "jackknife")
    )
    assert linear.se == pytest.approx(jackknife.se, rel=0.06)


def test_equal_runs_do_not_differ() -> None:
    scores, positive, _ = tied(1)
    cases = make_scored_cases(scores, positive)
    gap = summary_difference(AVERAGE_PRECISION, cases, cases)
    assert (gap.value, gap.se) == (0.0, 0.0)


@pytest.mark.sampled(3)
@experiments(FULL, quick=40)
@pytest.mark.parametrize(("shift", "cases", "positives"), [(1.0, 200, 100), (1.5, 1000, 50), (2.5, 200, 20)])
def test_intervals_cover(shift: float, cases: int, positives: int, experiments: int) -> None:
    """With as many positives in every experiment: 94, 94 and 96 % of 500; without the lowered limit 93, 95 and 94."""
    rng = np.random.default_rng(cases)
    positive = np.arange(cases) < positives
    many = np.arange(400_000) < 400_000 * positives // cases
    truth = average_precision_score(many, rng.normal(size=many.size) + shift * many)
    covered = 0
    for _ in range(experiments):
        scores = rng.normal(size=cases) + shift * positive
        interval = summary_estimate(AVERAGE_PRECISION, make_scored_cases(scores, positive)).interval
        assert interval is not None
        covered += interval.low <= truth <= interval.high
    assert 0.95 - slack(0.025, full=FULL, experiments=experiments) <= covered / experiments


@experiments(300, quick=20)
def test_the_band_covers_the_precision_at_its_thresholds(experiments: int) -> None:
    """Of normal scores, whose precision at a threshold is known; pointwise, so on average over the places."""
    from scipy.special import ndtr

    rng = np.random.default_rng(4)
    covered = []
    for _ in range(experiments):
        positive = rng.random(300) < 0.3
        scores = rng.normal(size=300) + 1.5 * positive
        cases = make_scored_cases(scores, positive)
        band = precision_band(cases, counts_of(cases), make_sample(300))
        assert band.recall.size <= PRECISION_POINTS
        assert (np.diff(band.recall) >= 0).all()
        assert ((band.low <= band.precision) & (band.precision <= band.high)).all()
        tp, fp = 0.3 * ndtr(1.5 - band.threshold), 0.7 * ndtr(-band.threshold)
        covered.append(np.mean((band.low <= tp / (tp + fp)) & (tp / (tp + fp) <= band.high)))
    # A threshold that is itself one of the scores favours its own case; that is within the slack.
    assert np.mean(covered) > 0.94 - slack(0.02, full=300, experiments=experiments)
