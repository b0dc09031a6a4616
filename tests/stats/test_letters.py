"""Letter displays against all maximal sets, by trying every subset, and by what the letters must say."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.multiplicity import LetterDisplay, distinct_matrix, letter_display


@st.composite
def differences(draw: st.DrawFn) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    m = draw(st.integers(1, 8))
    pairs = list(combinations(range(m), 2))
    result = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return distinct_matrix(m, [i for i, _ in pairs], [j for _, j in pairs], result)


def maximal_sets(distinct: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> set[tuple[int, ...]]:
    m = len(distinct)
    free = [
        set(s)
        for size in range(1, m + 1)
        for s in combinations(range(m), size)
        if not any(distinct[i, j] for i, j in combinations(s, 2))
    ]
    return {tuple(sorted(s)) for s in free if not any(s < other for other in free)}


def agrees_with(display: LetterDisplay, distinct: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> bool:
    """Two algorithms share a group exactly when they were not found to differ; all are in a group."""
    m = len(distinct)
    together = np.zeros((m, m), dtype=bool)
    for group in display.groups:
        together[np.ix_(group, group)] = True
    return bool((together == ~distinct).all())


def test_textbook_chain() -> None:
    # a and b do not differ, nor do b and c, but a and c do: b has both letters.
    display = letter_display(distinct_matrix(3, [0], [2], [True]))
    assert display == LetterDisplay(groups=((0, 1), (1, 2)), letters=("a", "ab", "b"), complete=True)


def test_order_gives_the_best_the_first_letter() -> None:
    distinct = distinct_matrix(3, [0, 0], [1, 2], [True, True])
    assert letter_display(distinct).letters == ("a", "b", "b")
    display = letter_display(distinct, order=[2, 1, 0])
    assert display.letters == ("b", "a", "a")
    assert display.groups == ((2, 1), (0,))


@given(distinct=differences())
def test_groups_are_the_maximal_sets(distinct: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> None:
    display = letter_display(distinct)
    assert {tuple(sorted(group)) for group in display.groups} == maximal_sets(distinct)
    assert len(display.groups) == len(set(display.groups))
    assert agrees_with(display, distinct)


@given(distinct=differences())
def test_letters_say_the_same_as_groups(distinct: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> None:
    letters = letter_display(distinct).letters
    for i, j in combinations(range(len(distinct)), 2):
        assert bool(set(letters[i]) & set(letters[j])) == (not distinct[i, j])


@pytest.mark.parametrize("m", [60, 99])
def test_the_worst_case_stays_small_and_correct(m: int) -> None:
    # Triples that differ inside and nowhere else have 3^(m/3) maximal sets (Moon and Moser 1965).
    index = np.arange(m)
    distinct = (index[:, None] // 3 == index // 3) & (index[:, None] != index)
    display = letter_display(distinct)
    assert not display.complete
    assert len(display.groups) <= m * (m - 1) / 2
    assert agrees_with(display, distinct)


@given(distinct=differences())
def test_covering_groups_are_correct_too(distinct: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.stats.multiplicity._READABLE", 0)
        display = letter_display(distinct)
    assert agrees_with(display, distinct)


def test_more_groups_than_letters() -> None:
    display = letter_display(~np.eye(60, dtype=bool))
    assert display.letters[:2] == ("a", "b")
    assert display.letters[25:28] == ("z", "a1", "b1")
    assert len(set(display.letters)) == 60


def test_none_differ_all_differ_and_no_algorithms() -> None:
    assert letter_display(np.zeros((3, 3))).letters == ("a", "a", "a")
    assert letter_display(np.zeros((1, 1))).groups == ((0,),)
    assert letter_display(np.zeros((0, 0))).groups == ()


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="symmetric"):
        letter_display([[0, 1], [0, 0]])
    with pytest.raises(ValueError, match="order"):
        letter_display(np.zeros((2, 2)), order=[0, 0])
