"""Bands along a whole curve: identities with the pointwise confidence, and coverage of whole curves by simulation."""

import numpy as np
import pytest
from scipy.stats import norm

from harness.stats.curves.bands import fixed_fpr_bands, simultaneous_confidence, wilson_bands
from harness.stats.curves.roc import thinned
from harness.stats.curves.scores import ScoredCases, counts_of, make_scored_cases
from harness.stats.replication.sample import make_sample

SHIFT = 1.5


def draw(rng: np.random.Generator, n: int = 400) -> ScoredCases:
    positive = np.arange(n) % 2 == 0
    return make_scored_cases(rng.normal(size=n) + SHIFT * positive, positive)


def confidence_of(cases: ScoredCases, points: int, confidence: float = 0.95, **design: object) -> float:
    counts = counts_of(cases)
    sample = make_sample(cases.better.size, **design) if design else None  # type: ignore[arg-type]
    at = thinned(counts, points)[1:-1]
    return simultaneous_confidence(cases, sample, at, rng=np.random.default_rng(0), confidence=confidence)


def test_one_place_has_two_rates_that_are_independent() -> None:
    """Two independent normal deviations are both within c with 95 %, each with the square root of that (Sidak)."""
    cases = draw(np.random.default_rng(1), 4000)
    assert confidence_of(cases, 3) == pytest.approx(np.sqrt(0.95), abs=0.004)


def test_a_place_where_the_rates_are_certain_asks_nothing() -> None:
    """Where all positives are accepted and no negative, no sample has other rates."""
    n = 50
    cases = make_scored_cases(np.arange(2 * n)[::-1], np.arange(2 * n) < n)
    some, certain = (
        simultaneous_confidence(cases, None, places, rng=np.random.default_rng(1)) for places in ([20], [20, n])
    )
    assert certain == pytest.approx(some, abs=1e-12)


def test_more_places_need_more_but_never_more_than_bonferroni() -> None:
    cases = draw(np.random.default_rng(2))
    result = [confidence_of(cases, points) for points in (3, 10, 60)]
    assert result == sorted(result)
    assert result[-1] < 1 - 0.05 / (2 * 58)
    assert confidence_of(cases, 10, 0.8) < result[1]


def test_units_of_one_case_are_cases() -> None:
    cases = draw(np.random.default_rng(3), 200)
    alone, units = confidence_of(cases, 20), confidence_of(cases, 20, units=np.arange(200))
    assert units == pytest.approx(alone, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiments", "most", "least"), [(15, 4, 3), pytest.param(60, 8, 15, marks=pytest.mark.slow)]
)
def test_whole_curves_lie_inside(experiments: int, most: int, least: int) -> None:
    """Of 60 curves at 95 % more than 8 outside have a chance below 1 in 1,000; pointwise bands lose half of them."""
    rng, grid = np.random.default_rng(4), np.linspace(0.01, 0.9, 50)
    truth = norm.cdf(SHIFT + norm.ppf(grid))
    lost = {"thresholds": 0, "fpr": 0, "pointwise": 0}
    for _ in range(experiments):
        cases = draw(rng)
        counts = counts_of(cases)
        at = thinned(counts, 40)
        level = simultaneous_confidence(cases, None, at, rng=np.random.default_rng(0))
        true_tpr = norm.sf(counts.threshold[at] - SHIFT)
        for name, confidence in (("thresholds", level), ("pointwise", 0.95)):
            band = wilson_bands(counts, at, confidence=confidence).tpr
            lost[name] += not ((band.low <= true_tpr + 1e-12) & (true_tpr <= band.high + 1e-12)).all()
        fixed = fixed_fpr_bands(cases, None, grid, confidence=level)
        lost["fpr"] += not ((fixed.low <= truth) & (truth <= fixed.high)).all()
    assert lost["thresholds"] <= most
    assert lost["fpr"] <= most
    assert lost["pointwise"] >= least


def test_a_confidence_above_1_is_refused() -> None:
    with pytest.raises(ValueError, match="confidence 95"):
        confidence_of(draw(np.random.default_rng(5), 20), 5, 95)
