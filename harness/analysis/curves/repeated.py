"""Several tests of one algorithm on different data: mean points, with the spread between the tests as their error."""

import math
from collections.abc import Sequence

import numpy as np

from harness.analysis.comparing.align import FloatArray, Run
from harness.analysis.curves.curve import Asked, Curve, CurvePoints, MeanPoint
from harness.analysis.curves.from_scores import THINNED, Judged, judged
from harness.analysis.curves.operating import least_cost, operating_point
from harness.analysis.curves.wishes import Bands, Wishes
from harness.errors import TranscriptError
from harness.stats.curves.auc import auc
from harness.stats.curves.cases import ClassSize, make_cases
from harness.stats.curves.counts import Counts, counts_of
from harness.stats.curves.ellipses import ellipse_of_repeats
from harness.stats.curves.equal_error import equal_error
from harness.stats.curves.points import average_precision, thinned
from harness.stats.estimate import Estimate, Kind, Scale, scale_limits
from harness.stats.rates import Interval

# Ellipses along a curve: more would lie on one another.
ELLIPSES = 6
METHOD = "repetitions"
TARGET = "new data of the same kind"


def curve_of_repeats(runs: Sequence[Run], name: str, wishes: Wishes) -> Curve:
    """The mean curve, threshold by threshold, of two or more tests."""
    if len(runs) < 2:
        raise TranscriptError(
            f"{runs[0].source}: the only transcript of {name}; --repeated needs two or more, of other data"
        )
    found = [judged(run, name, wishes) for run in runs]
    if len({one.scored.larger_is_better for one in found}) > 1:
        raise TranscriptError(f"{name}: similarities in one test, distances in another; they have no mean")
    thresholds = _thresholds(found, wishes)
    fpr, tpr = (np.stack(rates) for rates in zip(*(_rates(one.counts, thresholds) for one in found), strict=True))
    counts = _mean_counts(found, thresholds, fpr, tpr)
    low, high = _limits(tpr, wishes)
    none = np.full(thresholds.size, np.nan)
    return Curve(
        name=name,
        positives=counts.positives.cases,
        negatives=counts.negatives.cases,
        auc=_mean(np.array([auc(one.counts) for one in found]), wishes),
        eer=_mean(np.array([equal_error(one.counts).rate for one in found]), wishes),
        summary_target=TARGET,
        eer_threshold=equal_error(counts).threshold,
        average_precision=float(np.mean([average_precision(one.counts) for one in found])),
        points=CurvePoints(thresholds, counts.tpr, counts.fpr, counts.fnr, counts.precision, low, high, none, none),
        bands="" if wishes.bands is Bands.NONE else METHOD,
        target=TARGET,
        counts=counts,
        whole=thresholds.size,
        asked=[Asked(at, operating_point(counts, at), "fpr" if at.of == "fnr" else "fnr") for at in wishes.at],
        cost=least_cost(counts, wishes.cost),
        notes=_notes(runs, counts),
        repetitions=len(runs),
        means=_means(thresholds, fpr, tpr, counts, wishes),
    )


def _thresholds(found: Sequence[Judged], wishes: Wishes) -> FloatArray:
    """Of the pooled scores, spread evenly along their curve."""
    scores = np.concatenate([one.scored.scores for one in found])
    positive = np.concatenate([one.scored.positive for one in found])
    pooled = counts_of(make_cases(scores, positive, larger_is_better=found[0].scored.larger_is_better))
    limit = pooled.threshold.size if wishes.points == 0 else max(2, wishes.points or THINNED)
    return pooled.threshold[thinned(pooled, limit)]


def _rates(counts: Counts, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both rates of one test at the common thresholds; the first accepts nothing."""
    sign = 1.0 if counts.larger_is_better else -1.0
    place = np.searchsorted(-sign * counts.threshold[1:], -sign * thresholds[1:], side="right")
    place = np.concatenate(([0], place))
    return counts.fpr[place], counts.tpr[place]


def _mean_counts(found: Sequence[Judged], thresholds: FloatArray, fpr: FloatArray, tpr: FloatArray) -> Counts:
    sizes = [
        ClassSize(sum(s.cases for s in of), sum(s.weight for s in of), sum(s.effective for s in of))
        for of in ([one.counts.positives for one in found], [one.counts.negatives for one in found])
    ]
    return Counts(
        threshold=thresholds,
        tp=tpr.mean(axis=0) * sizes[0].weight,
        fp=fpr.mean(axis=0) * sizes[1].weight,
        positives=sizes[0],
        negatives=sizes[1],
        larger_is_better=found[0].scored.larger_is_better,
        opened=any(one.counts.opened for one in found),
        closed=any(one.counts.closed for one in found),
    )


def _mean(values: FloatArray, wishes: Wishes) -> Estimate:
    """The mean over tests, each of them a unit, with Student's t."""
    se = float(values.std(ddof=1)) / math.sqrt(values.size)
    scale, df = Scale(Kind.PLAIN, (0.0, 1.0)), values.size - 1.0
    limits = scale_limits(scale, float(values.mean()), se, df, wishes.confidence)
    interval = Interval(float(limits.low), float(limits.high))
    return Estimate(float(values.mean()), se, df, interval, wishes.confidence, METHOD, units=values.size, scale=scale)


def _limits(tpr: FloatArray, wishes: Wishes) -> tuple[FloatArray, FloatArray]:
    if wishes.bands is Bands.NONE:
        none = np.full(tpr.shape[1], np.nan)
        return none, none
    se, df = tpr.std(axis=0, ddof=1) / math.sqrt(len(tpr)), len(tpr) - 1.0
    limits = scale_limits(Scale(Kind.PLAIN, (0.0, 1.0)), tpr.mean(axis=0), se, df, wishes.confidence)
    # Tests that agree to the last case leave a point, as their mean has no spread.
    mean = tpr.mean(axis=0)
    return np.where(se > 0, limits.low, mean), np.where(se > 0, limits.high, mean)


def _means(thresholds: FloatArray, fpr: FloatArray, tpr: FloatArray, counts: Counts, wishes: Wishes) -> list[MeanPoint]:
    """Mean points along the curve, its ends left out, with ellipses where three tests or more vary."""
    chosen = thinned(counts, ELLIPSES + 2)[1:-1].tolist()
    found = []
    for i in chosen:
        if not np.isfinite(thresholds[i]):
            continue
        points = np.stack([fpr[:, i], tpr[:, i]], axis=1)
        ellipse = None
        if len(points) > 2 and points.std(axis=0).any():
            ellipse = ellipse_of_repeats(points, confidence=wishes.confidence)
        found.append(MeanPoint(float(thresholds[i]), float(counts.fpr[i]), float(counts.tpr[i]), ellipse))
    return found


def _notes(runs: Sequence[Run], counts: Counts) -> list[str]:
    notes = [f"mean of {len(runs)} tests at the same thresholds; intervals are Student's t over the tests"]
    if len(runs) < 3:
        notes.append("error ellipses need three tests or more")
    if len({run.columns.header.test.digest for run in runs}) < len(runs):
        notes.append("some of the tests have the same data: their spread is that of the algorithm, not of new data")
    if counts.closed:
        notes.append("some cases are accepted by no threshold: the curve is closed by a straight line to (1, 1)")
    return notes
