"""Curves of transcripts: one for each, or for all of an algorithm, over a swept parameter or over repeated tests."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from harness.analysis.align import ACCEPTED, AlignedRuns, Run, align, names_of
from harness.analysis.curves.bands import INDEPENDENT, CurveBasis, curve_bands, least_cost, operating_point
from harness.analysis.curves.curve import Curve, MeanPoint, RequestedPoint
from harness.analysis.curves.scores import curve_elements
from harness.analysis.curves.single_run import (
    THINNED,
    ScoredRun,
    curve_columns,
    curve_of_elements,
    curve_of_scores,
    score_run,
)
from harness.analysis.run_identity import run_names
from harness.analysis.sampling import Sampling, take_sample
from harness.errors import TranscriptError, UsageError
from harness.model import plain_text
from harness.options.curves import BandMethod, CurveOptions
from harness.params import nearest
from harness.stats.arrays import BoolArray, FloatArray, IntArray, kish
from harness.stats.curves.ellipses import ellipse_of_repeats
from harness.stats.curves.roc import area, auc, average_precision, equal_error, thinned
from harness.stats.curves.scores import ClassSize, ThresholdCounts, counts_of, make_scored_cases
from harness.stats.estimate import Estimate, IntervalKind, Scale, scale_limits
from harness.stats.rates import Interval
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.statistic import WeightsStatistic
from harness.transcript.columns import number_or_nan
from harness.transcript.format import differing_params, params_text

# Ellipses along a curve: more would overlap.
MAX_ELLIPSES = 6
# How the error of a mean over repeated tests was computed, and what it is for.
METHOD = "repetitions"
TARGET = "new data of the same kind"


def make_curves(runs: Sequence[Run], options: CurveOptions, *, precise: bool = False) -> list[Curve]:
    """The curves of the transcripts; `swept` and `repeated` join those of one algorithm.

    `precise` if the average precision gets an interval too, which takes longer.
    """
    swept = options.swept
    if swept is not None and options.repeated:
        raise UsageError("--swept and --repeated exclude one another")
    if swept is not None:
        return [curve_of_sweep(group, name, swept, options) for name, group in _swept_settings(runs, swept).items()]
    if options.repeated:
        return [curve_of_repeats(group, name, options) for name, group in _by_algorithm(runs).items()]
    curves = []
    for run, name in zip(runs, names_of(runs), strict=True):
        elements = curve_elements(run.columns, run.source)
        if elements is None:
            curves.append(curve_of_scores(run, name, options, precise=precise))
        else:
            curves.append(curve_of_elements(run, elements, name, options, precise=precise))
    return curves


def _swept_settings(runs: Sequence[Run], swept: str) -> dict[str, list[Run]]:
    """Runs that differ only in the swept parameter, by a name that has their other parameters if these vary."""
    settings: dict[str, list[Run]] = {}
    for algorithm, same in _by_algorithm(runs).items():
        groups: dict[bytes, list[Run]] = {}
        for run in same:
            groups.setdefault(msgspec.json.encode(_other_params(run, swept), order="sorted"), []).append(run)
        apart = differing_params([_other_params(group[0], swept) for group in groups.values()])
        names = run_names([algorithm] * len(apart), [f"{algorithm} {params_text(params)}".rstrip() for params in apart])
        settings |= dict(zip(names, groups.values(), strict=True))
    return settings


def _other_params(run: Run, swept: str) -> dict[str, Any]:
    return {name: value for name, value in run.columns.header.params.items() if name != swept}


def _by_algorithm(runs: Sequence[Run]) -> dict[str, list[Run]]:
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.columns.header.algorithm.name, []).append(run)
    return groups


# A swept parameter: each transcript of one algorithm is a point, from its counts


@dataclass(frozen=True, eq=False)
class SweepRuns:
    """The runs of one algorithm on the same cases: what each accepted, and the value of the parameter."""

    accepted: BoolArray
    positive: BoolArray
    weights: FloatArray
    values: list[str]
    sampling: Sampling

    def rates(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """fpr and tpr of each setting, for some weights of the cases."""
        both = []
        for of in (~self.positive, self.positive):
            within = np.where(of, weights, 0.0)
            both.append(np.asarray(self.accepted @ within / within.sum()))
        return both[0], both[1]


def curve_of_sweep(runs: Sequence[Run], name: str, param: str, options: CurveOptions) -> Curve:
    """One algorithm at several values of a parameter, on the same cases."""
    for run in runs:
        params = run.columns.header.params
        if param not in params:
            raise UsageError(f"--swept {param}: {run.source} has no such parameter; {nearest(param, params)}")
    values = [plain_text(run.columns.header.params[param]) for run in runs]
    if len(set(values)) < 2:
        raise TranscriptError(f"{runs[0].source}: {name} has only one value of '{param}'; a curve needs two or more")
    aligned = align(runs, partial=options.partial)
    settings = _sweep_runs(aligned, values, options)
    fpr, tpr = settings.rates(settings.weights)
    order = np.lexsort((tpr, fpr))
    front = _front(fpr, tpr)
    counts = _front_counts(fpr[front], tpr[front], [values[i] for i in front], settings)
    low, high, bands, target = _sweep_bands(settings, options)
    if any(at.of == "threshold" for at in options.at):
        raise UsageError("--at threshold= cannot be used with --swept: each point is a setting; use fpr= or fnr=")
    return Curve(
        name=name,
        sizes={"positives": counts.positives.cases, "negatives": counts.negatives.cases},
        summaries={
            "auc": _front_area(settings, auc(counts), options),
            "eer": Estimate(equal_error(counts).rate, math.nan, math.nan, None),
            "average_precision": Estimate(average_precision(counts), math.nan, math.nan, None),
        },
        summary_target=settings.sampling.target if settings.sampling.known else INDEPENDENT,
        columns={column: rows[order] for column, rows in _sweep_columns(settings, fpr, tpr, low, high).items()},
        bands=bands,
        target=target,
        stratum=settings.sampling.stratum,
        counts=counts,
        whole=len(runs),
        requested=[RequestedPoint(at, operating_point(counts, at)) for at in options.at],
        cost=least_cost(counts, options.cost),
        notes=_sweep_notes(param, len(runs), front.size),
        param=param,
        values=[values[i] for i in order],
    )


def _sweep_runs(aligned: AlignedRuns, values: list[str], options: CurveOptions) -> SweepRuns:
    sampling = take_sample(aligned, options)
    accepted = np.asarray(ACCEPTED[aligned.outcome])
    for kind, of in (("positive", aligned.positive), ("negative", ~aligned.positive)):
        if not (of & (sampling.sample.weights > 0)).any():
            raise TranscriptError(f"{aligned.names[0]}: no {kind} case; a curve needs positive and negative cases")
    return SweepRuns(accepted, aligned.positive, sampling.sample.weights, values, sampling)


def _front(fpr: FloatArray, tpr: FloatArray) -> IntArray:
    """Settings that no other beats in one rate without losing in the other, from the strictest to the laxest."""
    order = np.lexsort((-tpr, fpr))
    before = np.maximum.accumulate(np.concatenate(([0.0], tpr[order][:-1])))
    front = order[tpr[order] > before]
    return np.asarray(front[(fpr[front] < 1) | (tpr[front] < 1)])


def _front_counts(fpr: FloatArray, tpr: FloatArray, values: list[str], sweep_runs: SweepRuns) -> ThresholdCounts:
    """The front as a curve from (0, 0) to (1, 1)."""
    ends = np.array([0.0]), np.array([1.0])
    sizes = []
    for of in (sweep_runs.positive, ~sweep_runs.positive):
        weights = sweep_runs.weights[of]
        sizes.append(ClassSize(int(np.count_nonzero(of)), float(weights.sum()), float(kish(weights))))
    return ThresholdCounts(
        threshold=np.array([np.inf, *map(number_or_nan, values), -np.inf]),
        tp=np.concatenate((ends[0], tpr, ends[1])) * sizes[0].weight,
        fp=np.concatenate((ends[0], fpr, ends[1])) * sizes[1].weight,
        positives=sizes[0],
        negatives=sizes[1],
        larger_is_better=True,
        opened=True,
        closed=True,
    )


def _sweep_columns(
    sweep_runs: SweepRuns, fpr: FloatArray, tpr: FloatArray, low: FloatArray, high: FloatArray
) -> dict[str, FloatArray]:
    classes = (sweep_runs.positive, ~sweep_runs.positive)
    tp, fp = (sweep_runs.accepted @ np.where(of, sweep_runs.weights, 0.0) for of in classes)
    none = np.full(tpr.size, np.nan)
    return {
        "threshold": np.array([*map(number_or_nan, sweep_runs.values)]),
        "tpr": tpr,
        "fpr": fpr,
        "fnr": 1 - tpr,
        "precision": np.divide(tp, tp + fp, out=np.ones_like(tp), where=tp + fp > 0),
        "low": low,
        "high": high,
        "low_at_fpr": none,
        "high_at_fpr": none,
    }


def _sweep_bands(sweep_runs: SweepRuns, options: CurveOptions) -> tuple[FloatArray, FloatArray, str, str]:
    """Limits of each setting's tpr, as for a curve with two scores, accepted and refused."""
    low, high = np.full((2, len(sweep_runs.values)), np.nan)
    method = target = ""
    for i, accepted in enumerate(sweep_runs.accepted):
        cases = make_scored_cases(accepted, sweep_runs.positive, weights=sweep_runs.weights)
        counts = counts_of(cases)
        at = np.flatnonzero(counts.threshold == 1)
        if not at.size:
            # Nothing is accepted: the same limits as at the start of the curve.
            at = np.array([0])
        limits = curve_bands(CurveBasis(cases, sweep_runs.sampling, None, options), counts, at)
        if limits is None:
            return low, high, "", ""
        low[i], high[i] = limits.tpr.low[0], limits.tpr.high[0]
        method = limits.tpr.method
        target = sweep_runs.sampling.target if sweep_runs.sampling.known else limits.tpr.target
    return low, high, method, target


