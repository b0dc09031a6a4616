"""Counts, points and areas: against scikit-learn, pROC's stored values, and loops over every threshold."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.curves.roc import auc, average_precision, corners, partial_auc, points, thinned
from harness.stats.curves.scores import ThresholdCounts, threshold_counts

SETS = json.loads((Path(__file__).parents[2] / "data" / "curves" / "proc.json").read_text())["sets"]


def draw(seed: int, n: int = 200, *, levels: int = 12) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Scores with many ties, both classes, and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    positive[:2] = True, False
    scores = np.round(rng.normal(size=n) * levels / 4 + positive * levels / 8)
    weights = rng.integers(0, 4, n) * rng.random(n)
    weights[:2] = 1.0
    return scores, positive, weights


def brute_counts(scores: FloatArray, positive: BoolArray, weights: FloatArray, threshold: float) -> tuple[float, float]:
    accepted = scores >= threshold
    return float(weights[accepted & positive].sum()), float(weights[accepted & ~positive].sum())


@pytest.mark.parametrize("seed", range(8))
def test_counts_equal_a_loop_over_thresholds(seed: int) -> None:
    scores, positive, weights = draw(seed)
    counts = threshold_counts(scores, positive, weights=weights)
    assert counts.threshold[0] == np.inf
    assert counts.tp[0] == counts.fp[0] == 0
    for i in range(1, counts.threshold.size):
        tp, fp = brute_counts(scores, positive, weights, counts.threshold[i])
        assert counts.tp[i] == pytest.approx(tp, abs=1e-12)
        assert counts.fp[i] == pytest.approx(fp, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True])
def test_roc_equals_scikit_learn(seed: int, weighted: bool) -> None:
    scores, positive, w = draw(seed)
    weights = w if weighted else None
    counts = threshold_counts(scores, positive, weights=weights)
    fpr, tpr, threshold = roc_curve(positive, scores, sample_weight=weights, drop_intermediate=False)
    np.testing.assert_array_equal(counts.threshold, threshold)
    np.testing.assert_allclose(counts.fpr, fpr, rtol=0, atol=1e-12)
    np.testing.assert_allclose(counts.tpr, tpr, rtol=0, atol=1e-12)
    assert auc(counts) == pytest.approx(roc_auc_score(positive, scores, sample_weight=weights), abs=1e-12)
    got = partial_auc(counts, 0, 0.3).corrected
    assert got == pytest.approx(roc_auc_score(positive, scores, sample_weight=weights, max_fpr=0.3), abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True])
def test_precision_recall_equals_scikit_learn(seed: int, weighted: bool) -> None:
    scores, positive, w = draw(seed)
    weights = w if weighted else None
    p = points(threshold_counts(scores, positive, weights=weights))
    precision, recall, threshold = precision_recall_curve(positive, scores, sample_weight=weights)
    np.testing.assert_array_equal(p.threshold[1:], threshold[::-1])
    np.testing.assert_allclose(p.precision, precision[::-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(p.tpr, recall[::-1], rtol=0, atol=1e-12)
    got = average_precision(threshold_counts(scores, positive, weights=weights))
    assert got == pytest.approx(average_precision_score(positive, scores, sample_weight=weights), abs=1e-12)


@pytest.mark.parametrize("stored", SETS, ids=lambda s: s["input"]["name"])
def test_curve_and_areas_equal_proc(stored: dict[str, Any]) -> None:
    given_, want = stored["input"], stored["reference"]
    counts = threshold_counts(given_["s1"], given_["label"])
    np.testing.assert_allclose(counts.tpr[::-1], want["roc1"]["sens"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(1 - counts.fpr[::-1], want["roc1"]["spec"], rtol=0, atol=1e-12)
    assert auc(counts) == pytest.approx(want["auc1"], abs=1e-12)
    assert auc(threshold_counts(given_["s2"], given_["label"])) == pytest.approx(want["auc2"], abs=1e-12)


@pytest.mark.parametrize("stored", SETS, ids=lambda s: s["input"]["name"])
@pytest.mark.parametrize(
    ("key", "column", "high"), [("1_spec90", "s1", 0.1), ("1_spec99", "s1", 0.01), ("2_spec90", "s2", 0.1)]
)
def test_partial_areas_equal_proc(stored: dict[str, Any], key: str, column: str, high: float) -> None:
    want = stored["reference"][f"pauc{key}"]
    got = partial_auc(threshold_counts(stored["input"][column], stored["input"]["label"]), 0, high)
    assert got.area == pytest.approx(want["auc"], abs=1e-12)
    if want["auc_mcclish"] == "NA":
        assert got.corrected < 0.5
    else:
        assert got.corrected == pytest.approx(want["auc_mcclish"], abs=1e-12)


def test_partial_areas_add_up_and_mirror_each_other() -> None:
    scores, positive, weights = draw(3)
    counts = threshold_counts(scores, positive, weights=weights)
    parts = [partial_auc(counts, a, b).area for a, b in ((0, 0.2), (0.2, 0.7), (0.7, 1))]
    assert sum(parts) == pytest.approx(auc(counts), abs=1e-12)
    # Swapping the classes and the direction mirrors the curve: the area right of it is an area under the mirror.
    mirrored = threshold_counts(-scores, ~positive, weights=weights)
    right = partial_auc(counts, 0.6, 0.9, over="tpr")
    under = partial_auc(mirrored, 0.1, 0.4, over="fpr")
    assert right.area == pytest.approx(under.area, abs=1e-12)
    assert right.corrected == pytest.approx(under.corrected, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_auc_is_the_share_of_ordered_pairs(seed: int) -> None:
    scores, positive, w = draw(seed, 60)
    high, low = scores[positive, None], scores[~positive]
    pairs = (high > low) + 0.5 * (high == low)
    mass = w[positive, None] * w[~positive]
    assert auc(threshold_counts(scores, positive, weights=w)) == pytest.approx(
        (mass * pairs).sum() / mass.sum(), abs=1e-12
    )


@st.composite
def score_sets(draw: st.DrawFn) -> tuple[FloatArray, BoolArray]:
    n = draw(st.integers(2, 30))
    scores = draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))
    rest = draw(st.lists(st.booleans(), min_size=n - 2, max_size=n - 2))
    return np.array(scores, dtype=np.float64), np.array([True, False, *rest])


def same_points(a: ThresholdCounts, b: ThresholdCounts) -> None:
    np.testing.assert_allclose(a.tpr, b.tpr, rtol=0, atol=1e-12)
    np.testing.assert_allclose(a.fpr, b.fpr, rtol=0, atol=1e-12)


@given(score_sets(), st.randoms(use_true_random=False), st.floats(1e-3, 1e3))
def test_invariances(cases: tuple[FloatArray, BoolArray], random: Any, factor: float) -> None:
    scores, positive = cases
    counts = threshold_counts(scores, positive)
    same_points(counts, threshold_counts(np.exp(scores / 3), positive))
    order = list(range(scores.size))
    random.shuffle(order)
    same_points(counts, threshold_counts(scores[order], positive[order]))
    same_points(counts, threshold_counts(scores, positive, weights=np.full(scores.size, factor)))
    assert auc(threshold_counts(scores, ~positive)) == pytest.approx(1 - auc(counts), abs=1e-12)
    distances = threshold_counts(-scores, positive, larger_is_better=False)
    same_points(counts, distances)
    np.testing.assert_array_equal(distances.threshold, -counts.threshold)
    doubled = threshold_counts(np.tile(scores, 2), np.tile(positive, 2))
    same_points(counts, doubled)


@given(score_sets())
def test_weights_are_repeated_cases(cases: tuple[FloatArray, BoolArray]) -> None:
    scores, positive = cases
    times = 1 + np.arange(scores.size) % 3
    repeated = threshold_counts(np.repeat(scores, times), np.repeat(positive, times))
    weighted = threshold_counts(scores, positive, weights=times)
    same_points(repeated, weighted)
    np.testing.assert_allclose(repeated.precision, weighted.precision, rtol=0, atol=1e-12)


def test_infinite_scores_close_the_curve_by_a_straight_line() -> None:
    # A refused positive (-inf), an error on a negative (inf): 1 of 4 positives can't be reached, 1 of 4 negatives
    # can't be avoided.
    scores = np.array([3.0, 2.0, 1.0, -np.inf, np.inf, 2.5, 0.5, -np.inf])
    positive = np.array([True] * 4 + [False] * 4)
    counts = threshold_counts(scores, positive)
    assert counts.closed
    assert counts.opened
    np.testing.assert_array_equal(counts.threshold, [np.inf, np.inf, 3, 2.5, 2, 1, 0.5, -np.inf])
    np.testing.assert_array_equal(counts.fpr, [0, 0.25, 0.25, 0.5, 0.5, 0.5, 0.75, 1])
    np.testing.assert_array_equal(counts.tpr, [0, 0, 0.25, 0.25, 0.5, 0.75, 0.75, 1])
    # By hand: 0.25 * 0.25 + 0.25 * 0.75 + 0.25 * (0.75 + 1) / 2.
    assert auc(counts) == pytest.approx(0.46875, abs=1e-15)


def test_a_finite_curve_is_not_closed() -> None:
    counts = threshold_counts([2.0, 1.0], [1, 0])
    assert not counts.closed
    assert not counts.opened
    assert auc(counts) == 1.0


def test_distances_close_at_plus_infinity() -> None:
    counts = threshold_counts([0.1, np.inf, 0.5, 0.7], [1, 1, 0, 0], larger_is_better=False)
    assert counts.closed
    np.testing.assert_array_equal(counts.threshold, [-np.inf, 0.1, 0.5, 0.7, np.inf])
    np.testing.assert_array_equal(counts.tpr, [0, 0.5, 0.5, 0.5, 1])


def test_effective_size_is_kish() -> None:
    counts = threshold_counts([1.0, 2.0, 3.0, 0.0], [1, 1, 0, 0], weights=[1, 3, 2, 2])
    assert counts.positives.effective == pytest.approx(16 / 10)
    assert counts.negatives.effective == pytest.approx(2)
    assert counts.negatives.cases == 2


@pytest.mark.parametrize("seed", range(5))
def test_corners_lose_no_area_and_thinning_keeps_the_ends(seed: int) -> None:
    scores, positive, _ = draw(seed, 400, levels=200)
    counts = threshold_counts(scores, positive)
    places = corners(counts)
    assert places.size < counts.threshold.size
    p = points(counts, places)
    assert np.diff(p.fpr) @ (p.tpr[1:] + p.tpr[:-1]) / 2 == pytest.approx(auc(counts), abs=1e-12)
    few = thinned(counts, 20)
    assert few.size <= 20
    assert few[0] == 0
    assert few[-1] == counts.threshold.size - 1
    np.testing.assert_array_equal(thinned(counts, 10_000), np.arange(counts.threshold.size))


def test_det_of_normal_scores_is_a_straight_line() -> None:
    # Quantiles of N(0, 1) and N(2, 2): the deviates of fnr over fpr lie on a line of slope -1/2 (equal quantiles).
    from scipy.special import ndtri

    grid = ndtri((np.arange(2000) + 0.5) / 2000)
    counts = threshold_counts(np.concatenate([2 + 2 * grid, grid]), np.repeat([True, False], 2000))
    middle = (np.abs(ndtri(counts.fpr)) < 1.5) & (np.abs(ndtri(counts.fnr)) < 1.5)
    fpr, fnr = counts.fpr[middle], counts.fnr[middle]
    slope, offset = np.polyfit(ndtri(fpr), ndtri(fnr), 1)
    assert slope == pytest.approx(-0.5, abs=0.01)
    assert offset == pytest.approx(-1.0, abs=0.01)
    # On logarithmic axes, as in the tutorial (section 3.2), it is not straight: its slope changes more than twofold.
    ends = (
        np.polyfit(np.log(fpr[:200]), np.log(fnr[:200]), 1)[0],
        np.polyfit(np.log(fpr[-200:]), np.log(fnr[-200:]), 1)[0],
    )
    assert max(ends) / min(ends) < 0.5


@pytest.mark.parametrize(
    ("scores", "positive", "weights", "words"),
    [
        ([1.0, np.nan], [1, 0], None, "score 1 is not a number"),
        ([1.0, 2.0], [1, 1], None, "no negative case"),
        ([1.0, 2.0], [1, 0], [0.0, 1.0], "no positive case"),
        ([1.0, 2.0], [1, 2], None, "positive 1 is"),
        ([1.0, 2.0], [1], None, "expected one value per score"),
        ([1.0, 2.0], [1, 0], [1.0, -1.0], "weight 1 is -1.0"),
        ([1.0, 2.0], [1, 0], [1.0], "expected one weight per score"),
        ([[1.0, 2.0]], [1, 0], None, "dimensions"),
    ],
)
def test_wrong_input_is_named(scores: Any, positive: Any, weights: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        threshold_counts(scores, positive, weights=weights)


def test_wrong_parts_and_limits_are_named() -> None:
    counts = threshold_counts([1.0, 0.0], [1, 0])
    with pytest.raises(ValueError, match="0 <= low < high <= 1"):
        partial_auc(counts, 0.5, 0.5)
    with pytest.raises(ValueError, match="two points"):
        thinned(counts, 1)
