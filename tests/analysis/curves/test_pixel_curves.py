"""Curves over pixels against scikit-learn with all pixels, and the confusion of pixels."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, confusion_matrix, jaccard_score, recall_score, roc_auc_score

from tests.tasks.masks import Plane, discs, write_test
from tests.workshop import Workshop

TEST = "masks/masks.hate.toml"
SCORES = "def answer(case, params):\n    return {'scores': case.input}\n"
THRESHOLD = '[params.threshold]\ntype = "float"\ndefault = 130\ndecision = true\n'


def run(shop: Workshop, text: str = SCORES) -> None:
    shop.interface(text)
    done = shop.call("run", TEST, "-o", "out.jsonl")
    assert done.status == 0, done.err


def curve(shop: Workshop, kind: str = "roc", *words: str) -> Any:
    done = shop.call(kind, "out.jsonl", "--format", "json", "--points", "0", *words)
    assert done.status == 0, done.err
    return done.json["curves"][0]


def flat(truths: list[Plane], images: list[Plane]) -> tuple[Plane, Plane]:
    return np.stack(truths).ravel() > 0, np.stack(images).ravel()


def test_the_roc_over_pixels(shop: Workshop) -> None:
    truths, images = discs(10)
    write_test(shop, truths, images, sections=THRESHOLD)
    run(shop)
    truth, score = flat(truths, images)
    found = curve(shop)
    assert (found["positives"], found["negatives"]) == (truth.sum(), (~truth).sum())
    assert found["auc"] == pytest.approx(roc_auc_score(truth, score), abs=1e-12)
    points = found["points"]
    for threshold, tpr, fpr in zip(points["threshold"], points["tpr"], points["fpr"], strict=True):
        if threshold is not None:
            assert tpr == pytest.approx((score[truth] >= threshold).mean(), abs=1e-12)
            assert fpr == pytest.approx((score[~truth] >= threshold).mean(), abs=1e-12)
    assert len(points["threshold"]) >= 100


def test_an_error_rate_at_a_limit_is_of_pixels(shop: Workshop) -> None:
    """As are the area and the others: the overlap of an image is not a score of it."""
    truths, images = discs(10)
    write_test(shop, truths, images, sections=THRESHOLD)
    run(shop)
    truth, score = flat(truths, images)
    within = [t for t in np.unique(score) if (score[~truth] >= t).mean() <= 0.05]
    expected = (score[truth] < min(within)).mean()
    assert 0 < expected < 1
    found = shop.call("rate", "out.jsonl", "--statistic", "fnr@fpr=0.05", "--format", "json").json["transcripts"][0]
    assert found["value"] == pytest.approx(expected, abs=1e-12)


def test_weights_and_ignored_pixels(shop: Workshop) -> None:
    truths, images = discs(6)
    rng = np.random.default_rng(2)
    for truth in truths:
        truth[rng.random(truth.shape) < 0.1] = 128
    weights = [rng.integers(0, 256, truth.shape).astype(np.uint8) for truth in truths]
    sections = THRESHOLD + '[mask]\nignore = 128\nweights = "group"\n'
    write_test(shop, truths, images, sections=sections, column=lambda n: f"{{here}}/w{n}.pgm")
    for n, own in enumerate(weights):
        shop.write(f"masks/images/w{n}.pgm", b"P5 %d %d 255\n" % own.shape[::-1] + own.tobytes())
    run(shop)
    truth, score = flat(truths, images)
    kept = np.stack(truths).ravel() != 128
    weight = np.stack(weights).ravel()[kept]
    expected = roc_auc_score(truth[kept], score[kept], sample_weight=weight)
    assert curve(shop)["auc"] == pytest.approx(expected, abs=1e-12)


def test_refusals_and_errors(shop: Workshop) -> None:
    """A refusal has the lowest score at each pixel; an error is wrong at each pixel, at every threshold."""
    truths, images = discs(6)
    write_test(shop, truths, images, sections=THRESHOLD)
    run(
        shop,
        "def answer(case, params):\n    return {'c1': None, 'c2': 'none.png'}.get(case.id, {'scores': case.input})\n",
    )
    scores = [image.astype(float) for image in images]
    scores[1][:] = -1
    scores[2] = np.where(truths[2] > 0, -1.0, 256.0)
    truth, score = flat(truths, scores)
    assert curve(shop)["auc"] == pytest.approx(roc_auc_score(truth, score), abs=1e-12)


def test_masks_without_scores_have_no_curve(shop: Workshop) -> None:
    write_test(shop, *discs(4))
    run(shop, "def answer(case, params):\n    return case.input\n")
    done = shop.call("roc", "out.jsonl")
    assert done.status == 2
    assert 'an answer is a mask without scores; a curve needs {"scores": ...} for each pixel' in done.err


def test_precision_and_recall_over_pixels(shop: Workshop) -> None:
    truths, images = discs(8)
    write_test(shop, truths, images, sections=THRESHOLD)
    run(shop)
    truth, score = flat(truths, images)
    points = curve(shop, "pr")["points"]
    for threshold, recall, precision in zip(points["threshold"], points["tpr"], points["precision"], strict=True):
        if threshold is not None and precision is not None:
            marked = score >= threshold
            assert recall == pytest.approx(recall_score(truth, marked), abs=1e-12)
            assert precision == pytest.approx((truth & marked).sum() / marked.sum(), abs=1e-12)
    assert average_precision_score(truth, score) > 0.5


def test_object_and_background_are_confused(shop: Workshop) -> None:
    truths, images = discs(8)
    write_test(shop, truths, images, sections=THRESHOLD)
    run(shop)
    truth, score = flat(truths, images)
    for threshold, words in ((130, ()), (100, ("--threshold", "100"))):
        done = shop.call("confusion", "out.jsonl", "--format", "json", *words)
        assert done.status == 0, done.err
        assert done.json["labels"] == ["background", "object"]
        matrix = np.array(done.json["matrix"])
        assert np.array_equal(matrix[:, :2], confusion_matrix(truth, score >= threshold))
        assert not matrix[:, 2].any()
        one = done.json["transcripts"][0]
        assert one["counted"] == "pixels"
        rates = {name: [of["rate"] for of in one[name]] for name in ("iou", "recall")}
        assert rates["iou"] == pytest.approx(jaccard_score(truth, score >= threshold, average=None).tolist(), abs=1e-12)
        assert rates["recall"] == pytest.approx(
            recall_score(truth, score >= threshold, average=None).tolist(), abs=1e-12
        )
