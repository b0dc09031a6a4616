"""Ranks: against a loop that follows the definition."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.arrays import FloatArray
from harness.stats.gallery_ranks import Ranks, censored, median_rank, rank_matrix, weighted_median


def brute_rank(row: FloatArray, who: int, gallery: list[int], skip: int | None = None) -> float:
    images = [(g, s) for j, (g, s) in enumerate(zip(gallery, row, strict=True)) if j != skip]
    right = [s for g, s in images if g == who]
    if not right:
        return float("nan")
    best = {g: max(s for h, s in images if h == g) for g, _ in images if g != who}
    return float(1 + sum(s >= max(right) for s in best.values()))


@st.composite
def problems(draw: st.DrawFn) -> tuple[FloatArray, list[int], list[int]]:
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    values = draw(st.lists(st.integers(-3, 3), min_size=n * m, max_size=n * m))
    people = st.integers(0, 4)
    probes = draw(st.lists(people, min_size=n, max_size=n))
    gallery = draw(st.lists(people, min_size=m, max_size=m))
    return np.array(values, dtype=np.float64).reshape(n, m), probes, gallery


@given(problems(), st.integers(1, 7))
def test_ranks_equal_the_definition(problem: tuple[FloatArray, list[int], list[int]], block: int) -> None:
    scores, probes, gallery = problem
    want = [brute_rank(row, who, gallery) for row, who in zip(scores, probes, strict=True)]
    result = rank_matrix(scores, probes, gallery, block=block)
    np.testing.assert_array_equal(result.rank, want)
    np.testing.assert_array_equal(result.enrolled, ~np.isnan(want))
    assert result.gallery == len(set(gallery))
    np.testing.assert_array_equal(rank_matrix(-scores, probes, gallery, larger_is_better=False).rank, want)
    np.testing.assert_array_equal(rank_matrix(np.exp(scores), probes, gallery).rank, want)


@given(problems())
def test_best_scores_equal_the_definition(problem: tuple[FloatArray, list[int], list[int]]) -> None:
    scores, probes, gallery = problem
    for sign, larger in ((1, True), (-1, False)):
        result = rank_matrix(sign * scores, probes, gallery, larger_is_better=larger)
        for i, who in enumerate(probes):
            right = [s for g, s in zip(gallery, scores[i], strict=True) if g == who]
            wrong = [s for g, s in zip(gallery, scores[i], strict=True) if g != who]
            np.testing.assert_equal(result.best_right[i], sign * max(right) + 0.0 if right else np.nan)
            np.testing.assert_equal(result.best_wrong[i], sign * max(wrong) + 0.0 if wrong else np.nan)


@given(st.integers(0, 200), st.booleans())
def test_leaving_out_the_probe_itself(seed: int, larger: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    scores = rng.integers(0, 4, (n, n)).astype(np.float64)
    people = rng.integers(0, 4, n).tolist()
    sign = 1 if larger else -1
    want = [brute_rank(scores[i], people[i], people, skip=i) for i in range(n)]
    result = rank_matrix(sign * scores, people, people, larger_is_better=larger, exclude_diagonal=True, block=3)
    np.testing.assert_array_equal(result.rank, want)


def test_permuting_gallery_and_probes_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    scores, probes, gallery = rng.normal(size=(30, 50)), rng.integers(0, 20, 30), rng.integers(0, 20, 50)
    rank = rank_matrix(scores, probes, gallery).rank
    rows, columns = rng.permutation(30), rng.permutation(50)
    moved = rank_matrix(scores[rows][:, columns], probes[rows], gallery[columns]).rank
    np.testing.assert_array_equal(moved, rank[rows])


def test_ties_count_against_the_algorithm() -> None:
    assert rank_matrix([[1.0, 1.0, 1.0]], ["b"], ["a", "b", "c"]).rank[0] == 3
    assert rank_matrix([[1.0, 2.0, 1.0]], ["b"], ["a", "b", "c"]).rank[0] == 1


def test_an_error_has_the_last_rank() -> None:
    result = rank_matrix([[0.5, -np.inf, -np.inf]], ["b"], ["a", "b", "c"])
    assert result.rank[0] == 3
    assert result.relative[0] == 1.0


def test_open_set_probe_has_no_rank_but_a_best_score() -> None:
    result = rank_matrix([[0.5, 0.7], [0.9, 0.2]], ["x", "a"], ["a", "b"])
    np.testing.assert_array_equal(result.enrolled, [False, True])
    assert np.isnan(result.rank[0])
    np.testing.assert_array_equal(result.best_wrong, [0.7, 0.2])
    np.testing.assert_array_equal(result.relative, [np.nan, 0.5])


def test_input_is_unchanged_and_stays_single_precision() -> None:
    scores = np.random.default_rng(1).normal(size=(5, 5)).astype(np.float32)
    before = scores.copy()
    rank_matrix(scores, range(5), range(5), exclude_diagonal=True)
    result: Ranks = rank_matrix(scores, range(5), range(5))
    np.testing.assert_array_equal(scores, before)
    np.testing.assert_array_equal(result.rank, rank_matrix(scores.astype(np.float64), range(5), range(5)).rank)


def test_censored_rank_and_its_median() -> None:
    # The human ID paper (2001), equations 9 and 10.
    np.testing.assert_array_equal(censored([1, 4, 10, 30], 10), [1, 4, 10, 10])
    assert median_rank([1, 4, 10, 30]) == 7
    assert median_rank([1, 12, 30, 50], limit=10) == 10
    assert median_rank([1.0, np.nan, 3.0]) == 2
    assert median_rank([1, 2, 9], weights=[1, 1, 5]) == 9


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=12).filter(
        lambda v: any(w for _, w in v)
    )
)
def test_weighted_median_is_that_of_repeated_values(pairs: list[tuple[int, int]]) -> None:
    values, times = (np.array(v) for v in zip(*pairs, strict=True))
    want = float(np.median(np.repeat(values, times)))
    assert weighted_median(values.astype(np.float64), 0.1 * times) == want
    assert weighted_median(values.astype(np.float64), 7.3e6 * times) == want


@pytest.mark.parametrize(
    ("scores", "options", "words"),
    [
        ([[1.0, np.nan]], {}, "probe 0 and gallery image 1"),
        ([[1.0, 2.0, 3.0]], {}, "expected"),
        ([[1.0, 2.0]], {"exclude_diagonal": True}, "square"),
        ([[1.0, 2.0]], {"block": 0}, "block"),
    ],
)
def test_wrong_input_is_named(scores: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        rank_matrix(scores, ["a"], ["a", "b"], **options)


def test_wrong_limits_are_named() -> None:
    with pytest.raises(ValueError, match="smallest rank"):
        censored([1], 0)
    with pytest.raises(ValueError, match="none is in the gallery"):
        median_rank([np.nan])
    with pytest.raises(ValueError, match="add up to 0"):
        weighted_median(np.ones(2), np.zeros(2))
    with pytest.raises(ValueError, match="empty"):
        rank_matrix(np.empty((0, 2)), [], ["a", "b"])
