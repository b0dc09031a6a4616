"""Where two ROC curves cross: on one side the one algorithm is better, on the other the other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from harness.stats.curves.cases import FloatArray
from harness.stats.curves.counts import Counts

__all__ = ["Crossing", "crossings"]


@dataclass(frozen=True, slots=True)
class Crossing:
    """A point that both curves share, and the curve that is above at smaller false-positive rates.

    The thresholds are the last ones at or before the point; between two thresholds a curve is a straight line.
    """

    fpr: float
    tpr: float
    threshold_a: float
    threshold_b: float
    above_before: Literal["a", "b"]


def crossings(a: Counts, b: Counts) -> list[Crossing]:
    """All crossings of two curves, from left to right; points where they only touch are none.

    Where the curves run together for a while before they part, the crossing is where the common stretch begins.
    """
    # tpr + fpr grows along every curve, vertical and level stretches included, so that tpr - fpr is a function of it.
    along = np.union1d(a.tpr + a.fpr, b.tpr + b.fpr)
    height_a, height_b = _height(a, along), _height(b, along)
    gap = height_a - height_b
    gap[np.abs(gap) < 1e-12] = 0.0
    signed = np.flatnonzero(gap)
    found = []
    for left, right in pairwise(signed.tolist()):
        if gap[left] * gap[right] < 0:
            found.append(_crossing(a, b, along, gap, height_a, left))
    return found


def _height(counts: Counts, along: FloatArray) -> FloatArray:
    return np.interp(along, counts.tpr + counts.fpr, counts.tpr - counts.fpr)


def _crossing(a: Counts, b: Counts, along: FloatArray, gap: FloatArray, height: FloatArray, left: int) -> Crossing:
    share = gap[left] / (gap[left] - gap[left + 1])
    place = float(along[left] + share * (along[left + 1] - along[left]))
    high = float(height[left] + share * (height[left + 1] - height[left]))
    return Crossing(
        fpr=(place - high) / 2,
        tpr=(place + high) / 2,
        threshold_a=_threshold(a, place),
        threshold_b=_threshold(b, place),
        above_before="a" if gap[left] > 0 else "b",
    )


def _threshold(counts: Counts, place: float) -> float:
    i = int(np.searchsorted(counts.tpr + counts.fpr, place, side="right")) - 1
    return float(counts.threshold[max(i, 0)])
