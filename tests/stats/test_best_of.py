"""The best of several: against all sign patterns, and its level without any difference."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from harness.stats.sign_flip import best_of

LEADS = arrays(np.float64, st.tuples(st.integers(2, 8), st.integers(1, 4)), elements=st.integers(-3, 3).map(float))


def exact(leads: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """The share of all sign patterns whose best candidate leads as clearly."""
    scale = np.sqrt((leads**2).sum(axis=0))
    scaled = leads[:, scale > 0] / scale[scale > 0]
    observed = max(scaled.sum(axis=0).max(initial=-np.inf), 0.0 if (scale == 0).any() else -np.inf)
    count = 0
    for signs in product([-1.0, 1.0], repeat=len(leads)):
        best = (np.array(signs) @ scaled).max(initial=-np.inf)
        count += max(best, 0.0 if (scale == 0).any() else -np.inf) >= observed - 1e-9
    return float(count / 2 ** len(leads))


@given(LEADS)
def test_p_value_agrees_with_all_sign_patterns(leads: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    result = best_of(leads, rng=np.random.default_rng(0), flips=4000)
    # Four standard errors of a share of 4,000, and the one added to numerator and denominator.
    assert result.p_value == pytest.approx(exact(leads), abs=4 * np.sqrt(0.25 / 4000) + 1 / 4000)


def test_one_candidate_is_the_sign_flip_test_which_is_the_sign_test_for_leads_of_one() -> None:
    # 9 of 10 discordant pairs in favour: P(X >= 9) = 11/1024, the one-sided exact McNemar.
    leads = np.array([[1.0]] * 9 + [[-1.0]] + [[0.0]] * 30)
    result = best_of(leads, rng=np.random.default_rng(1), flips=200_000)
    assert result.p_value == pytest.approx(11 / 1024, abs=4 * np.sqrt(0.0107 / 200_000))


def test_the_best_of_many_that_are_no_better_is_seldom_found_better() -> None:
    # 20 candidates and the standard are all coin tosses: an uncorrected test errs in most experiments.
    rng = np.random.default_rng(2)
    errors, naive, experiments = 0, 0, 300
    for _ in range(experiments):
        standard = rng.random(60) < 0.7
        leads = (rng.random((20, 60)) < 0.7).T.astype(float) - standard[:, None]
        errors += best_of(leads, rng=rng, flips=199).p_value <= 0.05
        single = max(range(20), key=lambda k: leads[:, k].sum())
        naive += best_of(leads[:, [single]], rng=rng, flips=199).p_value <= 0.05
    # 5 % of 300 is 15 with a standard error of 3.8; three of them above.
    assert errors <= 15 + 3 * 3.8
    assert naive > 2 * (15 + 3 * 3.8)


def test_a_candidate_that_is_better_is_found_among_many() -> None:
    rng = np.random.default_rng(3)
    leads = rng.normal(size=(200, 50))
    leads[:, 7] += 0.5
    result = best_of(leads, rng=rng)
    assert (result.best, result.candidates) == (7, 50)
    assert result.p_value < 0.01


@pytest.mark.parametrize("leads", [[], [1.0, 2.0], [[np.nan]], np.empty((0, 3))])
def test_nonsense_is_refused(leads: object) -> None:
    with pytest.raises(ValueError, match="leads"):
        best_of(leads, rng=np.random.default_rng(0))  # type: ignore[arg-type]
