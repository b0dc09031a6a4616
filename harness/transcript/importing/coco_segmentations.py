"""COCO's segmentations: runs of pixels, compressed or not, and polygons; their boxes, and masks of them.

Runs go down the columns of the image, from left to right, and begin with the background. In the compressed form each
number is the difference from the one two places before (from the fourth number on), in groups of five bits from the
lowest: a character is 48 plus the group, plus 32 if more groups follow; the highest bit of the last group is the sign.

For `hate import results.json --truth instances.json --as mask`, the truth of an image is the union of its objects, and
crowds are ignored. The answer is a map of scores: the best score of the detections that cover a pixel, so that one
import gives the curves over pixels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec

from harness.errors import ForeignError
from harness.files.images import MAX_PIXELS
from harness.model import Answer, Case
from harness.tasks.answers import shown
from harness.tasks.mask import IOU, MASK, THRESHOLD
from harness.tasks.mask_scoring import count_scores, everything_wrong
from harness.tasks.mask_settings import MaskSettings
from harness.tasks.mask_truth import MaskTruth
from harness.tasks.task import AnswerError, TaskRules

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    BoolArray = npt.NDArray[np.bool_]

PARAMS = {"iou": IOU, "threshold": THRESHOLD}
_RULES = TaskRules()
MAX_SIDE = 1 << 20


def box_of(segmentation: Any) -> list[float]:
    """The box around a segmentation; an AnswerError says what is wrong with it."""
    if isinstance(segmentation, Mapping):
        height, width = _size(segmentation.get("size"))
        return _box_of_runs(run_lengths(segmentation.get("counts")), height, width)
    polygons = check_polygons(segmentation)
    x, y = ([value for polygon in polygons for value in polygon[side::2]] for side in (0, 1))
    return [float(min(x)), float(min(y)), float(max(x) - min(x)), float(max(y) - min(y))]


def check_polygons(segmentation: Any) -> list[list[float]]:
    """Polygons [x, y, x, y ...]; an AnswerError if it is something else."""
    if not isinstance(segmentation, list):
        raise AnswerError(f"segmentation {shown(segmentation)} is neither a list of polygons nor {{'size', 'counts'}}")
    for polygon in segmentation:
        numbers = isinstance(polygon, list) and all(type(one) in (int, float) for one in polygon)
        if not numbers or len(polygon) < 6 or len(polygon) % 2 or max(map(abs, polygon)) > MAX_SIDE:
            raise AnswerError(f"segmentation: polygon {shown(polygon)} is not [x, y, x, y, x, y ...]")
    if not segmentation:
        raise AnswerError("segmentation: no polygon")
    return segmentation


def _size(raw: Any) -> tuple[int, int]:
    pair = isinstance(raw, Sequence) and len(raw) == 2 and all(type(one) is int for one in raw)
    if not pair or not all(0 < one <= MAX_SIDE for one in raw):
        raise AnswerError(f"segmentation: size {shown(raw)} is not [height, width]")
    return raw[0], raw[1]


def run_lengths(counts: Any) -> list[int]:
    """The lengths of the runs, background first."""
    if isinstance(counts, str):
        runs = _decompressed(counts)
    elif isinstance(counts, Sequence) and all(type(one) is int for one in counts):
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
    spans = [(ends[place - 1], ends[place] - 1) for place in range(1, len(ends), 2) if runs[place]]
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
    for polygon in check_polygons(segmentation):
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


def mask_truth(place: str, size: tuple[int | None, int | None], rows: Sequence[tuple[Any, bool]]) -> MaskTruth:
    """The truth of an image from its segmentations, each with whether it is a crowd."""
    height, width = size
    if not height or not width or height < 0 or width < 0:
        raise ForeignError(f"{place}: no height and width, which masks need; leave out --as mask")
    if height * width > MAX_PIXELS:
        raise ForeignError(f"{place}: {height} x {width} pixels; an image may have {MAX_PIXELS:,}")
    try:
        objects, crowds = (_union([one for one, crowd in rows if crowd is of], height, width) for of in (False, True))
    except AnswerError as error:
        raise ForeignError(f"{place}: {error}") from None
    return MaskTruth(objects, ~(crowds & ~objects) if crowds.any() else None, None, None, 1.0, None)


def _union(segmentations: Sequence[Any], height: int, width: int) -> BoolArray:
    import numpy as np

    plane = np.zeros((height, width), dtype=np.bool_)
    for one in segmentations:
        plane |= plane_of(one, height, width)
    return plane


def truth_digest(rows: Sequence[tuple[Any, bool]]) -> str:
    """What stands for the truth in the digest of the test: segmentations are long."""
    return hashlib.sha256(msgspec.json.encode(rows)).hexdigest()[:16]


def mask_answer(truth: MaskTruth, found: Sequence[tuple[Any, float]]) -> Answer:
    """The record of detections, each with its score; an AnswerError says what is wrong with one."""
    import numpy as np

    height, width = truth.object.shape
    lowest = min([0.0, *(score - 1 for _, score in found if score <= 0)])
    scores = np.full((height, width), lowest)
    for segmentation, score in found:
        np.maximum(scores, score, out=scores, where=plane_of(segmentation, height, width))
    answer = Answer(f"scores {width} x {height}", pixels=count_scores(scores, truth))
    return MASK.settle(answer, _RULES, PARAMS)


def failed(truth: MaskTruth) -> dict[str, Any]:
    """The record of an image whose answer cannot be used."""
    return dict(everything_wrong(truth, MaskSettings.of({})))


def is_right(truth: MaskTruth, answer: Answer) -> bool:
    """Whether an image is a success at the default parameters."""
    case = Case("", None, positive=truth.positive)
    return MASK.acceptance(_RULES, PARAMS)(case, answer) is truth.positive
