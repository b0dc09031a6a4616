"""Task `boxes`: what an answer may look like, what is recorded, and when an image is a success."""

import json
from math import inf
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model import Answer, Case
from harness.stats.object_matching import object_counts
from harness.tasks.boxes import BOXES, detected_boxes, recorded_detections, true_boxes
from harness.tasks.task import AnswerError, TaskRules
from tests.analysis.transcripts import transcript
from tests.boxes import plain_iou
from tests.simulation import examples
from tests.workshop import Workshop

RULES = TaskRules()
CAT = {"label": "cat", "box": [10, 10, 20, 20]}


def case(truth: list[Any]) -> Case:
    return BOXES.complete(Case("1", "", json.dumps(truth)), RULES)


def accepted(truth: list[Any], found: list[Any], iou: float, threshold: float) -> bool:
    own = case(truth)
    return BOXES.acceptance(RULES, {"iou": iou, "threshold": threshold})(own, BOXES.answer(found, own, RULES))


def limit(truth: list[Any], found: list[Any], threshold: float) -> float:
    own = case(truth)
    recorded = BOXES.answer(found, own, RULES)
    return BOXES.limits(RULES, {"iou": 0.5, "threshold": threshold}).of(_Recorded(boxes=recorded.boxes), own.positive)


class _Recorded(msgspec.Struct):
    boxes: Any
    expect: Any = msgspec.UNSET
    actual: Any = msgspec.UNSET
    score: Any = msgspec.UNSET
    rank: Any = msgspec.UNSET
    pixels: Any = msgspec.UNSET


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("cat", "'cat' is not a list of boxes in JSON"),
        (3, "3 is not a list of boxes, each {'label', 'box', 'score'}"),
        ({"box": [1, 2, 3, 4]}, "{'box': [1, 2, 3, 4]} is not a list of boxes, each {'label', 'box', 'score'}"),
        ([[1, 2, 3, 4]], "box 1: [1, 2, 3, 4] is not an object with the keys label, box, score"),
        ([CAT, {"label": "cat"}], "box 2: box None is not [x, y, width, height]"),
        ([{"box": [1, 2, 3]}], "box 1: box [1, 2, 3] is not [x, y, width, height]"),
        ([{"box": [1, 2, -3, 4]}], "box 1: box [1, 2, -3, 4] has a negative side; write [x, y, width, height]"),
        ([{"box": [1, 2, "x", 4]}], "box 1: box has 'x' is not a number"),
        ([{"box": [1, 2, float("nan"), 4]}], "box 1: box has nan is not a finite number"),
        ([{"box": [1, 2, 3, 1e10]}], "box 1: box [1, 2, 3, 10000000000.0] has a number above 1e+09"),
        ([CAT | {"score": float("inf")}], "box 1: score inf is not a finite number"),
        ([CAT | {"score": None}], "box 1: score None is not a number"),
        ([CAT | {"label": ["cat"]}], "label ['cat'] is neither text nor a number"),
        ([{"bbox": [1, 2, 3, 4]}], "box 1: unknown key 'bbox'; the keys are label, box, score"),
        ([CAT | {"ignore": True}], "box 1: unknown key 'ignore'; the keys are label, box, score"),
        ([CAT] * 10_001, "10,001 boxes; an image may have 10,000: give those with the best scores"),
    ],
)
def test_an_answer_that_is_no_list_of_boxes(raw: object, message: str) -> None:
    with pytest.raises(AnswerError) as error:
        BOXES.answer(raw, case([CAT]), RULES)
    assert str(error.value) == message


@pytest.mark.parametrize("raw", [None, "", "[]", []])
def test_nothing_found(raw: object) -> None:
    answer = BOXES.answer(raw, case([CAT]), RULES)
    assert answer.boxes == {"labels": ["cat"], "truth": [[0, 10, 10, 20, 20]], "found": []}
    assert answer.actual == "no boxes"


