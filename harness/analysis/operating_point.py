"""Compare at an operating point: each run's threshold is set by the user's criterion, on the recorded scores.

A threshold that was set on the same cases that are compared is itself an estimate. So every replicate sets its own.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from harness.analysis.align import AlignedRuns, count_outcomes, outcome_codes
from harness.analysis.cells import Cell
from harness.analysis.run_thresholds import ChosenPoint, OperatingCriterion, RunThresholds, run_thresholds
from harness.analysis.sampling import finite
from harness.errors import UsageError
from harness.measures import Measure, Reads, Runs
from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.replication.statistic import SmoothFormula, WeightsStatistic


@dataclass(frozen=True)
class _ThresholdCell:
    """A formula of the outcomes of one run, on some of its cases, at a threshold that the weights set."""

    formula: Callable[[Any], Any]
    criterion: OperatingCriterion
    run: RunThresholds
    inside: BoolArray | None

    def value(self, weights: FloatArray) -> float:
        """The value for these weights; not a number if a class has no weight."""
        point = self.run.choose(self.criterion, weights)
        if point is None:
            return math.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(self.formula(self._totals(point, weights)))

    def linear(self, weights: FloatArray) -> FloatArray:
        """What each case adds (cases,) to first order; the threshold moves with the cases that it is set by.

        Along the curve, the true positive rate moves by `slope` times the false positive rate. What a case adds to the
        rate that is held fixed moves the threshold, and with it the other rate.
        """
        run, point = self.run, self.run.choose(self.criterion, weights)
        if point is None:
            return np.full(weights.size, np.nan)
        slope, totals = run.slope(point, weights), self._totals(point, weights)
        # Everything about a case depends on its outcome only, in the order of the totals.
        one_each = np.eye(4)
        own = SmoothFormula(one_each, formula=self.formula, parts=4).derivative(totals, one_each)[:, 0]
        positives, negatives = totals[:2].sum(), totals[2:].sum()
        moved = own @ np.array([slope * positives, -slope * positives, negatives, -negatives])
        pulled = moved * self._pull(point, slope, weights)
        accepted = run.cases.better >= point.threshold
        outcome = np.where(run.cases.positive, np.where(accepted, 0, 1), np.where(accepted, 2, 3))
        inside = np.asarray((own + pulled)[outcome])
        return inside if self.inside is None else np.where(self.inside, inside, pulled[outcome])

    def _totals(self, point: ChosenPoint, weights: FloatArray) -> FloatArray:
        """The weights of the outcomes inside."""
        accepted, positive = self.run.cases.better >= point.threshold, self.run.cases.positive
        counted = weights if self.inside is None else weights * self.inside
        kinds = (accepted & positive, ~accepted & positive, accepted & ~positive, ~(accepted | positive))
        return np.array([float(counted @ kind) for kind in kinds])

    def _pull(self, point: ChosenPoint, slope: float, weights: FloatArray) -> FloatArray:
        """How far a case of each outcome moves the threshold, in false positive rate.

        It is by the deviation of the case from the rate that is held fixed.
        """
        shift, positive = self.criterion.shift(slope), self.run.cases.positive
        of_positive = shift[0] * np.array([1 - point.tpr, -point.tpr]) / float(weights @ positive)
        of_negative = shift[1] * np.array([1 - point.fpr, -point.fpr]) / float(weights @ ~positive)
        return np.concatenate((of_positive, of_negative))


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
    measure = aligned.measure(name)
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
        point = run.choose(criterion, weights)
        if point is None:
            raise UsageError(f"--at {criterion} needs positive and negative cases with a weight above 0")
        thresholds.append(point.threshold)
    return thresholds


def decide_again(
    aligned: AlignedRuns, criterion: OperatingCriterion, thresholds: Sequence[float], weights: FloatArray
) -> OperatingResult:
    """All outcomes at these thresholds, with larger scores better."""
    cases, positive = aligned.curve_cases(), aligned.positive
    # A threshold above all scores accepts nothing but what every threshold accepts.
    accepted = np.stack([one.better >= at for one, at in zip(cases, thresholds, strict=True)])
    outcome, success = outcome_codes(accepted, positive), accepted == positive
    counts = [count_outcomes(row, errors=old.ER) for row, old in zip(outcome, aligned.counts, strict=True)]
    again = replace(aligned, outcome=outcome, success=success, counts=counts)
    signed = [at if one.larger_is_better else -at for one, at in zip(cases, thresholds, strict=True)]
    fpr, tpr = ([float(weights @ (row & of) / (weights @ of)) for row in accepted] for of in (~positive, positive))
    return OperatingResult(criterion, again, signed, fpr, [1 - rate for rate in tpr])


def threshold_json(operating: OperatingResult, number: int) -> dict[str, Any]:
    """The threshold of a run, its errors there, and the run on other cases that it comes from, if any."""
    return {
        "threshold": finite(operating.thresholds[number]),
        "fpr": operating.fpr[number],
        "fnr": operating.fnr[number],
        **({"development": operating.development[number]} if operating.development else {}),
    }