def _front_area(sweep_runs: SweepRuns, value: float, options: CurveOptions) -> Estimate:
    """The area under the front, which every replicate computes again."""
    if options.bands is BandMethod.NONE:
        return Estimate(value, math.nan, math.nan, None)

    def of_weights(weights: FloatArray) -> float:
        if not ((weights * sweep_runs.positive).any() and (weights * ~sweep_runs.positive).any()):
            return float("nan")
        fpr, tpr = sweep_runs.rates(weights)
        front = _front(fpr, tpr)
        x, y = (np.concatenate(([0.0], rates[front], [1.0])) for rates in (fpr, tpr))
        return float(area(y, x))

    statistic = WeightsStatistic(
        of_weights, bounds=(0.0, 1.0), classes=sweep_runs.positive, words="area under the front"
    )
    replication = Replication(confidence=options.confidence, seed=options.seed)
    return replace(make_estimate(sweep_runs.sampling.sample, statistic, replication), value=value)


def _sweep_notes(param: str, runs: int, front: int) -> list[str]:
    notes = [
        f"{runs} values of {param}, one point each; the curve is closed by straight lines to (0, 0) and (1, 1), which "
        "its area and its equal error rate include"
    ]
    if front < runs:
        notes.append(
            f"{runs - front} of the settings are no better in either rate than another: the area leaves them out"
        )
    return notes