def test_the_record_has_truth_and_detections_by_falling_score() -> None:
    truth = [CAT, {"box": [0, 0, 5, 5], "ignore": True, "area": 12.5}]
    found = [{"box": [0, 0, 5, 5], "score": 0.25}, CAT, {"label": 7, "box": [1, 1, 2, 2], "score": "0.5"}]
    answer = BOXES.answer(found, case(truth), RULES)
    assert answer == Answer(
        "3 boxes",
        boxes={
            "labels": ["cat", "object", "7"],
            "truth": [[0, 10, 10, 20, 20], [1, 0, 0, 5, 5]],
            # A box without a score is certain.
            "found": [[0, 1.0, 10, 10, 20, 20], [2, 0.5, 1, 1, 2, 2], [1, 0.25, 0, 0, 5, 5]],
            "ignored": [1],
            "areas": [[1, 12.5]],
        },
    )


def test_only_the_best_detections_of_each_class_count() -> None:
    many = [{"label": "ab"[n % 2], "box": [n, 0, 1, 1], "score": n % 7} for n in range(400)]
    kept = detected_boxes(many, 100)
    for name in "ab":
        own = [box for box in kept if box.label == name]
        wanted = sorted((one for one in many if one["label"] == name), key=lambda one: -one["score"])[:100]  # type: ignore[operator]
        assert [list(box.box) for box in own] == [one["box"] for one in wanted]
    assert len(detected_boxes(many, 3)) == 6


def test_an_error_misses_every_object() -> None:
    assert BOXES.failure(case([CAT]), RULES).boxes == {"labels": ["cat"], "truth": [[0, 10, 10, 20, 20]], "found": []}


@pytest.mark.parametrize(
    ("truth", "positive"), [([], False), ([CAT], True), ([CAT | {"ignore": True}], False), ([CAT] * 2, True)]
)
def test_an_image_with_objects_is_positive(truth: list[Any], positive: bool) -> None:
    assert case(truth).positive is positive


def box(rng_x: int, rng_y: int, size: int, label: str) -> dict[str, Any]:
    return {"label": label, "box": [rng_x, rng_y, size, size]}


BOX = st.builds(box, st.integers(0, 6), st.integers(0, 6), st.integers(4, 7), st.sampled_from("ab"))
TRUTH = st.lists(
    st.builds(lambda one, ignore: one | {"ignore": ignore}, BOX, st.sampled_from([False, False, True])), max_size=4
)
FOUND = st.lists(
    st.builds(lambda one, score: one | {"score": score}, BOX, st.sampled_from([0.2, 0.5, 0.8])), max_size=4
)


def plain_success(truth: list[Any], found: list[Any], iou: float, threshold: float) -> bool:
    """By the definition: first what COCO's matching at 0.5 ignores is dropped, then all must match at `iou`."""
    objects = [one for one in truth if not one["ignore"]]
    regions = [one for one in truth if one["ignore"]]
    kept = sorted((one for one in found if one["score"] >= threshold), key=lambda one: -one["score"])
    taken = plain_greedy(kept, objects, 0.5)
    kept = [
        one
        for place, one in enumerate(kept)
        if place in taken
        or not any(r["label"] == one["label"] and plain_iou(one["box"], r["box"], crowd=True) >= 0.5 for r in regions)
    ]
    return len(plain_greedy(kept, objects, iou)) == len(kept) == len(objects)


def plain_greedy(found: list[Any], objects: list[Any], level: float) -> dict[int, int]:
    taken: dict[int, int] = {}
    for place, one in enumerate(found):
        overlaps = [
            (plain_iou(one["box"], other["box"]), k)
            for k, other in enumerate(objects)
            if k not in taken.values() and other["label"] == one["label"]
        ]
        best, k = max(overlaps, default=(0.0, -1))
        if best >= level:
            taken[place] = k
    return taken


@examples(300)
@given(TRUTH, FOUND)
def test_an_image_is_a_success_if_all_objects_and_nothing_else_were_found(truth: list[Any], found: list[Any]) -> None:
    positive = case(truth).positive
    for threshold in (0.0, 0.5, 0.7):
        own = limit(truth, found, threshold)
        for iou in (0.1, 0.3, 0.5, 0.6, 0.9, 1.0):
            success = plain_success(truth, found, iou, threshold)
            assert accepted(truth, found, iou, threshold) is (success is positive)
            # Any number of values from the recorded answer, as in a sweep.
            assert (own >= iou) is (success is positive)


