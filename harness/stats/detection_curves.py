"""Curves of detections as functions of the weights of the cases: COCO's average precision, and free response (FROC).

For a class and a level of overlap, the precision at a recall is the best precision at that recall or a higher one, and
the average is over the recalls 0, 0.01 ... 1. The mean over levels and classes is taken; a class without objects does
not count. Detections are sorted and matched once: a replicate with other weights only adds them up again.

The linear form is that of the average over all recalls, not only 101 of them. It is A = sum over hits i of w_i E_i / N,
with N the weight of all objects and E_i the best precision P_j = T_j / (T_j + F_j) at or after i, reached at j(i).
Where a best precision is reached does not matter to first order, so that

    N dA/dw_c = sum over own hits of E_i - n_c A + sum over hits i of w_i dP_j(i)/dw_c,
    dP_j/dw_c = (t_c (1 - P_j) - f_c P_j) / (T_j + F_j),

where t_c and f_c are the hits and false positives of the case up to j, and n_c its objects.

A free-response curve is the share of objects found over the false positives per image: nobody can count the places
without an object, so these are no rate. Its score is the mean recall at 1/8, 1/4, 1/2, 1, 2, 4 and 8 false positives
per image, as in the LUNA16 (Setio and others 2017) and CAMELYON16 challenges, here without interpolation: the recall at
the laxest threshold within each limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.object_matching import FALSE, HIT, Detections, Matches
from harness.stats.replication.statistic import WeightsStatistic, statistic_of_cells

__all__ = [
    "COCO_LEVELS",
    "FALSE_POSITIVES",
    "ApCell",
    "ClassHits",
    "FreeResponse",
    "FrocCell",
    "average_precision_statistic",
    "class_hits",
    "free_response",
    "froc_statistic",
]

COCO_LEVELS = np.linspace(0.5, 0.95, 10)
# As COCO computes them: in a few of them the last digit is not that of k / 100.
_RECALLS = np.linspace(0.0, 1.0, 101)
# COCO adds it to denominators.
_TINY = np.spacing(1)
# False positives per image at which the recall is taken.
FALSE_POSITIVES = np.array([1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8])


@dataclass(frozen=True, eq=False)
class ClassHits:
    """The detections of a class by falling score: the case of each, and at each level (levels, k) what they are.

    `objects` are the cases of the objects of the class, an entry for each.
    """

    case: IntArray
    hit: BoolArray
    false: BoolArray
    objects: IntArray


# The classes of a run, and which of the cases count; None if all do.
ApCell = tuple[Sequence[ClassHits], BoolArray | None]


def class_hits(detections: Detections, matches: Matches, label: int | None = None) -> list[ClassHits]:
    """The classes that have objects, or only one class, by its number."""
    order = np.lexsort((-detections.score, detections.found.label))
    edges = np.searchsorted(detections.found.label[order], np.arange(detections.labels + 1))
    classes = []
    for number in range(detections.labels) if label is None else [label]:
        objects = detections.truth.case[matches.counted & (detections.truth.label == number)]
        if objects.size:
            members = order[edges[number] : edges[number + 1]]
            # What counts for nothing at every level is left out.
            members = members[(matches.status[:, members] >= FALSE).any(axis=0)]
            status = matches.status[:, members]
            classes.append(ClassHits(detections.found.case[members], status == HIT, status == FALSE, objects))
    return classes


def average_precision_statistic(cells: Sequence[ApCell], words: str) -> WeightsStatistic:
    """The mean average precision of some cells."""
    return statistic_of_cells(cells, _mean_over_classes, _mean_slopes, optimistic=True, words=words)


def _mean_over_classes(classes: Sequence[ClassHits], weights: FloatArray) -> float:
    """The mean over the classes that have objects with weight; NaN if there is none."""
    # Equal weights become counts, whose ratios are exact.
    scaled = weights / max(float(weights.max(initial=0.0)), 1e-300)
    values = [value for hits in classes if (value := _of_class(hits, scaled)) is not None]
    return float(np.mean(values)) if values else np.nan


def _of_class(of: ClassHits, weights: FloatArray) -> float | None:
    total = float(weights[of.objects].sum())
    if total <= 0:
        return None
    if not of.case.size:
        return 0.0
    hits, precision = _precision(of, weights)
    best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    # Sums of other weights than counts are rounded: a recall must not be missed by the last digit.
    slack = 0.0 if ((weights == 0) | (weights == 1)).all() else 1e-12
    value = 0.0
    for recall, best_at_level in zip(hits / total + slack, best, strict=True):
        first = np.searchsorted(recall, _RECALLS)
        value += float(best_at_level[first[: int(np.searchsorted(first, recall.size))]].sum())
    return value / (_RECALLS.size * len(hits))


def _precision(of: ClassHits, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The weight of all hits so far, and the precision, at each level and detection."""
    case_weights = weights[of.case]
    hits, false = np.cumsum(of.hit * case_weights, axis=1), np.cumsum(of.false * case_weights, axis=1)
    return hits, hits / (hits + false + _TINY)