# Several tests of one algorithm on different data: mean points, with the spread between the tests as their error


def curve_of_repeats(runs: Sequence[Run], name: str, options: CurveOptions) -> Curve:
    """The mean curve, threshold by threshold, of two or more tests."""
    _check_repeats(runs, name)
    scored = [score_run(run, name, options) for run in runs]
    if len({run.scored.larger_is_better for run in scored}) > 1:
        raise TranscriptError(f"{name}: similarities in one test, distances in another; they have no mean")
    thresholds = _pooled_thresholds(scored, options)
    fpr, tpr = (np.stack(rates) for rates in zip(*(_rates_at(run.counts, thresholds) for run in scored), strict=True))
    counts = _mean_counts(scored, thresholds, fpr, tpr)
    low, high = _mean_limits(tpr, options)
    return Curve(
        name=name,
        sizes={"positives": counts.positives.cases, "negatives": counts.negatives.cases},
        summaries={
            "auc": _mean(np.array([auc(run.counts) for run in scored]), options),
            "eer": _mean(np.array([equal_error(run.counts).rate for run in scored]), options),
            "average_precision": _mean(np.array([average_precision(run.counts) for run in scored]), options),
        },
        summary_target=TARGET,
        eer_threshold=equal_error(counts).threshold,
        columns=curve_columns(counts, np.arange(thresholds.size), None, None) | {"low": low, "high": high},
        bands="" if options.bands is BandMethod.NONE else METHOD,
        target=TARGET,
        counts=counts,
        whole=thresholds.size,
        requested=[RequestedPoint(at, operating_point(counts, at)) for at in options.at],
        cost=least_cost(counts, options.cost),
        notes=_repeat_notes(runs, counts),
        repetitions=len(runs),
        means=_mean_points(thresholds, fpr, tpr, counts, options),
    )


def _check_repeats(runs: Sequence[Run], name: str) -> None:
    first = runs[0].columns.header
    if (elements := curve_elements(runs[0].columns, runs[0].source)) is not None:
        raise UsageError(f"--repeated: {name} has scores of {elements.words}; leave it out for a curve for each run")
    for run in runs[1:]:
        if run.columns.header.params != first.params:
            raise TranscriptError(
                f"{run.source}: its parameters differ from those of {runs[0].source}; --repeated is for one algorithm "
                "on different data, --swept PARAM for one algorithm with different parameters"
            )
    if len(runs) < 2:
        raise TranscriptError(
            f"{runs[0].source}: the only transcript of {name}; --repeated needs two or more, on different data"
        )


