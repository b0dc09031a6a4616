"""Measures of masks against their definitions, scikit-learn and a delete-one jackknife written out."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, jaccard_score, precision_score, recall_score

from harness.stats.paired import mcnemar_all
from harness.tasks.mask import pixel_claim
from tests.simulation import examples
from tests.tasks.masks import Plane, count, discs, write_test
from tests.workshop import Workshop

TEST = "masks/masks.hate.toml"
ECHO = "def answer(case, params):\n    return case.input\n"


def jackknife(values: Callable[[Plane], float], count: int) -> float:
    """The standard error when each unit is left out once."""
    left = np.array([values(np.delete(np.arange(count), n)) for n in range(count)])
    return math.sqrt((count - 1) / count * ((left - values(np.arange(count))) ** 2).sum())


def estimate(shop: Workshop, name: str, *words: str) -> Any:
    done = shop.call("rate", "out.jsonl", "--statistic", name, "--format", "json", *words)
    assert done.status == 0, done.err
    return done.json["transcripts"][0]["replication"]


@pytest.fixture
def masks(shop: Workshop) -> tuple[list[Plane], list[Plane]]:
    """A run of masks, some of them without an object."""
    truths, images = discs(12)
    marked = [(image >= 130).astype(np.uint8) for image in images]
    write_test(shop, truths, marked)
    shop.interface(ECHO)
    assert shop.call("run", TEST, "-o", "out.jsonl").status == 0
    return truths, marked


def test_means_over_images(shop: Workshop, masks: tuple[list[Plane], list[Plane]]) -> None:
    counts = [count(truth, marked, {}) for truth, marked in zip(*masks, strict=True)]
    iou = [c["TP"] / (c["TP"] + c["FP"] + c["FN"]) if c["TP"] + c["FN"] else float(not c["FP"]) for c in counts]
    dice = [2 * one / (1 + one) for one in iou]
    for name, values in (("iou", iou), ("dice", dice)):
        found = estimate(shop, name)
        assert found["estimate"] == pytest.approx(np.mean(values), abs=1e-12)
        assert found["se"] == pytest.approx(np.std(values, ddof=1) / math.sqrt(12), abs=1e-9)


RATIOS: dict[str, Callable[[Plane, Plane], float]] = {
    "pixel_tpr": recall_score,
    "pixel_fpr": lambda truth, marked: 1 - recall_score(~truth, ~marked),
    "pixel_precision": precision_score,
    "pixel_f1": f1_score,
}


@pytest.mark.parametrize("name", RATIOS)
def test_ratios_of_sums(name: str, shop: Workshop, masks: tuple[list[Plane], list[Plane]]) -> None:
    truths, marked = (np.stack(part) > 0 for part in masks)

    def value(kept: Plane) -> float:
        return float(RATIOS[name](truths[kept].ravel(), marked[kept].ravel()))

    found = estimate(shop, name)
    assert found["estimate"] == pytest.approx(value(np.arange(12)), abs=1e-12)
    assert found["se"] == pytest.approx(jackknife(value, 12), rel=1e-6)


def test_subjects_are_the_units_if_there_are_any(shop: Workshop) -> None:
    truths, images = discs(12)
    write_test(shop, truths, images, column=lambda n: str(n % 4), sections='[design]\npsu = "group"')
    shop.interface("from PIL import Image\nimport numpy as np\ndef answer(case, params):\n"
                   "    return np.asarray(Image.open(case.input)) >= 130\n")  # fmt: skip
    assert shop.call("run", TEST, "-o", "out.jsonl").status == 0
    whole, marked = np.stack(truths) > 0, np.stack(images) >= 130

    def value(kept: Plane) -> float:
        inside = np.isin(np.arange(12) % 4, kept)
        return float(recall_score(whole[inside].ravel(), marked[inside].ravel()))

    found = estimate(shop, "pixel_tpr")
    assert found["units"] == 4
    assert found["se"] == pytest.approx(jackknife(value, 4), rel=1e-6)


CLASSES = '[mask]\nignore = 255\nlabels = {1 = "vase", 2 = "table", 3 = "cup"}\n'


def test_the_mean_over_classes(shop: Workshop) -> None:
    """As Pascal VOC and Cityscapes: IoU of each class over all images, its mean over classes that occur.

    Class 3 never occurs, and is left out.
    """
    rng = np.random.default_rng(4)
    truths = [rng.choice(np.array([0, 1, 2, 255], dtype=np.uint8), (9, 11), p=[0.4, 0.3, 0.2, 0.1]) for _ in range(8)]
    answers = [np.where(rng.random((9, 11)) < 0.7, truth % 255, rng.integers(0, 3, (9, 11))) for truth in truths]
    write_test(shop, truths, [answer.astype(np.uint8) for answer in answers], sections=CLASSES)
    shop.interface(ECHO)
    assert shop.call("run", TEST, "-o", "out.jsonl").status == 0
    of, to = np.stack(truths), np.stack(answers)

    def value(kept: Plane) -> float:
        counted = of[kept] != 255
        return float(jaccard_score(of[kept][counted], to[kept][counted], average="macro"))

    found = estimate(shop, "miou")
    assert found["estimate"] == pytest.approx(value(np.arange(8)), abs=1e-12)
    assert found["se"] == pytest.approx(jackknife(value, 8), rel=1e-6)
    done = shop.call("confusion", "out.jsonl", "--format", "json")
    assert done.json["labels"] == ["background", "vase", "table", "cup"]
    rates = [one["rate"] for one in done.json["transcripts"][0]["iou"]]
    assert np.mean(rates[:3]) == pytest.approx(found["estimate"], abs=1e-12)
    assert rates[3] is None


def test_classes_of_errors_are_missed(shop: Workshop) -> None:
    """The pixels of an image without an answer are in the union of their class, and in no intersection."""
    truth = np.array([[0, 1, 1, 2]], dtype=np.uint8)
    write_test(shop, [truth] * 3, [truth] * 3, sections=CLASSES)
    shop.interface("def answer(case, params):\n    return case.input if case.id != 'c1' else 'none.png'\n")
    assert shop.call("run", TEST, "-o", "out.jsonl").status == 0
    assert estimate(shop, "miou")["estimate"] == pytest.approx(2 / 3, abs=1e-12)
    done = shop.call("confusion", "out.jsonl", "--format", "json")
    assert done.json["matrix"] == [[2, 0, 0, 0, 1], [0, 4, 0, 0, 2], [0, 0, 2, 0, 1], [0, 0, 0, 0, 0]]
    text = shop.call("confusion", "out.jsonl").out
    assert "The last column has the pixels of 1 errors." in text


def test_a_run_without_classes_has_no_mean_over_them(shop: Workshop, masks: tuple[list[Plane], list[Plane]]) -> None:
    done = shop.call("rate", "out.jsonl", "--statistic", "miou")
    assert done.status == 2
    assert "--statistic miou: no classes are recorded; the test's [mask] needs labels" in done.err
    done = shop.call("rate", "out.jsonl")
    assert done.status == 0
    assert "pixel_f1" in done.out
    assert "miou" not in done.out


def test_a_run_of_another_task_has_no_pixels(shop: Workshop) -> None:
    shop.script()
    shop.interface()
    shop.run()
    done = shop.call("rate", "out.jsonl", "--statistic", "pixel_tpr")
    assert done.status == 2
    assert "no record has pixels; only some tasks record them" in done.err


@given(seed=st.integers(0, 2**32 - 1), skill=st.tuples(st.floats(0, 1), st.floats(0, 1)))
@examples(60)
def test_the_claim_about_pixels_is_a_bound(seed: int, skill: tuple[float, float]) -> None:
    """McNemar's test on the pixels themselves, which the records do not have, gives at least this z."""
    rng = np.random.default_rng(seed)
    truths = rng.random((5, 8, 9)) < 0.4
    answers = [np.where(rng.random(truths.shape) < one, truths, ~truths) for one in skill]
    recorded = [[count(t, a, {}) for t, a in zip(truths, answer, strict=True)] for answer in answers]
    claim = pixel_claim(*recorded)
    right = [(answer == truths).ravel() for answer in answers]
    n_sf, n_fs = int((right[0] & ~right[1]).sum()), int((~right[0] & right[1]).sum())
    assert claim.lead == n_sf - n_fs
    assert claim.most >= n_sf + n_fs
    assert claim.z <= mcnemar_all([n_sf], [n_fs]).pair(0).z + 1e-12
    assert claim.pixels == truths.size


