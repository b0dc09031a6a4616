"""Votes and common scales, against counting by hand and the definitions."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import median_abs_deviation, rankdata

from harness.stats.fusion import by_median, by_rank, by_scale, count_votes, fold_units


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
