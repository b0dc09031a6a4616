"""COCO: detections (`[{"image_id", "category_id", "bbox" or "segmentation", "score"}]`) beside the truth (`--truth`).

Images become cases, in the order of their ids, with what is said of them as columns; categories become labels, and
crowds objects that are ignored. Objects of the truth without a box have the box around their segmentation. Detections
without one are refused: the box around a mask says little about it. With `--as mask` pixels are judged. The harness
judges, as in a test of task boxes or mask.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from harness.errors import ForeignError
from harness.files.mistakes import Mistakes
from harness.model import Case, ErrorKind
from harness.tasks.boxes import BOXES, IOU, THRESHOLD
from harness.tasks.mask import MASK
from harness.tasks.task import AnswerError, TaskRules
from harness.transcript.importing import coco_segmentations
from harness.transcript.importing.coco_segmentations import box_of
from harness.transcript.importing.contract import ImportedAnswer, ImportedRun, ImportOptions, Reader
from harness.transcript.importing.file import BAD_JSON, NOWHERE, ForeignFile, decode, find, flat

# Where the keys of the first result are, unless it begins with a huge segmentation.
SNIFFED = 1 << 20
VERDICT = "correct"
# What these names mean for every case. An image that has one of them is told apart by its own name for it.
TAKEN = ("expect", "truth", "positive", "stratum", "psu", "repeat")


class _Image(Struct, frozen=True):
    id: int
    width: int | None = None
    height: int | None = None
    # Everything that the file says of it, by name.
    said: dict[str, Any] = {}


class _Category(Struct, frozen=True):
    id: int
    name: str


class _Annotation(Struct, frozen=True):
    image_id: int
    category_id: int
    bbox: list[float] | None = None
    segmentation: Any = None
    area: float | None = None
    iscrowd: int | bool = 0


class _TruthFile(Struct, frozen=True):
    """The file of the truth, with its images as they are."""

    images: list[dict[str, Any]]
    categories: list[_Category]
    annotations: list[_Annotation]
    info: dict[str, Any] = {}


class _Truth(Struct, frozen=True):
    images: list[_Image]
    categories: list[_Category]
    annotations: list[_Annotation]
    info: dict[str, Any]


class _Detection(Struct, frozen=True):
    image_id: int
    category_id: int
    score: float
    bbox: list[float] | None = None
    segmentation: Any = None


def is_results(file: ForeignFile) -> bool:
    """Whether a file is a JSON list of detections; an empty list is one too."""
    if file.begin[:1] != b"[":
        return False
    begin = file.data[:SNIFFED]
    return begin.strip() == b"[]" or (b'"image_id"' in begin and b'"category_id"' in begin)


def read_results(file: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """The detections of a file, judged by the truth."""
    if options.truth is None:
        raise ForeignError(f"{file.name}: detections in COCO's format; name the file of the truth with --truth FILE")
    truth, notes = _truth(options.truth, options.groups), []
    labels = {one.id: one.name for one in truth.categories}
    found = _by_image(file, truth, labels)
    if options.kind == MASK.name:
        objects = _objects(truth)
        results = [_mask_result(file.name, one, objects[one.id], found[one.id]) for one in _images(truth)]
        task, params = MASK.name, coco_segmentations.PARAMS
    else:
        notes = _segmentation_notes(file.name, [one for own in found.values() for one in own])
        expected = _expected(options.truth, truth, labels)
        results = [_result(file.name, one, expected[one.id], found[one.id], labels) for one in _images(truth)]
        task, params = BOXES.name, {"iou": IOU, "threshold": THRESHOLD}
    return [
        ImportedRun(
            file.name,
            str(truth.info.get("description") or options.truth.stem),
            file.stem,
            results,
            tool="coco",
            version=str(truth.info.get("version") or ""),
            verdict=VERDICT,
            graded=False,
            task=task,
            params=params,
            notes=notes,
        )
    ]


def _segmentation_notes(source: str, found: Sequence[_Detection]) -> list[str]:
    """What is said of segmentations where boxes are judged; a ForeignError if there is nothing else to judge."""
    bare = [one for one in found if one.segmentation and not one.bbox]
    if bare:
        raise ForeignError(
            f"{source}: {len(bare):,} of {len(found):,} detections have a segmentation and no bbox, the first in image "
            f"{bare[0].image_id}: they cannot be judged as boxes; --as mask judges their pixels, or give each a bbox"
        )
    both = sum(bool(one.segmentation) for one in found)
    if not both:
        return []
    return [f"boxes are judged; the segmentations of {both:,} detections are not (--as mask judges their pixels)"]


def _truth(path: Path, groups: Sequence[str]) -> _Truth:
    file = decode(ForeignFile(path).data, _TruthFile, str(path))
    rows = [_image(row, f"{path}: images[{number}]", groups) for number, row in enumerate(file.images)]
    truth = _Truth(rows, file.categories, file.annotations, file.info)
    mistakes = Mistakes(str(path))
    images, categories = {one.id for one in truth.images}, {one.id for one in truth.categories}
    if len(images) < len(truth.images):
        mistakes.add("two images have the same id")
    for number, one in enumerate(truth.annotations):
        if one.image_id not in images:
            mistakes.add(f"no image {one.image_id}", place=f"annotations[{number}]")
        if one.category_id not in categories:
            mistakes.add(f"no category {one.category_id}", place=f"annotations[{number}]")
    if mistakes.count:
        raise ForeignError(mistakes.report())
    return truth


def _image(row: dict[str, Any], place: str, groups: Sequence[str]) -> _Image:
    """An image, and as columns all that is said of it: scalars, nested ones by dotted names."""
    try:
        known = msgspec.convert({name: row[name] for name in ("id", "width", "height") if name in row}, _Image)
    except BAD_JSON as error:
        raise ForeignError(f"{place}: not as expected: {error}") from None
    said = flat(row) | flat({name: value for name in groups if (value := find(row, name)) is not NOWHERE})
    columns = {f"image.{name}" if name in TAKEN else name: value for name, value in said.items() if name != "id"}
    return msgspec.structs.replace(known, said=columns)


def _images(truth: _Truth) -> list[_Image]:
    return sorted(truth.images, key=lambda image: image.id)


def _expected(path: Path, truth: _Truth, labels: Mapping[int, str]) -> dict[int, str]:
    """The objects of each image as `expect` of a case has them."""
    objects: dict[int, list[dict[str, Any]]] = {image.id: [] for image in truth.images}
    for number, one in enumerate(truth.annotations):
        try:
            row: dict[str, Any] = {"label": labels[one.category_id], "box": _box(one)}
        except AnswerError as error:
            raise ForeignError(f"{path}: annotations[{number}]: {error}") from None
        row |= {"ignore": True} if one.iscrowd else {}
        row |= {} if one.area is None else {"area": one.area}
        objects[one.image_id].append(row)
    return {image: msgspec.json.encode(rows).decode() for image, rows in objects.items()}


def _by_image(file: ForeignFile, truth: _Truth, labels: Mapping[int, str]) -> dict[int, list[_Detection]]:
    found: dict[int, list[_Detection]] = {image.id: [] for image in truth.images}
    mistakes = Mistakes(file.name)
    for number, one in enumerate(decode(file.data, list[_Detection], file.name)):
        if one.image_id not in found:
            mistakes.add(f"no image {one.image_id} in the truth", place=f"[{number}]")
        elif one.category_id not in labels:
            mistakes.add(f"no category {one.category_id} in the truth", place=f"[{number}]")
        else:
            found[one.image_id].append(one)
    if mistakes.count:
        raise ForeignError(mistakes.report())
    return found


def _result(
    source: str, image: _Image, expect: str, found: Sequence[_Detection], labels: Mapping[int, str]
) -> ImportedAnswer:
    place, rules = f"{source}: image {image.id}", TaskRules()
    try:
        case = BOXES.complete(Case(str(image.id), None, expect), rules)
    except AnswerError as error:
        raise ForeignError(f"{place}: {error}") from None
    given: dict[str, Any] = {
        "id": case.id,
        "place": place,
        "expect": expect,
        "positive": case.positive,
        "columns": image.said,
    }
    try:
        rows = [{"label": labels[one.category_id], "box": _box(one), "score": one.score} for one in found]
        answer = BOXES.answer(rows, case, rules)
    except AnswerError as error:
        missed = BOXES.failure(case, rules).boxes
        return ImportedAnswer(**given, boxes=missed, error=ErrorKind.ANSWER, message=str(error))
    accepts = BOXES.acceptance(rules, {"iou": IOU, "threshold": THRESHOLD})
    right = accepts(case, answer) is case.positive
    return ImportedAnswer(**given, actual=answer.actual, boxes=answer.boxes, marks={VERDICT: float(right)})


def _objects(truth: _Truth) -> dict[int, list[tuple[Any, bool]]]:
    """The segmentations of each image, each with whether it is a crowd."""
    objects: dict[int, list[tuple[Any, bool]]] = {image.id: [] for image in truth.images}
    for one in truth.annotations:
        objects[one.image_id].append((one.segmentation, bool(one.iscrowd)))
    return objects


def _mask_result(
    source: str, image: _Image, objects: Sequence[tuple[Any, bool]], found: Sequence[_Detection]
) -> ImportedAnswer:
    place = f"{source}: image {image.id}"
    truth = coco_segmentations.mask_truth(place, (image.height, image.width), objects)
    given: dict[str, Any] = {
        "id": str(image.id),
        "place": place,
        "expect": coco_segmentations.truth_digest(objects),
        "positive": truth.positive,
        "columns": image.said,
    }
    try:
        answer = coco_segmentations.mask_answer(truth, [(one.segmentation, one.score) for one in found])
    except AnswerError as error:
        return ImportedAnswer(
            **given, pixels=coco_segmentations.failed(truth), error=ErrorKind.ANSWER, message=str(error)
        )
    given |= {"actual": answer.actual, "score": answer.score, "pixels": answer.pixels}
    return ImportedAnswer(**given, marks={VERDICT: float(coco_segmentations.is_right(truth, answer))})


def _box(one: _Annotation | _Detection) -> list[float]:
    """The box that is given, or that of the segmentation."""
    if one.bbox:
        return one.bbox
    if one.segmentation:
        return box_of(one.segmentation)
    raise AnswerError("neither bbox nor segmentation")


READERS = (
    Reader("coco", "detections in COCO's format, with --truth FILE", is_results, read_results, takes_truth=True),
)
