"""Every form of an answer in every task, against the rules of the task."""

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.interface.wire import plain
from harness.model import REFUSAL, Answer, Case, Outcome
from harness.tasks import TASKS
from harness.tasks.answers import shown
from harness.tasks.label import best_and_lead
from harness.tasks.task import AnswerError, TaskRules
from tests.simulation import examples

quickly = examples(150)
POSITIVE = Case("1", "in", "3")
NEGATIVE = Case("2", "in", "3", positive=False, truth="5")
BLANK = Case("3", "in", "", positive=False)
SIMILARITY, DISTANCE = TaskRules(), TaskRules(larger_is_better=False)


def answer(task: str, raw: object, case: Case = POSITIVE, rules: TaskRules = SIMILARITY) -> Answer:
    return TASKS[task].answer(raw, case, rules)


def outcome(task: str, raw: object, case: Case, *, rules: TaskRules = SIMILARITY, **params: float) -> Outcome:
    defaults = {name: param.default for name, param in TASKS[task].decisions.items()}
    accepts = TASKS[task].acceptance(rules, defaults | params)
    return Outcome.of(positive=case.positive, accepted=accepts(case, TASKS[task].answer(raw, case, rules)))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("3", Answer("3")),
        (" 3\n", Answer("3")),
        (3, Answer("3")),
        (3.0, Answer("3")),
        (3.5, Answer("3.5")),
        (-0.0, Answer("0")),
        (True, Answer("true")),
        (None, REFUSAL),
        ("", REFUSAL),
        ("  ", REFUSAL),
        (("3", 0.5), Answer("3", 0.5)),
        (["3", 2], Answer("3", 2.0)),
        (["3", None], Answer("3")),
        ([None, 0.5], REFUSAL),
        (["", 0.5], REFUSAL),
        ([" ", 0.5], REFUSAL),
        ({"label": 3, "score": "0.25"}, Answer("3", 0.25)),
        ({"label": "3"}, Answer("3")),
        ({"label": None}, REFUSAL),
        ({"label": "  ", "score": 1}, REFUSAL),
        ({"label": "3", "seconds": 1, "note": "more keys than are known"}, Answer("3")),
        ({"scores": {"3": 5, "4": 3.5}}, Answer("3", 1.5)),
        ({"scores": {}}, REFUSAL),
        ({}, REFUSAL),
        ({"3": 5, "4": 3.5, "5": -1}, Answer("3", 1.5)),
        ({3: 5, 4: 3}, Answer("3", 2.0)),
        ({"4": 7}, Answer("4", 7.0)),
        ({"4": -7}, Answer("4", -7.0)),
        ({"a": 1, "b": 1}, Answer("a", 0.0)),
        ({"b": 1, "a": 1}, Answer("b", 0.0)),
        ({"": 2, "a": 1}, REFUSAL),
        ({"scores": {"3": "5", "4": "3"}}, Answer("3", 2.0)),
    ],
)
def test_answers_of_a_label_test(raw: object, expected: Answer) -> None:
    assert answer("label", raw) == expected


@pytest.mark.parametrize(
    "raw",
    [
        math.nan, math.inf, -math.inf, [], ["3"], ["3", 1, 2], ["3", math.nan], ["3", "much"], ["3", True],
        [["3"], 1], {"label": ["3"]}, {"label": "3", "score": {}}, {"scores": [1, 2]}, {"scores": None},
        {"3": None}, {"3": math.nan, "4": 1}, {"3": "inf"}, {"3": True}, {"3": [1]}, {math.nan: 1}, "\ud800",
        ["\udcff", 1], {"a\ud800": 1}, b"3", object(), {"3": 10**400},
    ],
)  # fmt: skip
def test_what_is_not_an_answer_of_a_label_test(raw: object) -> None:
    with pytest.raises(AnswerError) as caught:
        answer("label", raw)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (0.5, 0.5), (2, 2.0), ("0.5", 0.5), (" -1e3 ", -1000.0), ({"score": 0.5}, 0.5), ({"score": "3"}, 3.0),
        ({"label": "x", "score": 1}, 1.0),
    ],
)  # fmt: skip
def test_answers_of_a_score_test(raw: object, expected: float) -> None:
    assert answer("score", raw) == Answer(expected, expected)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(3.5, 3.5), (3, 3.0), ("2.5", 2.5), ({"value": 4}, 4.0), ({"value": "4"}, 4.0), ({"label": "4"}, 4.0)],
)
def test_answers_of_a_value_test(raw: object, expected: float) -> None:
    assert answer("value", raw) == Answer(expected, abs(expected - 3))


