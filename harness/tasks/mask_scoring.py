"""How masks are scored: the script's table [mask], the truth with what is ignored and what pixels weigh, and counts.

Pixels of an answer are counted against those of the truth, by score or by class.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from harness.files.digest import Stamp, file_stamp
from harness.files.images import ImageError, image_size, read_plane
from harness.model import Case
from harness.tasks.task import AnswerError, TaskRules

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    BoolArray = npt.NDArray[np.bool_]
    FloatArray = npt.NDArray[np.float64]
    Codes = npt.NDArray[np.uint8]
    Plane = npt.NDArray[Any]


SETTINGS = frozenset({"ignore", "boundary", "weights", "labels"})
BACKGROUND = "background"
# The classes of a mask are codes of one byte.
MAX_LABELS = 256
WIDEST = 1000


@dataclass(frozen=True)
class MaskSettings:
    """[mask]: `labels` are values and names, 0 included; none if there are only object and background."""

    ignore: int | None = None
    width: float = 0.0
    weight: float = 1.0
    weights: str = ""
    labels: tuple[tuple[int, str], ...] = ()

    @staticmethod
    def of(settings: Mapping[str, Any]) -> MaskSettings:
        """From a table that has no mistakes."""
        boundary = settings.get("boundary") or {}
        named = {int(value): str(name) for value, name in (settings.get("labels") or {}).items()}
        labels = tuple(sorted(({0: BACKGROUND} | named).items())) if named else ()
        return MaskSettings(
            ignore=settings.get("ignore"),
            width=float(boundary.get("width", 0.0)),
            weight=float(boundary.get("weight", 1.0)),
            weights=settings.get("weights") or "",
            labels=labels,
        )


def setting_mistakes(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with [mask], each with its key."""
    ignore, weights = settings.get("ignore"), settings.get("weights")
    if ignore is not None and (type(ignore) is not int or not 0 <= ignore <= 65535):
        yield "ignore", f"{ignore!r} is not a value of a pixel; expected a whole number from 0 to 65535"
    if weights is not None and (not isinstance(weights, str) or not weights):
        yield "weights", f"{weights!r} is not the name of a column; expected the column that names the weight images"
    if "boundary" in settings:
        yield from _boundary_mistakes(settings["boundary"])
    if "labels" in settings:
        yield from _label_mistakes(settings["labels"], ignore)


