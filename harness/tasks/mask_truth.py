"""The truth of a mask test: the object, what is ignored, and how much pixels weigh."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from harness.files.images import ImageError, image_size, read_plane
from harness.files.stamps import Stamp, file_stamp
from harness.model import Case
from harness.tasks.mask_settings import MAX_LABELS, MaskSettings
from harness.tasks.task import TaskRules

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    BoolArray = npt.NDArray[np.bool_]
    FloatArray = npt.NDArray[np.float64]
    Codes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class MaskTruth:
    """A truth image, ready for scoring.

    object   object pixels that count
    counted  pixels that count; None if all do
    weights  how much each pixel weighs; None if there are no weight images
    near     pixels near the outline, which weigh `near_weight`; None if they are in `weights`, or like all others
    codes    the place of each pixel's class among the labels; None without labels
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
        own = codes.ravel() if inside is None else codes[inside]
        if self.weights is not None:
            weights = self.weights.ravel() if inside is None else self.weights[inside]
            # It adds one after the other, so that the last digit is the same on every machine.
            return list(np.bincount(own, weights=weights, minlength=kinds).tolist())
        counts = _histogram(own, kinds)
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
    codes = _codes(image, counted, settings) if settings.labels else None
    near = None
    if settings.width:
        near = near_outline(marked.view(np.uint8) if codes is None else codes, counted, settings.width)
    own = _weight_image(weights, image) if settings.weights else None
    if own is not None and near is not None:
        own[near] *= settings.weight
        near = None
    return MaskTruth(marked, counted, own, near, settings.weight, codes)


def _codes(image: npt.NDArray[Any], counted: BoolArray | None, settings: MaskSettings) -> Codes:
    codes, unknown = label_codes(image, settings, counted)
    if unknown is not None:
        known = ", ".join(str(value) for value, _ in settings.labels)
        raise ImageError(f"the truth image: value {unknown} has no name in labels ({known})")
    return codes


def label_codes(
    image: npt.NDArray[Any], settings: MaskSettings, counted: BoolArray | None
) -> tuple[Codes, int | float | None]:
    """The place of each pixel's value among the labels, and a value that counts and has none; None if all have one."""
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
        places = table[np.where(inside, image, 0).astype(np.intp)]
        codes, known = places.astype(np.uint8), inside & (places < MAX_LABELS)
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
        own = classes == code
        other = ~own if counted is None else ~own & counted
        near |= own & _dilated(other, width)
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
