"""The threshold of each run at an operating point: at equal errors, or within a limit of one of the errors."""

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from harness.analysis.cells import check_classes
from harness.errors import UsageError
from harness.measures import Runs
from harness.measures.curves import require_scored_cases
from harness.stats.arrays import FloatArray, IntArray
from harness.stats.curves.hull import convex_hull
from harness.stats.curves.scores import Order, ScoredCases, counts_of

# The rates of a replicate are sums of weights: a rounding error may miss a limit that is met exactly.
_ROUNDING = 1e-12
# Cases are added up in about this many bins first.
_BINS = 1024


@dataclass(frozen=True)
class OperatingCriterion:
    """Where on its curve a run operates: at equal errors, or at the laxest (strictest) threshold within a limit."""

    at: str
    limit: float = 0.0

    def place(self, tpr: FloatArray, fpr: FloatArray) -> int:
        """Which of the thresholds, from the strictest to the laxest."""
        if self.at == "fpr":
            return max(int(np.searchsorted(fpr, self.limit + _ROUNDING, side="right")) - 1, 0)
        if self.at == "fnr":
            within = 1 - tpr <= self.limit + _ROUNDING
            return int(np.argmax(within)) if within.any() else len(tpr) - 1
        # Two thresholds can be equally near; the choice must not depend on rounding.
        return int(np.argmin(np.round(np.abs(1 - tpr - fpr), 12)))

    def crossing(self, tpr: FloatArray, fpr: FloatArray) -> int:
        """The first of the thresholds that is laxer than what `place` may choose from all between; else their number.

        The choice is at this threshold, at the one before it, or between the two.
        """
        if self.at == "fpr":
            beyond = fpr > self.limit + _ROUNDING
        elif self.at == "fnr":
            beyond = 1 - tpr <= self.limit + _ROUNDING
        else:
            beyond = tpr + fpr >= 1
        return int(np.argmax(beyond)) if beyond.any() else len(tpr)

    def shift(self, slope: float) -> tuple[float, float]:
        """How far an excess of the true and of the false positive rate moves the threshold, in false positive rate."""
        if self.at == "fpr":
            return 0.0, -1.0
        if self.at == "fnr":
            return (-1 / slope if slope > 0 else 0.0), 0.0
        return -1 / (1 + slope), -1 / (1 + slope)

    def __str__(self) -> str:
        return self.at if self.at == "eer" else f"{self.at}={self.limit:g}"


def parse_criterion(text: str) -> OperatingCriterion:
    """A criterion as on the command line."""
    if text.strip() == "eer":
        return OperatingCriterion("eer")
    match = re.fullmatch(r"\s*(fpr|fnr|tpr|tnr)\s*=\s*([0-9.eE+-]+)\s*", text)
    try:
        limit = float(match[2]) if match else math.nan
    except ValueError:
        limit = math.nan
    if match is None or not 0 <= limit <= 1:
        raise UsageError(f"--at {text}: write eer, or fpr=0.01 (also fnr, tpr, tnr) with a rate between 0 and 1")
    if match[1] in ("tpr", "tnr"):
        return OperatingCriterion({"tpr": "fnr", "tnr": "fpr"}[match[1]], 1 - limit)
    return OperatingCriterion(match[1], limit)


@dataclass(frozen=True)
class _Points:
    """Some of a run's points, from the strictest to the laxest: how many scores each accepts, and their weights.

    `positives` and `negatives` are the weights of all cases, also of those that no point accepts.
    """

    numbers: IntArray
    tp: FloatArray
    fp: FloatArray
    positives: float
    negatives: float

    @property
    def tpr(self) -> FloatArray:
        """The true positive rate at each."""
        return self.tp / self.positives

    @property
    def fpr(self) -> FloatArray:
        """The false positive rate at each."""
        return self.fp / self.negatives


@dataclass(frozen=True)
class ChosenPoint:
    """The threshold, with larger scores better, infinite if nothing is accepted; and the rates there."""

    threshold: float
    tpr: float
    fpr: float


