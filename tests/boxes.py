"""Random objects and detections for tests, a plain matcher to compare with, and COCO's own evaluation."""

import contextlib
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from harness.stats.object_matching import BoxSet, Detections

Row = dict[str, Any]


@dataclass(frozen=True)
class Scenes:
    """Objects and detections of some images, as COCO has them."""

    images: int
    labels: int
    truth: list[Row]
    found: list[Row]

    def evaluate(self) -> npt.NDArray[np.float64]:
        """COCO's summary: AP, AP50, AP75, and AP of small, medium and large objects; -1 without objects."""
        with contextlib.redirect_stdout(io.StringIO()):
            truth = COCO()
            truth.dataset = self.instances()
            truth.createIndex()
            evaluation = COCOeval(truth, truth.loadRes(self.found), "bbox")
            evaluation.evaluate()
            evaluation.accumulate()
            evaluation.summarize()
        return np.array(evaluation.stats[:6])

    def instances(self) -> Row:
        """The file of the truth."""
        return {
            "info": {"description": "Toy things"},
            "images": [{"id": n + 1, "file_name": f"{n}.jpg", "width": 300, "height": 200} for n in range(self.images)],
            "categories": [{"id": k + 1, "name": f"class{k}"} for k in range(self.labels)],
            "annotations": self.truth,
        }

    def detections(self, most: int = 100) -> Detections:
        """As arrays: by image, by falling score, at most 100 of a class."""
        kept = []
        for image in range(1, self.images + 1):
            counts = [0] * self.labels
            for row in sorted((r for r in self.found if r["image_id"] == image), key=lambda r: -r["score"]):
                counts[row["category_id"] - 1] += 1
                if counts[row["category_id"] - 1] <= most:
                    kept.append(row)
        truth = sorted(self.truth, key=lambda row: row["image_id"])
        return Detections(
            self.images,
            self.labels,
            _boxes(truth),
            np.array([row["area"] for row in truth], dtype=np.float64),
            np.array([bool(row["iscrowd"]) for row in truth], dtype=np.bool_),
            _boxes(kept),
            np.array([row["score"] for row in kept], dtype=np.float64),
        )


def _boxes(rows: list[Row]) -> BoxSet:
    return BoxSet(
        np.array([row["image_id"] - 1 for row in rows], dtype=np.intp),
        np.array([row["category_id"] - 1 for row in rows], dtype=np.intp),
        np.array([row["bbox"] for row in rows], dtype=np.float64).reshape(-1, 4),
    )


def random_scenes(seed: int, *, images: int = 12, labels: int = 2, crowds: float = 0.15, many: bool = False) -> Scenes:
    """Objects of all sizes, some of them crowds; detections near them, twice or not at all, and others; tied scores."""
    rng = np.random.default_rng(seed)
    truth: list[Row] = []
    found: list[Row] = []

    def place(size: float) -> list[float]:
        return [*rng.uniform(0, 150, 2).tolist(), *(rng.uniform(0.6, 1.4, 2) * size).tolist()]

    def detect(image: int, label: int, box: list[float]) -> None:
        score = float(np.round(rng.random(), 1 if rng.random() < 0.5 else 6))
        found.append({"image_id": image, "category_id": label, "bbox": box, "score": score})

    for image in range(1, images + 1):
        for _ in range(int(rng.integers(0, 6))):
            size, label = float(rng.choice([12, 40, 120])), int(rng.integers(1, labels + 1))
            box, crowd = place(size), int(rng.random() < crowds)
            area = box[2] * box[3] * rng.uniform(0.5, 1)
            truth.append(
                {"id": len(truth) + 1, "image_id": image, "category_id": label, "bbox": box, "area": area,
                 "iscrowd": crowd}
            )  # fmt: skip
            for _ in range(int(rng.integers(0, 3))):
                other = label if rng.random() < 0.9 else int(rng.integers(1, labels + 1))
                detect(image, other, [value + rng.normal(0, 0.06) * size for value in box])
        for _ in range(int(rng.integers(1, 4))):
            detect(image, int(rng.integers(1, labels + 1)), place(40))
    for _ in range(250 if many else 0):
        detect(1, 1, place(30))
    return Scenes(images, labels, truth, found)


def plain_iou(a: list[float], b: list[float], *, crowd: bool = False) -> float:
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    both = max(width, 0.0) * max(height, 0.0)
    return both / (a[2] * a[3] if crowd else a[2] * a[3] + b[2] * b[3] - both)


@dataclass(frozen=True)
class PlainMatch:
    """What became of the detections of an image: scores of hits, of false positives, and the objects missed."""

    hits: list[float]
    false: list[float]
    missed: int


def plain_match(scenes: Scenes, image: int, level: float) -> PlainMatch:
    """The detections of an image one by one, each compared with each object."""
    hits, false, missed = [], [], 0
    for label in range(1, scenes.labels + 1):
        truth = [r for r in scenes.truth if (r["image_id"], r["category_id"]) == (image, label)]
        found = [r for r in scenes.found if (r["image_id"], r["category_id"]) == (image, label)]
        objects = [r for r in truth if not r["iscrowd"]]
        for one in sorted(found, key=lambda r: -r["score"])[:100]:
            free = [(plain_iou(one["bbox"], r["bbox"]), k) for k, r in enumerate(objects) if "by" not in r]
            best = max(free, default=(0.0, -1))
            if best[0] >= level:
                objects[best[1]] = {**objects[best[1]], "by": one}
                hits.append(one["score"])
            elif not any(plain_iou(one["bbox"], r["bbox"], crowd=True) >= level for r in truth if r["iscrowd"]):
                false.append(one["score"])
        missed += sum("by" not in r for r in objects)
    return PlainMatch(hits, false, missed)


def records_of(scenes: Scenes) -> list[Row]:
    """What a transcript records of each image."""
    names = [f"class{k}" for k in range(scenes.labels)]
    records = []
    for image in range(1, scenes.images + 1):
        truth = [row for row in scenes.truth if row["image_id"] == image]
        found = sorted((row for row in scenes.found if row["image_id"] == image), key=lambda row: -row["score"])
        record: Row = {
            "labels": names,
            "truth": [[row["category_id"] - 1, *row["bbox"]] for row in truth],
            "found": [[row["category_id"] - 1, row["score"], *row["bbox"]] for row in found],
            "ignored": [place for place, row in enumerate(truth) if row["iscrowd"]],
            "areas": [[place, row["area"]] for place, row in enumerate(truth)],
        }
        records.append(record)
    return records
