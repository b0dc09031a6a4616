"""Matching and average precision, compared with pycocotools and with a plain matcher."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from harness.measures.boxes import SIZES
from harness.stats import object_matching
from harness.stats.detection_curves import (
    COCO_LEVELS,
    FALSE_POSITIVES,
    average_precision_statistic,
    class_hits,
    free_response,
    froc_statistic,
)
from harness.stats.object_matching import Detections, box_overlaps, match, object_counts, only_label, scored_objects
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import make_sample
from tests.boxes import plain_iou, plain_match, random_scenes

Array = npt.NDArray[np.float64]
HALF = np.array([0.5])
# In COCO's order.
SUMMARY = [(None, COCO_LEVELS), (None, HALF), (None, np.array([0.75])), *((SIZES[name], COCO_LEVELS) for name in SIZES)]


def average_precision(
    detections: Detections, levels: Array, sizes: tuple[float, float] | None = None
) -> Callable[[Array], Array]:
    hits = class_hits(detections, match(detections, levels, sizes=sizes))
    return average_precision_statistic([(hits, None)], "ap").members


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(12))
def test_average_precision_is_that_of_pycocotools(seed: int) -> None:
    """With crowds, areas that are not those of the boxes, tied scores, several classes, more than 100 detections."""
    scenes = random_scenes(seed, images=2 + 3 * seed, labels=1 + seed % 3, many=seed % 3 == 0)
    weights = np.ones(scenes.images)
    ours = [average_precision(scenes.detections(), levels, sizes)(weights)[0] for sizes, levels in SUMMARY]
    assert np.nan_to_num(ours, nan=-1.0) == pytest.approx(scenes.evaluate(), abs=1e-12)


@pytest.mark.parametrize("pairs", [1, 50, 1 << 20])
def test_blocks_of_pairs_change_nothing(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_matching, "MAX_PAIRS", pairs)
    scenes = random_scenes(3, images=20, labels=3)
    assert average_precision(scenes.detections(), COCO_LEVELS)(np.ones(20))[0] == pytest.approx(scenes.evaluate()[0])


@pytest.mark.parametrize("level", [0.3, 0.5, 0.75])
@pytest.mark.parametrize("threshold", [0.0, 0.4])
def test_counts_are_those_of_a_plain_matcher(level: float, threshold: float) -> None:
    scenes = random_scenes(11, images=25, labels=2)
    counts = object_counts(scenes.detections(), level, threshold)
    for image in range(scenes.images):
        plain = plain_match(scenes, image + 1, level)
        hits, false = (sum(score >= threshold for score in scores) for scores in (plain.hits, plain.false))
        objects = len(plain.hits) + plain.missed
        assert (counts.hits[image], counts.missed[image], counts.false[image]) == (hits, objects - hits, false)


def test_overlaps() -> None:
    rng = np.random.default_rng(1)
    found, truth = np.abs(rng.normal(0, 10, (2, 200, 4)))
    crowd = rng.random(200) < 0.5
    plain = [plain_iou(*pair, crowd=of) for *pair, of in zip(found.tolist(), truth.tolist(), crowd, strict=True)]
    assert box_overlaps(found, truth, crowd) == pytest.approx(plain, abs=1e-14)


def test_a_box_without_area_matches_nothing() -> None:
    box = np.array([[5.0, 5.0, 0.0, 3.0]])
    assert box_overlaps(box, box, np.array([False])) == [0.0]


@pytest.mark.parametrize("seed", [1, 2])
def test_weights_are_copies_of_images(seed: int) -> None:
    """A weight of 2 is an image that is there twice, with no tied scores; a weight of 0 one that is not there."""
    scenes = random_scenes(seed, images=8, labels=2)
    rng = np.random.default_rng(seed)
    for row in scenes.found:
        row["score"] = float(rng.random())
    weights = rng.integers(0, 3, 8)
    copies = [(image, copy) for image in range(1, 9) for copy in range(weights[image - 1])]
    rows = {
        name: [
            {**row, "id": 1 + n * 1000 + k, "image_id": n + 1}
            for n, (image, _) in enumerate(copies)
            for k, row in enumerate(getattr(scenes, name))
            if row["image_id"] == image
        ]
        for name in ("truth", "found")
    }
    copied = type(scenes)(len(copies), 2, rows["truth"], rows["found"])
    # Copies of a detection have one score, and follow one another: the last one counts.
    ours = [
        average_precision(scenes.detections(), levels)(weights.astype(np.float64))[0] for levels in (HALF, COCO_LEVELS)
    ]
    assert ours == pytest.approx(copied.evaluate()[[1, 0]], abs=1e-12)


def _smooth_precision(detections: Detections, weights: Array) -> float:
    """The average over all recalls of the best precision at that recall or a higher one: sum of w E / N, by classes."""
    matches = match(detections, COCO_LEVELS)
    values = []
    for one in class_hits(detections, matches):
        total = weights[one.objects].sum()
        for hit, false in zip(one.hit, one.false, strict=True):
            own = weights[one.case]
            tp, fp = np.cumsum(own * hit), np.cumsum(own * false)
            precision = tp / np.maximum(tp + fp, 1e-300)
            best = [precision[k:].max() for k in range(precision.size)]
            values.append(float((own * hit * best).sum() / total))
    return float(np.mean(values))


def test_the_linear_form_is_the_derivative() -> None:
    """By central differences, of the average over all recalls, at unequal weights."""
    detections = random_scenes(5, images=15, labels=2).detections()
    weights = np.random.default_rng(5).uniform(0.5, 1.5, 15)
    hits = class_hits(detections, match(detections, COCO_LEVELS))
    linear = average_precision_statistic([(hits, None)], "ap").linear
    assert linear is not None
    step = 1e-6 * np.eye(15)
    slopes = [
        (_smooth_precision(detections, weights + one) - _smooth_precision(detections, weights - one)) / 2e-6
        for one in step
    ]
    assert linear(weights)[:, 0] == pytest.approx(slopes, abs=1e-7)


def test_the_linear_form_of_a_group_is_that_of_its_cases_alone() -> None:
    """Whatever else there is: cases outside add nothing, and those inside what they add where no others are."""
    detections = random_scenes(5, images=15, labels=2).detections()
    weights, inside = np.random.default_rng(5).uniform(0.5, 1.5, 15), np.arange(15) < 9
    hits = class_hits(detections, match(detections, COCO_LEVELS))
    of_group, of_all = (average_precision_statistic([(hits, of)], "ap").linear for of in (inside, None))
    assert of_group is not None
    assert of_all is not None
    found = of_group(weights)[:, 0]
    assert not found[~inside].any()
    assert found[inside] == pytest.approx(of_all(weights * inside)[inside, 0], abs=1e-12)


def test_the_linear_form_agrees_with_the_jackknife() -> None:
    detections = random_scenes(8, images=300, labels=2).detections()
    hits = class_hits(detections, match(detections, COCO_LEVELS))
    statistic, sample = average_precision_statistic([(hits, None)], "ap"), make_sample(300)
    linear, jackknife = (
        make_estimates(sample, statistic, Replication(method=method)).estimate(0)
        for method in ("linearised", "jackknife")
    )
    assert linear.se == pytest.approx(jackknife.se, rel=0.08)
    assert linear.value == jackknife.value


def test_one_class_is_that_class_alone() -> None:
    scenes = random_scenes(9, images=20, labels=3)
    second = type(scenes)(
        20, 3,
        [row for row in scenes.truth if row["category_id"] == 2],
        [row for row in scenes.found if row["category_id"] == 2],
    )  # fmt: skip
    ours = average_precision(only_label(scenes.detections(), 1), COCO_LEVELS)(np.ones(20))[0]
    assert ours == pytest.approx(second.evaluate()[0], abs=1e-12)


def test_no_objects_have_no_average_precision_and_nothing_found_has_none() -> None:
    scenes = random_scenes(2, images=5)
    nothing, lost = type(scenes)(5, 2, [], scenes.found), type(scenes)(5, 2, scenes.truth, [])
    assert np.isnan(average_precision(nothing.detections(), HALF)(np.ones(5))[0])
    assert average_precision(lost.detections(), HALF)(np.ones(5))[0] == 0


@pytest.mark.parametrize("seed", range(4))
def test_recall_at_false_positives_per_image(seed: int) -> None:
    """At each limit, the best recall of all thresholds within it, from plain counts."""
    scenes = random_scenes(seed, images=20, labels=2)
    plain = [plain_match(scenes, image, 0.5) for image in range(1, 21)]
    hits = [score for one in plain for score in one.hits]
    false = [score for one in plain for score in one.false]
    objects = len(hits) + sum(one.missed for one in plain)
    wanted = []
    for limit in FALSE_POSITIVES:
        reached = [t for t in {*hits, *false, 2.0} if sum(score >= t for score in false) <= limit * 20]
        wanted.append(max(sum(score >= t for score in hits) for t in reached) / objects)
    found = free_response(*scored_objects(scenes.detections(), 0.5))
    assert found.recall_at(np.ones(20), FALSE_POSITIVES) == pytest.approx(wanted, abs=1e-12)
    assert froc_statistic([(found, None)], "froc").members(np.ones(20))[0] == pytest.approx(np.mean(wanted))
    recall, per_image = found.curve(np.ones(20))
    assert all(a <= b for curve in (recall, per_image) for a, b in pairwise(curve))
