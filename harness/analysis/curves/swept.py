"""A curve from a swept parameter: each transcript of one algorithm is a point, from its counts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.comparing.align import Aligned, BoolArray, FloatArray, IntArray, Run, align
from harness.analysis.comparing.sampling import Sampling, take_sample
from harness.analysis.curves.certainty import INDEPENDENT, Ground, curve_bands
from harness.analysis.curves.curve import Asked, Curve, CurvePoints
from harness.analysis.curves.operating import least_cost, operating_point
from harness.analysis.curves.wishes import At, Bands, Wishes
from harness.errors import TranscriptError, UsageError
from harness.model import plain_text
from harness.params import nearest
from harness.stats.curves.auc import area, auc
from harness.stats.curves.cases import ClassSize, make_cases
from harness.stats.curves.counts import Counts, counts_of
from harness.stats.curves.equal_error import equal_error
from harness.stats.curves.points import average_precision
from harness.stats.estimate import Estimate
from harness.stats.replication.arrays import kish
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.plan import Plan
from harness.stats.replication.statistic import OfWeights
from harness.transcript.columns import OUTCOMES

_ACCEPTED = np.array([outcome in ("TP", "FP") for outcome in OUTCOMES])


@dataclass(frozen=True, eq=False)
class Settings:
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


def curve_of_sweep(runs: Sequence[Run], name: str, param: str, wishes: Wishes) -> Curve:
    """One algorithm at several values of a parameter, on the same cases."""
    values = [_value(run, param) for run in runs]
    if len(set(values)) < 2:
        raise TranscriptError(f"{runs[0].source}: {name} has one value of '{param}' only; a curve needs two or more")
    aligned = align(runs, partial=wishes.partial)
    settings = _settings(aligned, values, wishes)
    fpr, tpr = settings.rates(settings.weights)
    order = np.lexsort((tpr, fpr))
    front = _front(fpr, tpr)
    counts = _counts(fpr[front], tpr[front], [values[i] for i in front], settings)
    low, high, bands, target = _bands(settings, wishes)
    return Curve(
        name=name,
        positives=counts.positives.cases,
        negatives=counts.negatives.cases,
        auc=_area(settings, auc(counts), wishes),
        eer=Estimate(equal_error(counts).rate, math.nan, math.nan, None),
        summary_target=settings.sampling.target if settings.sampling.known else INDEPENDENT,
        eer_threshold=float("nan"),
        average_precision=average_precision(counts),
        points=_points(settings, order, low, high),
        bands=bands,
        target=target,
        counts=counts,
        whole=len(runs),
        asked=[_asked(counts, at) for at in wishes.at],
        cost=least_cost(counts, wishes.cost),
        notes=_notes(param, len(runs), front.size),
        param=param,
        values=[values[i] for i in order],
    )


def _value(run: Run, param: str) -> str:
    params = run.columns.header.params
    if param not in params:
        raise UsageError(f"--swept {param}: {run.source} has no such parameter; {nearest(param, params)}")
    return plain_text(params[param])


def _settings(aligned: Aligned, values: list[str], wishes: Wishes) -> Settings:
    sampling = take_sample(aligned, wishes.design)
    accepted = np.asarray(_ACCEPTED[aligned.outcome])
    for kind, of in (("positive", aligned.positive), ("negative", ~aligned.positive)):
        if not (of & (sampling.sample.weights > 0)).any():
            raise TranscriptError(f"{aligned.names[0]}: no {kind} case; a curve needs positive and negative cases")
    return Settings(accepted, aligned.positive, sampling.sample.weights, values, sampling)


def _front(fpr: FloatArray, tpr: FloatArray) -> IntArray:
    """Settings that no other beats in one rate without losing in the other, from the strictest to the laxest."""
    order = np.lexsort((-tpr, fpr))
    before = np.maximum.accumulate(np.concatenate(([0.0], tpr[order][:-1])))
    kept = order[tpr[order] > before]
    return np.asarray(kept[(fpr[kept] < 1) | (tpr[kept] < 1)])


def _counts(fpr: FloatArray, tpr: FloatArray, values: list[str], settings: Settings) -> Counts:
    """The front as a curve from (0, 0) to (1, 1)."""
    ends = np.array([0.0]), np.array([1.0])
    sizes = [_size(settings, of) for of in (settings.positive, ~settings.positive)]
    return Counts(
        threshold=np.array([np.inf, *map(_number, values), -np.inf]),
        tp=np.concatenate((ends[0], tpr, ends[1])) * sizes[0].weight,
        fp=np.concatenate((ends[0], fpr, ends[1])) * sizes[1].weight,
        positives=sizes[0],
        negatives=sizes[1],
        larger_is_better=True,
        opened=True,
        closed=True,
    )


def _size(settings: Settings, of: BoolArray) -> ClassSize:
    w = settings.weights[of]
    return ClassSize(int(np.count_nonzero(of)), float(w.sum()), float(kish(w)))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _points(settings: Settings, order: IntArray, low: FloatArray, high: FloatArray) -> CurvePoints:
    fpr, tpr = settings.rates(settings.weights)
    within = np.where(settings.positive, settings.weights, 0.0), np.where(settings.positive, 0.0, settings.weights)
    tp, fp = settings.accepted @ within[0], settings.accepted @ within[1]
    precision = np.divide(tp, tp + fp, out=np.ones_like(tp), where=tp + fp > 0)
    threshold = np.array([_number(value) for value in settings.values])
    none = np.full(threshold.size, np.nan)
    columns = (threshold, tpr, fpr, 1 - tpr, precision, low, high, none, none)
    return CurvePoints(*(column[order] for column in columns))


def _bands(settings: Settings, wishes: Wishes) -> tuple[FloatArray, FloatArray, str, str]:
    """Limits of each setting's tpr, as of a curve whose only scores are accepted and not."""
    low, high = np.full((2, len(settings.values)), np.nan)
    method = target = ""
    for i, accepted in enumerate(settings.accepted):
        cases = make_cases(accepted, settings.positive, weights=settings.weights)
        counts = counts_of(cases)
        at = np.flatnonzero(counts.threshold == 1)
        if not at.size:
            # Nothing is accepted: the same limits as at the start of the curve.
            at = np.array([0])
        found = curve_bands(Ground(cases, settings.sampling, None, wishes), counts, at)
        if found is None:
            return low, high, "", ""
        low[i], high[i] = found.tpr.low[0], found.tpr.high[0]
        method = found.tpr.method
        target = settings.sampling.target if settings.sampling.known else found.tpr.target
    return low, high, method, target


