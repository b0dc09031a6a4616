"""Rates, areas and equal error rates of scores that depend on two subjects each, as in a similarity matrix.

The usual interval takes the impostor scores for independent. It covers 87 % and less where it says 95 %, since each
subject has a part in many of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.curves.bands import DEFAULT_POINTS, CurveBands, places_of
from harness.stats.curves.counts import BoolArray, Cases, Counts, FloatArray, IntArray, threshold_counts
from harness.stats.curves.cumulative import RateBands
from harness.stats.curves.delong import placements
from harness.stats.curves.entries import binned, column_blocks, square_steps
from harness.stats.curves.equal_error import equal_error
from harness.stats.curves.hull import convex_hull
from harness.stats.curves.points import thinned
from harness.stats.curves.subjects import Subjects, require_rest, two_way_variance, without_twice
from harness.stats.rates import Interval, wilson_all

__all__ = ["TARGET", "TwoWay", "two_way_auc", "two_way_bands", "two_way_eer", "two_way_rate"]

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
    w = np.ones(y.size) if weights is None else np.asarray(weights, dtype=np.float64)
    mean = float(w @ y / w.sum())
    everything = (np.ones(y.size, dtype=np.bool_),)
    return _wrap(mean, y - mean, subjects, w, everything, confidence)


def two_way_auc(
    scores: npt.ArrayLike,
    positive: npt.ArrayLike,
    subjects: Subjects,
    *,
    weights: npt.ArrayLike | None = None,
    larger_is_better: bool = True,
    confidence: float = 0.95,
) -> TwoWay:
    """Area under the curve; DeLong's placements with dependence through the subjects, genuine scores included."""
    cases = Cases.checked(scores, positive, weights=weights, larger_is_better=larger_is_better)
    placed = placements(cases)
    return _wrap(placed.auc, placed.values - placed.auc, subjects, _weights(cases), _classes(cases), confidence)


def two_way_eer(
    scores: npt.ArrayLike,
    positive: npt.ArrayLike,
    subjects: Subjects,
    *,
    weights: npt.ArrayLike | None = None,
    larger_is_better: bool = True,
    confidence: float = 0.95,
) -> TwoWay:
    """Equal error rate, to first order.

    When both error rates at the equal-error threshold are moved, the rate moves by their mean, weighted by the score
    densities there: l x fpr + (1 - l) x fnr, l = slope / (1 + slope). The slope is that of the convex hull.
    """
    cases = Cases.checked(scores, positive, weights=weights, larger_is_better=larger_is_better)
    counts = threshold_counts(scores, positive, weights=weights, larger_is_better=larger_is_better)
    eer = equal_error(counts).rate
    lean = _lean(counts)
    accepted = _accepted_at_eer(cases, counts)
    errors = np.where(cases.positive, (1 - lean) * (1 - accepted - eer), lean * (accepted - eer))
    return _wrap(eer, errors, subjects, _weights(cases), _classes(cases), confidence)


def two_way_bands(
    scores: npt.ArrayLike,
    positive: npt.ArrayLike,
    subjects: Subjects,
    *,
    weights: npt.ArrayLike | None = None,
    larger_is_better: bool = True,
    confidence: float = 0.95,
) -> CurveBands:
    """Pointwise bands of both rates, at up to 1,000 places of the curve."""
    cases = Cases.checked(scores, positive, weights=weights, larger_is_better=larger_is_better)
    counts = threshold_counts(scores, positive, weights=weights, larger_is_better=larger_is_better)
    at = thinned(counts, DEFAULT_POINTS)
    place = places_of(cases, counts, at)
    tpr, fpr = (
        _class_bands(rates[at], place, np.where(of, _weights(cases), 0.0), subjects, confidence)
        for rates, of in ((counts.tpr, cases.positive), (counts.fpr, ~cases.positive))
    )
    return CurveBands(at, counts.threshold[at], tpr, fpr)


def _class_bands(
    rates: FloatArray, place: IntArray, weights: FloatArray, subjects: Subjects, confidence: float
) -> RateBands:
    """`two_way_variance` at all points at once, from sums by subject and point."""
    total = weights.sum()
    touched = subjects.sums(weights)
    require_rest(total - touched, total)
    variance = np.empty(rates.size)
    for columns in column_blocks(subjects.count, rates.size):
        part = slice(*columns)
        entered = _entered_by_subject(place, weights, subjects, columns)
        moved = (entered - touched[:, None] * rates[part]) / (total - touched)[:, None]
        variance[part] = subjects.shares @ moved**2
    twice = _cell_squares(rates, place, np.where(subjects.same, 0.0, weights), subjects) / total**2
    return _bands(rates, np.sqrt(without_twice(variance, twice)), subjects, confidence)


def _entered_by_subject(
    place: IntArray, weights: FloatArray, subjects: Subjects, columns: tuple[int, int]
) -> FloatArray:
    once = np.where(subjects.same, 0.0, weights)
    first = binned(subjects.first, subjects.count, place, weights, columns)
    return first + binned(subjects.second, subjects.count, place, once, columns)


def _cell_squares(rates: FloatArray, place: IntArray, weights: FloatArray, subjects: Subjects) -> FloatArray:
    """Sum over cells of (A - rate W)^2 at every point, A being a cell's weight that has entered and W all of it."""
    whole = subjects.cell_sums(weights)
    squares, products = (
        binned(np.zeros_like(place), 1, place, step, (0, rates.size))[0]
        for step in (square_steps(subjects.cell, place, weights), weights * whole[subjects.cell])
    )
    return np.asarray(np.maximum(squares - 2 * rates * products + rates**2 * (whole @ whole), 0.0))


def _bands(rates: FloatArray, se: FloatArray, subjects: Subjects, confidence: float) -> RateBands:
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
    bands = _bands(np.array([estimate]), np.sqrt([variance]), subjects, confidence)
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


def _lean(counts: Counts) -> float:
    """Weight of the false-positive rate in a moved equal error rate, from the hull's slope where the errors meet."""
    hull = convex_hull(counts)
    after = int(np.argmax(hull.tpr + hull.fpr >= 1))
    slope = float(hull.slope[after - 1])
    return slope / (1 + slope) if np.isfinite(slope) else 1.0


def _accepted_at_eer(cases: Cases, counts: Counts) -> FloatArray:
    """Whether a case is accepted at the equal-error threshold; between two thresholds, by how much."""
    excess = counts.fnr - counts.fpr
    after = int(np.searchsorted(-excess, 0.0))
    share = excess[after - 1] / (excess[after - 1] - excess[after])
    sign = 1.0 if counts.larger_is_better else -1.0
    edge = sign * counts.threshold[after]
    return np.where(cases.better > edge, 1.0, np.where(cases.better == edge, share, 0.0))


def _weights(cases: Cases) -> FloatArray:
    return np.ones(cases.better.size) if cases.weights is None else cases.weights


def _classes(cases: Cases) -> tuple[BoolArray, BoolArray]:
    return cases.positive, ~cases.positive
