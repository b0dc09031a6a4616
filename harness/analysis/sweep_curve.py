"""A curve from a swept parameter: each transcript of one algorithm is a point, from its counts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.curve import Curve, RequestedPoint
from harness.analysis.curve_bands import INDEPENDENT, CurveBasis, curve_bands, least_cost, operating_point
from harness.analysis.sampling import Sampling, take_sample
from harness.errors import TranscriptError, UsageError
from harness.model import plain_text
from harness.options.curves import BandMethod, CurveOptions, PointLimit
from harness.params import nearest
from harness.stats.arrays import BoolArray, FloatArray, IntArray, kish
from harness.stats.curves.area import area, auc
from harness.stats.curves.points import average_precision, equal_error
from harness.stats.curves.scores import ClassSize, ThresholdCounts, counts_of, make_scored_cases
from harness.stats.estimate import Estimate
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.statistic import WeightsStatistic
from harness.transcript.columns import OUTCOMES

_ACCEPTED = np.array([outcome in ("TP", "FP") for outcome in OUTCOMES])


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
    values = [_value(run, param) for run in runs]
    if len(set(values)) < 2:
        raise TranscriptError(f"{runs[0].source}: {name} has only one value of '{param}'; a curve needs two or more")
    aligned = align(runs, partial=options.partial)
    settings = _settings(aligned, values, options)
    fpr, tpr = settings.rates(settings.weights)
    order = np.lexsort((tpr, fpr))
    front = _front(fpr, tpr)
    counts = _counts(fpr[front], tpr[front], [values[i] for i in front], settings)
    low, high, bands, target = _bands(settings, options)
    return Curve(
        name=name,
        sizes={"positives": counts.positives.cases, "negatives": counts.negatives.cases},
        summaries={
            "auc": _area(settings, auc(counts), options),
            "eer": Estimate(equal_error(counts).rate, math.nan, math.nan, None),
            "average_precision": Estimate(average_precision(counts), math.nan, math.nan, None),
        },
        summary_target=settings.sampling.target if settings.sampling.known else INDEPENDENT,
        columns=_columns(settings, order, low, high),
        bands=bands,
        target=target,
        stratum=settings.sampling.stratum,
        counts=counts,
        whole=len(runs),
        requested=[_requested(counts, at) for at in options.at],
        cost=least_cost(counts, options.cost),
        notes=_notes(param, len(runs), front.size),
        param=param,
        values=[values[i] for i in order],
    )


def _value(run: Run, param: str) -> str:
    params = run.columns.header.params
    if param not in params:
        raise UsageError(f"--swept {param}: {run.source} has no such parameter; {nearest(param, params)}")
    return plain_text(params[param])


def _settings(aligned: AlignedRuns, values: list[str], options: CurveOptions) -> SweepRuns:
    sampling = take_sample(aligned, options)
    accepted = np.asarray(_ACCEPTED[aligned.outcome])
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


def _counts(fpr: FloatArray, tpr: FloatArray, values: list[str], settings: SweepRuns) -> ThresholdCounts:
    """The front as a curve from (0, 0) to (1, 1)."""
    ends = np.array([0.0]), np.array([1.0])
    sizes = [_size(settings, of) for of in (settings.positive, ~settings.positive)]
    return ThresholdCounts(
        threshold=np.array([np.inf, *map(_number, values), -np.inf]),
        tp=np.concatenate((ends[0], tpr, ends[1])) * sizes[0].weight,
        fp=np.concatenate((ends[0], fpr, ends[1])) * sizes[1].weight,
        positives=sizes[0],
        negatives=sizes[1],
        larger_is_better=True,
        opened=True,
        closed=True,
    )


def _size(settings: SweepRuns, of: BoolArray) -> ClassSize:
    w = settings.weights[of]
    return ClassSize(int(np.count_nonzero(of)), float(w.sum()), float(kish(w)))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _columns(settings: SweepRuns, order: IntArray, low: FloatArray, high: FloatArray) -> dict[str, FloatArray]:
    fpr, tpr = settings.rates(settings.weights)
    within = np.where(settings.positive, settings.weights, 0.0), np.where(settings.positive, 0.0, settings.weights)
    tp, fp = settings.accepted @ within[0], settings.accepted @ within[1]
    none = np.full(tpr.size, np.nan)
    columns = {
        "threshold": np.array([_number(value) for value in settings.values]),
        "tpr": tpr,
        "fpr": fpr,
        "fnr": 1 - tpr,
        "precision": np.divide(tp, tp + fp, out=np.ones_like(tp), where=tp + fp > 0),
        "low": low,
        "high": high,
        "low_at_fpr": none,
        "high_at_fpr": none,
    }
    return {name: values[order] for name, values in columns.items()}


def _bands(settings: SweepRuns, options: CurveOptions) -> tuple[FloatArray, FloatArray, str, str]:
    """Limits of each setting's tpr, as for a curve with two scores, accepted and refused."""
    low, high = np.full((2, len(settings.values)), np.nan)
    method = target = ""
    for i, accepted in enumerate(settings.accepted):
        cases = make_scored_cases(accepted, settings.positive, weights=settings.weights)
        counts = counts_of(cases)
        at = np.flatnonzero(counts.threshold == 1)
        if not at.size:
            # Nothing is accepted: the same limits as at the start of the curve.
            at = np.array([0])
        limits = curve_bands(CurveBasis(cases, settings.sampling, None, options), counts, at)
        if limits is None:
            return low, high, "", ""
        low[i], high[i] = limits.tpr.low[0], limits.tpr.high[0]
        method = limits.tpr.method
        target = settings.sampling.target if settings.sampling.known else limits.tpr.target
    return low, high, method, target


def _area(settings: SweepRuns, value: float, options: CurveOptions) -> Estimate:
    """The area under the front, which every replicate computes again."""
    if options.bands is BandMethod.NONE:
        return Estimate(value, math.nan, math.nan, None)

    def of_weights(weights: FloatArray) -> float:
        if not ((weights * settings.positive).any() and (weights * ~settings.positive).any()):
            return float("nan")
        fpr, tpr = settings.rates(weights)
        front = _front(fpr, tpr)
        x, y = (np.concatenate(([0.0], rates[front], [1.0])) for rates in (fpr, tpr))
        return float(area(y, x))

    statistic = WeightsStatistic(of_weights, bounds=(0.0, 1.0), classes=settings.positive, words="area under the front")
    replication = Replication(confidence=options.confidence, seed=options.seed)
    return replace(make_estimate(settings.sampling.sample, statistic, replication), value=value)


def _requested(counts: ThresholdCounts, at: PointLimit) -> RequestedPoint:
    if at.of == "threshold":
        raise UsageError("--at threshold= cannot be used with --swept: each point is a setting; use fpr= or fnr=")
    return RequestedPoint(at, operating_point(counts, at))


def _notes(param: str, runs: int, front: int) -> list[str]:
    notes = [
        f"{runs} values of {param}, one point each; the curve is closed by straight lines to (0, 0) and (1, 1), which "
        "its area and its equal error rate include"
    ]
    if front < runs:
        notes.append(
            f"{runs - front} of the settings are no better in either rate than another: the area leaves them out"
        )
    return notes