def _area(settings: Settings, value: float, wishes: Wishes) -> Estimate:
    """The area of the front, found anew in every replicate."""
    if wishes.bands is Bands.NONE:
        return Estimate(value, math.nan, math.nan, None)

    def of_weights(weights: FloatArray) -> float:
        if not ((weights * settings.positive).any() and (weights * ~settings.positive).any()):
            return float("nan")
        fpr, tpr = settings.rates(weights)
        front = _front(fpr, tpr)
        x, y = (np.concatenate(([0.0], rates[front], [1.0])) for rates in (fpr, tpr))
        return float(area(y, x))

    statistic = OfWeights(of_weights, bounds=(0.0, 1.0), classes=settings.positive, words="area under the front")
    plan = Plan(confidence=wishes.confidence, seed=wishes.seed)
    return replace(make_estimate(settings.sampling.sample, statistic, plan), value=value)


def _asked(counts: Counts, at: At) -> Asked:
    if at.of == "threshold":
        raise UsageError("--at threshold= does not go with --swept: each point is a setting; ask for fpr= or fnr=")
    return Asked(at, operating_point(counts, at), "fnr" if at.of == "fpr" else "fpr")


def _notes(param: str, runs: int, front: int) -> list[str]:
    notes = [
        f"{runs} values of {param}, a point each; the curve is closed by straight lines to (0, 0) and (1, 1), and so "
        "are its area and its equal error rate"
    ]
    if front < runs:
        notes.append(
            f"{runs - front} of the settings are no better in either rate than another: the area passes over them"
        )
    return notes
