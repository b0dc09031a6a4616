"""Votes and common scales, against counting by hand; logistic regression, against statsmodels and scikit-learn."""

from collections import Counter

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import median_abs_deviation, rankdata
from sklearn.linear_model import LogisticRegression

from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.fusion import by_median, by_rank, by_scale, count_votes, fit_logistic, fold_units


def test_distances_from_the_median_in_robust_deviations() -> None:
    scores = np.random.default_rng(0).normal(7, 3, 101)
    expected = (scores - np.median(scores)) / median_abs_deviation(scores, scale="normal")
    np.testing.assert_allclose(by_median(np.append(scores, np.nan))(scores), expected, rtol=1e-12)


def test_scores_of_which_most_are_equal_still_have_a_scale() -> None:
    scores = np.array([1.0, 1, 1, 1, 5])
    np.testing.assert_allclose(by_median(scores)(scores), (scores - 1) / scores.std())
    np.testing.assert_array_equal(by_median(np.ones(3))(np.array([1.0, 2])), [0, 1])
    np.testing.assert_allclose(by_scale(np.array([0.0, 0, 0, 4]))(np.array([2.0])), [2])
    np.testing.assert_array_equal(by_scale(np.zeros(3))(np.zeros(3)), np.zeros(3))


def test_ranks_are_shares_and_ties_have_the_mean() -> None:
    scores = np.array([3.0, 1, 2, 2, 9])
    np.testing.assert_allclose(by_rank(scores)(scores), (rankdata(scores) - 0.5) / 5)
    np.testing.assert_allclose(by_rank(scores)(np.array([0.0, 2.5, 10])), [0, 0.6, 1])


def test_votes_are_counted_as_by_hand() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(-1, 3, (5, 200))
    won = count_votes(labels, np.full(labels.shape, 0.2))
    for case in range(200):
        votes = Counter(int(label) for label in labels[:, case] if label >= 0).most_common()
        if not votes:
            assert won.tied[case]
            continue
        second = votes[1][1] if len(votes) > 1 else 0
        assert won.lead[case] == pytest.approx((votes[0][1] - second) / 5)
        assert won.tied[case] == (votes[0][1] == second)
        tied = {label for label, count in votes if count == votes[0][1]}
        assert won.program[case] == min(i for i in range(5) if labels[i, case] in tied)


def test_folds_never_divide_a_unit() -> None:
    units = np.repeat(np.arange(11), 3)
    fold = fold_units(units, 4, rng=np.random.default_rng(0))
    assert all(len(set(fold[units == unit])) == 1 for unit in range(11))
    assert sorted(Counter(fold[::3]).values()) == [2, 3, 3, 3]
    with pytest.raises(ValueError, match="12 folds of 11 units"):
        fold_units(units, 12, rng=np.random.default_rng(0))


# Dalal, Fowlkes and Hoadley (1989): temperature at 23 launches of the space shuttle, and whether an O-ring failed.
TEMPERATURE = [66, 70, 69, 68, 67, 72, 73, 70, 57, 63, 70, 78, 67, 53, 67, 75, 70, 81, 76, 79, 75, 76, 58]
FAILED = {1, 8, 9, 10, 13, 20, 22}


def _sample(seed: int, n: int = 300) -> tuple[FloatArray, BoolArray]:
    rng = np.random.default_rng(seed)
    numbers = rng.normal(5, [1, 20, 0.01], (n, 3))
    odds = 0.3 + (numbers - 5) @ np.array([1.0, -0.05, 30.0])
    return numbers, np.asarray(rng.logistic(size=n) < odds)


def test_the_launches_of_the_space_shuttle() -> None:
    """Their intercept and slope, as printed: 15.043 and -0.232."""
    event = np.array([number in FAILED for number in range(len(TEMPERATURE))])
    model = fit_logistic(np.array(TEMPERATURE, dtype=float)[:, None], event)
    assert (round(model.intercept, 3), round(model.weights[0], 3)) == (15.043, -0.232)
    assert not model.shrunk


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_those_of_statsmodels_and_of_scikit_learn(seed: int) -> None:
    numbers, event = _sample(seed)
    model = fit_logistic(numbers, event)
    scaled = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    theirs = sm.Logit(event.astype(float), sm.add_constant(scaled)).fit(disp=0, tol=1e-10).params
    np.testing.assert_allclose(model.weights * numbers.std(axis=0), theirs[1:], rtol=1e-9)
    np.testing.assert_allclose(model.log_odds(numbers.mean(axis=0)[None]), theirs[0], rtol=1e-9)
    other = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(scaled, event)
    np.testing.assert_allclose(model.log_odds(numbers), other.decision_function(scaled), rtol=1e-6, atol=1e-8)


def test_a_penalty_makes_weights_finite_where_cases_are_separated() -> None:
    numbers = np.arange(10.0)[:, None]
    model = fit_logistic(numbers, numbers[:, 0] > 4)
    scaled = (numbers - numbers.mean()) / numbers.std()
    other = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-12).fit(scaled, numbers[:, 0] > 4)
    assert model.shrunk
    np.testing.assert_allclose(model.log_odds(numbers), other.decision_function(scaled), rtol=1e-6)


def test_two_equal_columns_share_their_weight() -> None:
    numbers, event = _sample(7)
    twice = fit_logistic(numbers[:, [0, 0]], event)
    assert twice.shrunk
    assert twice.weights[0] == pytest.approx(twice.weights[1])


def test_a_column_without_variance_has_no_weight() -> None:
    numbers, event = _sample(8)
    model = fit_logistic(np.column_stack([numbers[:, 0], np.full(len(event), 3.0)]), event)
    alone = fit_logistic(numbers[:, :1], event)
    assert model.weights[1] == 0
    assert model.intercept == pytest.approx(alone.intercept)
    assert model.weights[0] == pytest.approx(alone.weights[0])


@pytest.mark.parametrize(
    ("numbers", "event", "message"),
    [
        ([[1.0], [2.0]], [True, True], "one kind"),
        ([[1.0], [np.nan]], [True, False], "not finite"),
        ([[1.0]], [True, False], "for 2 events"),
    ],
)
def test_mistakes(numbers: list[list[float]], event: list[bool], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_logistic(np.array(numbers), np.array(event))
