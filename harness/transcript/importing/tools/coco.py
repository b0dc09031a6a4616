"""COCO: detections (`[{"image_id", "category_id", "bbox" or "segmentation", "score"}]`) beside the truth (`--truth`).

Images become cases, in the order of their ids, with what is said of them as columns; categories become labels, and
crowds objects that are ignored. Objects of the truth without a box have the box around their segmentation. Detections
without one are refused: the box around a mask says little about it. The harness judges, as in a test of task boxes.

With `--as mask` pixels are judged, as in a test of task mask: the truth of an image is the union of its objects, and
crowds are ignored. The answer is a map of scores: the best score of the detections that cover a pixel, so that one
import gives the curves over pixels.

Segmentations are polygons or runs of pixels, which go down the columns of the image, from left to right, and begin with
the background. In the compressed form each number is the difference from the one two numbers before (from the fourth
on), in groups of five bits from the lowest: a character is 48 plus the group, plus 32 if more groups follow; the
highest bit of the last group is the sign.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from harness.errors import ForeignError
from harness.files.images import MAX_PIXELS
from harness.files.mistakes import Mistakes
from harness.model import Answer, Case, ErrorKind
from harness.tasks.answers import shown
from harness.tasks.boxes import BOXES, IOU, THRESHOLD
from harness.tasks.mask import IOU as MASK_IOU
from harness.tasks.mask import MASK
from harness.tasks.mask import THRESHOLD as MASK_THRESHOLD
from harness.tasks.mask_scoring import MaskSettings, MaskTruth, count_scores, everything_wrong
from harness.tasks.task import AnswerError, TaskRules
from harness.transcript.importing.contract import ImportedAnswer, ImportedRun, ImportOptions, Reader
from harness.transcript.importing.file import BAD_JSON, NOWHERE, ForeignFile, decode, find, flat

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    BoolArray = npt.NDArray[np.bool_]


# Where the keys of the first result are, unless it begins with a huge segmentation.
SNIFFED = 1 << 20
VERDICT = "correct"
BOX_PARAMS = {"iou": IOU, "threshold": THRESHOLD}
MASK_PARAMS = {"iou": MASK_IOU, "threshold": MASK_THRESHOLD}
MAX_SIDE = 1 << 20
_RULES = TaskRules()
# What these names mean for every case. An image that has one of them is told apart by its own name for it.
TAKEN = ("expect", "truth", "positive", "stratum", "psu", "repeat")


class _Image(Struct, frozen=True):
    id: int
    width: int | None = None
    height: int | None = None
    # Everything that the file says of it, by name.
    columns: dict[str, Any] = {}


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


class _Truth(Struct, frozen=True):
    """The file of the truth, with its images as they are."""

    images: list[dict[str, Any]]
    categories: list[_Category]
    annotations: list[_Annotation]
    info: dict[str, Any] = {}


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
    (truth, images), notes = _truth(options.truth, options.groups), []
    labels = {category.id: category.name for category in truth.categories}
    detections = _by_image(file, images, labels)
    images = sorted(images, key=lambda image: image.id)
    if options.kind == MASK.name:
        # The segmentations of each image, each with whether it is a crowd.
        objects: dict[int, list[tuple[Any, bool]]] = {image.id: [] for image in images}
        for annotation in truth.annotations:
            objects[annotation.image_id].append((annotation.segmentation, bool(annotation.iscrowd)))
        results = [_mask_result(file.name, image, objects[image.id], detections[image.id]) for image in images]
        task, params = MASK.name, MASK_PARAMS
    else:
        notes = _segmentation_notes(file.name, list(chain.from_iterable(detections.values())))
        expected = _expected(options.truth, truth.annotations, images, labels)
        results = [_result(file.name, image, expected[image.id], detections[image.id], labels) for image in images]
        task, params = BOXES.name, BOX_PARAMS
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


def _segmentation_notes(source: str, detections: Sequence[_Detection]) -> list[str]:
    """What is said of segmentations where boxes are judged; a ForeignError if there is nothing else to judge."""
    bare = [detection for detection in detections if detection.segmentation and not detection.bbox]
    if bare:
        raise ForeignError(
            f"{source}: {len(bare):,} of {len(detections):,} detections have a segmentation and no bbox, the first in "
            f"image {bare[0].image_id}: they cannot be judged as boxes; --as mask judges their pixels, or give each a "
            "bbox"
        )
    both = sum(bool(detection.segmentation) for detection in detections)
    if not both:
        return []
    return [f"boxes are judged; the segmentations of {both:,} detections are not (--as mask judges their pixels)"]


def _truth(path: Path, groups: Sequence[str]) -> tuple[_Truth, list[_Image]]:
    truth = decode(ForeignFile(path).data, _Truth, str(path))
    images = [_image(row, f"{path}: images[{number}]", groups) for number, row in enumerate(truth.images)]
    mistakes = Mistakes(str(path))
    image_ids, category_ids = ({entry.id for entry in entries} for entries in (images, truth.categories))
    if len(image_ids) < len(images):
        mistakes.add("two images have the same id")
    for number, annotation in enumerate(truth.annotations):
        if annotation.image_id not in image_ids:
            mistakes.add(f"no image {annotation.image_id}", location=f"annotations[{number}]")
        if annotation.category_id not in category_ids:
            mistakes.add(f"no category {annotation.category_id}", location=f"annotations[{number}]")
    mistakes.raise_if_any(ForeignError)
    return truth, images


def _image(row: dict[str, Any], location: str, groups: Sequence[str]) -> _Image:
    """An image, and as columns all that is said of it: scalars, nested ones by dotted names."""
    try:
        known = msgspec.convert({name: row[name] for name in ("id", "width", "height") if name in row}, _Image)
    except BAD_JSON as error:
        raise ForeignError(f"{location}: not as expected: {error}") from None
    said = flat(row) | flat({name: value for name in groups if (value := find(row, name)) is not NOWHERE})
    columns = {f"image.{name}" if name in TAKEN else name: value for name, value in said.items() if name != "id"}
    return msgspec.structs.replace(known, columns=columns)


def _expected(
    path: Path, annotations: Sequence[_Annotation], images: Sequence[_Image], labels: Mapping[int, str]
) -> dict[int, str]:
    """The objects of each image as `expect` of a case has them."""
    objects: dict[int, list[dict[str, Any]]] = {image.id: [] for image in images}
    for number, annotation in enumerate(annotations):
        try:
            row: dict[str, Any] = {"label": labels[annotation.category_id], "box": _box(annotation)}
        except AnswerError as error:
            raise ForeignError(f"{path}: annotations[{number}]: {error}") from None
        row |= {"ignore": True} if annotation.iscrowd else {}
        row |= {} if annotation.area is None else {"area": annotation.area}
        objects[annotation.image_id].append(row)
    return {image: msgspec.json.encode(rows).decode() for image, rows in objects.items()}


def _by_image(file: ForeignFile, images: Sequence[_Image], labels: Mapping[int, str]) -> dict[int, list[_Detection]]:
    detections: dict[int, list[_Detection]] = {image.id: [] for image in images}
    mistakes = Mistakes(file.name)
    for number, detection in enumerate(decode(file.data, list[_Detection], file.name)):
        if detection.image_id not in detections:
            mistakes.add(f"no image {detection.image_id} in the truth", location=f"[{number}]")
        elif detection.category_id not in labels:
            mistakes.add(f"no category {detection.category_id} in the truth", location=f"[{number}]")
        else:
            detections[detection.image_id].append(detection)
    mistakes.raise_if_any(ForeignError)
    return detections


def _result(
    source: str, image: _Image, expect: str, detections: Sequence[_Detection], labels: Mapping[int, str]
) -> ImportedAnswer:
    location = f"{source}: image {image.id}"
    try:
        case = BOXES.complete(Case(str(image.id), None, expect), _RULES)
    except AnswerError as error:
        raise ForeignError(f"{location}: {error}") from None
    given: dict[str, Any] = {
        "id": case.id,
        "location": location,
        "expect": expect,
        "positive": case.positive,
        "columns": image.columns,
    }
    try:
        rows = [{"label": labels[row.category_id], "box": _box(row), "score": row.score} for row in detections]
        answer = BOXES.answer(rows, case, _RULES)
    except AnswerError as error:
        missed = BOXES.failure(case, _RULES).boxes
        return ImportedAnswer(**given, boxes=missed, error=ErrorKind.ANSWER, message=str(error))
    right = BOXES.acceptance(_RULES, BOX_PARAMS)(case, answer) is case.positive
    return ImportedAnswer(**given, actual=answer.actual, boxes=answer.boxes, marks={VERDICT: float(right)})


def _mask_result(
    source: str, image: _Image, objects: Sequence[tuple[Any, bool]], detections: Sequence[_Detection]
) -> ImportedAnswer:
    location = f"{source}: image {image.id}"
    truth = _mask_truth(location, (image.height, image.width), objects)
    given: dict[str, Any] = {
        "id": str(image.id),
        "location": location,
        # Segmentations are long: this stands for the truth in the digest of the test.
        "expect": hashlib.sha256(msgspec.json.encode(objects)).hexdigest()[:16],
        "positive": truth.positive,
        "columns": image.columns,
    }
    try:
        answer = _mask_answer(truth, detections)
    except AnswerError as error:
        missed = dict(everything_wrong(truth, MaskSettings.of({})))
        return ImportedAnswer(**given, pixels=missed, error=ErrorKind.ANSWER, message=str(error))
    given |= {"actual": answer.actual, "score": answer.score, "pixels": answer.pixels}
    case = Case("", None, positive=truth.positive)
    right = MASK.acceptance(_RULES, MASK_PARAMS)(case, answer) is truth.positive
    return ImportedAnswer(**given, marks={VERDICT: float(right)})


def _box(row: _Annotation | _Detection) -> list[float]:
    """The box that is given, or that of the segmentation."""
    if row.bbox:
        return row.bbox
    if row.segmentation:
        return box_of(row.segmentation)
    raise AnswerError("neither bbox nor segmentation")


def box_of(segmentation: Any) -> list[float]:
    """The box around a segmentation; an AnswerError says what is wrong with it."""
    if isinstance(segmentation, Mapping):
        size: Any = segmentation.get("size")
        is_pair = isinstance(size, Sequence) and len(size) == 2 and all(type(side) is int for side in size)
        if not is_pair or not all(0 < side <= MAX_SIDE for side in size):
            raise AnswerError(f"segmentation: size {shown(size)} is not [height, width]")
        return _box_of_runs(run_lengths(segmentation.get("counts")), *size)
    polygons = _check_polygons(segmentation)
    x, y = ([value for polygon in polygons for value in polygon[side::2]] for side in (0, 1))
    return [float(min(x)), float(min(y)), float(max(x) - min(x)), float(max(y) - min(y))]


def _check_polygons(segmentation: Any) -> list[list[float]]:
    """Polygons [x, y, x, y ...]; an AnswerError if it is something else."""
    if not isinstance(segmentation, list):
        raise AnswerError(f"segmentation {shown(segmentation)} is neither a list of polygons nor {{'size', 'counts'}}")
    for polygon in segmentation:
        numbers = isinstance(polygon, list) and all(type(number) in (int, float) for number in polygon)
        if not numbers or len(polygon) < 6 or len(polygon) % 2 or max(map(abs, polygon)) > MAX_SIDE:
            raise AnswerError(f"segmentation: polygon {shown(polygon)} is not [x, y, x, y, x, y ...]")
    if not segmentation:
        raise AnswerError("segmentation: no polygon")
    return segmentation


def run_lengths(counts: Any) -> list[int]:
    """The lengths of the runs, background first."""
    if isinstance(counts, str):
        runs = _decompressed(counts)
    elif isinstance(counts, Sequence) and all(type(run) is int for run in counts):
        runs = list(counts)
    else:
        raise AnswerError(f"segmentation: counts {shown(counts)} are neither text nor a list of whole numbers")
    if any(run < 0 for run in runs):
        raise AnswerError(f"segmentation: counts {shown(counts)} have a run of negative length")
    return runs


def _decompressed(text: str) -> list[int]:
    runs: list[int] = []
    value, shift = 0, 0
    for character in text:
        code = ord(character) - 48
        if not 0 <= code < 64 or shift > 60:
            raise AnswerError(f"segmentation: counts {shown(text)} are not COCO's compressed runs")
        value |= (code & 31) << shift
        shift += 5
        if not code & 32:
            value -= (1 << shift) if code & 16 else 0
            runs.append(value + runs[-2] if len(runs) > 2 else value)
            value, shift = 0, 0
    if shift:
        raise AnswerError(f"segmentation: counts {shown(text)} end in the middle of a number")
    return runs


def _box_of_runs(runs: Sequence[int], height: int, width: int) -> list[float]:
    """The columns and rows that have a pixel of the object; an empty object has an empty box."""
    ends = list(accumulate(runs))
    if ends and ends[-1] > height * width:
        raise AnswerError(f"segmentation: runs of {ends[-1]:,} pixels in an image of {height} x {width}")
    spans = [(ends[index - 1], ends[index] - 1) for index in range(1, len(ends), 2) if runs[index]]
    if not spans:
        return [0.0, 0.0, 0.0, 0.0]
    left, right = spans[0][0] // height, spans[-1][1] // height
    # A run that goes on into the next column touches the last row of one and the first of the other.
    top = min(0 if first // height < last // height else first % height for first, last in spans)
    bottom = max(height - 1 if first // height < last // height else last % height for first, last in spans)
    return [float(left), float(top), float(right - left + 1), float(bottom - top + 1)]


def plane_of(segmentation: Any, height: int, width: int) -> BoolArray:
    """The pixels of a segmentation; an AnswerError says what is wrong with it."""
    import numpy as np

    if isinstance(segmentation, Mapping):
        if segmentation.get("size") != [height, width]:
            raise AnswerError(f"segmentation of {shown(segmentation.get('size'))} in an image of {height} x {width}")
        runs = run_lengths(segmentation.get("counts"))
        if sum(runs) != height * width:
            raise AnswerError(f"segmentation: runs of {sum(runs):,} pixels in an image of {height} x {width}")
        return np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(width, height).T
    plane = np.zeros((height, width), dtype=np.bool_)
    for polygon in _check_polygons(segmentation):
        plane |= _filled(np.array(polygon, dtype=np.float64).reshape(-1, 2), height, width)
    return plane


def _filled(corners: npt.NDArray[np.float64], height: int, width: int) -> BoolArray:
    """Pixels whose centre is inside a polygon: an odd number of its sides cross the row to the left of it."""
    import numpy as np

    toggles = np.zeros((height, width + 1), dtype=np.uint8)
    for (x, y), (to_x, to_y) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        first, last = sorted((np.ceil(y - 0.5), np.ceil(to_y - 0.5)))
        rows = np.arange(max(int(first), 0), min(int(last), height))
        crossing = x + (rows + 0.5 - y) / (to_y - y) * (to_x - x) if y != to_y else np.zeros(rows.size)
        toggles[rows, np.clip(np.ceil(crossing - 0.5), 0, width).astype(np.intp)] ^= 1
    return np.asarray(np.bitwise_xor.accumulate(toggles[:, :-1], axis=1).astype(np.bool_))


def _mask_truth(location: str, size: tuple[int | None, int | None], rows: Sequence[tuple[Any, bool]]) -> MaskTruth:
    """The truth of an image from its segmentations, each with whether it is a crowd."""
    height, width = size
    if not height or not width or height < 0 or width < 0:
        raise ForeignError(f"{location}: no height and width, which masks need; leave out --as mask")
    if height * width > MAX_PIXELS:
        raise ForeignError(f"{location}: {height} x {width} pixels; an image may have {MAX_PIXELS:,}")
    try:
        objects, crowds = (_union([row for row, crowd in rows if crowd is of], height, width) for of in (False, True))
    except AnswerError as error:
        raise ForeignError(f"{location}: {error}") from None
    return MaskTruth(objects, ~(crowds & ~objects) if crowds.any() else None, None, None, 1.0, None)


def _union(segmentations: Sequence[Any], height: int, width: int) -> BoolArray:
    import numpy as np

    plane = np.zeros((height, width), dtype=np.bool_)
    for segmentation in segmentations:
        plane |= plane_of(segmentation, height, width)
    return plane


def _mask_answer(truth: MaskTruth, detections: Sequence[_Detection]) -> Answer:
    """The record of detections; an AnswerError says what is wrong with one."""
    import numpy as np

    height, width = truth.object.shape
    lowest = min([0.0, *(detection.score - 1 for detection in detections if detection.score <= 0)])
    scores = np.full((height, width), lowest)
    for detection in detections:
        np.maximum(scores, detection.score, out=scores, where=plane_of(detection.segmentation, height, width))
    answer = Answer(f"scores {width} x {height}", pixels=count_scores(scores, truth))
    return MASK.settle(answer, _RULES, MASK_PARAMS)


READERS: tuple[Reader, ...] = (
    Reader("coco", "detections in COCO's format, with --truth FILE", is_results, read_results, takes_truth=True),
)
