"""The pixels of an answer against those of the truth: counts, histograms of scores, and counts by class."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from harness.files.images import image_size
from harness.tasks.mask_settings import MaskSettings
from harness.tasks.mask_truth import MaskTruth, label_codes
from harness.tasks.task import AnswerError

if TYPE_CHECKING:
    import numpy.typing as npt

    Plane = npt.NDArray[Any]

# A map with more different scores is rounded down.
MAX_LEVELS = 1024
# So many pixels show whether a map has more levels than that.
_SAMPLE = 1 << 14
Details = dict[str, Any]
COUNTS = ("TP", "TN", "FP", "FN")


def check_same_size(answer: Plane, truth: MaskTruth) -> None:
    """An AnswerError that names both sizes if they differ."""
    if answer.shape != truth.object.shape:
        raise AnswerError(f"the answer is {image_size(answer)}, the truth {image_size(truth.object)} pixels")


def count_mask(answer: Plane, truth: MaskTruth) -> Details:
    """Every pixel a TP, TN, FP or FN; any value but 0 is marked."""
    import numpy as np

    marked = answer if answer.dtype == bool else answer != 0
    if truth.weighs:
        tn, fp, fn, tp = truth.sums(marked.view(np.uint8) + 2 * truth.object.view(np.uint8), 4)
        return {"TP": tp, "TN": tn, "FP": fp, "FN": fn}
    tp = int(np.count_nonzero(marked & truth.object))
    found = int(np.count_nonzero(marked if truth.counted is None else marked & truth.counted))
    return _counts(tp, found - tp, truth)


def _counts(tp: float, fp: float, truth: MaskTruth) -> Details:
    return {"TP": tp, "TN": truth.negatives - fp, "FP": fp, "FN": truth.positives - tp}


def nothing_marked(truth: MaskTruth, settings: MaskSettings) -> Details:
    """A refusal: no pixel is marked."""
    return {**_counts(_zero(truth), _zero(truth), truth), **_of_classes(truth, settings, 0)}


def everything_wrong(truth: MaskTruth, settings: MaskSettings) -> Details:
    """An error: a failure at every pixel, as an error is a failure in every case."""
    zero = _zero(truth)
    return {**_counts(zero, truth.negatives, truth), **_of_classes(truth, settings, None)}


def _zero(truth: MaskTruth) -> float:
    return 0.0 if truth.weighs else 0


def _of_classes(truth: MaskTruth, settings: MaskSettings, answer: int | None) -> Details:
    """The pixels of each class, if all have the same answer."""
    if truth.codes is None:
        return {}
    totals = truth.sums(truth.codes, len(settings.labels))
    return {
        "confusion": [
            [value, answer, total] for (value, _), total in zip(settings.labels, totals, strict=True) if total > 0
        ]
    }


def count_classes(answer: Plane, truth: MaskTruth, settings: MaskSettings) -> Details:
    """Pixels by their class and the class in the answer; an object pixel with another class is an FN."""
    import numpy as np

    if truth.codes is None:
        raise AnswerError("the test has no labels")
    given, unknown = label_codes(answer, settings, truth.counted)
    if unknown is not None:
        known = ", ".join(str(value) for value, _ in settings.labels)
        raise AnswerError(f"value {unknown} is not one of the labels; expected {known}")
    kinds = len(settings.labels)
    # Up to 16 classes, both fit into a byte.
    kind = np.dtype(np.uint8 if kinds <= 16 else np.uint16)
    both = np.multiply(truth.codes, kinds, dtype=kind) + given
    totals = truth.sums(both, kinds * kinds)
    values = [value for value, _ in settings.labels]
    triples = [[values[n // kinds], values[n % kinds], total] for n, total in enumerate(totals) if total > 0]
    tp = _sum((one for of, to, one in triples if of == to != 0), truth)
    fp = _sum((one for of, to, one in triples if of == 0 != to), truth)
    return {**_counts(tp, fp, truth), "confusion": triples}


def _sum(numbers: Any, truth: MaskTruth) -> float:
    return math.fsum(numbers) if truth.weighs else sum(numbers)


def count_scores(scores: Plane, truth: MaskTruth) -> Details:
    """How many pixels of object and background have each score; the threshold is applied to this later."""
    codes, levels = score_levels(scores)
    kinds = len(levels)
    background = ~truth.object if truth.counted is None else truth.counted & ~truth.object
    positive, negative = truth.sums(codes, kinds, truth.object), truth.sums(codes, kinds, background)
    used = [n for n in range(kinds) if positive[n] or negative[n]]
    parts = {"levels": levels, "positive": positive, "negative": negative}
    return {name: [part[n] for n in used] for name, part in parts.items()}


def score_levels(scores: Plane) -> tuple[npt.NDArray[Any], Sequence[float]]:
    """Each pixel as the place of its score among the levels, which rise; at most MAX_LEVELS.

    More different scores are rounded down to multiples of a power of two. Decisions are made on the rounded scores, so
    that a later threshold decides as the program's run did.
    """
    import numpy as np

    if scores.dtype == bool:
        return scores.view(np.uint8), [0, 1]
    if scores.dtype == np.uint8:
        return scores, range(256)
    low, high = scores.min().item(), scores.max().item()
    if not (math.isfinite(low) and math.isfinite(high)):
        raise AnswerError("a score is not a finite number")
    if scores.dtype.kind in "ui" and high - low < MAX_LEVELS:
        return (scores.astype(np.int64) - low).astype(np.uint16), range(low, high + 1)
    return _few_levels(scores) or _rounded_levels(scores.astype(np.float64), low, high)


def _few_levels(scores: Plane) -> tuple[npt.NDArray[Any], Sequence[float]] | None:
    """The scores themselves, if there are few enough; a part of them shows quickly if there are too many."""
    import numpy as np

    flat = scores.ravel()
    if np.unique(flat[:: max(1, flat.size // _SAMPLE)]).size > MAX_LEVELS:
        return None
    levels = np.unique(flat)
    if levels.size > MAX_LEVELS:
        return None
    return np.searchsorted(levels, scores).astype(np.uint16), levels.astype(np.float64).tolist()


def _rounded_levels(scores: Plane, low: float, high: float) -> tuple[npt.NDArray[Any], Sequence[float]]:
    import numpy as np

    step = max(math.ldexp(1.0, math.frexp(high / MAX_LEVELS - low / MAX_LEVELS)[1] - 1), math.ulp(0.0))
    while math.floor(high / step) - math.floor(low / step) >= MAX_LEVELS:
        step *= 2
    first, last = math.floor(low / step), math.floor(high / step)
    codes = (np.floor(scores / step) - first).astype(np.uint16)
    return codes, [n * step for n in range(first, last + 1)]


def settled(pixels: Mapping[str, Any], threshold: float) -> Details:
    """The counts at a threshold, if the pixels have scores: at least the threshold is marked."""
    if "levels" not in pixels:
        return dict(pixels)
    place = bisect_left(pixels["levels"], threshold)
    parts = {name: pixels[name] for name in ("levels", "positive", "negative")}
    tp, fn = _split(pixels["positive"], place)
    fp, tn = _split(pixels["negative"], place)
    return {"TP": tp, "TN": tn, "FP": fp, "FN": fn, **parts}


def _split(counts: Sequence[float], place: int) -> tuple[float, float]:
    """What is marked, and what is not."""
    whole = all(type(one) is int for one in counts)
    total = sum if whole else math.fsum
    return total(counts[place:]), total(counts[:place])


def iou_of(pixels: Mapping[str, Any]) -> float:
    """TP / (TP + FP + FN). Without an object it is 1 if nothing is marked, else 0, so that all images have one."""
    tp, fp, fn = pixels["TP"], pixels["FP"], pixels["FN"]
    if tp + fn <= 0:
        return float(fp <= 0)
    return float(tp / (tp + fp + fn))


def pixels_mistake(pixels: Mapping[str, Any]) -> str | None:
    """What is wrong with recorded pixels."""
    if not all(_is_amount(pixels.get(name)) for name in COUNTS):
        return "expected TP, TN, FP and FN, numbers of 0 or more"
    parts = [pixels.get(name) for name in ("levels", "positive", "negative")]
    if any(part is not None for part in parts) and not _is_histogram(*parts):
        return "expected levels that rise, and as many numbers in positive and negative"
    triples = pixels.get("confusion", [])
    if not isinstance(triples, list) or not all(map(_is_triple, triples)):
        return "confusion: expected [truth, answer, pixels] for each combination"
    return None


def _is_amount(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < 1e15  # type: ignore[operator]


def _is_histogram(levels: Any, *counts: Any) -> bool:
    if not all(isinstance(part, list) and len(part) == len(levels) for part in (levels, *counts)):
        return False
    rising = all(type(level) in (int, float) for level in levels) and all(a < b for a, b in pairwise(levels))
    return rising and all(_is_amount(one) for part in counts for one in part)


def _is_triple(triple: Any) -> bool:
    if not isinstance(triple, list) or len(triple) != 3:
        return False
    truth, answer, amount = triple
    return type(truth) is int and (answer is None or type(answer) is int) and _is_amount(amount)
