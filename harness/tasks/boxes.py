"""Task `boxes`: find all objects in an image. The harness matches what was found with the truth, as COCO does.

The record has the objects and all detections, so measures and decisions at any `iou` and `threshold` cost one run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

import msgspec
from msgspec.structs import replace

from harness.model import Answer, Case, Trial
from harness.params import Param, ParamType, Value
from harness.tasks.answers import fields, shown
from harness.tasks.box_lists import (
    MAX_BOXES,
    boxes_mistake,
    found_boxes,
    iou_limit,
    record_boxes,
    recorded_answer,
    recorded_detections,
    true_boxes,
)
from harness.tasks.task import (
    Accepts,
    AnswerError,
    DecisionLimits,
    Elements,
    ExampleScript,
    Movement,
    RecordColumns,
    RecordedAnswer,
    Task,
    TaskRules,
)

IOU, THRESHOLD = 0.5, 0.0
# How many detections of a class count in an image, as in COCO.
DETECTIONS = 100
KEYS = frozenset({"boxes"})


class BoxesTask(Task):
    """An image is right if all objects, and nothing else, were found.

    An image without objects is negative: what is found in it is a false positive.
    """

    name = "boxes"
    summary = "find all objects: a box, a label and a score for each"
    keys = KEYS
    structured_expect = True
    moves_truth = True
    truth_is_at_hand = True
    records_expect = False
    checks_cases = True
    claims_classes = False
    setting_keys = frozenset({"detections"})
    measures = ("ap", "ap50", "ap75", "recall", "precision", "f1", "fppi")
    main_measure = "ap"
    measure_names = {"recall": "object_recall", "precision": "object_precision", "f1": "object_f1"}
    example = ExampleScript(
        tables={
            "cases.jsonl": """\
{"id": "0001", "input": "an image", "expect": [{"label": "cat", "box": [12, 30, 40, 25]}]}
{"id": "0002", "input": "another image", "expect": []}
"""
        },
    )
    decisions = {
        "iou": Param("iou", ParamType.FLOAT, IOU, True, "the overlap from which a box matches an object"),
        "threshold": Param("threshold", ParamType.FLOAT, THRESHOLD, True, "the score from which a box counts"),
    }

    def answer(self, raw: object, case: Case, rules: TaskRules) -> Answer:
        """A list of {"label", "box", "score"}, or {"boxes": such a list}; None is an empty list."""
        known = fields(raw, KEYS)
        found = found_boxes(raw if known is None else known["boxes"], int(rules.settings.get("detections", DETECTIONS)))
        words = f"{len(found) or 'no'} box{'' if len(found) == 1 else 'es'}"
        return Answer(words, boxes=record_boxes(true_boxes(case.expect), found))

    def recorded_answer(self, trial: Trial, case: Case, rules: TaskRules) -> Answer:
        """The detections of the record, matched with the objects of the case."""
        if (mistake := boxes_mistake(trial.boxes or {})) is not None:
            raise AnswerError(mistake)
        return self.answer(recorded_answer(trial.boxes or {}), case, rules)

    def detail_mistake(self, name: str, detail: Mapping[str, Any]) -> str | None:
        """The objects and detections of a record."""
        return boxes_mistake(detail) if name == "boxes" else None

    def failure(self, case: Case, rules: TaskRules) -> Answer:
        """An error misses all objects."""
        return Answer(boxes=record_boxes(true_boxes(case.expect), []))

    def complete(self, case: Case, rules: TaskRules) -> Case:
        """A case is positive if its image has an object that is not ignored."""
        positive = any(not one.ignore for one in true_boxes(case.expect))
        return case if positive is case.positive else replace(case, positive=positive)

    def acceptance(self, rules: TaskRules, params: Mapping[str, Value]) -> Accepts:
        """All objects and nothing else; of an image without objects, anything."""
        iou, threshold = float(params["iou"]), float(params["threshold"])

        def accepts(case: Case, answer: Answer) -> bool:
            return _limit(answer.boxes, case.positive, threshold) >= iou

        return accepts

    def limits(self, rules: TaskRules, params: Mapping[str, Value]) -> DecisionLimits:
        """The largest `iou` at which the image is right; that depends on the threshold."""
        threshold = float(params.get("threshold", THRESHOLD))

        def of(trial: RecordedAnswer, positive: bool) -> float:
            return _limit(trial.boxes or None, positive, threshold)

        return DecisionLimits("iou", True, of)

    def case_mistake(self, case: Case, rules: TaskRules) -> str | None:
        """The truth must be a list of boxes."""
        try:
            true_boxes(case.expect)
        except AnswerError as error:
            return str(error)
        return None

    def move_truth(self, case: Case, rules: TaskRules, movement: Movement) -> Case:
        """All boxes, moved: after a rotation each is the upright box around the rotated one."""
        objects = msgspec.json.decode(case.expect)
        boxes = movement.boxes([one["box"] for one in objects])
        moved = [{**one, "box": box} for one, box in zip(objects, boxes, strict=True)]
        return replace(case, expect=msgspec.json.encode(moved).decode())

    def setting_mistakes(self, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """`detections` is a number of boxes."""
        most = settings.get("detections", DETECTIONS)
        if type(most) is not int or not 1 <= most <= MAX_BOXES:
            yield "detections", f"{shown(most)} is not a whole number from 1 to {MAX_BOXES:,}"

    def elements(self, columns: RecordColumns, rules: TaskRules, params: Mapping[str, Value]) -> Elements | None:
        """Objects with the score of what found them at the run's iou, and false positives with theirs."""
        import numpy as np

        from harness.stats.detection import scored_objects

        detections = recorded_detections(columns.details.get("boxes", ()))
        case, score, is_object = scored_objects(detections, float(params.get("iou", IOU)))
        return Elements("objects", case, score, is_object, np.ones(score.size), has_negatives=False)


def _limit(record: Mapping[str, Any] | None, positive: bool, threshold: float) -> float:
    """The limit of an image with objects; of one without, every `iou` accepts it if something was found in it."""
    if not record:
        return -inf
    limit = iou_limit(record, threshold)
    if positive:
        return -inf if limit is None else limit
    return -inf if limit is None else inf


BOXES = BoxesTask()