@dataclass(frozen=True)
class RunThresholds:
    """The thresholds of one run: its cases from best to worst, and the points that can be chosen."""

    cases: ScoredCases

    @property
    def order(self) -> Order:
        """The cases from best to worst."""
        return self.cases.order

    def choose(self, criterion: OperatingCriterion, weights: FloatArray) -> ChosenPoint | None:
        """The point that the criterion chooses; None if a class has no weight.

        Sums over bins of cases show in which bin it is, and only the cases there are added up one by one.
        """
        points = self._at_edges(weights)
        if not (points.positives > 0 and points.negatives > 0):
            return None
        points = self._refined(points, criterion.crossing(points.tpr, points.fpr), weights)
        # If several points are equally good, the first of them may be in the bin before.
        points = self._refined(points, criterion.place(points.tpr, points.fpr), weights)
        place = criterion.place(points.tpr, points.fpr)
        number = int(points.numbers[place])
        threshold = math.inf if number == 0 else float(self.order.better[number - 1])
        return ChosenPoint(threshold, float(points.tpr[place]), float(points.fpr[place]))

    def slope(self, point: ChosenPoint, weights: FloatArray) -> float:
        """The slope of the curve's convex hull at the threshold."""
        hull = convex_hull(counts_of(replace(self.cases, weights=weights)))
        after = int(np.searchsorted(hull.tpr + hull.fpr, point.tpr + point.fpr, side="left"))
        slope = float(hull.slope[min(max(after - 1, 0), hull.slope.size - 1)])
        # A vertical part of the hull gets a steep slope, not an infinite one.
        return min(slope, float(np.count_nonzero(self.cases.positive)))

    @cached_property
    def _edges(self) -> IntArray:
        """The points at the edges of bins.

        The first is the strictest that a finite threshold reaches, since all of them accept scores of plus infinity;
        the last is the laxest, since none accepts scores of minus infinity.
        """
        better = self.order.better
        first, last = int(better[0] == np.inf), len(better) - int(better[-1] == -np.inf)
        return np.unique(np.linspace(first, last, min(max(last - first, 0), _BINS) + 1).astype(np.int64))

    @cached_property
    def _bins(self) -> IntArray:
        """The bin of each case, twice, and one more if it is positive; cases before and after all edges are in two."""
        sizes = np.diff(self._accepted(self._edges), prepend=0, append=len(self.cases.better))
        bins = np.empty(len(self.cases.better), dtype=np.int64)
        bins[self.order.cases] = np.repeat(np.arange(sizes.size), sizes)
        return 2 * bins + self.cases.positive

    def _accepted(self, numbers: IntArray) -> IntArray:
        """How many cases points accept."""
        return np.where(numbers > 0, self.order.ends[numbers - 1] + 1, 0)

    def _at_edges(self, weights: FloatArray) -> _Points:
        sums = np.bincount(self._bins, weights=weights, minlength=2 * len(self._edges) + 2).reshape(-1, 2)
        fp, tp = np.cumsum(sums, axis=0).T
        return _Points(self._edges, tp[:-1], fp[:-1], float(tp[-1]), float(fp[-1]))

    def _refined(self, points: _Points, place: int, weights: FloatArray) -> _Points:
        """With all points between this place and the one before."""
        if not 0 < place < len(points.numbers):
            return points
        before, at = points.numbers[place - 1 : place + 1]
        start, stop = self._accepted(np.array([before, at]))
        cases, ends = self.order.cases[start:stop], self.order.ends[before : at - 1] - start
        ranked, hit = weights[cases], self.cases.positive[cases]
        tp, fp = (np.cumsum(np.where(of, ranked, 0.0))[ends] for of in (hit, ~hit))
        return replace(
            points,
            numbers=np.insert(points.numbers, place, np.arange(before + 1, at)),
            tp=np.insert(points.tp, place, points.tp[place - 1] + tp),
            fp=np.insert(points.fp, place, points.fp[place - 1] + fp),
        )


def run_thresholds(runs: Runs) -> list[RunThresholds]:
    """The thresholds of every run."""
    check_classes("--at", ("positive", "negative"), runs.positive)
    require_scored_cases("--at", runs, "hate roc --at sets a threshold for pixels")
    return [RunThresholds(cases) for cases in runs.curve_cases()]
