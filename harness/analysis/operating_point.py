"""Compare at an operating point: each run's threshold is set by the user's criterion, on the recorded scores.

A threshold that was set on the same cases that are compared is itself an estimate. So every replicate sets its own.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.analysis.align import AlignedRuns
from harness.analysis.cells import Cell, check_classes
from harness.analysis.sampling import finite
from harness.errors import UsageError
from harness.measures import Measure, Reads, Runs, find_measure
from harness.model import Counts
from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.curves.hull import convex_hull
from harness.stats.curves.scores import Order, ScoredCases, counts_of
from harness.stats.replication.statistic import SmoothFormula, WeightsStatistic
from harness.transcript.columns import OUTCOMES

Outcomes = npt.NDArray[np.int8]
# The rates of a replicate are sums of weights: a rounding error may miss a limit that is met exactly.
_ROUNDING = 1e-12


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
class RunThresholds:
    """The thresholds of one run: its cases from best to worst, and the points that can be chosen."""

    cases: ScoredCases
    order: Order

    @property
    def first(self) -> int:
        """The strictest point that a finite threshold reaches: every threshold accepts scores of plus infinity."""
        return int(self.order.better[0] == np.inf)

    @property
    def last(self) -> int:
        """The laxest one: no threshold accepts scores of minus infinity."""
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

    def place(self, criterion: OperatingCriterion, weights: FloatArray) -> int | None:
        """The chosen point; None if a class has no weight."""
        tp, fp = self.totals(weights)
        if not (tp[-1] > 0 and fp[-1] > 0):
            return None
        return criterion.place(tp[:-1] / tp[-1], fp[:-1] / fp[-1])

    def threshold(self, place: int) -> float:
        """The score from which cases are accepted, with larger scores better; infinite if none is."""
        number = self.first + place
        return math.inf if number == 0 else float(self.order.better[number - 1])

    def slope(self, place: int, weights: FloatArray) -> float:
        """The slope of the curve's convex hull at the threshold."""
        hull = convex_hull(counts_of(replace(self.cases, weights=weights)))
        tp, fp = self.totals(weights)
        along = tp[place] / tp[-1] + fp[place] / fp[-1]
        after = int(np.searchsorted(hull.tpr + hull.fpr, along, side="left"))
        slope = float(hull.slope[min(max(after - 1, 0), hull.slope.size - 1)])
        # A vertical part of the hull gets a steep slope, not an infinite one.
        return min(slope, float(np.count_nonzero(self.cases.positive)))


def run_thresholds(runs: Runs) -> list[RunThresholds]:
    """The thresholds of every run."""
    check_classes("--at", ("positive", "negative"), runs.positive)
    return [RunThresholds(cases, Order.of(cases.better)) for cases in runs.curve_cases()]


@dataclass(frozen=True)
class _ThresholdCell:
    """A formula of the outcomes of one run, on some of its cases, at a threshold that the weights set."""

    formula: Callable[[Any], Any]
    criterion: OperatingCriterion
    run: RunThresholds
    inside: BoolArray | None

    def value(self, weights: FloatArray) -> float:
        """The value for these weights; not a number if a class has no weight."""
        place = self.run.place(self.criterion, weights)
        if place is None:
            return math.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(self.formula(self._totals(place, weights)))

    def linear(self, weights: FloatArray) -> FloatArray:
        """What each case adds (cases,) to first order; the threshold moves with the cases that it is set by.

        Along the curve, the true positive rate moves by `slope` times the false positive rate. What a case adds to the
        rate that is held fixed moves the threshold, and with it the other rate.
        """
        run, place = self.run, self.run.place(self.criterion, weights)
        if place is None:
            return np.full(weights.size, np.nan)
        positive, accepted = run.cases.positive, run.cases.better >= run.threshold(place)
        slope = run.slope(place, weights)
        counted = np.ones(weights.size) if self.inside is None else self.inside.astype(np.float64)
        own = np.stack([accepted & positive, ~accepted & positive, accepted & ~positive, ~accepted & ~positive], axis=1)
        inner_tp, inner_fp = run.totals(weights, self.inside)
        moved = np.array([slope * inner_tp[-1], -slope * inner_tp[-1], inner_fp[-1], -inner_fp[-1]])
        columns = own * counted[:, None] + self._pull(place, slope, weights)[:, None] * moved
        formula = SmoothFormula(columns, formula=self.formula, parts=4)
        return formula.derivative(self._totals(place, weights), columns)[:, 0]

    def _totals(self, place: int, weights: FloatArray) -> FloatArray:
        tp, fp = self.run.totals(weights, self.inside)
        return np.array([tp[place], tp[-1] - tp[place], fp[place], fp[-1] - fp[place]])

    def _pull(self, place: int, slope: float, weights: FloatArray) -> FloatArray:
        """How far each case moves the threshold, in false positive rate: by its deviation from the rate held fixed."""
        run, shift = self.run, self.criterion.shift(slope)
        accepted = run.cases.better >= run.threshold(place)
        tp, fp = run.totals(weights)
        of_positive = shift[0] * (accepted - tp[place] / tp[-1]) / tp[-1]
        of_negative = shift[1] * (accepted - fp[place] / fp[-1]) / fp[-1]
        return np.asarray(np.where(run.cases.positive, of_positive, of_negative))


