"""A curve with all that is said of it."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from harness.analysis.curves.wishes import At
from harness.stats.curves.counts import Counts
from harness.stats.curves.ellipses import Ellipse
from harness.stats.curves.operating import DetectionCost, OperatingPoint
from harness.stats.estimate import Estimate

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CurvePoints:
    """Columns of equal length, from the strictest threshold to the laxest; `low` and `high` of the tpr.

    `low_at_fpr` and `high_at_fpr` are of the tpr at that false positive rate, whatever the threshold: the band to draw.
    """

    threshold: FloatArray
    tpr: FloatArray
    fpr: FloatArray
    fnr: FloatArray
    precision: FloatArray
    low: FloatArray
    high: FloatArray
    low_at_fpr: FloatArray
    high_at_fpr: FloatArray

    @property
    def fixed(self) -> bool:
        """Whether there are bands at false positive rates."""
        return bool(np.isfinite(self.low_at_fpr).any())

    @property
    def drawn(self) -> tuple[FloatArray, FloatArray]:
        """The band over the false positive rate, else the one at thresholds."""
        return (self.low_at_fpr, self.high_at_fpr) if self.fixed else (self.low, self.high)


@dataclass(frozen=True)
class Asked:
    """An operating point that was asked for; the estimate is of the rate that was not given, None without an error."""

    at: At
    point: OperatingPoint
    of: Literal["fpr", "fnr"]
    estimate: Estimate | None = None


@dataclass(frozen=True)
class MeanPoint:
    """A mean point of repeated tests, with its ellipse where three or more repetitions vary."""

    threshold: float
    fpr: float
    tpr: float
    ellipse: Ellipse | None


@dataclass(frozen=True)
class Curve:
    """A curve, its summaries, and what a reader must know about it."""

    name: str
    positives: int
    negatives: int
    auc: Estimate
    eer: Estimate
    # What area and equal error rate speak of.
    summary_target: str
    eer_threshold: float
    average_precision: float
    points: CurvePoints
    # How the bands were found and what they speak of; empty where there are none.
    bands: str
    target: str
    counts: Counts
    # How many points the curve has, of which `points` may be some.
    whole: int
    asked: list[Asked] = field(default_factory=list)
    cost: DetectionCost | None = None
    notes: list[str] = field(default_factory=list)
    # A swept algorithm parameter, and its value at each point.
    param: str | None = None
    values: list[str] | None = None
    repetitions: int | None = None
    means: list[MeanPoint] = field(default_factory=list)