def test_a_comparison_says_why_pixels_are_no_tests(shop: Workshop) -> None:
    truths, images = discs(8, empty=20)
    write_test(shop, truths, images)
    for name, threshold in (("low", 110), ("high", 140)):
        shop.write(f"{name}.py", f"from PIL import Image\nimport numpy as np\ndef answer(case, params):\n"
                                 f"    return np.asarray(Image.open(case.input)) >= {threshold}\n")  # fmt: skip
        done = shop.call("run", TEST, "-o", f"{name}.jsonl", "--interface", f"{name}.py")
        assert done.status == 0, done.err
    text = " ".join(shop.call("compare", "low.jsonl", "high.jsonl").out.split())
    assert "McNemar's test here is about images (the decision parameter iou says which are right)" in text
    assert f"On the {8 * truths[0].size:,} pixels it would have claimed, wrongly, z = " in text
    cautions = shop.call("compare", "low.jsonl", "high.jsonl", "--format", "json").json["cautions"]
    assert len(cautions) == 2


WRONG_PIXELS: dict[str, Any] = {
    "no counts": {"TP": 1},
    "text": {"TP": "1", "TN": 0, "FP": 0, "FN": 0},
    "negative": {"TP": -1, "TN": 0, "FP": 0, "FN": 0},
    "large": {"TP": 1e300, "TN": 0, "FP": 0, "FN": 0},
    "short histogram": {"TP": 1, "TN": 0, "FP": 0, "FN": 0, "levels": [1, 2], "positive": [1], "negative": [0, 0]},
    "falling levels": {"TP": 1, "TN": 0, "FP": 0, "FN": 0, "levels": [2, 1], "positive": [1, 0], "negative": [0, 0]},
    "half a histogram": {"TP": 1, "TN": 0, "FP": 0, "FN": 0, "levels": [2, 1]},
    "pairs": {"TP": 1, "TN": 0, "FP": 0, "FN": 0, "confusion": [[1, 2]]},
    "named classes": {"TP": 1, "TN": 0, "FP": 0, "FN": 0, "confusion": [["a", "b", 1]]},
}


@pytest.mark.parametrize("name", WRONG_PIXELS)
def test_transcripts_of_others(name: str, shop: Workshop, masks: tuple[list[Plane], list[Plane]]) -> None:
    """What cannot be used is named with its line, whatever is asked."""
    header, first, *rest = shop.lines()
    lines = [header, {**first, "pixels": WRONG_PIXELS[name]}, *rest[:-1]]
    shop.write("other.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    for words in (("rate",), ("confusion",), ("roc",), ("compare", "out.jsonl")):
        done = shop.call(*words, "other.jsonl", "--partial")
        assert done.status == 2
        assert "other.jsonl:2: pixels: " in done.err
        assert "expected" in done.err


def test_classes_that_the_test_does_not_have(shop: Workshop, masks: tuple[list[Plane], list[Plane]]) -> None:
    header, first, *rest = shop.lines()
    first["pixels"]["confusion"] = [[7, 0, 3]]
    shop.write("other.jsonl", "".join(json.dumps(line) + "\n" for line in [header, first, *rest[:-1]]))
    done = shop.call("confusion", "other.jsonl", "--partial")
    assert done.status == 2
    assert "other.jsonl: pixels have the class 7, which has no name in the labels of the test" in done.err