def operating_measure(measure: Measure, criterion: OperatingCriterion) -> Measure:
    """A measure of the outcomes at a threshold that is set again for every set of weights."""
    formula, words = measure.of_totals, f"{measure.words} at {criterion}"
    if formula is None:
        raise UsageError(
            f"--statistic {measure.name} is not computed from the outcomes at a threshold: leave out --at {criterion}"
        )

    def statistic(runs: Runs, cells: Sequence[Cell]) -> WeightsStatistic:
        known = run_thresholds(runs)
        chosen = [_ThresholdCell(formula, criterion, known[run], inside) for run, inside in cells]
        return WeightsStatistic(
            lambda weights: np.array([cell.value(weights) for cell in chosen]),
            bounds=measure.bounds,
            size=len(cells),
            linear=lambda weights: np.stack([cell.linear(weights) for cell in chosen], axis=1),
            # A threshold jumps from score to score: half-samples overstate the error by a tenth or more.
            linear_first=True,
            smooth=False,
            counted=_counted(runs.positive.size, cells),
            words=words,
        )

    return replace(measure, words=words, statistic=statistic, reads=Reads.SCORE)


def _counted(cases: int, cells: Sequence[Cell]) -> FloatArray | None:
    """Which cases each cell counts, (cases, cells); None if every cell counts all cases."""
    if all(inside is None for _, inside in cells):
        return None
    everything = np.ones(cases, dtype=np.bool_)
    masks = [everything if inside is None else inside for _, inside in cells]
    return np.stack(masks, axis=1).astype(np.float64)


def chosen_measure(name: str, criterion: OperatingCriterion | None, aligned: AlignedRuns) -> Measure:
    """The measure, at the operating point if there is one."""
    measure = find_measure(name, aligned.value_names(), meanings=aligned.measure_names)
    return measure if criterion is None else operating_measure(measure, criterion)


@dataclass(frozen=True)
class OperatingResult:
    """The runs decided again, and the thresholds on the scale of the scores; infinite if nothing is accepted."""

    criterion: OperatingCriterion
    aligned: AlignedRuns
    thresholds: list[float]
    fpr: list[float]
    fnr: list[float]
    # The runs on other cases that the thresholds come from; none if they were set on these cases.
    development: list[str] = field(default_factory=list)


def set_thresholds(aligned: AlignedRuns, criterion: OperatingCriterion, weights: FloatArray) -> OperatingResult:
    """Set each threshold by the weighted rates of all cases, and decide all outcomes again."""
    return decide_again(aligned, criterion, best_thresholds(aligned, criterion, weights), weights)


def best_thresholds(aligned: AlignedRuns, criterion: OperatingCriterion, weights: FloatArray) -> list[float]:
    """The threshold of every run, with larger scores better."""
    thresholds = []
    for run in run_thresholds(aligned):
        place = run.place(criterion, weights)
        if place is None:
            raise UsageError(f"--at {criterion} needs positive and negative cases with a weight above 0")
        thresholds.append(run.threshold(place))
    return thresholds


def decide_again(
    aligned: AlignedRuns, criterion: OperatingCriterion, thresholds: Sequence[float], weights: FloatArray
) -> OperatingResult:
    """All outcomes at these thresholds, with larger scores better."""
    cases, positive = aligned.curve_cases(), aligned.positive
    # A threshold above all scores accepts nothing but what every threshold accepts.
    accepted = np.stack([one.better >= at for one, at in zip(cases, thresholds, strict=True)])
    outcome, success = _decided(accepted, positive), accepted == positive
    counts = [_counts(row, old.ER) for row, old in zip(outcome, aligned.counts, strict=True)]
    again = replace(aligned, outcome=outcome, success=success, counts=counts)
    signed = [at if one.larger_is_better else -at for one, at in zip(cases, thresholds, strict=True)]
    fpr, tpr = ([float(weights[of] @ row[of] / weights[of].sum()) for row in accepted] for of in (~positive, positive))
    return OperatingResult(criterion, again, signed, fpr, [1 - rate for rate in tpr])


def _decided(accepted: BoolArray, positive: BoolArray) -> Outcomes:
    """The outcomes, as places among OUTCOMES."""
    place = {outcome.value: np.int8(number) for number, outcome in enumerate(OUTCOMES)}
    of_positive, of_negative = (np.where(accepted, place[a], place[b]) for a, b in (("TP", "FN"), ("FP", "TN")))
    return np.where(positive, of_positive, of_negative)


def _counts(outcome: Outcomes, errors: int) -> Counts:
    tally = np.bincount(outcome, minlength=len(OUTCOMES)).tolist()
    return Counts(**{kind.value: count for kind, count in zip(OUTCOMES, tally, strict=True)}, ER=errors)


def threshold_json(operating: OperatingResult, number: int) -> dict[str, Any]:
    """The threshold of a run, its errors there, and the run on other cases that it comes from, if any."""
    return {
        "threshold": finite(operating.thresholds[number]),
        "fpr": operating.fpr[number],
        "fnr": operating.fnr[number],
        **({"development": operating.development[number]} if operating.development else {}),
    }
