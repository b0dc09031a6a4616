"""COCO's segmentations: runs of pixels, compressed or not, and polygons.

Runs go down the columns of the image, from left to right, and begin with the background. In the compressed form each
number is the difference from the one two places before (from the fourth number on), in groups of five bits from the
lowest: a character is 48 plus the group, plus 32 if more groups follow; the highest bit of the last group is the sign.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from harness.tasks.answers import shown
from harness.tasks.task import AnswerError

__all__ = ["box_of", "check_polygons", "run_lengths"]

LARGEST_SIDE = 1 << 20


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
        if not numbers or len(polygon) < 6 or len(polygon) % 2 or max(map(abs, polygon)) > LARGEST_SIDE:
            raise AnswerError(f"segmentation: polygon {shown(polygon)} is not [x, y, x, y, x, y ...]")
    if not segmentation:
        raise AnswerError("segmentation: no polygon")
    return segmentation


def _size(raw: Any) -> tuple[int, int]:
    pair = isinstance(raw, Sequence) and len(raw) == 2 and all(type(one) is int for one in raw)
    if not pair or not all(0 < one <= LARGEST_SIDE for one in raw):
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