@examples(300)
@given(TRUTH, FOUND)
def test_an_image_is_a_success_if_nothing_is_missed_or_false_in_its_objects(truth: list[Any], found: list[Any]) -> None:
    """What decides on an image and what measures count agree, also at a level that every overlap reaches."""
    truth = [one | {"ignore": False} for one in truth]
    own = case(truth)
    detections = recorded_detections([BOXES.answer(found, own, RULES).boxes])
    for iou in (0.0, 0.2, 0.5, 0.8, 1.0):
        for threshold in (0.0, 0.5, 0.9):
            counts = object_counts(detections, iou, threshold)
            success = not counts.missed.any() and not counts.false.any()
            assert accepted(truth, found, iou, threshold) is (success is own.positive)


def test_an_overlap_of_one_is_enough_for_a_level_of_one() -> None:
    third = {"label": "cat", "box": [0.1, 0.1, 1 / 3, 1 / 3]}
    assert limit([third], [third], 0.0) == 1.0


def test_an_image_without_objects_is_right_if_nothing_is_found() -> None:
    assert limit([], [CAT | {"score": 0.4}], 0.5) == -inf
    assert limit([], [CAT | {"score": 0.4}], 0.3) == inf
    region = [CAT | {"ignore": True}]
    assert limit(region, [CAT], 0.0) == -inf
    assert limit(region, [{"label": "dog", "box": CAT["box"]}], 0.0) == inf


def test_records_as_arrays() -> None:
    records = [BOXES.answer([CAT], case([CAT, CAT | {"ignore": True, "area": 3}]), RULES).boxes, None]
    found = recorded_detections(records, ["dog"])
    assert (found.cases, found.labels) == (2, 2)
    assert found.truth.label.tolist() == [1, 1]
    assert found.area.tolist() == [400, 3]
    assert found.crowd.tolist() == [False, True]
    assert found.score.tolist() == [1.0]


GOOD: dict[str, Any] = {"labels": ["a"], "truth": [[0, 1, 2, 3, 4]], "found": [[0, 0.5, 1, 2, 3, 4]]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, None),
        ({"ignored": [0], "areas": [[0, 1.5]]}, None),
        ({"labels": "a"}, "labels: expected a list of texts"),
        ({"truth": [[0, 1, 2, 3]]}, "truth: expected rows of numbers [label, x, y, width, height]"),
        ({"truth": None}, "truth: expected rows of numbers [label, x, y, width, height]"),
        ({"found": [[1, 0.5, 1, 2, 3, 4]]}, "found: expected rows of numbers [label, score, x, y, width, height]"),
        ({"found": [[0, 0.5, 1, 2, -3, 4]]}, "found: expected rows of numbers [label, score, x, y, width, height]"),
        ({"found": [[0, 0.5, 1, 2, 3, "4"]]}, "found: expected rows of numbers [label, score, x, y, width, height]"),
        ({"ignored": [1]}, "ignored: expected places of objects in truth"),
        ({"areas": [[0]]}, "areas: expected [place of an object in truth, area]"),
    ],
)
def test_records_of_other_people_are_checked(change: dict[str, Any], message: str | None, shop: Workshop) -> None:
    path = transcript(shop.folder / "a.jsonl", [True, True], test={"task": "boxes"}, boxes=[GOOD, GOOD | change])
    done = shop.call("rate", path, "--statistic", "ap50")
    if message is None:
        assert done.status == 0, done.err
    else:
        assert done.status == 2
        assert done.err == f"hate: {path}:3: boxes: {message}\n"


def test_the_truth_is_read_once() -> None:
    text = json.dumps([CAT])
    assert true_boxes(text) is true_boxes(text)


SCRIPT = """\
format = 1
[test]
name = "things"
version = "1.0"
synopsis = "things"
task = "boxes"
{keys}
[cases]
table = "cases.jsonl"
"""


def things(shop: Workshop, cases: list[Any], answers: dict[str, Any], keys: str = "") -> None:
    shop.write("things.hate.toml", SCRIPT.format(keys=keys))
    shop.write("cases.jsonl", "".join(json.dumps(one) + "\n" for one in cases))
    shop.interface(f"NAME = 'finder'\nFOUND = {answers!r}\ndef answer(case, params):\n    return FOUND[case.id]\n")


