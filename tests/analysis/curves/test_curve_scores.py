"""What a label, a refusal, an error and an answer without a score do to a curve."""

from typing import Any

import pytest

from tests.analysis.curves.transcripts import Record, write_transcript
from tests.workshop import Workshop


def label(
    number: int, positive: bool, expect: str = "3", actual: str | None = "3", score: float | None = 1.0, **more: Any
) -> Record:
    """A record of a label test."""
    right = "TP" if positive else "FP"
    wrong = "FN" if positive else "TN"
    record: Record = {"id": f"c{number}", "positive": positive, "outcome": right if actual == expect else wrong}
    record |= {"expect": expect} if expect else {}
    record |= {"actual": actual} if actual is not None else {}
    record |= {"score": score} if score is not None else {}
    return record | more


def error(number: int, positive: bool) -> Record:
    outcome = "FN" if positive else "FP"
    return {"id": f"c{number}", "positive": positive, "outcome": outcome, "expect": "3", "error": "crash"}


def curve_of(shop: Workshop, records: list[Record], *words: str, **test: Any) -> Any:
    path = write_transcript(shop.folder / "t.jsonl", records, **({"task": "label"} | test))
    done = shop.call("roc", path, "--format", "json", *words)
    assert done.status == 0, done.err
    return done.json["curves"][0]


def rates(found: Any) -> list[tuple[float | None, float, float]]:
    points = found["points"]
    return list(zip(points["threshold"], points["fpr"], points["tpr"], strict=True))


def test_no_threshold_accepts_a_label_other_than_the_claimed_one(shop: Workshop) -> None:
    records = [label(0, True, score=5), label(1, True, actual="4", score=9), label(2, False, score=2)]
    found = curve_of(shop, [*records, label(3, False, actual="4", score=8)])
    assert rates(found) == [(None, 0, 0), (5, 0, 0.5), (2, 0.5, 0.5), (None, 1, 1)]
    assert found["closed"] is True
    assert "closed by a straight line to (1, 1)" in found["notes"][0]


def test_a_negative_case_that_claims_nothing_counts_with_any_label(shop: Workshop) -> None:
    records = [label(0, True, score=5), label(1, False, expect="", actual="7", score=6)]
    records.append(label(2, False, expect="", actual=None, score=None))
    assert rates(curve_of(shop, records)) == [(None, 0, 0), (6, 0.5, 0), (5, 0.5, 1), (None, 1, 1)]


def test_a_refusal_is_accepted_by_no_threshold(shop: Workshop) -> None:
    records = [label(0, True, score=5), label(1, True, actual=None, score=None), label(2, False, score=2)]
    found = curve_of(shop, records)
    assert rates(found) == [(None, 0, 0), (5, 0, 0.5), (2, 1, 0.5), (None, 1, 1)]


def test_an_error_fails_at_every_threshold(shop: Workshop) -> None:
    records = [label(0, True, score=5), error(1, True), label(2, False, score=2), error(3, False)]
    found = curve_of(shop, records)
    assert rates(found) == [(None, 0, 0), (None, 0.5, 0), (5, 0.5, 0.5), (2, 1, 0.5), (None, 1, 1)]
    assert (found["opened"], found["closed"]) == (True, True)
    assert "accepted by every threshold" in found["notes"][1]


def test_an_error_is_a_refusal_if_the_test_says_so(shop: Workshop) -> None:
    records = [label(0, True, score=5), error(1, True), label(2, False, score=2), error(3, False)]
    found = curve_of(shop, records, errors="refuse")
    assert rates(found) == [(None, 0, 0), (5, 0, 0.5), (2, 0.5, 0.5), (None, 1, 1)]
    assert found["opened"] is False


def test_the_score_of_a_value_test_is_its_error(shop: Workshop) -> None:
    records = [
        {"id": "a", "positive": True, "outcome": "TP", "actual": 1.0, "score": 0.1},
        {"id": "b", "positive": False, "outcome": "TN", "actual": 7.0, "score": 3.0},
    ]
    found = curve_of(shop, records, task="value")
    assert rates(found) == [(None, 0, 0), (0.1, 0, 1), (3.0, 1, 1)]


def test_counts_at_a_threshold_are_those_of_a_run_with_it(toy: Workshop) -> None:
    """A sweep over recorded scores agrees with separate runs."""
    toy.interface("def answer(case, params):\n    return case.input, int(case.input[1:]) % 4\n")
    records = toy.run()
    assert len(records) == 6
    found = toy.call("roc", "out.jsonl", "--format", "json").json["curves"][0]
    known = {threshold: (fpr, tpr) for threshold, fpr, tpr in rates(found) if threshold is not None}
    assert known
    for threshold, (fpr, tpr) in known.items():
        row = toy.call("run", "toy", "--param", f"threshold={threshold}", "--format", "json").row
        assert tpr == pytest.approx(row["TP"] / (row["TP"] + row["FN"]))
        assert fpr == pytest.approx(row["FP"] / (row["FP"] + row["TN"]))


MISTAKES = [
    ([label(0, True, score=None), label(1, False)], {}, "no score in the answer to case 'c0'"),
    ([label(0, True), label(1, False, actual="9", score=None), label(2, True, score=None)], {}, "'c1' and 1 more"),
    ([label(0, True)], {}, "no negative case"),
    ([label(0, False)], {}, "no positive case"),
    ([label(0, True), label(1, False)], {"task": "melody"}, "task 'melody' is not known here"),
]


@pytest.mark.parametrize(("records", "test", "text"), MISTAKES, ids=[text for *_, text in MISTAKES])
def test_what_no_curve_can_be_made_of(shop: Workshop, records: list[Record], test: Any, text: str) -> None:
    path = write_transcript(shop.folder / "t.jsonl", records, **({"task": "label"} | test))
    done = shop.call("roc", path)
    assert done.status == 2
    assert text in done.err
    assert "t.jsonl" in done.err


def test_an_incomplete_transcript_needs_partial(shop: Workshop) -> None:
    path = write_transcript(shop.folder / "t.jsonl", [label(0, True), label(1, False)], task="label", complete=False)
    refused = shop.call("roc", path)
    assert (refused.status, "--partial" in refused.err) == (2, True)
    assert shop.call("roc", path, "--partial").status == 0
