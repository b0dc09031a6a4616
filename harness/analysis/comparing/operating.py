"""Compare at an operating point: each run's threshold is set where the user says, on the recorded scores.

A threshold that was set on the very cases that are compared is itself an estimate. So every replicate sets its own.
"""

import math
import re
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from harness.analysis.comparing.align import Aligned, BoolArray, FloatArray
from harness.analysis.comparing.statistics import Form, cases_of, check_classes, difference_of, form_of
from harness.errors import UsageError
from harness.model import Counts
from harness.stats.confusion import MEASURES
from harness.stats.curves.cases import Cases, Order
from harness.stats.replication.statistic import OfWeights
from harness.transcript.columns import OUTCOMES

Outcomes = npt.NDArray[np.int8]
# Rates of a replicate are sums of weights: a limit met exactly may be missed by a rounding error.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Point:
    """Where on its curve a run is to operate: equal errors, or the laxest (strictest) threshold within a limit."""

    at: str
    limit: float = 0.0

    def place(self, tpr: FloatArray, fpr: FloatArray) -> int:
        """Which of the thresholds, from the strictest to the laxest."""
        if self.at == "fpr":
            return max(int(np.searchsorted(fpr, self.limit + _ROUNDING, side="right")) - 1, 0)
        if self.at == "fnr":
            within = 1 - tpr <= self.limit + _ROUNDING
            return int(np.argmax(within)) if within.any() else len(tpr) - 1
        # Two thresholds can be equally near; which of them it is must not hang on rounding.
        return int(np.argmin(np.round(np.abs(1 - tpr - fpr), 12)))

    def __str__(self) -> str:
        return self.at if self.at == "eer" else f"{self.at}={self.limit:g}"


def parse_point(text: str) -> Point:
    """A point as it is written on a command line."""
    if text.strip() == "eer":
        return Point("eer")
    found = re.fullmatch(r"\s*(fpr|fnr|tpr|tnr)\s*=\s*([0-9.eE+-]+)\s*", text)
    try:
        limit = float(found[2]) if found else math.nan
    except ValueError:
        limit = math.nan
    if found is None or not 0 <= limit <= 1:
        raise UsageError(f"--at {text}: write eer, or fpr=0.01 (also fnr, tpr, tnr) with a rate between 0 and 1")
    if found[1] in ("tpr", "tnr"):
        return Point({"tpr": "fnr", "tnr": "fpr"}[found[1]], 1 - limit)
    return Point(found[1], limit)


