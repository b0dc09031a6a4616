"""Measures of objects in images: average precision, and what was found and missed at a run's `iou` and `threshold`.

Each of them is of one class with its label after a colon, as in `ap50:cat`. Cases, or their PSUs, are the units.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError
from harness.measures.measure import Measure, MeasureFamily, Reads, Runs

if TYPE_CHECKING:
    from harness.measures.measure import Cell
    from harness.stats.arrays import FloatArray
    from harness.stats.object_matching import Detections, ObjectCounts
    from harness.stats.replication.statistic import Statistic

__all__ = ["FAMILIES", "MEASURES"]

# Areas in pixels of what COCO calls small, medium and large.
SIZES = {"small": (0.0, 32.0**2), "medium": (32.0**2, 96.0**2), "large": (96.0**2, 1e10)}
# Numerator and denominator of a measure, from the counts of every case.
Parts = Callable[["ObjectCounts"], "tuple[FloatArray, FloatArray]"]


def _average_precision(
    name: str, words: str, *, level: float | None = None, size: str | None = None, label: str | None = None
) -> Measure:
    """The mean over COCO's levels, or one level; of objects of one size or all, of one class or all."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        import numpy as np

        from harness.stats.detection_curves import COCO_LEVELS, average_precision_statistic, class_hits
        from harness.stats.object_matching import match

        levels = COCO_LEVELS if level is None else np.array([level])
        hits = {}
        for run in {run for run, _ in cells}:
            detections = _detections(runs, run, label, name)
            matches = match(detections, levels, sizes=None if size is None else SIZES[size])
            hits[run] = class_hits(detections, matches)
        return average_precision_statistic([(hits[run], inside) for run, inside in cells], words)

    return Measure(name, words, statistic, reads=Reads.BOXES, needs="objects")


def _free_response(name: str, words: str, *, label: str | None = None) -> Measure:
    """The score of the free-response curve at the run's `iou`."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        from harness.stats.detection_curves import free_response, froc_statistic
        from harness.stats.object_matching import scored_objects

        curves = {
            run: free_response(*scored_objects(_detections(runs, run, label, name), _iou(runs, run)))
            for run in {run for run, _ in cells}
        }
        return froc_statistic([(curves[run], inside) for run, inside in cells], words)

    return Measure(name, words, statistic, reads=Reads.BOXES, needs="objects")


def _iou(runs: Runs, run: int) -> float:
    return float(runs.params[run].get("iou", 0.5))


def _of_counts(
    name: str,
    words: str,
    parts: Parts,
    *,
    larger: bool = True,
    bounds: tuple[float, float] = (0.0, 1.0),
    needs: str = "",
    label: str | None = None,
) -> Measure:
    """A ratio of totals over the objects, at the run's `iou` and `threshold`."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        import numpy as np

        from harness.stats.object_matching import object_counts
        from harness.stats.replication.statistic import ratio

        totals = {}
        for run in {run for run, _ in cells}:
            threshold = float(runs.params[run].get("threshold", 0.0))
            totals[run] = parts(object_counts(_detections(runs, run, label, name), _iou(runs, run), threshold))
        above, below = (
            np.stack([totals[run][part] * (1.0 if of is None else of) for run, of in cells], axis=1) for part in (0, 1)
        )
        return ratio(above, below, bounds=bounds, counted=(below > 0).astype(np.float64))

    return Measure(name, words, statistic, larger, bounds, Reads.BOXES, needs=needs)


def _detections(runs: Runs, run: int, label: str | None, name: str) -> Detections:
    """The records of a run as arrays, of all classes or of one."""
    from harness.stats.object_matching import only_label
    from harness.tasks.boxes import recorded_detections

    records = runs.detail("boxes")
    if label is None:
        return recorded_detections(records[run])
    known = dict.fromkeys(
        text for of_run in records for record in of_run if record is not None for text in record["labels"]
    )
    if label not in known:
        from harness.params import nearest

        raise UsageError(f"--statistic {name}: no object is labelled '{label}'; {nearest(label, list(known))}")
    return only_label(recorded_detections(records[run], list(known)), list(known).index(label))


def _images(counts: ObjectCounts) -> FloatArray:
    return counts.hits * 0 + 1


_ANY = (0.0, math.inf)
_MAKERS: dict[str, Callable[..., Measure]] = {}


def _declare(name: str, words: str, make: Callable[..., Measure], *given: Any, **settings: Any) -> Measure:
    """A measure of all classes, which can be made again for one class."""
    _MAKERS[name] = lambda of, words_of, label: make(of, words_of, *given, label=label, **settings)
    return make(name, words, *given, **settings)


_OBJECTS = {"needs": "objects"}
_IMAGE = {"larger": False, "bounds": _ANY}
MEASURES = (
    _declare("ap", "average precision", _average_precision),
    _declare("ap50", "average precision at IoU 0.50", _average_precision, level=0.5),
    _declare("ap75", "average precision at IoU 0.75", _average_precision, level=0.75),
    _declare("ap_small", "average precision of small objects", _average_precision, size="small"),
    _declare("ap_medium", "average precision of medium-sized objects", _average_precision, size="medium"),
    _declare("ap_large", "average precision of large objects", _average_precision, size="large"),
    _declare("object_recall", "share of objects found", _of_counts, lambda c: (c.hits, c.hits + c.missed), **_OBJECTS),
    _declare(
        "object_precision",
        "share of detections that are objects",
        _of_counts,
        lambda c: (c.hits, c.hits + c.false),
        needs="detections",
    ),
    _declare(
        "object_f1",
        "F1 over objects",
        _of_counts,
        lambda c: (2 * c.hits, 2 * c.hits + c.missed + c.false),
        needs="objects or detections",
    ),
    _declare("froc", "mean recall at 1/8 to 8 false positives per image", _free_response),
    _declare("fppi", "false positives per image", _of_counts, lambda c: (c.false, _images(c)), **_IMAGE),
    _declare("missed", "missed objects per image", _of_counts, lambda c: (c.missed, _images(c)), **_IMAGE),
    _declare("spurious", "spurious objects per image", _of_counts, lambda c: (c.false, _images(c)), **_IMAGE),
)


def _of_class(match: re.Match[str], _asked: str) -> Measure:
    """A measure of one class, such as `ap50:cat`."""
    name, kind, label = match[0], match[1], match[2]
    words = next(measure.words for measure in MEASURES if measure.name == kind)
    return _MAKERS[kind](name, f"{words}, {label}", label)


FAMILIES = (MeasureFamily(re.compile(f"({'|'.join(_MAKERS)}):(.+)", re.DOTALL), _of_class),)
