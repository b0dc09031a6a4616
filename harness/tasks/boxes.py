"""Task `boxes`: find all objects in an image. The harness matches what was found with the truth, as COCO does.

The record has the objects and all detections, so measures and decisions at any `iou` and `threshold` cost one run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from harness.model import Answer, Case, Trial
from harness.params import Param, ParamType, Value
from harness.tasks.answers import fields, label, number, shown
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

if TYPE_CHECKING:
    from harness.stats.object_matching import Detections


# More boxes are refused: they would take hours to compare, and no image has as many objects.
MAX_BOXES = 10_000
# Products of larger numbers would not fit into a float.
LARGEST = 1e9
# The class of boxes without a label.
ONE_CLASS = "object"
# The share of a detection's area in an ignored region from which it counts for nothing when an image is decided on.
IGNORED_FROM = 0.5

Box = tuple[float, float, float, float]


class TrueBox(NamedTuple):
    """An object; `area` is what its size is judged by if not by its box."""

    label: str
    box: Box
    ignore: bool = False
    area: float | None = None


class DetectedBox(NamedTuple):
    """A detection."""

    label: str
    box: Box
    score: float


@lru_cache(maxsize=16)
def true_boxes(text: str) -> tuple[TrueBox, ...]:
    """The objects of a case from its `expect`; an AnswerError says what is wrong."""
    try:
        rows = msgspec.json.decode(text) if text else []
    except msgspec.DecodeError:
        raise AnswerError(f"expect {shown(text)} is not a list of boxes in JSON; write [] if there is none") from None
    boxes = []
    for location, row in _rows(rows, "expect", ("label", "box", "ignore", "area")):
        label_text, box, ignore = _label(row), _box(row, location), row.get("ignore", False)
        if ignore not in (True, False):
            raise AnswerError(f"{location}: ignore {shown(ignore)} is not true or false")
        area = None if row.get("area") is None else number(row["area"], f"{location}: area")
        if area is not None and area < 0:
            raise AnswerError(f"{location}: area {area:g} is negative")
        boxes.append(TrueBox(label_text, box, bool(ignore), area))
    return tuple(boxes)


def detected_boxes(raw: object, most: int) -> list[DetectedBox]:
    """The detections of an answer by falling score, at most `most` of each class, as they are counted."""
    if isinstance(raw, str):
        try:
            raw = msgspec.json.decode(raw) if raw.strip() else []
        except msgspec.DecodeError:
            raise AnswerError(f"{shown(raw)} is not a list of boxes in JSON") from None
    boxes = [
        DetectedBox(_label(row), _box(row, location), number(row.get("score", 1.0), f"{location}: score"))
        for location, row in _rows([] if raw is None else raw, "box", ("label", "box", "score"))
    ]
    boxes.sort(key=lambda box: -box.score)
    counts: dict[str, int] = {}
    kept = []
    for box in boxes:
        counts[box.label] = counts.get(box.label, 0) + 1
        if counts[box.label] <= most:
            kept.append(box)
    return kept


def _rows(rows: object, what: str, keys: tuple[str, ...]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not isinstance(rows, (list, tuple)):
        raise AnswerError(f"{shown(rows)} is not a list of boxes, each {{{', '.join(map(repr, keys))}}}")
    if len(rows) > MAX_BOXES:
        raise AnswerError(f"{len(rows):,} boxes; an image may have {MAX_BOXES:,}: give those with the best scores")
    for count, row in enumerate(rows, 1):
        location = f"{what} {count}"
        if not isinstance(row, Mapping):
            raise AnswerError(f"{location}: {shown(row)} is not an object with the keys {', '.join(keys)}")
        for key in row:
            if key not in keys:
                raise AnswerError(f"{location}: unknown key {shown(key)}; the keys are {', '.join(keys)}")
        yield location, row


def _label(row: Mapping[str, Any]) -> str:
    raw = row.get("label")
    return ONE_CLASS if raw is None or raw == "" else label(raw)


def _box(row: Mapping[str, Any], location: str) -> Box:
    raw = row.get("box")
    if not isinstance(raw, (list, tuple)) or len(raw) != 4:
        raise AnswerError(f"{location}: box {shown(raw)} is not [x, y, width, height]")
    x, y, width, height = (number(side, f"{location}: box has") for side in raw)
    if width < 0 or height < 0:
        raise AnswerError(f"{location}: box {shown(raw)} has a negative side; write [x, y, width, height]")
    if max(abs(x), abs(y), width, height) > LARGEST:
        raise AnswerError(f"{location}: box {shown(raw)} has a number above {LARGEST:g}")
    return x, y, width, height


def record_boxes(truth: Sequence[TrueBox], detected: Sequence[DetectedBox]) -> dict[str, Any]:
    """The record of an image: rows with the number of a label, and the score of what was found, before the box."""
    labels: dict[str, int] = {}
    for name in [*(box.label for box in truth), *(box.label for box in detected)]:
        labels.setdefault(name, len(labels))
    record: dict[str, Any] = {
        "labels": list(labels),
        "truth": [[labels[box.label], *box.box] for box in truth],
        "found": [[labels[box.label], box.score, *box.box] for box in detected],
    }
    if ignored := [index for index, box in enumerate(truth) if box.ignore]:
        record["ignored"] = ignored
    if areas := [[index, box.area] for index, box in enumerate(truth) if box.area is not None]:
        record["areas"] = areas
    return record


def recorded_answer(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was found, from its record, as a program gives it."""
    labels = record["labels"]
    return [{"label": labels[label], "score": score, "box": box} for label, score, *box in record["found"]]


