"""Task `mask`: mark the pixels of the object. The truth is an image; every pixel is a TP, TN, FP or FN.

The record has the counts of the image, and the histogram of a score map, so decisions at any `iou` and `threshold`
cost one run.
"""

from __future__ import annotations

import binascii
import math
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from harness.files.images import MAX_PIXELS, ImageError, image_size, read_plane
from harness.model import Answer, Case
from harness.params import Param, ParamType, Value
from harness.tasks.answers import fields, shown
from harness.tasks.mask_scoring import (
    BACKGROUND,
    SETTINGS,
    MaskSettings,
    MaskTruth,
    check_same_size,
    count_classes,
    count_mask,
    count_scores,
    everything_wrong,
    iou_of,
    nothing_marked,
    pixels_mistake,
    setting_mistakes,
    settled,
    truth_of,
)
from harness.tasks.task import (
    Accepts,
    AnswerError,
    ComparedRuns,
    DecisionLimits,
    ElementConfusion,
    Elements,
    ExampleScript,
    Movement,
    RecordColumns,
    RecordedAnswer,
    Task,
    TaskRules,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from harness.tasks.mask_scoring import Details

    Plane = npt.NDArray[Any]


def read_answer(raw: object) -> Plane:
    """The image of an answer, (height, width)."""
    try:
        if isinstance(raw, str):
            return read_plane(raw)
        if isinstance(raw, Mapping) and set(raw) == {"bytes"}:
            return read_plane(_bytes(raw["bytes"]))
    except ImageError as error:
        name = f"the image '{Path(raw).name[-60:]}'" if isinstance(raw, str) else "the image"
        raise AnswerError(f"{name}: {error}") from None
    if isinstance(raw, list):
        return _from_lists(raw)
    raise AnswerError(f"{shown(raw)} is neither an image's path, nor its bytes, nor a 2-D array")


def _bytes(content: object) -> bytes:
    if isinstance(content, bytes):
        return content
    if not isinstance(content, str):
        raise ImageError(f"{shown(content)} is not base64")
    try:
        return b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise ImageError("its bytes are not base64") from None


def _from_lists(rows: list[Any]) -> Plane:
    import numpy as np

    if len(rows) * (len(rows[0]) if rows and isinstance(rows[0], list) else 1) > MAX_PIXELS:
        raise AnswerError(f"a list of more than {MAX_PIXELS // 1_000_000} million pixels")
    try:
        array = np.asarray(rows)
    except (ValueError, OverflowError, RecursionError):  # rows of different lengths
        raise AnswerError("the rows of the list have different lengths, or hold something other than numbers") from None
    if array.ndim != 2 or not array.size or array.dtype.kind not in "buif":
        raise AnswerError(f"{shown(rows)} is not a 2-D array of numbers")
    return array


def mask_values(plane: Plane) -> Plane:
    """The values of a mask, which are whole numbers."""
    import numpy as np

    if plane.dtype.kind != "f":
        return plane
    if not np.isfinite(plane.min()) or not np.isfinite(plane.max()):
        raise AnswerError("a value of the mask is not a finite number")
    wrong = plane != np.trunc(plane)
    if wrong.any():
        value = plane[wrong][0].item()
        raise AnswerError(f'{value:g} is not a value of a mask; answer {{"scores": ...}} if these are scores')
    return plane


def score_values(plane: Plane) -> Plane:
    """Scores, which are finite numbers."""
    import numpy as np

    if plane.dtype.kind == "f" and not np.isfinite(plane).all():
        at = np.argwhere(~np.isfinite(plane))[0].tolist()
        raise AnswerError(f"score {plane[at[0], at[1]].item()} at x {at[1]}, y {at[0]} is not a finite number")
    return plane


# More pairs would say the same again.
MAX_PAIRS = 3


@dataclass(frozen=True)
class PixelClaim:
    """The pixels on which two runs differ, from the counts of each image.

    The number of pixels that only one run has right, less those that only the other has, follows from the counts. The
    number of both together does not: it is at most `most`, which gives the smallest z that McNemar's test could have
    given, with the correction for continuity.
    """

    lead: float
    most: float
    pixels: float
    # Whether these are sums of weights, not counts.
    weighted: bool = False

    @property
    def z(self) -> float:
        """A lower bound of |z|."""
        return max(0.0, (abs(self.lead) - 1) / math.sqrt(self.most)) if self.most else 0.0

    @property
    def p_value(self) -> float:
        """An upper bound of the two-sided p-value."""
        return math.erfc(self.z / math.sqrt(2))


def pixel_claim(first: Sequence[Any], second: Sequence[Any]) -> PixelClaim:
    """The claim about two runs, from the counts of the images that both have."""
    lead = most = pixels = 0.0
    weighted = False
    for a, b in zip(first, second, strict=True):
        if a is None or b is None:
            continue
        for wrong, right in (("FN", "TP"), ("FP", "TN")):
            total, wrong_a, wrong_b = a[wrong] + a[right], a[wrong], b[wrong]
            lead += wrong_b - wrong_a
            # Either the wrong pixels of the two overlap as little as possible, or the right ones do.
            most += min(wrong_a + wrong_b, 2 * total - wrong_a - wrong_b)
            pixels += total
            weighted |= not float(total).is_integer()
    return PixelClaim(lead, most, pixels, weighted)


def pixel_cautions(runs: ComparedRuns) -> list[str]:
    """Why images are compared, and not pixels."""
    pairs = list(combinations(range(len(runs.names)), 2))
    if not pairs:
        return []
    details = runs.detail("pixels")
    lines = [
        "McNemar's test here is about images (the decision parameter iou says which are right), not about pixels. "
        "Pixels of one image are right or wrong together, so they are not independent tests: a test that counts each "
        "of them takes a handful of images for a huge sample, and calls almost any difference significant."
    ]
    for a, b in pairs[:MAX_PAIRS]:
        claim = pixel_claim(details[a], details[b])
        ahead, behind = (runs.names[a], runs.names[b]) if claim.lead >= 0 else (runs.names[b], runs.names[a])
        p = f"{claim.p_value:.2g}" if claim.p_value > 1e-300 else "1e-300"
        pixels = "weighted pixels" if claim.weighted else "pixels"
        lines.append(
            f"On the {claim.pixels:,.0f} {pixels} it would have claimed, wrongly, z = {claim.z:.2f} or more (p = {p} "
            f"or less) for {ahead} and {behind}: {ahead} has {abs(claim.lead):,.0f} more pixels right, and at most "
            f"{claim.most:,.0f} can differ between the two."
        )
    if len(pairs) > MAX_PAIRS:
        lines.append(f"The other {len(pairs) - MAX_PAIRS:,} pairs are no different.")
    return lines


IOU, THRESHOLD = 0.5, 0.5
KEYS = frozenset({"mask", "scores", "label", "bytes"})
OBJECT = "object"
# In plain text, so that it can be written and read: a truth image is 4 x 3 pixels of 0 and 1.
_EXAMPLE = "P2\n4 3\n1\n0 1 1 0\n0 1 1 0\n0 0 0 0\n"


class MaskTask(Task):
    """An image with an object is accepted if its IoU is at least `iou`; one without, if any pixel is marked."""

    name = "mask"
    summary = "mark the pixels of the object"
    keys = KEYS
    expect_is_file = True
    records_answers = False
    moves_truth = True
    checks_cases = True
    claims_classes = False
    setting_keys = SETTINGS
    measures = ("iou", "dice", "pixel_tpr", "pixel_fpr", "pixel_precision", "pixel_f1", "miou", "auc", "eer")
    main_measure = "iou"
    example = ExampleScript(
        sections="""\
[data.images]
path = "images"

# [mask]
# ignore = 128                           # a value of the truth that counts for nothing
# boundary = {width = 2, weight = 0.5}   # pixels near the outline weigh less
# labels = {1 = "vase", 2 = "table"}     # several classes
""",
        tables={
            "cases.csv": """\
id,input,expect
0001,{images}/0001.pgm,{images}/0001-truth.pgm
0002,{images}/0002.pgm,{images}/0002-truth.pgm
""",
            "images/0001.pgm": "P2\n4 3\n255\n9 200 210 7\n8 190 220 6\n5 7 8 9\n",
            "images/0001-truth.pgm": _EXAMPLE,
            "images/0002.pgm": "P2\n4 3\n255\n9 180 160 7\n8 170 90 6\n5 7 8 9\n",
            "images/0002-truth.pgm": _EXAMPLE,
        },
    )
    decisions = {
        "iou": Param("iou", ParamType.FLOAT, IOU, True, "the overlap from which an image is right"),
        "threshold": Param("threshold", ParamType.FLOAT, THRESHOLD, True, "the score from which a pixel is marked"),
    }
    optional = frozenset({"threshold"})

    def answer(self, raw: object, case: Case, rules: TaskRules) -> Answer:
        """An image's path, its bytes, a 2-D array, {"scores": one of these}, or None, which marks nothing."""
        settings, truth = MaskSettings.of(rules.settings), _truth(case, rules)
        known = fields(raw, KEYS) or {}
        content = next((known[key] for key in ("scores", "mask", "label") if key in known), raw)
        if content is None or content == "":
            return Answer(pixels=nothing_marked(truth, settings))
        plane = read_answer(content)
        check_same_size(plane, truth)
        if "scores" not in known:
            plane = mask_values(plane)
            counted = count_classes(plane, truth, settings) if settings.labels else count_mask(plane, truth)
            return Answer(f"mask {image_size(plane)}", pixels=counted)
        if settings.labels:
            raise AnswerError("a score map has one class, but this test has labels; answer with a mask")
        return Answer(f"scores {image_size(plane)}", pixels=count_scores(score_values(plane), truth))

    def settle(self, answer: Answer, rules: TaskRules, params: Mapping[str, Value]) -> Answer:
        """The counts of a score map at the threshold, and the IoU."""
        if answer.pixels is None or answer.actual is None:
            return answer
        pixels = settled(answer.pixels, _threshold(params))
        return replace(answer, pixels=pixels, score=iou_of(pixels))

    def detail_mistake(self, name: str, detail: Mapping[str, Any]) -> str | None:
        """The counts of pixels, histograms and classes of a record."""
        return pixels_mistake(detail) if name == "pixels" else None

    def failure(self, case: Case, rules: TaskRules) -> Answer:
        """An error is a failure at every pixel."""
        return Answer(pixels=everything_wrong(_truth(case, rules), MaskSettings.of(rules.settings)))

    def complete(self, case: Case, rules: TaskRules) -> Case:
        """A case is positive if its truth has an object."""
        try:
            positive = truth_of(case, rules).positive
        except ImageError:  # its answer is an error, which says why
            return case
        return case if positive is case.positive else replace(case, positive=positive)

    def acceptance(self, rules: TaskRules, params: Mapping[str, Value]) -> Accepts:
        """At least the IoU; of an image without an object, any marked pixel, which makes its IoU 0."""
        least = float(params["iou"])

        def accepts(case: Case, answer: Answer) -> bool:
            return answer.score is not None and (answer.score >= least if case.positive else answer.score < 1)

        return accepts

    def limits(self, rules: TaskRules, params: Mapping[str, Value]) -> DecisionLimits:
        """The IoU, which depends on the threshold if there is a score map."""
        threshold = _threshold(params)

        def of(trial: RecordedAnswer, positive: bool) -> float:
            score, pixels = trial.score, trial.pixels
            if pixels and "levels" in pixels:
                score = iou_of(settled(pixels, threshold))
            if score is None or not isinstance(score, float):
                return -math.inf
            return score if positive else math.inf if score < 1 else -math.inf

        return DecisionLimits("iou", True, of)

    def case_mistake(self, case: Case, rules: TaskRules) -> str | None:
        """The truth, and the weights if there are any, must be files of the test's data."""
        column = MaskSettings.of(rules.settings).weights
        named = {"expect": case.expect} | ({column: str(case.columns.get(column, ""))} if column else {})
        for name, reference in named.items():
            if not reference.startswith("{"):
                return f"{name} '{reference}' is not a file of the test's data; write {{NAME}}/file, as in [data.NAME]"
        return None

    def move_truth(self, case: Case, rules: TaskRules, movement: Movement) -> Case:
        """The truth image and the weights, moved; new ground is background, or ignored if the test ignores a value."""
        settings = MaskSettings.of(rules.settings)
        columns = dict(case.columns)
        if settings.weights:
            columns[settings.weights] = movement.image(str(columns[settings.weights]), numbers=True)
        return replace(case, expect=movement.image(case.expect, outside=settings.ignore or 0), columns=columns)

    def truth_mistake(self, case: Case, rules: TaskRules) -> str | None:
        """The truth must be an image, and agree with `positive`."""
        try:
            truth = truth_of(case, rules)
        except ImageError as error:
            return str(error)
        if truth.positive is not case.positive:
            has, says = ("an", "false") if truth.positive else ("no", "true")
            return f"positive is {says}, but the truth image has {has} object"
        return None

    def setting_mistakes(self, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        yield from setting_mistakes(settings)

    def elements(self, columns: RecordColumns, rules: TaskRules, params: Mapping[str, Value]) -> Elements | None:
        """Pixels with their scores; those of a refusal have the lowest, those of an error are wrong."""
        import numpy as np

        parts: list[tuple[int, Sequence[float], bool, Sequence[float]]] = []
        for case, pixels in enumerate(columns.details.get("pixels", ())):
            if pixels is not None:
                if "levels" not in pixels and columns.actual.codes[case] >= 0:
                    raise AnswerError(
                        'an answer is a mask without scores; a curve needs {"scores": ...} for each pixel'
                    )
                parts += [(case, *part) for part in _scored(pixels)]
        if not parts:
            raise AnswerError("no pixels are recorded; a curve needs answers with scores for each pixel")
        cases, scores, positive, weights = zip(*parts, strict=True)
        sizes = [len(numbers) for numbers in scores]
        weight = np.concatenate([np.array(numbers, dtype=np.float64) for numbers in weights])
        kept = weight > 0
        return Elements(
            "pixels",
            case=np.repeat(np.array(cases, dtype=np.intp), sizes)[kept],
            score=np.concatenate([np.array(numbers, dtype=np.float64) for numbers in scores])[kept],
            positive=np.repeat(np.array(positive, dtype=np.bool_), sizes)[kept],
            weight=weight[kept],
        )

    def confusion(
        self, columns: RecordColumns, rules: TaskRules, params: Mapping[str, Value]
    ) -> ElementConfusion | None:
        """The classes of pixels, or object and background."""
        import numpy as np

        settings = MaskSettings.of(rules.settings)
        names = dict(settings.labels) or {0: BACKGROUND, 1: OBJECT}
        index = {value: number for number, value in enumerate(names)} | {None: -1}
        rows = [
            (case, _label_index(of, index), _label_index(to, index), weight)
            for case, pixels in enumerate(columns.details.get("pixels", ()))
            if pixels is not None
            for of, to, weight in _triples(
                settled(pixels, _threshold(params)),
                is_missing=bool(columns.error.codes[case] >= 0) and not rules.errors_refuse,
            )
        ]
        table = np.array(rows, dtype=np.float64).reshape(-1, 4)
        case, truth, answer = (table[:, k].astype(np.intp) for k in range(3))
        return ElementConfusion("pixels", list(names.values()), case, truth, answer, table[:, 3])

    def cautions(self, runs: ComparedRuns) -> list[str]:
        """Why McNemar's test is not about pixels, and what it would have claimed."""
        return pixel_cautions(runs)


def _truth(case: Case, rules: TaskRules) -> MaskTruth:
    try:
        return truth_of(case, rules)
    except ImageError as error:
        raise AnswerError(f"{error}; `hate check` says which truths cannot be used") from None


def _label_index(value: int | None, index: Mapping[int | None, int]) -> int:
    if value not in index:
        raise AnswerError(f"pixels have the class {value}, which has no name in the labels of the test")
    return index[value]


def _threshold(params: Mapping[str, Value]) -> float:
    return float(params.get("threshold", THRESHOLD))


def _scored(pixels: Details) -> Iterator[tuple[Sequence[float], bool, Sequence[float]]]:
    """Scores, whether they are those of object pixels, and how many pixels have each."""
    if "levels" in pixels:
        yield pixels["levels"], True, pixels["positive"]
        yield pixels["levels"], False, pixels["negative"]
        return
    # Without an answer: what counts as marked is accepted at every threshold, the rest at none.
    yield (math.inf, -math.inf), True, (pixels["TP"], pixels["FN"])
    yield (math.inf, -math.inf), False, (pixels["FP"], pixels["TN"])


def _triples(pixels: Details, *, is_missing: bool) -> list[tuple[int, int | None, float]]:
    """The class of the truth, that of the answer, and how many pixels have both.

    An answer is missing after an error, unless that counts as a refusal: then all is background.
    """
    if "confusion" in pixels:
        return [(of, to, weight) for of, to, weight in pixels["confusion"]]
    marked, unmarked = (None, None) if is_missing else (1, 0)
    cells = ((1, marked, "TP"), (1, unmarked, "FN"), (0, marked, "FP"), (0, unmarked, "TN"))
    return [(of, to, pixels[name]) for of, to, name in cells if pixels[name]]


MASK = MaskTask()
