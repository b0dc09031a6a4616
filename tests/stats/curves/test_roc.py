"""Equal error rate, operating points, detection cost, hull, crossings: against loops and geometry."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.curves.roc import (
    at_threshold,
    auc,
    convex_hull,
    crossings,
    detection_cost,
    equal_error,
    equal_error_rates,
    point_at_fnr,
    point_at_fpr,
)
from harness.stats.curves.scores import ThresholdCounts, threshold_counts


def draw(seed: int, n: int = 80) -> tuple[FloatArray, BoolArray, FloatArray]:
    rng = np.random.default_rng(seed)
    positive = np.arange(n) < n // 3
    return np.round(3 * (rng.normal(size=n) + positive)), positive, rng.random(n)


def curve(seed: int, n: int = 80) -> ThresholdCounts:
    scores, positive, weights = draw(seed, n)
    return threshold_counts(scores, positive, weights=weights)


def brute_eer(counts: ThresholdCounts) -> float:
    """Walk along the segments until fnr meets fpr."""
    for i in range(1, counts.fpr.size):
        before, after = counts.fnr[i - 1] - counts.fpr[i - 1], counts.fnr[i] - counts.fpr[i]
        if before > 0 >= after:
            return float(counts.fpr[i - 1] + before / (before - after) * (counts.fpr[i] - counts.fpr[i - 1]))
    raise AssertionError("no crossing")


def brute_hull(counts: ThresholdCounts) -> set[int]:
    """Points that no chord of two others covers."""
    x, y = counts.fpr, counts.tpr
    keep = set()
    for i in range(x.size):
        covered = any(
            _chord_covers((x[a], y[a]), (x[b], y[b]), (x[i], y[i]))
            for a in range(x.size)
            for b in range(a + 1, x.size)
            if i not in (a, b)
        )
        if not covered:
            keep.add(i)
    return keep | {0, x.size - 1}


def _chord_covers(a: tuple[float, float], b: tuple[float, float], p: tuple[float, float]) -> bool:
    if not a[0] - 1e-12 <= p[0] <= b[0] + 1e-12:
        return False
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) <= 1e-12 and a[1] <= p[1] <= b[1] + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_eer_equals_a_walk_along_the_curve(seed: int) -> None:
    counts = curve(seed)
    assert equal_error(counts).rate == pytest.approx(brute_eer(counts), abs=1e-13)
    assert float(equal_error_rates(counts.tpr, counts.fpr)) == pytest.approx(brute_eer(counts), abs=1e-12)


def test_eer_by_hand() -> None:
    # Positives 4, 2; negatives 3, 1. At 3: fnr 1/2, fpr 1/2.
    result = equal_error(threshold_counts([4.0, 2.0, 3.0, 1.0], [1, 1, 0, 0]))
    assert (result.rate, result.threshold, result.attained) == (0.5, 3.0, True)
    # Positives 4, 3, 3; negatives 3, 1: from (fpr 0, fnr 2/3) at 4 to (1/2, 0) at 3: equal after 4/7 of the way.
    tied = equal_error(threshold_counts([4.0, 3.0, 3.0, 3.0, 1.0], [1, 1, 1, 0, 0]))
    assert tied.rate == pytest.approx(2 / 7)
    assert tied.threshold == pytest.approx(4 - 4 / 7)
    assert not tied.attained


def test_eer_of_perfect_useless_and_inverted_scores() -> None:
    assert equal_error(threshold_counts([2.0, 1.0], [1, 0])).rate == 0.0
    assert equal_error(threshold_counts([1.0, 1.0], [1, 0])).rate == 0.5
    assert equal_error(threshold_counts([1.0, 2.0], [1, 0])).rate == 1.0


@given(st.integers(0, 500))
def test_eer_invariances(seed: int) -> None:
    scores, positive, weights = draw(seed, 24)
    rate = equal_error(threshold_counts(scores, positive, weights=weights)).rate
    assert equal_error(threshold_counts(np.exp(scores), positive, weights=7 * weights)).rate == pytest.approx(rate)
    # Swapping the classes and the direction swaps the two errors.
    swapped = threshold_counts(scores, ~positive, weights=weights, larger_is_better=False)
    assert equal_error(swapped).rate == pytest.approx(rate, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("target", [0.0, 0.01, 0.1, 0.25, 0.5, 1.0])
def test_error_at_a_given_error_equals_a_search(seed: int, target: float) -> None:
    counts = curve(seed)
    got = point_at_fpr(counts, target)
    assert got.fpr <= target
    assert got.fnr == counts.fnr[counts.fpr <= target].min()
    back = point_at_fnr(counts, target)
    assert back.fnr <= target
    assert back.fpr == counts.fpr[counts.fnr <= target].min()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("target", [0.013, 0.1, 0.25, 0.5])
def test_interpolated_points_lie_on_the_curve(seed: int, target: float) -> None:
    counts = curve(seed)
    got = point_at_fpr(counts, target, interpolate=True)
    assert got.fpr == target
    assert got.fnr <= point_at_fpr(counts, target).fnr
    assert point_at_fnr(counts, got.fnr + 1e-12, interpolate=True).fpr <= target + 1e-9
    assert _distance(counts, got.fpr, 1 - got.fnr) < 1e-9
    eer = equal_error(counts).rate
    assert _distance(counts, eer, 1 - eer) < 1e-9


def test_interpolating_at_a_point_gives_the_point() -> None:
    counts = threshold_counts([4.0, 2.0, 3.0, 1.0], [1, 1, 0, 0])
    assert point_at_fpr(counts, 0.5, interpolate=True) == point_at_fpr(counts, 0.5)
    assert point_at_fnr(counts, 0.0, interpolate=True).threshold == 2.0
    assert point_at_fnr(counts, 1.0, interpolate=True).fpr == 0.0


def test_an_error_on_a_negative_case_cannot_be_refused() -> None:
    counts = threshold_counts([1.0, 2.0, np.inf, 0.0], [1, 1, 0, 0])
    assert not point_at_fpr(counts, 0.1).attained
    assert point_at_fpr(counts, 0.5).attained
    assert point_at_fpr(counts, 0.5).fnr == 0.0


@pytest.mark.parametrize("larger", [True, False])
def test_rates_at_a_threshold_equal_a_count(larger: bool) -> None:
    scores, positive, weights = draw(4)
    counts = threshold_counts(scores, positive, weights=weights, larger_is_better=larger)
    for threshold in [-np.inf, *np.unique(scores), 0.5, 99.0, np.inf]:
        accepted = scores >= threshold if larger else scores <= threshold
        got = at_threshold(counts, threshold)
        assert got.fpr == pytest.approx(np.average(accepted[~positive], weights=weights[~positive]), abs=1e-12)
        assert got.fnr == pytest.approx(1 - np.average(accepted[positive], weights=weights[positive]), abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("prior", [0.01, 0.5, 0.9])
def test_detection_cost_equals_a_search_and_is_at_a_vertex_of_the_hull(seed: int, prior: float) -> None:
    counts = curve(seed)
    got = detection_cost(counts, prior=prior, cost_miss=10)
    costs = [10 * prior * m + (1 - prior) * f for m, f in zip(counts.fnr, counts.fpr, strict=True)]
    assert got.cost == pytest.approx(min(costs), abs=1e-15)
    assert got.normalised <= 1
    hull = convex_hull(counts)
    on_hull = 10 * prior * (1 - hull.tpr) + (1 - prior) * hull.fpr
    assert got.cost == pytest.approx(on_hull.min(), abs=1e-12)


def test_a_useless_test_costs_as_much_as_none() -> None:
    got = detection_cost(threshold_counts([1.0, 1.0], [1, 0]), prior=0.01, cost_miss=10)
    assert got.cost == pytest.approx(0.1)
    assert got.normalised == pytest.approx(1)


@pytest.mark.parametrize("seed", range(6))
def test_hull_equals_all_chords(seed: int) -> None:
    counts = curve(seed, 40)
    assert set(convex_hull(counts).vertices.tolist()) == brute_hull(counts)


@pytest.mark.parametrize("seed", range(5))
def test_hull_is_convex_and_above_the_curve(seed: int) -> None:
    scores, positive, _ = draw(seed, 3000)
    counts = threshold_counts(scores + np.random.default_rng(seed).random(3000), positive)
    hull = convex_hull(counts)
    assert (np.diff(hull.slope) < 0).all()
    assert (np.interp(counts.fpr, hull.fpr, hull.tpr) >= counts.tpr - 1e-12).all()
    assert hull.auc >= auc(counts)
    assert hull.eer <= equal_error(counts).rate
    # The hull's equal error rate is the largest error, over priors, of the best threshold (a minimax identity).
    priors = np.linspace(0.001, 0.999, 3000)
    risks = np.outer(priors, 1 - hull.tpr) + np.outer(1 - priors, hull.fpr)
    assert hull.eer == pytest.approx(risks.min(axis=1).max(), abs=1e-3)


def test_curves_that_cross_once() -> None:
    # a: straight up to 1/2, then along; b: along to 1/4, then up: they meet at (1/4, 1/2).
    a = threshold_counts([9, 8, 1, 1, 5, 4, 3, 2.0], [1, 1, 1, 1, 0, 0, 0, 0])
    b = threshold_counts([8, 7, 6, 5, 9, 4, 3, 2.0], [1, 1, 1, 1, 0, 0, 0, 0])
    (result,) = crossings(a, b)
    assert (result.fpr, result.tpr) == pytest.approx((0.25, 0.5))
    assert result.above_before == "a"
    assert result.threshold_a == 5
    assert result.threshold_b == 7
    (back,) = crossings(b, a)
    assert back.fpr == pytest.approx(0.25)
    assert back.above_before == "b"


def test_a_curve_crosses_neither_itself_nor_a_better_one() -> None:
    counts = curve(1)
    assert crossings(counts, counts) == []
    best = threshold_counts([2.0, 1.0], [1, 0])
    assert crossings(counts, best) == []


@pytest.mark.parametrize("seed", range(10))
def test_crossings_lie_on_both_curves_and_change_sides(seed: int) -> None:
    a, b = curve(seed, 60), curve(seed + 100, 60)
    result = crossings(a, b)
    assert len(result) > 0
    sides = [c.above_before for c in result]
    assert all(x != y for x, y in pairwise(sides))
    for c in result:
        for counts in (a, b):
            assert _distance(counts, c.fpr, c.tpr) < 1e-9


def _distance(counts: ThresholdCounts, x: float, y: float) -> float:
    """From a point to a chain of segments."""
    a = np.stack([counts.fpr[:-1], counts.tpr[:-1]], axis=1)
    b = np.stack([counts.fpr[1:], counts.tpr[1:]], axis=1)
    step = b - a
    share = np.clip(((np.array([x, y]) - a) * step).sum(axis=1) / (step**2).sum(axis=1), 0, 1)
    return float(np.hypot(*(a + share[:, None] * step - [x, y]).T).min())


def test_wrong_options_are_named() -> None:
    counts = curve(0)
    with pytest.raises(ValueError, match=r"fmr 1\.5"):
        point_at_fpr(counts, 1.5)
    with pytest.raises(ValueError, match=r"fnmr -0\.1"):
        point_at_fnr(counts, -0.1)
    with pytest.raises(ValueError, match="prior 0"):
        detection_cost(counts, prior=0)
    with pytest.raises(ValueError, match="costs"):
        detection_cost(counts, prior=0.5, cost_miss=-1)
    with pytest.raises(ValueError, match="threshold"):
        at_threshold(counts, float("nan"))
