"""pass@k and majority@k: against all draws of k answers, written out."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.attempts import Attempts, majority_at, pass_at


def attempts(*cases: list[tuple[int, bool]]) -> Attempts:
    """Each case is a list of answers: a label, and whether it is right."""
    flat = [(number, label, good) for number, answers in enumerate(cases) for label, good in answers]
    return Attempts(
        case=np.array([one[0] for one in flat]),
        success=np.array([one[2] for one in flat]),
        label=np.array([one[1] for one in flat]),
        cases=len(cases),
    )


def written_out(answers: list[tuple[int, bool]], k: int) -> tuple[float, float]:
    """Every draw of k answers: whether one is right, and the share of right ones among the most frequent."""
    one = majority = 0.0
    for drawn in combinations(answers, k):
        one += any(good for _, good in drawn)
        tally: dict[tuple[int, bool], int] = {}
        for answer in drawn:
            tally[answer] = tally.get(answer, 0) + 1
        most = [answer for answer, count in tally.items() if count == max(tally.values())]
        majority += sum(good for _, good in most) / len(most)
    draws = comb(len(answers), k)
    return one / draws, majority / draws


# Label 0 is right, the others are wrong; -1 is an answer without a label.
ANSWERS = st.lists(st.integers(-1, 3).map(lambda label: (label, label == 0)), min_size=1, max_size=8)


@given(ANSWERS, st.data())
def test_both_are_the_mean_over_all_draws(answers: list[tuple[int, bool]], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(answers)))
    found = attempts(answers)
    one, majority = written_out(answers, k)
    assert pass_at(found, k)[0] == pytest.approx(one, abs=1e-12)
    assert majority_at(found, k)[0] == pytest.approx(majority, abs=1e-12)


def test_pass_is_the_published_formula() -> None:
    """Chen and others (2021): 1 - C(n - c, k) / C(n, k), with n = 200 samples."""
    n, right = 200, 13
    found = attempts([(0, True)] * right + [(1, False)] * (n - right))
    for k in (1, 10, 100):
        assert pass_at(found, k)[0] == pytest.approx(1 - comb(n - right, k) / comb(n, k), abs=1e-12)


def test_one_answer_is_the_rate() -> None:
    found = attempts([(0, True), (1, False), (1, False)], [(0, True)] * 4)
    assert pass_at(found, 1) == pytest.approx([1 / 3, 1])
    assert majority_at(found, 1) == pytest.approx([1 / 3, 1])


def test_two_right_labels_are_two_answers() -> None:
    """In a negative case every refusing answer is right, whatever its label."""
    found = attempts([(0, True), (1, True), (2, False), (2, False)])
    assert majority_at(found, 4)[0] == 0


def test_too_few_answers_are_refused() -> None:
    with pytest.raises(ValueError, match="a case has only 1 answers; it takes 2 for each"):
        pass_at(attempts([(0, True)] * 3, [(0, True)]), 2)
    with pytest.raises(ValueError, match="expected 1 or more"):
        pass_at(attempts([(0, True)]), 0)
