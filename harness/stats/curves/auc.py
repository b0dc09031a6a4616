"""Area under a ROC curve, whole or in part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.stats.curves.cases import FloatArray
from harness.stats.curves.counts import Counts

__all__ = ["PartialArea", "area", "auc", "partial_auc"]


def auc(counts: Counts) -> float:
    """Chance that a positive case scores above a negative one, a tie counting half (Mann and Whitney's U / mn)."""
    return float(area(counts.tp, counts.fp)) / float(counts.tp[-1] * counts.fp[-1])


def area(tp: FloatArray, fp: FloatArray) -> FloatArray:
    """Trapezoids under counts or rates along the last axis; a sloped segment is a group of ties."""
    return np.asarray(((tp[..., 1:] + tp[..., :-1]) * np.diff(fp)).sum(axis=-1) / 2)


@dataclass(frozen=True, slots=True)
class PartialArea:
    """Area over part of an axis. `corrected` is McClish's (1989): 0.5 for a worthless test, 1 for a perfect one."""

    area: float
    corrected: float
    low: float
    high: float
    over: Literal["fpr", "tpr"]


def partial_auc(counts: Counts, low: float, high: float, *, over: Literal["fpr", "tpr"] = "fpr") -> PartialArea:
    """Area between two false-positive rates (under the curve) or two true-positive rates (to its right).

    pROC's `partial.auc` of specificities [1, s] is `over="fpr"` from 0 to 1 - s. Below the diagonal the corrected
    value is under 0.5, where pROC gives NA.
    """
    if not 0 <= low < high <= 1:
        raise ValueError(f"part {low!r} to {high!r} of the {over}: expected 0 <= low < high <= 1")
    if over == "fpr":
        value = _clipped_area(counts.fpr, counts.tpr, low, high)
    else:
        # Turned by the anti-diagonal, the area right of the curve is an area under one again.
        value = _clipped_area(counts.tpr, 1 - counts.fpr, low, high)
    worthless = (high**2 - low**2) / 2 if over == "fpr" else (high - low) - (high**2 - low**2) / 2
    corrected = (1 + (value - worthless) / (high - low - worthless)) / 2
    return PartialArea(value, corrected, low, high, over)


def _clipped_area(x: FloatArray, y: FloatArray, low: float, high: float) -> float:
    x0, x1 = x[:-1], x[1:]
    rises = x1 > x0
    x0, x1, y0, y1 = x0[rises], x1[rises], y[:-1][rises], y[1:][rises]
    a, b = np.clip(x0, low, high), np.clip(x1, low, high)
    slope = (y1 - y0) / (x1 - x0)
    return float(((b - a) * (y0 + slope * ((a + b) / 2 - x0))).sum())