@pytest.mark.parametrize("task", ["score", "value"])
@pytest.mark.parametrize("raw", [None, "", {"score": None, "value": None}, {"score": "", "value": ""}])
def test_an_empty_answer_is_a_refusal(task: str, raw: object) -> None:
    assert answer(task, raw) == REFUSAL


@pytest.mark.parametrize("task", ["score", "value"])
@pytest.mark.parametrize(
    "raw",
    [
        math.nan, math.inf, -math.inf, "nan", "inf", "1e999", "much", True, False, [], [1], ["3", 1], {}, {"x": 1},
        {"score": math.nan, "value": math.nan}, {"score": True, "value": True}, {"score": [1], "value": [1]},
        b"1", 1j, 10**400, object(),
    ],
)  # fmt: skip
def test_what_is_not_a_number(task: str, raw: object) -> None:
    with pytest.raises(AnswerError, match="number"):
        answer(task, raw)


@pytest.mark.parametrize(
    ("task", "raw", "expected"),
    [
        ("label", np.int64(3), Answer("3")),
        ("label", np.float32(3.0), Answer("3")),
        ("label", np.str_("3"), Answer("3")),
        ("label", np.bool_(True), Answer("true")),
        ("label", (np.int64(3), np.float32(0.5)), Answer("3", 0.5)),
        ("label", {np.int64(3): np.float64(2), np.int64(4): np.int8(1)}, Answer("3", 1.0)),
        ("label", np.array(["3", "x"])[0], Answer("3")),
        ("label", np.array(3), Answer("3")),
        ("score", np.float32(0.5), Answer(0.5, 0.5)),
        ("score", np.int16(2), Answer(2.0, 2.0)),
        ("score", np.array(0.25), Answer(0.25, 0.25)),
        ("value", np.float64(3.5), Answer(3.5, 0.5)),
    ],
)
def test_numpy_answers_equal_those_of_python(task: str, raw: Any, expected: Answer) -> None:
    assert answer(task, plain(raw)) == expected


@quickly
@given(st.dictionaries(st.text(min_size=1).map(str.strip).filter(bool), st.integers(-50, 50), min_size=2))
def test_best_and_lead_equal_a_brute_force_twin(scores: Mapping[str, int]) -> None:
    """The lead of the best label over the second; ties go to the first."""
    best = max(scores.values())
    name = next(label for label, score in scores.items() if score == best)
    second = max(score for label, score in scores.items() if label != name)
    result = best_and_lead(dict[object, object](scores.items()))
    assert result == Answer(name, float(best - second))


def test_a_lead_or_an_error_is_never_infinite() -> None:
    """JSON has no infinity: an infinite score would be recorded as missing, which passes every threshold."""
    assert answer("label", {"a": 1e308, "b": -1e308}) == Answer("a", sys.float_info.max)
    far = Case("1", "in", "-1e308")
    assert answer("value", 1e308, far) == Answer(1e308, sys.float_info.max)
    tiny = Case("1", "in", "5e-324")
    assert answer("value", 1e300, tiny, TaskRules(relative_tolerance=True)) == Answer(1e300, sys.float_info.max)


@pytest.mark.parametrize(
    ("raw", "positive", "negative"),
    [
        ("3", "TP", "FP"),
        ("4", "FN", "TN"),
        (None, "FN", "TN"),
        (("3", 0.5), "TP", "FP"),
        (("3", 0.4999), "FN", "TN"),
        (("4", 9), "FN", "TN"),
        ({"3": 1, "4": 0.5}, "TP", "FP"),
        ({"3": 1, "4": 0.6}, "FN", "TN"),
    ],
)
def test_outcomes_of_a_label_test_at_threshold_one_half(raw: object, positive: str, negative: str) -> None:
    """A score equal to the threshold is accepted; an answer without a score passes every threshold."""
    assert outcome("label", raw, POSITIVE, threshold=0.5) == positive
    assert outcome("label", raw, NEGATIVE, threshold=0.5) == negative


@pytest.mark.parametrize(("raw", "expected"), [("8", "FP"), (None, "TN"), (("8", 0.4), "TN"), (("8", 0.5), "FP")])
def test_a_negative_case_without_a_claim_accepts_any_label(raw: object, expected: str) -> None:
    assert outcome("label", raw, BLANK, threshold=0.5) == expected


def test_a_tie_leads_by_nothing_and_passes_the_default_threshold() -> None:
    assert outcome("label", {"3": 1, "4": 1}, POSITIVE) == "TP"
    assert outcome("label", {"4": 1, "3": 1}, POSITIVE) == "FN"
    assert outcome("label", {"3": 1, "4": 1}, POSITIVE, threshold=1e-9) == "FN"