def boxes_mistake(record: Mapping[str, Any]) -> str | None:
    """What is wrong with a record, which may come from other people."""
    labels, truth, detected = (record.get(name) for name in ("labels", "truth", "found"))
    if not isinstance(labels, list) or not all(type(name) is str for name in labels):
        return "labels: expected a list of texts"
    for name, rows, size in (("truth", truth, 5), ("found", detected, 6)):
        if not isinstance(rows, list) or not all(_is_row(row, size, len(labels)) for row in rows):
            numbers = "label, x, y, width, height" if size == 5 else "label, score, x, y, width, height"
            return f"{name}: expected rows of numbers [{numbers}]"
    objects = len(truth or ())
    ignored, areas = record.get("ignored", []), record.get("areas", [])
    if not isinstance(ignored, list) or not all(type(item) is int and 0 <= item < objects for item in ignored):
        return "ignored: expected places of objects in truth"
    if not isinstance(areas, list):
        return "areas: expected [place of an object in truth, area]"
    for pair in areas:
        known = isinstance(pair, list) and len(pair) == 2 and all(type(value) in (int, float) for value in pair)
        if not (known and type(pair[0]) is int and 0 <= pair[0] < objects and pair[1] >= 0):
            return "areas: expected [place of an object in truth, area]"
    return None


def _is_row(row: Any, size: int, labels: int) -> bool:
    if not (isinstance(row, list) and len(row) == size and all(type(value) in (int, float) for value in row)):
        return False
    return type(row[0]) is int and 0 <= row[0] < labels and max(map(abs, row[2:])) <= LARGEST and min(row[-2:]) >= 0


def overlap(detected: Sequence[float], truth: Sequence[float], *, of_first: bool = False) -> float:
    """Intersection over union of two boxes, or over the first one's own area."""
    x, y, width, height = detected
    left, top, wide, high = truth
    across = min(x + width, left + wide) - max(x, left)
    down = min(y + height, top + high) - max(y, top)
    if across <= 0 or down <= 0:
        return 0.0
    both = across * down
    return both / (width * height if of_first else width * height + wide * high - both)


def iou_limit(record: Mapping[str, Any], threshold: float) -> float | None:
    """The largest `iou` at which all objects, and nothing else, are found; minus infinity if there is none.

    None if there is no object, and nothing was found either. What was found in ignored regions counts for nothing: that
    is decided at IGNORED_FROM, whatever the level, by the matching of COCO. Whether the rest matches at a level is then
    one-way: a perfect matching at one level is the same at every lower one, because each detection takes the object
    with which it overlaps most, and that does not depend on the level.
    """
    ignored = set(record.get("ignored", ()))
    regions = [row for index, row in enumerate(record["truth"]) if index in ignored]
    objects = [row for index, row in enumerate(record["truth"]) if index not in ignored]
    detected = [row for row in record["found"] if row[1] >= threshold]
    if regions:
        detected = _not_ignored(detected, objects, regions)
    if not objects:
        return -inf if detected else None
    if len(detected) != len(objects):
        return -inf
    least = min(best for best, _ in _greedy(detected, objects, 0.0))
    # An overlap that misses 1 by a rounding error is 1, as in COCO.
    return -inf if least <= 0 else 1.0 if least >= 1 - 1e-10 else least