def test_bad_answers_are_errors_of_their_cases(shop: Workshop) -> None:
    cases = [{"id": name, "input": "", "expect": [CAT]} for name in "abcd"]
    answers = {"a": [CAT], "b": [{"box": [0, 0, -1, 1]}], "c": "cat", "d": []}
    things(shop, cases, answers)
    done = shop.call("run", "things.hate.toml", "-o", "out.jsonl", "--format", "json")
    assert [done.row[name] for name in ("TP", "FN", "ER")] == [1, 3, 2]
    b = shop.records("out.jsonl")[1]
    assert b["error"] == "answer"
    assert b["message"] == "box 1: box [0, 0, -1, 1] has a negative side; write [x, y, width, height]"
    # The objects are recorded all the same: they were missed.
    assert b["boxes"]["truth"] == [[0, 10, 10, 20, 20]]
    assert "expect" not in b
    recall = shop.call("rate", "out.jsonl", "--statistic", "recall", "--format", "json")
    assert recall.json["transcripts"][0]["replication"]["estimate"] == 0.25


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ([{"box": [0, 0, -1, 1]}], "cases.jsonl:1: expect 1: box [0, 0, -1, 1] has a negative side"),
        ([CAT, CAT | {"score": 1}], "cases.jsonl:1: expect 2: unknown key 'score'"),
        ([CAT | {"ignore": "maybe"}], "cases.jsonl:1: expect 1: ignore 'maybe' is not true or false"),
        ([CAT | {"area": -1}], "cases.jsonl:1: expect 1: area -1 is negative"),
        ("cat", "cases.jsonl:1: expect 'cat' is not a list of boxes in JSON; write [] if there is none"),
        ({"box": [0, 0, 1, 1]}, "cases.jsonl:1: {'box': [0, 0, 1, 1]} is not a list of boxes"),
    ],
)
def test_mistakes_in_the_truth_are_found_before_anything_is_run(expect: Any, message: str, shop: Workshop) -> None:
    things(shop, [{"id": "a", "input": "", "expect": expect}], {"a": []})
    done = shop.call("run", "things.hate.toml")
    assert done.status == 2
    assert message in done.err


@pytest.mark.parametrize("most", ["0", '"many"', "1.5", "10001"])
def test_the_number_of_detections_is_checked(most: str, shop: Workshop) -> None:
    things(shop, [{"id": "a", "input": "", "expect": []}], {"a": []}, keys=f"[boxes]\ndetections = {most}")
    done = shop.call("check", "things.hate.toml")
    assert done.status != 0
    assert "boxes.detections" in done.out + done.err
    assert "is not a whole number from 1 to 10,000" in done.out + done.err


def test_a_sweep_gives_what_runs_would_give(shop: Workshop) -> None:
    cases = [{"id": str(n), "input": "", "expect": [CAT] * (n % 3 > 0)} for n in range(12)]
    answers = {
        str(n): [{"label": "cat", "box": [10 + n / 2, 10, 20, 20], "score": n / 12}] * (n % 4 > 0) for n in range(12)
    }
    things(shop, cases, answers)
    swept = shop.call(
        "sweep", "things.hate.toml", "--param", "iou=0.5,0.8", "--param", "threshold=0,0.5", "--format", "json"
    ).json["rows"]
    for row in swept:
        words = [f"{name}={value}" for name, value in row["params"].items()]
        params = [word for pair in words for word in ("--param", pair)]
        run = shop.call("run", "things.hate.toml", *params, "-o", "x.jsonl", "--force", "--format", "json").row
        assert [run[name] for name in ("TP", "TN", "FP", "FN")] == [row[name] for name in ("TP", "TN", "FP", "FN")]
    assert len({(row["TP"], row["TN"]) for row in swept}) == 4


def test_the_example_script_runs(shop: Workshop) -> None:
    assert shop.call("new", "script", "mine", "--task", "boxes").status == 0
    shop.interface("def answer(case, params):\n    return [{'label': 'cat', 'box': [12, 30, 40, 25]}]\n")
    row = shop.call("run", "mine", "--interface", "interface.py", "-o", "out.jsonl", "--format", "json")
    assert row.status == 0, row.err
    assert [row.row[name] for name in ("TP", "FP")] == [1, 1]
