"""Free-response curves (FROC): the share of objects found over the false positives per image.

Nobody can count the places without an object, so the false positives are per image, not a rate. The score of a curve
is the mean recall at 1/8, 1/4, 1/2, 1, 2, 4 and 8 false positives per image, as in the LUNA16 (Setio and others 2017)
and CAMELYON16 challenges, here without interpolation: the recall at the laxest threshold within each limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.replication.statistic import WeightsStatistic

__all__ = ["FALSE_POSITIVES", "FreeResponse", "FrocCell", "free_response", "froc_statistic"]

# False positives per image at which the recall is taken.
FALSE_POSITIVES = np.array([1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8])


@dataclass(frozen=True, slots=True, eq=False)
class FreeResponse:
    """Detections by falling score: the case of each and whether it is an object; and the case of every object.

    `ends` are the last places of equal scores, which no threshold separates, and `threshold` those scores.
    """

    case: IntArray
    hit: BoolArray
    ends: IntArray
    threshold: FloatArray
    objects: IntArray

    def curve(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Recall and false positives per image at every threshold, for these weights of the cases."""
        own = weights[self.case]
        hits, false = (np.cumsum(np.where(of, own, 0.0))[self.ends] for of in (self.hit, ~self.hit))
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
        place = np.searchsorted(false, limits * (1 + 1e-12), side="right")
        return np.append(0.0, recall)[place]


# The detections of a run, and which of the cases count; None if all do.
FrocCell = tuple[FreeResponse, BoolArray | None]


def free_response(case: IntArray, score: FloatArray, positive: BoolArray) -> FreeResponse:
    """From elements: objects with the score of what found them, minus infinity if nothing did, and false positives."""
    found = np.flatnonzero(score > -np.inf)
    order = found[np.argsort(-score[found], kind="stable")]
    ends = np.flatnonzero(np.append(np.diff(score[order]) != 0, True)) if order.size else np.zeros(0, dtype=np.intp)
    return FreeResponse(case[order], positive[order], ends, score[order][ends], case[positive])


def froc_statistic(cells: Sequence[FrocCell], words: str) -> WeightsStatistic:
    """The mean recall at the usual numbers of false positives per image, of some cells.

    It is not smooth: each recall jumps where the limit is met, so the jackknife is wrong for it.
    """
    masks = [np.ones(1) if inside is None else inside.astype(np.float64) for _, inside in cells]
    counted = None
    if any(inside is not None for _, inside in cells):
        size = max(mask.size for mask in masks)
        counted = np.stack([np.broadcast_to(mask, size) for mask in masks], axis=1)

    def function(weights: FloatArray) -> FloatArray:
        return np.array(
            [one.recall_at(weights * mask, FALSE_POSITIVES).mean() for (one, _), mask in zip(cells, masks, strict=True)]
        )

    return WeightsStatistic(function, (0.0, 1.0), len(cells), smooth=False, counted=counted, words=words)