def _mean_slopes(classes: Sequence[ClassHits], weights: FloatArray) -> FloatArray:
    """What each case adds to the mean per unit of weight, to first order."""
    slopes = np.zeros(weights.size)
    known = [hits for hits in classes if weights[hits.objects].sum() > 0]
    for hits in known:
        slopes += _class_slopes(hits, weights) / len(known)
    return slopes


def _class_slopes(of: ClassHits, weights: FloatArray) -> FloatArray:
    objects, total = np.bincount(of.objects, minlength=weights.size), weights[of.objects].sum()
    if not of.case.size:
        return np.zeros(weights.size)
    hit_weights, levels = weights[of.case] * of.hit, len(of.hit)
    hits, precision = _precision(of, weights)
    all_found = hits + np.cumsum(of.false * weights[of.case], axis=1)
    best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    # The first index at or after each at which the best precision is reached; it always is at the last.
    last = best.shape[1] - 1
    reached = np.where(precision >= best, np.arange(last + 1), last)
    at = np.minimum.accumulate(reached[:, ::-1], axis=1)[:, ::-1]
    # What hits whose best precision is reached at an index weigh there.
    offsets = np.arange(levels)[:, None] * hit_weights.shape[1]
    share = np.bincount((at + offsets).ravel(), weights=hit_weights.ravel(), minlength=hit_weights.size).reshape(
        hit_weights.shape
    )
    share = np.divide(share, all_found, out=np.zeros_like(share), where=all_found > 0)
    gain, loss = (np.cumsum((share * part)[:, ::-1], axis=1)[:, ::-1] for part in (1 - precision, precision))
    each = np.where(of.hit, best + gain, np.where(of.false, -loss, 0.0)).sum(axis=0)
    slopes = (
        np.bincount(of.case, weights=each, minlength=weights.size) - objects * float((hit_weights * best).sum()) / total
    )
    return np.asarray(slopes / (total * levels))


@dataclass(frozen=True, slots=True, eq=False)
class FreeResponse:
    """Detections by falling score: the case of each and whether it is an object; and the case of every object.

    `ends` are the last indices of equal scores, which no threshold separates, and `threshold` those scores.
    """

    case: IntArray
    hit: BoolArray
    ends: IntArray
    threshold: FloatArray
    objects: IntArray

    def curve(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Recall and false positives per image at every threshold, for these weights of the cases."""
        case_weights = weights[self.case]
        hits, false = (np.cumsum(np.where(of, case_weights, 0.0))[self.ends] for of in (self.hit, ~self.hit))
        total, images = weights[self.objects].sum(), weights.sum()
        if not total > 0:
            return np.full(hits.size, np.nan), false / images
        return hits / total, false / images

    def recall_at(self, weights: FloatArray, limits: FloatArray) -> FloatArray:
        """The recall at the laxest threshold within each limit of false positives per image."""
        recall, false = self.curve(weights)
        if recall.size and np.isnan(recall[0]):
            return np.full(limits.size, np.nan)
        # Sums of weights: a limit met exactly may be missed by a rounding error.
        index = np.searchsorted(false, limits * (1 + 1e-12), side="right")
        return np.append(0.0, recall)[index]


# The detections of a run, and which of the cases count; None if all do.
FrocCell = tuple[FreeResponse, BoolArray | None]


def free_response(case: IntArray, score: FloatArray, positive: BoolArray) -> FreeResponse:
    """From elements: objects with the score of what found them, minus infinity if nothing did, and false positives."""
    scored = np.flatnonzero(score > -np.inf)
    order = scored[np.argsort(-score[scored], kind="stable")]
    ends = np.flatnonzero(np.append(np.diff(score[order]) != 0, True)) if order.size else np.zeros(0, dtype=np.intp)
    return FreeResponse(case[order], positive[order], ends, score[order][ends], case[positive])


def froc_statistic(cells: Sequence[FrocCell], words: str) -> WeightsStatistic:
    """The mean recall at the usual numbers of false positives per image, of some cells.

    It is not smooth: each recall jumps where the limit is met, so the jackknife is wrong for it.
    """

    def value(curve: FreeResponse, weights: FloatArray) -> float:
        return float(curve.recall_at(weights, FALSE_POSITIVES).mean())

    return statistic_of_cells(cells, value, smooth=False, words=words)
