"""Compare at an operating point: each run's threshold is set by the user's criterion, on recorded scores.

A threshold that was set on the same cases that are compared is itself an estimate. So every replicate sets its own.

Or it was set on a development run, of other cases, as the evaluation of biometrics has it (Bengio and Mariethoz 2004):
a threshold that was set on the cases that are evaluated makes a program look better than it would be in use. What is
then estimated is the rate at this threshold; how the threshold might have turned out otherwise is no part of it.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.analysis.align import AlignedRuns, Run, align, count_outcomes, outcome_codes
from harness.analysis.cells import check_classes
from harness.analysis.sampling import Sampling, take_sample
from harness.errors import UsageError
from harness.measures import Measure, Reads, Runs
from harness.measures.curves import require_scored_cases
from harness.options import DesignOptions, OperatingOptions
from harness.options.comparing import CompareOptions, RateOptions
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.curves.roc import convex_hull
from harness.stats.curves.scores import Order, ScoredCases, counts_of
from harness.stats.replication.statistic import SmoothFormula, WeightsStatistic, counted_cases

if TYPE_CHECKING:
    from harness.measures.measure import Cell

# The rates of a replicate are sums of weights: a rounding error may miss a limit that is met exactly.
_ROUNDING = 1e-12
# Cases are added up in about this many bins first.
_BINS = 1024


@dataclass(frozen=True)
class OperatingCriterion:
    """Where on its curve a run operates: at equal errors, or at the laxest (strictest) threshold within a limit."""

    at: str
    limit: float = 0.0

    def index(self, tpr: FloatArray, fpr: FloatArray) -> int:
        """Which of the thresholds, from the strictest to the laxest."""
        if self.at == "fpr":
            return max(int(np.searchsorted(fpr, self.limit + _ROUNDING, side="right")) - 1, 0)
        if self.at == "fnr":
            within = 1 - tpr <= self.limit + _ROUNDING
            return int(np.argmax(within)) if within.any() else len(tpr) - 1
        # Two thresholds can be equally near; the choice must not depend on rounding.
        return int(np.argmin(np.round(np.abs(1 - tpr - fpr), 12)))

    def crossing(self, tpr: FloatArray, fpr: FloatArray) -> int:
        """The first of the thresholds that is laxer than what `index` may choose from all between; else their number.

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
        return self.tp / self.positives

    @property
    def fpr(self) -> FloatArray:
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
        return self.cases.order

    def choose(self, criterion: OperatingCriterion, weights: FloatArray) -> ChosenPoint | None:
        """The point that the criterion chooses; None if a class has no weight.

        Sums over bins of cases show in which bin it is, and only the cases there are added up one by one.
        """
        sums = np.bincount(self._bins, weights=weights, minlength=2 * len(self._edges) + 2).reshape(-1, 2)
        fp, tp = np.cumsum(sums, axis=0).T
        points = _Points(self._edges, tp[:-1], fp[:-1], float(tp[-1]), float(fp[-1]))
        if not (points.positives > 0 and points.negatives > 0):
            return None
        points = self._refined(points, criterion.crossing(points.tpr, points.fpr), weights)
        # If several points are equally good, the first of them may be in the bin before.
        points = self._refined(points, criterion.index(points.tpr, points.fpr), weights)
        index = criterion.index(points.tpr, points.fpr)
        number = int(points.numbers[index])
        threshold = math.inf if number == 0 else float(self.order.better[number - 1])
        return ChosenPoint(threshold, float(points.tpr[index]), float(points.fpr[index]))

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

    def _refined(self, points: _Points, index: int, weights: FloatArray) -> _Points:
        """With all points between that of this index and the one before."""
        if not 0 < index < len(points.numbers):
            return points
        before, at = points.numbers[index - 1 : index + 1]
        start, stop = self._accepted(np.array([before, at]))
        cases, ends = self.order.cases[start:stop], self.order.ends[before : at - 1] - start
        ranked, hit = weights[cases], self.cases.positive[cases]
        tp, fp = (np.cumsum(np.where(of, ranked, 0.0))[ends] for of in (hit, ~hit))
        return replace(
            points,
            numbers=np.insert(points.numbers, index, np.arange(before + 1, at)),
            tp=np.insert(points.tp, index, points.tp[index - 1] + tp),
            fp=np.insert(points.fp, index, points.fp[index - 1] + fp),
        )


