"""Average precision: how long it takes, without and with intervals, beside pycocotools' evaluate and accumulate.

    python -m benchmarks.bench_boxes [--images 5000] [--labels 80] [--seed 1]

It draws objects and detections (8 an image), evaluates them with pycocotools if that is installed, and with the harness
from recorded answers: arrays from records, matching, average precision; then the same with standard error and interval,
by the linear form and by 100 bootstrap replicates. `peak` is the memory that the harness allocates beyond the records.
"""

import argparse
import contextlib
import io
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from harness.stats.detection_curves import COCO_LEVELS, average_precision_statistic, class_hits
from harness.stats.object_matching import match
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import make_sample
from harness.stats.replication.statistic import WeightsStatistic
from harness.tasks.boxes import recorded_detections

Record = dict[str, Any]


def make_records(images: int, labels: int, seed: int) -> list[Record]:
    """Records of images with 7 objects and 8 detections on average, of which five are near an object."""
    rng = np.random.default_rng(seed)
    records = []
    for _ in range(images):
        objects = int(rng.poisson(7))
        sizes = rng.choice([20, 60, 150], objects)
        corners, sides = rng.uniform(0, 400, (objects, 2)), sizes[:, None] * rng.uniform(0.6, 1.4, (objects, 2))
        codes = rng.integers(labels, size=objects)
        truth = [[int(code), *box] for code, box in zip(codes, np.hstack([corners, sides]).tolist(), strict=True)]
        found = [
            [row[0], float(rng.beta(4, 2)), *(value + rng.normal(0, 0.05) * size for value in row[1:])]
            for row, size in zip(truth, sizes, strict=True)
            if rng.random() < 5 / 7
        ]
        found += [
            [int(rng.integers(labels)), float(rng.beta(2, 4)), *rng.uniform(20, 300, 4).tolist()]
            for _ in range(int(rng.poisson(3)))
        ]
        found.sort(key=lambda row: -row[1])
        records.append({"labels": [str(k) for k in range(labels)], "truth": truth, "found": found})
    return records


def seconds(function: Callable[[], object]) -> float:
    """The better of two runs."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def statistic(records: list[Record]) -> WeightsStatistic:
    """From the records to a function of the weights of the images."""
    detections = recorded_detections(records)
    hits = class_hits(detections, match(detections, COCO_LEVELS))
    return average_precision_statistic([(hits, None)], "average precision")


def coco_seconds(records: list[Record], labels: int) -> tuple[float, float]:
    """The time of pycocotools' evaluate and accumulate, and its average precision."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    rows = [
        {"id": n, "image_id": i + 1, "category_id": row[0] + 1, "bbox": row[1:], "area": row[3] * row[4], "iscrowd": 0}
        for n, (i, row) in enumerate(((i, row) for i, one in enumerate(records) for row in one["truth"]), 1)
    ]
    found = [
        {"image_id": i + 1, "category_id": row[0] + 1, "bbox": row[2:], "score": row[1]}
        for i, one in enumerate(records)
        for row in one["found"]
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = {
            "images": [{"id": i + 1} for i in range(len(records))],
            "categories": [{"id": k + 1, "name": str(k)} for k in range(labels)],
            "annotations": rows,
        }
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes(found), "bbox")
        start = time.perf_counter()
        evaluation.evaluate()
        evaluation.accumulate()
        taken = time.perf_counter() - start
        evaluation.summarize()
    return taken, float(evaluation.stats[0])


def main() -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--labels", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    records = make_records(given.images, given.labels, given.seed)
    number = sum(len(record["found"]) for record in records)
    sample, weights = make_sample(given.images), np.ones(given.images)
    bootstrap = Replication(method="bootstrap", replicates=100)
    ways: dict[str, Callable[[], object]] = {
        "average precision": lambda: statistic(records).members(weights),
        "with an interval, linear form": lambda: make_estimates(sample, statistic(records)).estimate(0),
        "with an interval, 100 replicates": lambda: make_estimates(sample, statistic(records), bootstrap).estimate(0),
    }
    times = {name: seconds(way) for name, way in ways.items()}
    tracemalloc.start()
    value = make_estimates(sample, statistic(records)).estimate(0).value
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"{given.images:,} images, {number:,} detections, {given.labels} classes")
    print(f"AP {value:.6f}; peak {peak / 1e6:.1f} MB, {peak / number:,.0f} bytes a detection")
    try:
        coco, own = coco_seconds(records, given.labels)
        print(f"{'pycocotools evaluate, accumulate':36}{coco:8.2f} s  AP {own:.6f}")
    except ImportError:
        coco = float("nan")
        print("pycocotools is not installed")
    for name, taken in times.items():
        print(f"{name:36}{taken:8.2f} s  {taken / coco:5.2f} x")


if __name__ == "__main__":
    main()
