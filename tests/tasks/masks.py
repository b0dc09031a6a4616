"""Masks for tests: random images, a test of them in a folder, and a twin that counts pixel by pixel."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.files.images import write_image
from harness.model import Answer, Case, Outcome
from harness.params import Value
from harness.tasks.judge import Judge
from harness.tasks.mask import MASK
from harness.tasks.task import TaskRules
from tests.workshop import Workshop

Plane = npt.NDArray[Any]
COUNTS = ("TP", "TN", "FP", "FN")

SCRIPT = """\
format = 1
[test]
name = "masks"
version = "1.0"
synopsis = "masks"
task = "mask"
{keys}
[data.here]
path = "images"
[cases]
table = "cases.csv"
{sections}
"""


def rules(settings: Mapping[str, Any] | None = None) -> TaskRules:
    return TaskRules(settings=settings or {})


def answered(path: Path, raw: object, settings: Mapping[str, Any] | None = None, **more: Any) -> Answer:
    """The answer to a case whose truth is this file."""
    params: dict[str, Value] = {name: more.pop(name) for name in ("iou", "threshold") if name in more}
    case = Case("1", "in", str(path), columns=more)
    return MASK.settle(MASK.answer(raw, case, rules(settings)), rules(settings), params)


def is_near_outline(truth: Plane, x: int, y: int, settings: Mapping[str, Any]) -> bool:
    """Whether a pixel of another class is within the width, by looking at all of them."""
    ignore, width, classes = settings.get("ignore"), settings["boundary"]["width"], "labels" in settings
    height, breadth = truth.shape

    def kind(value: int) -> int:
        return value if classes else int(value != 0)

    return any(
        truth[v, u] != ignore and kind(truth[v, u]) != kind(truth[y, x]) and math.hypot(u - x, v - y) <= width
        for v in range(height)
        for u in range(breadth)
    )


def weight_at(truth: Plane, x: int, y: int, settings: Mapping[str, Any], weights: Plane | None) -> float:
    weight = 1.0 if weights is None else float(weights[y, x])
    if "boundary" in settings and is_near_outline(truth, x, y, settings):
        weight *= settings["boundary"]["weight"]
    return weight


def count(truth: Plane, marked: Plane, settings: Mapping[str, Any], weights: Plane | None = None) -> dict[str, float]:
    """TP, TN, FP and FN, pixel by pixel; with labels, an object pixel of another class is an FN."""
    counts = dict.fromkeys(COUNTS, 0.0)
    height, breadth = truth.shape
    for y in range(height):
        for x in range(breadth):
            if truth[y, x] == settings.get("ignore"):
                continue
            if truth[y, x]:
                right = marked[y, x] == truth[y, x] if "labels" in settings else marked[y, x]
                name = "TP" if right else "FN"
            else:
                name = "FP" if marked[y, x] else "TN"
            counts[name] += weight_at(truth, x, y, settings, weights)
    return counts


def confusion(truth: Plane, answer: Plane, ignore: int | None) -> Counter[tuple[int, int]]:
    pairs = zip(truth.ravel().tolist(), answer.ravel().tolist(), strict=True)
    return Counter((of, to) for of, to in pairs if of != ignore)


def iou(counts: Mapping[str, float]) -> float:
    if not counts["TP"] + counts["FN"]:
        return float(not counts["FP"])
    return counts["TP"] / (counts["TP"] + counts["FP"] + counts["FN"])


def outcome(counts: Mapping[str, float], least: float = 0.5) -> Outcome:
    positive = counts["TP"] + counts["FN"] > 0
    return Outcome.of(positive=positive, accepted=iou(counts) >= least if positive else counts["FP"] > 0)


def judge(settings: Mapping[str, Any] | None = None, **params: Value) -> Judge:
    return Judge(MASK, rules(settings), {"iou": 0.5} | params)


def write_test(
    shop: Workshop,
    truths: Sequence[Plane],
    inputs: Sequence[Plane],
    *,
    sections: str = "",
    keys: str = "",
    suffix: str = ".png",
    column: Callable[[int], str] | None = None,
) -> Path:
    """A test with these truths; an input is an image of the same number."""
    folder = shop.folder / "masks/images"
    folder.mkdir(parents=True)
    rows = ["id,input,expect,group" if column else "id,input,expect"]
    for n, (truth, given) in enumerate(zip(truths, inputs, strict=True)):
        write_image(folder / f"t{n}.png", truth)
        write_image(folder / f"i{n}{suffix}", given)
        rows.append(f"c{n},{{here}}/i{n}{suffix},{{here}}/t{n}.png" + (f",{column(n)}" if column else ""))
    shop.write("masks/cases.csv", "\n".join([*rows, ""]))
    return shop.write("masks/masks.hate.toml", SCRIPT.format(sections=sections, keys=keys))


def discs(count: int, *, seed: int = 3, empty: int = 5) -> tuple[list[Plane], list[Plane]]:
    """Truths, each `empty`th of them without an object, and noisy grey images of them."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:14, :18]
    truths, images = [], []
    for n in range(count):
        at, radius = rng.uniform(5, 12, 2), rng.uniform(2, 5)
        truth = ((x - at[0]) ** 2 + (y - at[1]) ** 2 < radius**2) & (n % empty != empty - 1)
        noise = rng.normal(0, 35, truth.shape) + rng.normal(0, 12)
        truths.append(truth.astype(np.uint8) * 255)
        images.append(np.clip(80 + 90 * truth + noise, 0, 255).astype(np.uint8))
    return truths, images