@pytest.mark.parametrize(
    ("rules", "accepted", "refused"),
    [(SIMILARITY, (0.5, 0.6, 9), (0.4999, -1)), (DISTANCE, (0.5, 0.4, -9), (0.5001, 2))],
)
def test_a_score_at_the_threshold_is_accepted(
    rules: TaskRules, accepted: tuple[float, ...], refused: tuple[float, ...]
) -> None:
    for score in accepted:
        assert outcome("score", score, POSITIVE, rules=rules, threshold=0.5) == "TP"
        assert outcome("score", score, NEGATIVE, rules=rules, threshold=0.5) == "FP"
    for refusal in (*refused, None):
        assert outcome("score", refusal, POSITIVE, rules=rules, threshold=0.5) == "FN"
        assert outcome("score", refusal, NEGATIVE, rules=rules, threshold=0.5) == "TN"


@pytest.mark.parametrize(
    ("expect", "raw", "tolerance", "accepted"),
    [
        ("3", 3, 0, True),
        ("3", 3.0000001, 0, False),
        ("1.0", 1.1, 0.1, True),
        ("1.0", 0.9, 0.1, True),
        ("1.0", 1.1000001, 0.1, False),
        ("0.3", 0.1, 0.2, True),
        ("-2", -2.5, 0.5, True),
        ("-2", 2, 3.9, False),
        ("1e3", 1001, 1, True),
        (" 3 ", 3, 0, True),
    ],
)
def test_a_value_at_the_edge_of_an_absolute_tolerance_is_right(
    expect: str, raw: float, tolerance: float, accepted: bool
) -> None:
    """In decimal arithmetic, as authors and programs write their numbers: 1.1 is 0.1 away from 1.0."""
    case = Case("1", "in", expect)
    assert outcome("value", raw, case, tolerance=tolerance) == ("TP" if accepted else "FN")


@pytest.mark.parametrize(
    ("expect", "raw", "tolerance", "accepted"),
    [("100", 110, 0.1, True), ("3", 3.3, 0.1, True), ("-3", -3.3, 0.1, True), ("100", 110.001, 0.1, False),
     ("0.7", 0.77, 0.1, True), ("0.001", 0.0011, 0.1, True), ("-100", 100, 1.99, False)],
)  # fmt: skip
def test_a_value_at_the_edge_of_a_relative_tolerance_is_right(
    expect: str, raw: float, tolerance: float, accepted: bool
) -> None:
    case, rules = Case("1", "in", expect), TaskRules(relative_tolerance=True)
    assert outcome("value", raw, case, rules=rules, tolerance=tolerance) == ("TP" if accepted else "FN")


def test_a_negative_value_case_without_a_claim_accepts_any_number() -> None:
    """As in a label test: there is nothing to measure, and a program should refuse."""
    assert outcome("value", 17, BLANK) == "FP"
    assert outcome("value", None, BLANK) == "TN"
    assert answer("value", 17, BLANK) == Answer(17.0)


@pytest.mark.parametrize(("expect", "relative", "message"), [
    ("three", False, "expect 'three' is not a number"), ("nan", False, "not a finite number"),
    ("0", True, "expect is 0"), ("-0.0", True, "expect is 0"),
])  # fmt: skip
def test_value_cases_need_a_number_to_compare_with(expect: str, relative: bool, message: str) -> None:
    mistake = TASKS["value"].case_mistake(Case("1", "in", expect), TaskRules(relative_tolerance=relative))
    assert mistake is not None
    assert message in mistake


@quickly
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), lambda inner: st.lists(inner)
       | st.dictionaries(st.text(), inner), max_leaves=8))  # fmt: skip
def test_any_json_is_an_answer_or_an_answer_error(raw: Any) -> None:
    """Whatever a program answers, the trial can be recorded as JSON and read back."""
    for name, task in TASKS.items():
        try:
            result = task.answer(raw, POSITIVE, SIMILARITY)
        except AnswerError:
            continue
        assert result.score is None or math.isfinite(result.score), name
        assert str(result.actual).encode()


def test_long_answers_are_shown_shortened() -> None:
    assert shown("x" * 1000) == "'" + "x" * 56 + "..."
    assert shown([1, 2]) == "[1, 2]"


@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("accepted", [True, False])
def test_the_table_of_outcomes(positive: bool, accepted: bool) -> None:
    result = Outcome.of(positive=positive, accepted=accepted)
    assert result.positive is positive
    assert result.success is (positive == accepted)
