"""Rates, areas and equal error rates of scores that depend on two subjects each, as in a similarity matrix.

The usual interval takes the impostor scores for independent. It covers 87 % and less where it says 95 %, since each
subject has a part in many of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.curves.cases import BoolArray, Cases, FloatArray, as_weights
from harness.stats.curves.cumulative import RateBands
from harness.stats.curves.influence import Of, influence
from harness.stats.curves.subjects import Subjects, two_way_variance
from harness.stats.rates import Interval, wilson_all

__all__ = ["TARGET", "TwoWay", "limits_of", "two_way_rate", "two_way_summary"]

TARGET = "new subjects on both sides"


@dataclass(frozen=True, slots=True)
class TwoWay:
    """An estimate with the standard error and Student-t interval that know both subjects of a score.

    `design_effect`: its variance over that of independent cases.
    """

    estimate: float
    se: float
    df: float
    interval: Interval
    design_effect: float
    confidence: float
    subjects: int
    method: str = "two-way"
    target: str = TARGET


def two_way_rate(
    accepted: npt.ArrayLike,
    subjects: Subjects,
    *,
    weights: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> TwoWay:
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
    return _wrap(mean, y - mean, subjects, w, everything, confidence)


def two_way_summary(of: Of | str, cases: Cases, subjects: Subjects, *, confidence: float = 0.95) -> TwoWay:
    """Area ("auc") or equal error rate ("eer") by its linear form.

    The dependence between the genuine and the impostor scores of a subject is counted too.
    """
    found, classes = influence(of, cases), (cases.positive, ~cases.positive)
    return _wrap(found.estimate, found.deviations, subjects, cases.weight, classes, confidence)


def limits_of(rates: FloatArray, se: FloatArray, subjects: Subjects, confidence: float) -> RateBands:
    """Student-t limits of rates with their standard errors; without variance, Wilson's with the subjects."""
    half = _quantile(subjects.df, confidence) * se
    # Where nothing varies, the subjects of the smaller side are all the independent evidence there is.
    certain = wilson_all(rates * (subjects.df + 1), subjects.df + 1, confidence=confidence)
    still = se < 1e-12
    low = np.where(still, certain.low, np.maximum(rates - half, 0))
    high = np.where(still, certain.high, np.minimum(rates + half, 1))
    return RateBands(rates, np.where(still, 0.0, se), low, high, confidence, "two-way", TARGET, df=subjects.df)


def _wrap(
    estimate: float,
    deviations: FloatArray,
    subjects: Subjects,
    weights: FloatArray,
    classes: tuple[BoolArray, ...],
    confidence: float,
) -> TwoWay:
    if deviations.shape != subjects.first.shape:
        raise ValueError(f"{deviations.size} cases and subjects of {subjects.first.size}: expected both for the same")
    variance = two_way_variance(subjects, weights, deviations, classes)
    shares = sum(np.where(of, weights, 0.0) / weights[of].sum() for of in classes)
    independent = float(((shares * deviations) ** 2).sum())
    bands = limits_of(np.array([estimate]), np.sqrt([variance]), subjects, confidence)
    return TwoWay(
        estimate=estimate,
        se=float(bands.se[0]),
        df=subjects.df,
        interval=Interval(float(bands.low[0]), float(bands.high[0])),
        design_effect=variance / independent if independent > 0 else 1.0,
        confidence=confidence,
        subjects=subjects.count,
    )


def _quantile(df: float, confidence: float) -> float:
    from scipy.special import stdtrit

    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence!r}: expected a number between 0 and 1")
    return float(stdtrit(df, (1 + confidence) / 2))
