"""Equal error rate: where as many positives are refused as negatives accepted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.stats.curves.cases import FloatArray
from harness.stats.curves.counts import Counts

__all__ = ["EqualError", "equal_error", "equal_error_rates"]


@dataclass(frozen=True, slots=True)
class EqualError:
    """The rate, and the threshold there: interpolated as the rate is, between two finite ones."""

    rate: float
    threshold: float
    attained: bool
    """Whether a threshold has exactly this rate of both errors, or the rate lies between two thresholds."""


def equal_error(counts: Counts) -> EqualError:
    """Equal error rate by linear interpolation where fnr - fpr changes sign."""
    # Both errors move in opposite directions, so the excess falls at every point, from 1 to -1.
    excess = counts.fnr - counts.fpr
    after = int(np.searchsorted(-excess, 0.0))
    before = after - 1
    share = float(excess[before] / (excess[before] - excess[after]))
    rate = counts.fpr[before] + share * (counts.fpr[after] - counts.fpr[before])
    threshold = _between(counts.threshold, before, after, share)
    return EqualError(float(rate), threshold, bool(excess[after] == 0))


def equal_error_rates(tpr: FloatArray, fpr: FloatArray) -> FloatArray:
    """Equal error rate of many curves, one a row, along the last axis; each from (0, 0) to (1, 1)."""
    excess = 1 - tpr - fpr
    after = np.expand_dims(np.argmax(excess <= 0, axis=-1), -1)
    high, low = np.take_along_axis(excess, after - 1, -1), np.take_along_axis(excess, after, -1)
    share = high / (high - low)
    left, right = np.take_along_axis(fpr, after - 1, -1), np.take_along_axis(fpr, after, -1)
    return np.asarray((left + share * (right - left))[..., 0])


def _between(threshold: FloatArray, before: int, after: int, share: float) -> float:
    strict, lax = float(threshold[before]), float(threshold[after])
    if np.isfinite(strict) and np.isfinite(lax):
        return strict + share * (lax - strict)
    return lax if np.isfinite(lax) else strict
