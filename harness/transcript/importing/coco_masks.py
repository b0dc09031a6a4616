"""COCO's segmentations as masks: `hate import results.json --truth instances.json --as mask`.

The truth of an image is the union of its objects, and crowds are ignored. The answer is a map of scores: the best score
of the detections that cover a pixel, so that one import gives the curves over pixels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from harness.errors import ForeignError
from harness.files.images import MOST_PIXELS
from harness.model import Answer, Case
from harness.tasks.answers import shown
from harness.tasks.mask import IOU, MASK, THRESHOLD
from harness.tasks.mask_scoring import count_scores, everything_wrong
from harness.tasks.mask_settings import MaskSettings
from harness.tasks.mask_truth import MaskTruth
from harness.tasks.task import AnswerError, TaskRules
from harness.transcript.importing.run_lengths import check_polygons, run_lengths

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    BoolArray = npt.NDArray[np.bool_]

PARAMS = {"iou": IOU, "threshold": THRESHOLD}
_RULES = TaskRules()


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
    if height * width > MOST_PIXELS:
        raise ForeignError(f"{place}: {height} x {width} pixels; an image may have {MOST_PIXELS:,}")
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