def _pooled_thresholds(scored: Sequence[ScoredRun], options: CurveOptions) -> FloatArray:
    """Thresholds of the pooled scores, spread evenly along their curve."""
    scores = np.concatenate([run.scored.scores for run in scored])
    positive = np.concatenate([run.scored.positive for run in scored])
    pooled = counts_of(make_scored_cases(scores, positive, larger_is_better=scored[0].scored.larger_is_better))
    limit = pooled.threshold.size if options.points == 0 else max(2, options.points or THINNED)
    return pooled.threshold[thinned(pooled, limit)]


def _rates_at(counts: ThresholdCounts, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both rates of one test at the common thresholds; the first accepts nothing."""
    sign = 1.0 if counts.larger_is_better else -1.0
    accepted = np.searchsorted(-sign * counts.threshold[1:], -sign * thresholds[1:], side="right")
    index = np.concatenate(([0], accepted))
    return counts.fpr[index], counts.tpr[index]


def _mean_counts(
    scored: Sequence[ScoredRun], thresholds: FloatArray, fpr: FloatArray, tpr: FloatArray
) -> ThresholdCounts:
    sizes = [
        ClassSize(sum(s.cases for s in of), sum(s.weight for s in of), sum(s.effective for s in of))
        for of in ([run.counts.positives for run in scored], [run.counts.negatives for run in scored])
    ]
    return ThresholdCounts(
        threshold=thresholds,
        tp=tpr.mean(axis=0) * sizes[0].weight,
        fp=fpr.mean(axis=0) * sizes[1].weight,
        positives=sizes[0],
        negatives=sizes[1],
        larger_is_better=scored[0].scored.larger_is_better,
        opened=any(run.counts.opened for run in scored),
        closed=any(run.counts.closed for run in scored),
    )


def _mean(values: FloatArray, options: CurveOptions) -> Estimate:
    """The mean over tests, each of them a unit, with Student's t."""
    se = float(values.std(ddof=1)) / math.sqrt(values.size)
    scale, df = Scale(IntervalKind.PLAIN, (0.0, 1.0)), values.size - 1.0
    limits = scale_limits(scale, float(values.mean()), se, df, options.confidence)
    interval = Interval(float(limits.low), float(limits.high))
    return Estimate(float(values.mean()), se, df, interval, options.confidence, METHOD, units=values.size, scale=scale)


def _mean_limits(tpr: FloatArray, options: CurveOptions) -> tuple[FloatArray, FloatArray]:
    if options.bands is BandMethod.NONE:
        none = np.full(tpr.shape[1], np.nan)
        return none, none
    se, df = tpr.std(axis=0, ddof=1) / math.sqrt(len(tpr)), len(tpr) - 1.0
    limits = scale_limits(Scale(IntervalKind.PLAIN, (0.0, 1.0)), tpr.mean(axis=0), se, df, options.confidence)
    # If all tests agree, the mean has no spread and its interval is a point.
    mean = tpr.mean(axis=0)
    return np.where(se > 0, limits.low, mean), np.where(se > 0, limits.high, mean)


def _mean_points(
    thresholds: FloatArray, fpr: FloatArray, tpr: FloatArray, counts: ThresholdCounts, options: CurveOptions
) -> list[MeanPoint]:
    """Mean points along the curve without its ends, with ellipses if three or more tests vary."""
    chosen = thinned(counts, MAX_ELLIPSES + 2)[1:-1].tolist()
    means = []
    for i in chosen:
        if not np.isfinite(thresholds[i]):
            continue
        points = np.stack([fpr[:, i], tpr[:, i]], axis=1)
        ellipse = None
        if len(points) > 2 and points.std(axis=0).any():
            ellipse = ellipse_of_repeats(points, confidence=options.confidence)
        means.append(MeanPoint(float(thresholds[i]), float(counts.fpr[i]), float(counts.tpr[i]), ellipse))
    return means


def _repeat_notes(runs: Sequence[Run], counts: ThresholdCounts) -> list[str]:
    notes = [f"mean of {len(runs)} tests at the same thresholds; intervals are Student's t over the tests"]
    if len(runs) < 3:
        notes.append("error ellipses need three or more tests")
    if len({run.columns.header.test.digest for run in runs}) < len(runs):
        notes.append("some of the tests have the same data: their spread is that of the algorithm, not of new data")
    if counts.closed:
        notes.append("some cases are accepted by no threshold: the curve is closed by a straight line to (1, 1)")
    return notes
