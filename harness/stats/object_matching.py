"""Objects found in images: overlaps of boxes, and which detection matches which object, as COCO decides it.

Detections of an image and a class are taken by falling score. Each takes the free object with which it overlaps most,
if the overlap (intersection over union) reaches the level. Objects that count are preferred to ignored ones; a crowd
region is ignored, can be matched any number of times, and the overlap with it is the share of the detection's own area.
Of objects with equal overlap the last is taken. A detection matched to an ignored object counts for nothing. See Lin
and others (2014), and the evaluation code that COCO publishes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import BoolArray, FloatArray, IntArray

__all__ = [
    "FALSE",
    "HIT",
    "NOTHING",
    "BoxSet",
    "Detections",
    "Matches",
    "ObjectCounts",
    "box_overlaps",
    "match",
    "object_counts",
    "only_label",
    "scored_objects",
]

# A level of 1 is met by an overlap that misses it by a rounding error.
MAX_LEVEL = 1 - 1e-10
# Pairs of a detection and an object that are compared at once.
MAX_PAIRS = 1 << 20
# What a detection is: a hit, a false positive, or nothing that counts.
HIT, FALSE, NOTHING = 1, 0, -1


@dataclass(frozen=True, eq=False)
class BoxSet:
    """Boxes [x, y, width, height] (k, 4), each with its case and the number of its class."""

    case: IntArray
    label: IntArray
    box: FloatArray

    @property
    def area(self) -> FloatArray:
        return np.asarray(self.box[:, 2] * self.box[:, 3])


@dataclass(frozen=True, eq=False)
class Detections:
    """The objects of all cases, and what was found: by case, and within a case by falling score.

    `area` of an object is what its size is judged by; a `crowd` is a region that counts for nothing.
    """

    cases: int
    labels: int
    truth: BoxSet
    area: FloatArray
    crowd: BoolArray
    found: BoxSet
    score: FloatArray


@dataclass(frozen=True, eq=False)
class Matches:
    """What became of each detection at each level, (levels, found): HIT, FALSE or NOTHING.

    `counted`: the objects that count; `taken` (levels, objects): those that were found.
    """

    status: npt.NDArray[np.int8]
    counted: BoolArray
    taken: BoolArray


@dataclass(frozen=True, eq=False)
class ObjectCounts:
    """Objects found, missed, and false positives of each case."""

    hits: FloatArray
    missed: FloatArray
    false: FloatArray


def box_overlaps(found: FloatArray, truth: FloatArray, crowd: BoolArray) -> FloatArray:
    """Overlaps of boxes, pair by pair (k, 4) each: over the union, or for a crowd over the area of what was found."""
    low = np.maximum(found[:, :2], truth[:, :2])
    high = np.minimum(found[:, 2:] + found[:, :2], truth[:, 2:] + truth[:, :2])
    sides = np.maximum(high - low, 0.0)
    both = sides[:, 0] * sides[:, 1]
    found_area, truth_area = found[:, 2] * found[:, 3], truth[:, 2] * truth[:, 3]
    union = np.where(crowd, found_area, found_area + truth_area - both)
    return np.asarray(np.divide(both, union, out=np.zeros_like(both), where=both > 0))


def match(detections: Detections, levels: FloatArray, *, sizes: tuple[float, float] | None = None) -> Matches:
    """Match what was found with the objects, at every level.

    `sizes`: objects whose area is outside are ignored too, and so are unmatched detections outside.
    """
    counted = ~detections.crowd
    if sizes is not None:
        counted = counted & (detections.area >= sizes[0]) & (detections.area <= sizes[1])
    limits = np.minimum(np.asarray(levels, dtype=np.float64), MAX_LEVEL)
    status = np.full((limits.size, detections.score.size), FALSE, dtype=np.int8)
    taken = np.zeros((limits.size, counted.size), dtype=np.bool_)
    for pairs in _pairs(detections, counted, float(limits.min(initial=1.0))):
        for rank in pairs.rounds():
            _match_round(rank, limits, detections.crowd, counted, status, taken)
    if sizes is not None:
        area = detections.found.area
        status[(status == FALSE) & ((area < sizes[0]) | (area > sizes[1]))] = NOTHING
    return Matches(status, counted, taken)


def object_counts(detections: Detections, level: float, threshold: float) -> ObjectCounts:
    """The counts of every case at one level, of detections that score at least the threshold.

    Detections with higher scores are matched first, so those below the threshold change nothing above it.
    """
    matches = match(detections, np.array([level]))
    status = np.where(detections.score >= threshold, matches.status[0], NOTHING)
    cases = detections.cases
    hits = np.bincount(detections.found.case[status == HIT], minlength=cases)
    objects = np.bincount(detections.truth.case[matches.counted], minlength=cases)
    false = np.bincount(detections.found.case[status == FALSE], minlength=cases)
    return ObjectCounts(*(part.astype(np.float64) for part in (hits, objects - hits, false)))


def scored_objects(detections: Detections, level: float) -> tuple[IntArray, FloatArray, BoolArray]:
    """Objects with the score of what found them at a level, minus infinity if nothing did, then false positives.

    The case of each, its score, and whether it is an object.
    """
    matches = match(detections, np.array([level]))
    counts = matches.status[0] >= FALSE
    missed = matches.counted & ~matches.taken[0]
    lost = int(np.count_nonzero(missed))
    return (
        np.append(detections.found.case[counts], detections.truth.case[missed]),
        np.append(detections.score[counts], np.full(lost, -np.inf)),
        np.append(matches.status[0][counts] == HIT, np.ones(lost, dtype=np.bool_)),
    )


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs that overlap enough, sorted by the rank of the detection, by detection, and from worst to best object."""

    rank: IntArray
    found: IntArray
    truth: IntArray
    overlap: FloatArray

    def rounds(self) -> Iterator[_Pairs]:
        """The pairs of the first detections of all images and classes, then of the second ones, and so on."""
        edges = np.flatnonzero(np.diff(self.rank)) + 1
        for part in np.split(np.arange(self.rank.size), edges):
            if part.size:
                rows = slice(int(part[0]), int(part[-1]) + 1)
                yield _Pairs(self.rank[rows], self.found[rows], self.truth[rows], self.overlap[rows])


