"""Several tests of one algorithm on different data: mean points, with the spread between the tests as their error."""

import math
from collections.abc import Sequence

import numpy as np

from harness.analysis.align import Run
from harness.analysis.curve import Curve, MeanPoint, RequestedPoint
from harness.analysis.curve_bands import least_cost, operating_point
from harness.analysis.score_curve import THINNED, ScoredRun, score_run
from harness.errors import TranscriptError
from harness.options.curves import BandMethod, CurveOptions
from harness.stats.arrays import FloatArray
from harness.stats.curves.area import auc
from harness.stats.curves.ellipses import ellipse_of_repeats
from harness.stats.curves.points import average_precision, equal_error, thinned
from harness.stats.curves.scores import ClassSize, ThresholdCounts, counts_of, make_scored_cases
from harness.stats.estimate import Estimate, IntervalKind, Scale, scale_limits
from harness.stats.rates import Interval

# Ellipses along a curve: more would overlap.
ELLIPSES = 6
METHOD = "repetitions"
TARGET = "new data of the same kind"


def curve_of_repeats(runs: Sequence[Run], name: str, options: CurveOptions) -> Curve:
    """The mean curve, threshold by threshold, of two or more tests."""
    if len(runs) < 2:
        raise TranscriptError(
            f"{runs[0].source}: the only transcript of {name}; --repeated needs two or more, on different data"
        )
    scored = [score_run(run, name, options) for run in runs]
    if len({one.scored.larger_is_better for one in scored}) > 1:
        raise TranscriptError(f"{name}: similarities in one test, distances in another; they have no mean")
    thresholds = _thresholds(scored, options)
    fpr, tpr = (np.stack(rates) for rates in zip(*(_rates(one.counts, thresholds) for one in scored), strict=True))
    counts = _mean_counts(scored, thresholds, fpr, tpr)
    low, high = _limits(tpr, options)
    none = np.full(thresholds.size, np.nan)
    return Curve(
        name=name,
        sizes={"positives": counts.positives.cases, "negatives": counts.negatives.cases},
        summaries={
            "auc": _mean(np.array([auc(one.counts) for one in scored]), options),
            "eer": _mean(np.array([equal_error(one.counts).rate for one in scored]), options),
            "average_precision": _mean(np.array([average_precision(one.counts) for one in scored]), options),
        },
        summary_target=TARGET,
        eer_threshold=equal_error(counts).threshold,
        columns={
            "threshold": thresholds,
            "tpr": counts.tpr,
            "fpr": counts.fpr,
            "fnr": counts.fnr,
            "precision": counts.precision,
            "low": low,
            "high": high,
            "low_at_fpr": none,
            "high_at_fpr": none,
        },
        bands="" if options.bands is BandMethod.NONE else METHOD,
        target=TARGET,
        counts=counts,
        whole=thresholds.size,
        requested=[RequestedPoint(at, operating_point(counts, at)) for at in options.at],
        cost=least_cost(counts, options.cost),
        notes=_notes(runs, counts),
        repetitions=len(runs),
        means=_means(thresholds, fpr, tpr, counts, options),
    )


def _thresholds(scored: Sequence[ScoredRun], options: CurveOptions) -> FloatArray:
    """Thresholds of the pooled scores, spread evenly along their curve."""
    scores = np.concatenate([one.scored.scores for one in scored])
    positive = np.concatenate([one.scored.positive for one in scored])
    pooled = counts_of(make_scored_cases(scores, positive, larger_is_better=scored[0].scored.larger_is_better))
    limit = pooled.threshold.size if options.points == 0 else max(2, options.points or THINNED)
    return pooled.threshold[thinned(pooled, limit)]


def _rates(counts: ThresholdCounts, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both rates of one test at the common thresholds; the first accepts nothing."""
    sign = 1.0 if counts.larger_is_better else -1.0
    place = np.searchsorted(-sign * counts.threshold[1:], -sign * thresholds[1:], side="right")
    place = np.concatenate(([0], place))
    return counts.fpr[place], counts.tpr[place]


def _mean_counts(
    scored: Sequence[ScoredRun], thresholds: FloatArray, fpr: FloatArray, tpr: FloatArray
) -> ThresholdCounts:
    sizes = [
        ClassSize(sum(s.cases for s in of), sum(s.weight for s in of), sum(s.effective for s in of))
        for of in ([one.counts.positives for one in scored], [one.counts.negatives for one in scored])
    ]
    return ThresholdCounts(
        threshold=thresholds,
        tp=tpr.mean(axis=0) * sizes[0].weight,
        fp=fpr.mean(axis=0) * sizes[1].weight,
        positives=sizes[0],
        negatives=sizes[1],
        larger_is_better=scored[0].scored.larger_is_better,
        opened=any(one.counts.opened for one in scored),
        closed=any(one.counts.closed for one in scored),
    )


def _mean(values: FloatArray, options: CurveOptions) -> Estimate:
    """The mean over tests, each of them a unit, with Student's t."""
    se = float(values.std(ddof=1)) / math.sqrt(values.size)
    scale, df = Scale(IntervalKind.PLAIN, (0.0, 1.0)), values.size - 1.0
    limits = scale_limits(scale, float(values.mean()), se, df, options.confidence)
    interval = Interval(float(limits.low), float(limits.high))
    return Estimate(float(values.mean()), se, df, interval, options.confidence, METHOD, units=values.size, scale=scale)


def _limits(tpr: FloatArray, options: CurveOptions) -> tuple[FloatArray, FloatArray]:
    if options.bands is BandMethod.NONE:
        none = np.full(tpr.shape[1], np.nan)
        return none, none
    se, df = tpr.std(axis=0, ddof=1) / math.sqrt(len(tpr)), len(tpr) - 1.0
    limits = scale_limits(Scale(IntervalKind.PLAIN, (0.0, 1.0)), tpr.mean(axis=0), se, df, options.confidence)
    # If all tests agree, the mean has no spread and its interval is a point.
    mean = tpr.mean(axis=0)
    return np.where(se > 0, limits.low, mean), np.where(se > 0, limits.high, mean)


def _means(
    thresholds: FloatArray, fpr: FloatArray, tpr: FloatArray, counts: ThresholdCounts, options: CurveOptions
) -> list[MeanPoint]:
    """Mean points along the curve without its ends, with ellipses if three or more tests vary."""
    chosen = thinned(counts, ELLIPSES + 2)[1:-1].tolist()
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


def _notes(runs: Sequence[Run], counts: ThresholdCounts) -> list[str]:
    notes = [f"mean of {len(runs)} tests at the same thresholds; intervals are Student's t over the tests"]
    if len(runs) < 3:
        notes.append("error ellipses need three or more tests")
    if len({run.columns.header.test.digest for run in runs}) < len(runs):
        notes.append("some of the tests have the same data: their spread is that of the algorithm, not of new data")
    if counts.closed:
        notes.append("some cases are accepted by no threshold: the curve is closed by a straight line to (1, 1)")
    return notes
