"""Task `rank`: what an answer looks like, what rank it gives, and what is decided."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model import REFUSAL, Answer, Case, Outcome
from harness.tasks.rank import RANK, Gallery
from harness.tasks.task import AnswerError, TaskRules
from tests.matrices.matrix_files import slow_rank
from tests.tasks.rank_tests import SCORES

WHO = ["ann", "bob", "cat", "ann"]
GALLERY = Gallery(Case(f"g{n}", f"p{n}", who) for n, who in enumerate(WHO, 1))
SIMILARITY = TaskRules(gallery=GALLERY)
DISTANCE = TaskRules(larger_is_better=False, gallery=GALLERY)
BOB = Case("q2", "x", "bob")
STRANGER = Case("q4", "x", "dan", positive=False)


@pytest.mark.parametrize(
    "raw",
    [
        SCORES["q2"],
        {"scores": SCORES["q2"]},
        {"ann": 0.4, "bob": 0.6, "cat": 0.8},
        [0.4, 0.6, 0.8, 0.1],
        {"scores": [0.4, 0.6, 0.8, 0.1]},
        {"scores": {"ann": "0.4", "bob": "0.6", "cat": "0.8"}},
    ],
)
def test_scores_in_any_shape_give_rank_right_and_best_wrong(raw: object) -> None:
    assert RANK.answer(raw, BOB, SIMILARITY) == Answer("cat", 0.6, 2, 0.8)


@pytest.mark.parametrize(
    "raw", [["cat", "bob", "ann"], {"ranking": ["g3", "g4", "g2"]}, ["g3", "g3", "g1", "g4", "g2"]]
)
def test_a_ranked_list_has_a_rank_and_no_score(raw: object) -> None:
    found = RANK.answer(raw, BOB, SIMILARITY)
    assert (found.actual, found.score, found.best_wrong) == ("cat", None, None)
    assert found.rank == (2 if "bob" in str(raw) else 3)


def test_a_distance_is_better_when_smaller() -> None:
    assert RANK.answer([0.4, 0.6, 0.8, 0.1], BOB, DISTANCE) == Answer("ann", 0.6, 2, 0.1)


def test_ties_count_against_the_algorithm() -> None:
    assert RANK.answer({"ann": 1, "bob": 1, "cat": 0}, BOB, SIMILARITY) == Answer("ann", 1.0, 2, 1.0)


@pytest.mark.parametrize("raw", [None, {}, [], {"scores": {}}, {"ranking": []}])
def test_nothing_is_a_refusal(raw: object) -> None:
    assert RANK.answer(raw, BOB, SIMILARITY) == REFUSAL


def test_a_person_not_enrolled_has_no_rank() -> None:
    assert RANK.answer({"g1": 0.5}, BOB, SIMILARITY) == Answer("ann", None, None, 0.5)
    assert RANK.answer([0.5, None, 0.1, None], BOB, SIMILARITY) == Answer("ann", None, None, 0.5)
    assert RANK.answer(["ann"], BOB, SIMILARITY) == Answer("ann")


def test_a_stranger_has_the_score_of_the_best() -> None:
    assert RANK.answer(SCORES["q4"], STRANGER, SIMILARITY) == Answer("cat", 0.55, None, 0.55)


def test_a_probe_is_not_compared_with_itself() -> None:
    probe = Case("x", "p1", "ann")
    assert RANK.answer([1.0, 0.3, 0.2, 0.25], probe, SIMILARITY) == Answer("bob", 0.25, 2, 0.3)
    assert RANK.answer(["g1", "g2", "g4"], probe, SIMILARITY) == Answer("bob", None, 2)
    lone = Case("x", "p2", "bob")
    assert RANK.case_mistake(lone, SIMILARITY) is not None


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ([0.1, 0.2], "2 scores for a gallery of 4 images"),
        ({"eve": 0.5}, "'eve' is neither an id nor an identity in the gallery"),
        (["ann", "eve"], "'eve' is neither an id nor an identity in the gallery"),
        ({"ranking": "ann"}, "ranking 'ann' is not a list of identities"),
        ("ann", "'ann' is not an answer of a rank test"),
        (3, "3 is not an answer of a rank test"),
        ({"ann": float("nan")}, "is not a finite number"),
        ({"ann": "high"}, "score of 'ann' 'high' is not a number"),
    ],
)
def test_invalid_answers_are_explained(raw: object, words: str) -> None:
    with pytest.raises(AnswerError) as caught:
        RANK.answer(raw, BOB, SIMILARITY)
    assert words in str(caught.value)


@given(st.lists(st.integers(-3, 3), min_size=4, max_size=4), st.sampled_from(["ann", "bob", "cat"]), st.booleans())
def test_ranks_are_those_of_the_slow_reference(scores: list[int], own: str, larger: bool) -> None:
    found = RANK.answer(scores, Case("q", "x", own), SIMILARITY if larger else DISTANCE)
    assert found.rank == slow_rank(np.array(scores) * (1.0 if larger else -1.0), own, WHO)
    assert (found.actual == own) == (found.rank == 1)
    right = [score for score, who in zip(scores, WHO, strict=True) if who == own]
    assert found.score == (max(right) if larger else min(right))


def decide(raw: object, case: Case, rules: TaskRules, **params: Any) -> Outcome:
    accepts = RANK.acceptance(rules, {"rank": 1, **params})
    return Outcome.of(positive=case.positive, accepted=accepts(case, RANK.answer(raw, case, rules)))


def test_rank_threshold_and_both_decide() -> None:
    assert decide(SCORES["q2"], BOB, SIMILARITY) is Outcome.FN
    assert decide(SCORES["q2"], BOB, SIMILARITY, rank=2) is Outcome.TP
    assert decide(SCORES["q2"], BOB, SIMILARITY, rank=2, threshold=0.6) is Outcome.TP
    assert decide(SCORES["q2"], BOB, SIMILARITY, rank=2, threshold=0.61) is Outcome.FN
    assert decide(SCORES["q2"], BOB, DISTANCE, rank=2, threshold=0.6) is Outcome.TP
    assert decide(SCORES["q2"], BOB, DISTANCE, rank=2, threshold=0.59) is Outcome.FN
    assert decide(SCORES["q4"], STRANGER, SIMILARITY, threshold=0.5) is Outcome.FP
    assert decide(SCORES["q4"], STRANGER, SIMILARITY, threshold=0.6) is Outcome.TN
    assert decide(SCORES["q4"], STRANGER, SIMILARITY) is Outcome.FP
    assert decide(None, STRANGER, SIMILARITY) is Outcome.TN
    assert decide(["bob"], BOB, SIMILARITY, threshold=9e9) is Outcome.TP


class RecordedAnswer:
    """The fields of an answer in a record."""

    def __init__(self, case: Case, answer: Answer) -> None:
        self.expect, self.actual, self.score, self.rank = case.expect, answer.actual, answer.score, answer.rank
        self.pixels = self.boxes = None


@given(
    st.one_of(st.none(), st.just(["cat", "bob"]), st.lists(st.sampled_from([None, 0, 1, 2.5]), min_size=4, max_size=4)),
    st.sampled_from([BOB, STRANGER]),
    st.booleans(),
    st.integers(1, 3),
    st.one_of(st.none(), st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.5, 3.0])),
)
def test_limits_agree_with_the_decision(
    raw: object, case: Case, larger: bool, rank: int, threshold: float | None
) -> None:
    rules = SIMILARITY if larger else DISTANCE
    params: dict[str, Any] = {"rank": rank} if threshold is None else {"rank": rank, "threshold": threshold}
    limits = RANK.limits(rules, params)
    answer = RANK.answer(raw, case, rules)
    limit, value = limits.of(RecordedAnswer(case, answer), case.positive), params[limits.param]
    accepted = limit >= value if limits.falling else limit <= value
    assert accepted == RANK.acceptance(rules, params)(case, answer)
