"""Points of a curve for tables and plots: ROC, DET and precision-recall are views of the same counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.curves.cases import FloatArray, IntArray
from harness.stats.curves.counts import Counts

__all__ = ["Det", "Points", "average_precision", "corners", "det", "points", "thinned"]


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Columns of equal length, from the strictest threshold to the laxest.

    ROC: tpr over fpr. DET: fnr over fpr. Precision-recall: precision over tpr.
    """

    threshold: FloatArray
    tpr: FloatArray
    fpr: FloatArray
    fnr: FloatArray
    precision: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Det:
    """Both errors on normal-deviate axes, on which normal scores give a straight line; rates of 0 and 1 left out."""

    threshold: FloatArray
    fpr: FloatArray
    fnr: FloatArray
    fpr_deviate: FloatArray
    fnr_deviate: FloatArray


def points(counts: Counts, at: npt.ArrayLike | None = None) -> Points:
    """All points, or those at some places of the curve (from `corners` or `thinned`)."""
    pick = slice(None) if at is None else np.asarray(at, dtype=np.intp)
    columns = (counts.threshold, counts.tpr, counts.fpr, counts.fnr, counts.precision)
    return Points(*(column[pick] for column in columns))


def corners(counts: Counts) -> IntArray:
    """Places where the ROC curve bends: the others lie on straight lines between them."""
    rise, run = np.diff(counts.tp), np.diff(counts.fp)
    bends = rise[1:] * run[:-1] != rise[:-1] * run[1:]
    return np.flatnonzero(np.concatenate(([True], bends, [True])))


def thinned(counts: Counts, limit: int) -> IntArray:
    """At most `limit` places, spread evenly along the ROC curve, with both ends."""
    if limit < 2:
        raise ValueError(f"limit {limit!r}: a curve needs two points or more")
    if counts.threshold.size <= limit:
        return np.arange(counts.threshold.size)
    along = counts.tpr + counts.fpr
    places = np.searchsorted(along, np.linspace(0, along[-1], limit))
    return np.unique(np.minimum(places, along.size - 1))


def det(counts: Counts) -> Det:
    """Detection error trade-off (Martin and others 1997)."""
    from scipy.special import ndtri

    inside = (counts.fpr > 0) & (counts.fpr < 1) & (counts.fnr > 0) & (counts.fnr < 1)
    fpr, fnr = counts.fpr[inside], counts.fnr[inside]
    return Det(counts.threshold[inside], fpr, fnr, np.asarray(ndtri(fpr)), np.asarray(ndtri(fnr)))


def average_precision(counts: Counts) -> float:
    """Precision averaged over recall, as a step function.

    Straight lines between precision-recall points would promise what no threshold gives (Davis and Goadrich 2006).
    """
    return float(np.diff(counts.tpr) @ counts.precision[1:])