def _boundary_mistakes(boundary: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(boundary, Mapping) or set(boundary) != {"width", "weight"}:
        yield "boundary", "expected {width = 2, weight = 0.5}, and nothing else"
        return
    for key, most in (("width", WIDEST), ("weight", 1)):
        value = boundary[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
            yield f"boundary.{key}", f"{value!r} is not a number from 0 to {most}"


def _label_mistakes(labels: Any, ignore: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(labels, Mapping) or not 1 <= len(labels) <= MAX_LABELS:
        yield "labels", f'expected {{1 = "vase", 2 = "table"}}, at most {MAX_LABELS}'
        return
    for value, name in labels.items():
        if not (value.isascii() and value.isdigit() and int(value) <= 65535):
            yield f"labels.{value}", "not a value of a pixel; expected a whole number from 0 to 65535"
        elif int(value) == ignore:
            yield f"labels.{value}", "this value is ignored, so it needs no name"
        if not isinstance(name, str) or not name:
            yield f"labels.{value}", f"{name!r} is not a name"
    if len({str(name) for name in labels.values()}) < len(labels):
        yield "labels", "a name appears twice"


@dataclass(frozen=True, eq=False)
class MaskTruth:
    """A truth image, ready for scoring.

    object   object pixels that count
    counted  pixels that count; None if all do
    weights  how much each pixel weighs; None if there are no weight images
    near     pixels near the outline, which weigh `near_weight`; None if they are in `weights`, or like all others
    codes    the index of each pixel's class among the labels; None without labels
    """

    object: BoolArray
    counted: BoolArray | None
    weights: FloatArray | None
    near: BoolArray | None
    near_weight: float
    codes: Codes | None

    @property
    def weighs(self) -> bool:
        """Whether pixels differ in weight, so that counts are not whole numbers."""
        return self.weights is not None or self.near is not None

    @cached_property
    def positives(self) -> float:
        """The number of object pixels, or their weight."""
        return self._both[1]

    @cached_property
    def negatives(self) -> float:
        """The number of background pixels, or their weight."""
        return self._both[0]

    @cached_property
    def _both(self) -> list[float]:
        import numpy as np

        if self.weighs:
            return self.sums(self.object.view(np.uint8), 2)
        positives = int(np.count_nonzero(self.object))
        return [
            (self.object.size if self.counted is None else int(np.count_nonzero(self.counted))) - positives,
            positives,
        ]

    @property
    def positive(self) -> bool:
        """Whether there is an object in the image."""
        return self.positives > 0

    def sums(self, codes: npt.NDArray[Any], kinds: int, within: BoolArray | None = None) -> list[Any]:
        """How many of the pixels that count, or how much weight, each code has; `within` are pixels that count."""
        import numpy as np

        inside = self.counted if within is None else within
        counted_codes = codes.ravel() if inside is None else codes[inside]
        if self.weights is not None:
            weights = self.weights.ravel() if inside is None else self.weights[inside]
            # It adds one after the other, so that the last digit is the same on every machine.
            return list(np.bincount(counted_codes, weights=weights, minlength=kinds).tolist())
        counts = _histogram(counted_codes, kinds)
        if self.near is not None:
            light = _histogram(codes[self.near if inside is None else self.near & inside], kinds)
            return list((counts - light + self.near_weight * light).tolist())
        return list(counts.tolist())


def _histogram(codes: npt.NDArray[Any], kinds: int) -> npt.NDArray[np.intp]:
    """How often each code occurs. Of bytes, counting pairs takes half as long."""
    import numpy as np

    if codes.dtype != np.uint8:
        return np.bincount(codes, minlength=kinds)
    even = codes[: codes.size // 2 * 2]
    pairs = np.bincount(even.view(np.uint16), minlength=1 << 16).reshape(256, 256)
    counts = pairs.sum(axis=0) + pairs.sum(axis=1)
    if codes.size % 2:
        counts[codes[-1]] += 1
    return np.asarray(counts[:kinds])


def truth_of(case: Case, rules: TaskRules) -> MaskTruth:
    """The truth of a case; an ImageError says what is wrong with it. The last ones are kept: a case is asked twice."""
    settings = MaskSettings.of(rules.settings)
    path, weights = _path(case.expect, rules), ""
    if settings.weights:
        weights = _path(str(case.columns.get(settings.weights, "")), rules)
    return _load(path, weights, settings, file_stamp(path), file_stamp(weights))


def _path(reference: str, rules: TaskRules) -> str:
    return str(reference if rules.resolve is None else rules.resolve(reference))


@lru_cache(maxsize=2)
def _load(path: str, weights: str, settings: MaskSettings, _truth: Stamp, _weights: Stamp) -> MaskTruth:
    import numpy as np

    try:
        image = read_plane(path)
    except ImageError as error:
        raise ImageError(f"the truth image: {error}") from None
    if image.dtype.kind == "f":
        raise ImageError("the truth image: it has floating-point values; expected whole numbers")
    counted = None if settings.ignore is None else np.asarray(image != settings.ignore)
    marked = np.asarray(image != 0)
    if counted is not None:
        marked &= counted
    codes = None
    if settings.labels:
        codes, unknown = label_codes(image, settings, counted)
        if unknown is not None:
            known = ", ".join(str(value) for value, _ in settings.labels)
            raise ImageError(f"the truth image: value {unknown} has no name in labels ({known})")
    near = None
    if settings.width:
        near = near_outline(marked.view(np.uint8) if codes is None else codes, counted, settings.width)
    weight_image = _weight_image(weights, image) if settings.weights else None
    if weight_image is not None and near is not None:
        weight_image[near] *= settings.weight
        near = None
    return MaskTruth(marked, counted, weight_image, near, settings.weight, codes)


def label_codes(
    image: npt.NDArray[Any], settings: MaskSettings, counted: BoolArray | None
) -> tuple[Codes, int | float | None]:
    """The index of each pixel's value among the labels, and a value that counts and has none; None if all have one."""
    import numpy as np

    values = [value for value, _ in settings.labels]
    if image.dtype == bool:
        image = image.view(np.uint8)
    if image.dtype == np.uint8:
        codes, known = _byte_codes(image, values)
    else:
        table = np.full(values[-1] + 1, MAX_LABELS, dtype=np.int16)
        table[values] = np.arange(len(values))
        inside = (image >= 0) & (image <= values[-1])
        positions = table[np.where(inside, image, 0).astype(np.intp)]
        codes, known = positions.astype(np.uint8), inside & (positions < MAX_LABELS)
    wrong = ~known if counted is None else ~known & counted
    return codes, image[wrong][0].item() if wrong.any() else None


def _byte_codes(image: Codes, values: Sequence[int]) -> tuple[Codes, BoolArray]:
    """The same for bytes, whose translation is ten times as fast as indexing."""
    import numpy as np

    table, known = bytearray(256), bytearray(256)
    for code, value in enumerate(values):
        if value < 256:
            table[value], known[value] = code, 1
    data = image.tobytes()
    codes, is_known = (np.frombuffer(data.translate(part), np.uint8).reshape(image.shape) for part in (table, known))
    return codes, is_known.view(np.bool_)


def _weight_image(path: str, image: npt.NDArray[Any]) -> FloatArray:
    """Whole numbers are shares of 255 (of 65,535 with 16 bits), other numbers are weights as they are."""
    import numpy as np

    try:
        raw = read_plane(path)
    except ImageError as error:
        raise ImageError(f"the weight image: {error}") from None
    if raw.shape != image.shape:
        raise ImageError(f"the weight image is {image_size(raw)}, the truth {image_size(image)}")
    full = {"b": 1.0, "u": 255.0 if raw.dtype.itemsize == 1 else 65535.0, "i": 255.0, "f": 1.0}[raw.dtype.kind]
    weights = raw.astype(np.float64) / full
    if not (math.isfinite(weights.max()) and weights.min() >= 0):
        raise ImageError("the weight image: a weight is negative, or no finite number")
    return np.asarray(weights)


def near_outline(classes: Codes, counted: BoolArray | None, width: float) -> BoolArray:
    """Pixels that have a pixel of another class within `width`, by the distance of their centres.

    Pixels that are ignored belong to no class, and the edge of the image is no outline.
    """
    import numpy as np

    near = np.zeros(classes.shape, dtype=np.bool_)
    for code in np.flatnonzero(_histogram(classes.ravel(), 256)).tolist():
        inside = classes == code
        other = ~inside if counted is None else ~inside & counted
        near |= inside & _dilated(other, width)
    return near


def _dilated(marked: BoolArray, width: float) -> BoolArray:
    """Pixels within `width` of a marked one: row by row of the disc, each row a run of pixels."""
    import numpy as np

    height, most = marked.shape[0], math.floor(width * width + 1e-9)
    out = np.zeros_like(marked)
    # From the ends of the disc to its middle the runs grow, so that each is made of the one before.
    run, reach = marked.copy(), 0
    for down in range(min(math.floor(width), height - 1), -1, -1):
        half = math.isqrt(most - down * down)
        run, reach = _widened(run, half - reach), half
        out[down:] |= run[: height - down]
        if down:
            out[: height - down] |= run[down:]
    return out


def _widened(run: BoolArray, by: int) -> BoolArray:
    """Each marked pixel and its neighbours in the row, `by` pixels to either side."""
    length = run.shape[1]
    by = min(by, length - 1)
    step = 1
    while by > 0:
        step = min(step, by)
        wide = run.copy()
        wide[:, step:] |= run[:, : length - step]
        wide[:, : length - step] |= run[:, step:]
        run, by, step = wide, by - step, 2 * step + 1
    return run


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
    positives = int(np.count_nonzero(marked if truth.counted is None else marked & truth.counted))
    return _counts(tp, positives - tp, truth)


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
    tp = _sum((total for of, to, total in triples if of == to != 0), truth)
    fp = _sum((total for of, to, total in triples if of == 0 != to), truth)
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
    """Each pixel as the index of its score among the levels, which rise; at most MAX_LEVELS.

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
    first = bisect_left(pixels["levels"], threshold)
    parts = {name: pixels[name] for name in ("levels", "positive", "negative")}
    tp, fn = _split(pixels["positive"], first)
    fp, tn = _split(pixels["negative"], first)
    return {"TP": tp, "TN": tn, "FP": fp, "FN": fn, **parts}


def _split(counts: Sequence[float], first: int) -> tuple[float, float]:
    """What is marked, and what is not."""
    whole = all(type(count) is int for count in counts)
    total = sum if whole else math.fsum
    return total(counts[first:]), total(counts[:first])


def iou_of(pixels: Mapping[str, Any]) -> float:
    """TP / (TP + FP + FN). Without an object it is 1 if nothing is marked, else 0, so that all images have one."""
    tp, fp, fn = pixels["TP"], pixels["FP"], pixels["FN"]
    if tp + fn <= 0:
        return float(fp <= 0)
    return float(tp / (tp + fp + fn))


def pixels_mistake(pixels: Mapping[str, Any]) -> str | None:
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
    return rising and all(_is_amount(count) for part in counts for count in part)


def _is_triple(triple: Any) -> bool:
    if not isinstance(triple, list) or len(triple) != 3:
        return False
    truth, answer, amount = triple
    return type(truth) is int and (answer is None or type(answer) is int) and _is_amount(amount)