@dataclass(frozen=True)
class Ladder:
    """The thresholds of one run: its cases from best to worst, and what can be chosen between."""

    cases: Cases
    order: Order

    @property
    def first(self) -> int:
        """The strictest point that a finite threshold reaches: scores of plus infinity are accepted by all."""
        return int(self.order.better[0] == np.inf)

    @property
    def last(self) -> int:
        """The laxest one: scores of minus infinity are accepted by none."""
        return len(self.order.better) - int(self.order.better[-1] == -np.inf)

    def totals(self, weights: FloatArray, inside: BoolArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Weights of accepted positive and negative cases at each point that can be chosen, and last of all cases."""
        counted = weights if inside is None else weights * inside
        ranked, hit = counted[self.order.cases], self.cases.positive[self.order.cases]
        tp, fp = (np.cumsum(np.where(of, ranked, 0.0))[self.order.ends] for of in (hit, ~hit))
        return self._chosen(tp), self._chosen(fp)

    def _chosen(self, along: FloatArray) -> FloatArray:
        points = np.concatenate((np.zeros(1), along))
        return np.append(points[self.first : self.last + 1], points[-1])

    def place(self, point: Point, weights: FloatArray) -> int | None:
        """The point among those that can be chosen; None where a class has no weight."""
        tp, fp = self.totals(weights)
        if not (tp[-1] > 0 and fp[-1] > 0):
            return None
        return point.place(tp[:-1] / tp[-1], fp[:-1] / fp[-1])

    def threshold(self, place: int) -> float:
        """The score from which cases are accepted, with larger scores better; infinite where none is."""
        number = self.first + place
        return math.inf if number == 0 else float(self.order.better[number - 1])


def ladders(aligned: Aligned) -> list[Ladder]:
    """Of every run."""
    check_classes("--at", ("positive", "negative"), aligned.positive)
    return [Ladder(cases, Order.of(cases.better)) for cases in cases_of(aligned)]


class OperatingForm(Form):
    """A measure of the outcomes at a threshold that is set anew for every set of weights."""

    smooth = linearises = False

    def __init__(self, name: str, aligned: Aligned, point: Point) -> None:
        measure = MEASURES[name]
        self.name, self.bounds, self.larger_is_better = name, measure.bounds, measure.larger_is_better
        self.words, self.needs = f"{measure.words} at {point}", measure.needs
        self._measure, self._point, self._ladders = measure, point, ladders(aligned)

    def single(self, run: int, inside: BoolArray | None = None) -> OfWeights:
        """The threshold, and then the measure."""
        ladder = self._ladders[run]

        def of_weights(weights: FloatArray) -> float:
            place = ladder.place(self._point, weights)
            if place is None:
                return math.nan
            tp, fp = ladder.totals(weights, inside)
            with np.errstate(divide="ignore", invalid="ignore"):
                totals = np.array([tp[place], tp[-1] - tp[place], fp[place], fp[-1] - fp[place]])
                return float(self._measure.of(totals))

        return OfWeights(of_weights, bounds=self.bounds)

    def paired(self, a: int, b: int, inside: BoolArray | None = None) -> OfWeights:
        """Each at its own threshold."""
        return difference_of(self.single(a, inside), self.single(b, inside))


def chosen_form(statistic: str, point: Point | None, aligned: Aligned) -> Form:
    """The statistic, at the operating point if there is one; curves have all points in them."""
    if point is None:
        return form_of(statistic, aligned)
    if statistic not in MEASURES:
        raise UsageError(f"--statistic {statistic} is not of the outcomes at a threshold: leave out --at {point}")
    return OperatingForm(statistic, aligned, point)


@dataclass(frozen=True)
class Operated:
    """The runs decided anew, and the thresholds, in the direction of the scores; infinite where nothing is accepted."""

    point: Point
    aligned: Aligned
    thresholds: list[float]
    fpr: list[float]
    fnr: list[float]


def operate(aligned: Aligned, point: Point, weights: FloatArray) -> Operated:
    """Set each threshold by the weighted rates of all cases, and decide all outcomes again."""
    positive, accepted, thresholds, fpr, fnr = aligned.positive, [], [], [], []
    for ladder in ladders(aligned):
        place = ladder.place(point, weights)
        if place is None:
            raise UsageError(f"--at {point} needs positive and negative cases with a weight above 0")
        threshold = ladder.threshold(place)
        accepted.append(ladder.cases.better >= threshold)
        thresholds.append(threshold if ladder.cases.larger_is_better else -threshold)
        tp, fp = ladder.totals(weights)
        fpr.append(float(fp[place] / fp[-1]))
        fnr.append(float(1 - tp[place] / tp[-1]))
    outcome, success = _decided(np.stack(accepted), positive), np.stack(accepted) == positive
    counts = [_counts(row, old.ER) for row, old in zip(outcome, aligned.counts, strict=True)]
    again = replace(aligned, outcome=outcome, success=success, counts=counts)
    return Operated(point, again, thresholds, fpr, fnr)


def _decided(accepted: BoolArray, positive: BoolArray) -> Outcomes:
    """The outcomes, as places among OUTCOMES."""
    place = {outcome.value: np.int8(number) for number, outcome in enumerate(OUTCOMES)}
    of_positive, of_negative = (np.where(accepted, place[a], place[b]) for a, b in (("TP", "FN"), ("FP", "TN")))
    return np.where(positive, of_positive, of_negative)


def _counts(outcome: Outcomes, errors: int) -> Counts:
    tally = np.bincount(outcome, minlength=len(OUTCOMES)).tolist()
    return Counts(**{kind.value: count for kind, count in zip(OUTCOMES, tally, strict=True)}, ER=errors)