def _greedy(detected: Sequence[Any], objects: Sequence[Any], level: float) -> Iterator[tuple[float, Any]]:
    """The overlap of each detection with the free object that it takes, 0 if it takes none; by falling score."""
    free = list(objects)
    for row in detected:
        best, taken = 0.0, None
        for index, other in enumerate(free):
            if other[0] == row[0]:
                iou = overlap(row[2:], other[1:])
                if iou > 0 and iou >= max(best, level):
                    best, taken = iou, index
        if taken is not None:
            del free[taken]
        yield best, row


def _not_ignored(detected: Sequence[Any], objects: Sequence[Any], regions: Sequence[Any]) -> list[Any]:
    """The detections that take an object, or that are not in an ignored region."""
    return [
        row
        for best, row in _greedy(detected, objects, IGNORED_FROM)
        if best > 0
        or not any(r[0] == row[0] and overlap(row[2:], r[1:], of_first=True) >= IGNORED_FROM for r in regions)
    ]


def recorded_detections(records: Sequence[Mapping[str, Any] | None], labels: Sequence[str] = ()) -> Detections:
    """The records of all cases as arrays; the classes are numbered in the order of `labels`, then as they come."""
    import numpy as np

    from harness.stats.object_matching import BoxSet, Detections

    codes = {name: index for index, name in enumerate(labels)}
    true_case, detected_case = [], []
    true_rows: list[list[float]] = []
    detected_rows: list[list[float]] = []
    true_codes: list[int] = []
    detected_codes: list[int] = []
    ignored: list[int] = []
    areas: list[tuple[int, float]] = []
    for case, record in enumerate(records):
        if record is None:
            continue
        label_codes = [codes.setdefault(name, len(codes)) for name in record["labels"]]
        ignored += [len(true_rows) + index for index in record.get("ignored", ())]
        areas += [(len(true_rows) + index, area) for index, area in record.get("areas", ())]
        true_rows += record["truth"]
        detected_rows += record["found"]
        true_codes += [label_codes[row[0]] for row in record["truth"]]
        detected_codes += [label_codes[row[0]] for row in record["found"]]
        true_case += [case] * len(record["truth"])
        detected_case += [case] * len(record["found"])
    true_numbers = np.array(true_rows, dtype=np.float64).reshape(-1, 5)
    detected_numbers = np.array(detected_rows, dtype=np.float64).reshape(-1, 6)
    truth = BoxSet(np.array(true_case, dtype=np.intp), np.array(true_codes, dtype=np.intp), true_numbers[:, 1:])
    detected = BoxSet(
        np.array(detected_case, dtype=np.intp), np.array(detected_codes, dtype=np.intp), detected_numbers[:, 2:]
    )
    crowd, area = np.zeros(len(true_rows), dtype=np.bool_), truth.area
    crowd[ignored] = True
    for index, value in areas:
        area[index] = value
    return Detections(len(records), max(len(codes), 1), truth, area, crowd, detected, detected_numbers[:, 1])


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
        boxes = detected_boxes(
            raw if known is None else known["boxes"], int(rules.settings.get("detections", DETECTIONS))
        )
        words = f"{len(boxes) or 'no'} box{'' if len(boxes) == 1 else 'es'}"
        return Answer(words, boxes=record_boxes(true_boxes(case.expect), boxes))

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
        positive = any(not box.ignore for box in true_boxes(case.expect))
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
        """All boxes, moved: after a rotation each is the upright box around the rotated one; and their areas."""
        objects = true_boxes(case.expect)
        boxes = movement.boxes([one.box for one in objects])
        moved = [
            one._asdict() | {"box": box, "area": None if one.area is None else one.area * movement.scale}
            for one, box in zip(objects, boxes, strict=True)
        ]
        return replace(case, expect=msgspec.json.encode(moved).decode())

    def setting_mistakes(self, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """`detections` is a number of boxes."""
        most = settings.get("detections", DETECTIONS)
        if type(most) is not int or not 1 <= most <= MAX_BOXES:
            yield "detections", f"{shown(most)} is not a whole number from 1 to {MAX_BOXES:,}"

    def elements(self, columns: RecordColumns, rules: TaskRules, params: Mapping[str, Value]) -> Elements | None:
        """Objects with the score of what found them at the run's iou, and false positives with theirs."""
        import numpy as np

        from harness.stats.object_matching import scored_objects

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