def run_thresholds(runs: Runs) -> list[RunThresholds]:
    """The thresholds of every run."""
    check_classes("--at", ("positive", "negative"), runs.positive)
    require_scored_cases("--at", runs, "hate roc --at sets a threshold for pixels")
    return [RunThresholds(cases) for cases in runs.curve_cases()]


# A measure at the operating point


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
        direct = SmoothFormula(one_each, formula=self.formula, parts=4).derivative(totals, one_each)[:, 0]
        positives, negatives = totals[:2].sum(), totals[2:].sum()
        moved = direct @ np.array([slope * positives, -slope * positives, negatives, -negatives])
        pulled = moved * self._threshold_shift(point, slope, weights)
        accepted = run.cases.better >= point.threshold
        outcome = np.where(run.cases.positive, np.where(accepted, 0, 1), np.where(accepted, 2, 3))
        inside = np.asarray((direct + pulled)[outcome])
        return inside if self.inside is None else np.where(self.inside, inside, pulled[outcome])

    def _totals(self, point: ChosenPoint, weights: FloatArray) -> FloatArray:
        """The weights of the outcomes inside."""
        accepted, positive = self.run.cases.better >= point.threshold, self.run.cases.positive
        counted = weights if self.inside is None else weights * self.inside
        kinds = (accepted & positive, ~accepted & positive, accepted & ~positive, ~(accepted | positive))
        return np.array([float(counted @ kind) for kind in kinds])

    def _threshold_shift(self, point: ChosenPoint, slope: float, weights: FloatArray) -> FloatArray:
        """How far a case of each outcome moves the threshold, in false positive rate.

        It is by the deviation of the case from the rate that is held fixed.
        """
        shift, positive = self.criterion.shift(slope), self.run.cases.positive
        of_positive = shift[0] * np.array([1 - point.tpr, -point.tpr]) / float(weights @ positive)
        of_negative = shift[1] * np.array([1 - point.fpr, -point.fpr]) / float(weights @ ~positive)
        return np.concatenate((of_positive, of_negative))


def operating_measure(measure: Measure, criterion: OperatingCriterion) -> Measure:
    """A measure of the outcomes at a threshold that is set again for every set of weights."""
    formula, words = _formula(measure, criterion), f"{measure.words} at {criterion}"

    def statistic(runs: Runs, cells: Sequence["Cell"]) -> WeightsStatistic:
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
            counted=counted_cases([inside for _, inside in cells]),
            words=words,
        )

    return replace(measure, words=words, statistic=statistic, reads=Reads.SCORE)


def _formula(measure: Measure, criterion: OperatingCriterion) -> Callable[[Any], Any]:
    """The formula over the outcomes; a UsageError for a measure that has none."""
    if measure.of_totals is None:
        raise UsageError(
            f"--statistic {measure.name} is not computed from the outcomes at a threshold: leave out --at {criterion}"
        )
    return measure.of_totals


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


def _best_thresholds(aligned: AlignedRuns, criterion: OperatingCriterion, weights: FloatArray) -> list[float]:
    """The threshold of every run, with larger scores better."""
    thresholds = []
    for run in run_thresholds(aligned):
        point = run.choose(criterion, weights)
        if point is None:
            raise UsageError(f"--at {criterion} needs positive and negative cases with a weight above 0")
        thresholds.append(point.threshold)
    return thresholds