def _match_round(
    pairs: _Pairs,
    limits: FloatArray,
    crowd: BoolArray,
    counted: BoolArray,
    status: npt.NDArray[np.int8],
    taken: BoolArray,
) -> None:
    """Match one detection of each image and class; no two of them can want the same object."""
    free = (pairs.overlap >= limits[:, None]) & (~taken[:, pairs.truth] | crowd[pairs.truth])
    starts = np.flatnonzero(np.append(True, np.diff(pairs.found) != 0))
    best = np.maximum.reduceat(np.where(free, np.arange(pairs.found.size), -1), starts, axis=1)
    level, index = np.nonzero(best >= 0)
    objects = pairs.truth[best[level, index]]
    taken[level, objects] = True
    status[level, pairs.found[starts][index]] = np.where(counted[objects], HIT, NOTHING)


def _pairs(detections: Detections, counted: BoolArray, least: float) -> Iterator[_Pairs]:
    """All pairs of the same image and class with enough overlap, many images at a time."""
    truth, found = detections.truth, detections.found
    keys = truth.case * detections.labels + truth.label
    objects = np.argsort(keys, kind="stable")
    keys = keys[objects]
    found_keys = found.case * detections.labels + found.label
    order = np.lexsort((-detections.score, found_keys))
    ordered_keys = found_keys[order]
    rank = np.arange(ordered_keys.size) - np.searchsorted(ordered_keys, ordered_keys)
    first = np.searchsorted(keys, ordered_keys)
    number = np.searchsorted(keys, ordered_keys, side="right") - first
    for start, stop in _blocks(ordered_keys, number):
        of = np.repeat(np.arange(start, stop), number[start:stop])
        within = np.arange(of.size) - np.repeat(np.cumsum(number[start:stop]) - number[start:stop], number[start:stop])
        there = objects[first[of] + within]
        overlap = box_overlaps(found.box[order[of]], truth.box[there], detections.crowd[there])
        near = (overlap >= least) & (overlap > 0)
        of, there, overlap = of[near], there[near], overlap[near]
        # In the order of COCO: objects that count come first, and the last of equal ones wins.
        ranked = np.lexsort((there, overlap, counted[there], of, rank[of]))
        yield _Pairs(rank[of][ranked], order[of][ranked], there[ranked], overlap[ranked])


def _blocks(keys: IntArray, number: IntArray) -> Iterator[tuple[int, int]]:
    """Stretches of detections with a limited number of pairs; those of one image and class stay together."""
    if not keys.size:
        return
    starts = np.flatnonzero(np.append(True, np.diff(keys) != 0))
    total = np.append(0, np.cumsum(number))
    block = total[starts] // MAX_PAIRS
    edges = starts[np.flatnonzero(np.append(True, np.diff(block) != 0))]
    yield from zip(edges.tolist(), [*edges[1:].tolist(), int(keys.size)], strict=True)


def only_label(detections: Detections, label: int) -> Detections:
    """The objects and detections of one class."""
    objects, found = (np.flatnonzero(part.label == label) for part in (detections.truth, detections.found))
    return Detections(
        detections.cases,
        detections.labels,
        _subset(detections.truth, objects),
        detections.area[objects],
        detections.crowd[objects],
        _subset(detections.found, found),
        detections.score[found],
    )


def _subset(boxes: BoxSet, indices: IntArray) -> BoxSet:
    return BoxSet(boxes.case[indices], boxes.label[indices], boxes.box[indices])
