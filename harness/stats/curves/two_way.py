"""Rates, areas and equal error rates of scores that depend on two subjects each, as in a similarity matrix.

The usual interval takes the impostor scores for independent. It covers 87 % and less where it says 95 %, since each
subject has a part in many of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from harness.stats.curves.cases import BoolArray, Cases, FloatArray, as_weights
from harness.stats.curves.cumulative import RateBands
from harness.stats.curves.influence import Of, influence
from harness.stats.curves.subjects import Subjects, two_way_variance
from harness.stats.estimate import Estimate, Kind, Scale, scale_limits
from harness.stats.rates import Interval
from harness.stats.replication.arrays import kish

__all__ = ["TARGET", "limits_of", "two_way_rate", "two_way_summary"]

TARGET = "new subjects on both sides"


def two_way_rate(
    accepted: npt.ArrayLike,
    subjects: Subjects,
    *,
    weights: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """A weighted rate, such as a false-match rate: one outcome, 0 or 1, for each comparison of two subjects."""
    y = np.asarray(accepted, dtype=np.float64)
    if y.shape != subjects.first.shape or not ((y >= 0) & (y <= 1)).all():
        raise ValueError(f"outcomes {y.shape} for {subjects.first.size} comparisons: expected a 0 or 1 for each")
    given = as_weights(weights, y.size)
    w = np.ones(y.size) if given is None else given
    if not w.any():
        raise ValueError("weights are all 0: at least one comparison must weigh something")
    mean = float(w @ y / w.sum())
    everything = (np.ones(y.size, dtype=np.bool_),)
    return _wrap(mean, y - mean, subjects, w, everything, Kind.SHARE, confidence)


def two_way_summary(of: Of | str, cases: Cases, subjects: Subjects, *, confidence: float = 0.95) -> Estimate:
    """Area ("auc") or equal error rate ("eer") by its linear form.

    The dependence between the genuine and the impostor scores of a subject is counted too.
    """
    found, classes = influence(of, cases), (cases.positive, ~cases.positive)
    return _wrap(found.estimate, found.deviations, subjects, cases.weight, classes, Kind.BOUNDED, confidence)


def limits_of(rates: FloatArray, se: FloatArray, subjects: Subjects, cases: float, confidence: float) -> RateBands:
    """Limits of rates with their standard errors."""
    spread = np.where(se < 1e-12, 0.0, se)
    scale = _scale(subjects, Kind.SHARE, np.full(rates.size, cases), spread)
    limits = scale_limits(scale, rates, spread, subjects.df, _checked(confidence))
    return RateBands(rates, spread, limits.low, limits.high, confidence, "two-way", TARGET, df=subjects.df)


def _scale(subjects: Subjects, kind: Kind, cases: FloatArray, se: FloatArray) -> Scale:
    """Where nothing varies, the subjects of the smaller side are all the independent evidence there is.

    A false match that was seen says more: a subject has a part in many comparisons, most of which are independent.
    """
    size = np.maximum(cases, subjects.df + 1)
    return Scale(kind, (0.0, 1.0), size, np.where(se > 0, size, subjects.df + 1))


def _wrap(
    value: float,
    deviations: FloatArray,
    subjects: Subjects,
    weights: FloatArray,
    classes: tuple[BoolArray, ...],
    kind: Kind,
    confidence: float,
) -> Estimate:
    if deviations.shape != subjects.first.shape:
        raise ValueError(f"{deviations.size} cases and subjects of {subjects.first.size}: expected both for the same")
    variance = two_way_variance(subjects, weights, deviations, classes)
    shares = sum(np.where(of, weights, 0.0) / weights[of].sum() for of in classes)
    independent = float(((shares * deviations) ** 2).sum())
    se = float(np.sqrt(variance)) if variance > 1e-24 else 0.0
    cases = float(kish(weights))
    scale = _scale(subjects, kind, np.array([cases]), np.array([se])).of(0)
    limits = scale_limits(scale, value, se, subjects.df, _checked(confidence))
    return Estimate(
        value=value,
        se=se,
        df=subjects.df,
        interval=Interval(float(limits.low), float(limits.high)),
        confidence=confidence,
        method="two-way",
        cases=deviations.size,
        units=subjects.count,
        design_effect=variance / independent if independent > 0 else 1.0,
        scale=scale,
    )


def _checked(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence!r}: expected a number between 0 and 1")
    return confidence