def _decide_again(
    aligned: AlignedRuns, criterion: OperatingCriterion, thresholds: Sequence[float], weights: FloatArray
) -> OperatingResult:
    """All outcomes at these thresholds, with larger scores better."""
    cases, positive = aligned.curve_cases(), aligned.positive
    # A threshold above all scores accepts nothing but what every threshold accepts.
    accepted = np.stack([run.better >= at for run, at in zip(cases, thresholds, strict=True)])
    outcome, success = outcome_codes(accepted, positive), accepted == positive
    counts = [count_outcomes(row, errors=old.ER) for row, old in zip(outcome, aligned.counts, strict=True)]
    again = replace(aligned, outcome=outcome, success=success, counts=counts)
    signed = [at if run.larger_is_better else -at for run, at in zip(cases, thresholds, strict=True)]
    fpr, tpr = ([float(weights @ (row & of) / (weights @ of)) for row in accepted] for of in (~positive, positive))
    return OperatingResult(criterion, again, signed, fpr, [1 - rate for rate in tpr])


# On these cases, or on those of a development run


def criterion_of(options: OperatingOptions) -> OperatingCriterion | None:
    """The operating point that `--at` names; None if outcomes stay as they are."""
    if options.at is None and options.development:
        raise UsageError("--development sets thresholds: say where, with --at eer or --at fpr=0.01")
    return None if options.at is None else parse_criterion(options.at)


def measure_at(name: str, aligned: AlignedRuns, options: OperatingOptions, development: Sequence[Run]) -> Measure:
    """A measure by name, at the operating point if there is one.

    At a threshold from the development runs it is that of the outcomes.
    """
    criterion, measure = criterion_of(options), aligned.measure(name)
    if criterion is None:
        return measure
    if not development:
        return operating_measure(measure, criterion)
    _formula(measure, criterion)
    return replace(measure, words=f"{measure.words} at a development run's {criterion}")


def decided_at(
    aligned: AlignedRuns, sampling: Sampling, options: CompareOptions | RateOptions, development: Sequence[Run]
) -> OperatingResult | None:
    """All outcomes decided again at the operating point, on the development runs if there are any; None without one."""
    criterion, weights = criterion_of(options), sampling.sample.weights
    if criterion is None:
        return None
    if not development:
        return _decide_again(aligned, criterion, _best_thresholds(aligned, criterion, weights), weights)
    chosen = [_development_run(header.algorithm.name, development) for header in aligned.headers]
    thresholds = list[float]()
    for run in chosen:
        alone = align([run])
        _check_other_cases(aligned, alone, run.source)
        # Units do not matter for a threshold.
        only = DesignOptions(stratum=options.stratum, psu=("none",), weights=options.weights, lone=options.lone)
        thresholds += _best_thresholds(alone, criterion, take_sample(alone, only).sample.weights)
    result = _decide_again(aligned, criterion, thresholds, weights)
    return replace(result, development=[run.source for run in chosen])


def _development_run(name: str, development: Sequence[Run]) -> Run:
    matches = [run for run in development if run.columns.header.algorithm.name == name]
    if len(matches) != 1:
        names = ", ".join(run.columns.header.algorithm.name for run in development)
        what = "none is" if not matches else f"{len(matches)} are"
        raise UsageError(f"--development: {what} a run of {name}; name one for each algorithm (these are of {names})")
    return matches[0]


def _check_other_cases(aligned: AlignedRuns, other: AlignedRuns, source: str) -> None:
    """A development run of the test itself may not have its cases; ids of another test mean nothing here."""
    test, set_on = aligned.headers[0].test, other.headers[0].test
    if (test.task, test.rules.larger_is_better) != (set_on.task, set_on.rules.larger_is_better):
        raise UsageError(f"--development {source}: its scores mean something else than those of {test.name}")
    shared = set(aligned.ids) & set(other.ids) if test.name == set_on.name else set()
    if shared:
        raise UsageError(
            f"--development {source}: case '{min(shared)}' is evaluated too; a threshold is set on other cases "
            "(without --development, --at sets it on the same ones and allows for that)"
        )
