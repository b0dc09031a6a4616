"""Rates, areas, equal error rates and bands of scores that depend on two subjects each, as in a similarity matrix.

The usual interval treats impostor scores as independent. At a nominal 95 % it covers 87 % or less, since each subject
contributes to many of them.

Two scores are dependent if they share a subject, on either side. The variance of a mean is then a sum over all pairs of
scores that share one. Here it is computed by leaving out each subject with all of its scores in turn. This counts a
pair of scores with both subjects in common twice, so these are subtracted once: the two-way formula (rows + columns -
cells) of Cameron, Gelbach and Miller (2011), and for one set of subjects on both sides that of Aronow, Samii and
Assenova (2015), with the jackknife's correction for few subjects.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import BoolArray, FloatArray, IntArray, kish
from harness.stats.curves.bands import DEFAULT_POINTS, CurveBands, entry_points
from harness.stats.curves.cumulative_rates import RateBands, binned, column_blocks, square_steps
from harness.stats.curves.roc import thinned
from harness.stats.curves.scores import ScoredCases, as_weights, counts_of
from harness.stats.curves.summaries import LinearSummary, influence
from harness.stats.estimate import Estimate, IntervalKind, Scale, scale_limits
from harness.stats.rates import Interval

__all__ = [
    "TARGET",
    "Subjects",
    "limits_of",
    "require_rest",
    "two_way_bands",
    "two_way_rate",
    "two_way_summary",
    "two_way_variance",
    "without_twice",
]

TARGET = "new subjects on both sides"


@dataclass(frozen=True, slots=True, eq=False)
class Subjects:
    """The two subjects of each case, numbered; `shares` is (n - 1) / n with n the subjects on the same side.

    If any label appears on both sides, it is the same subject, and there is one set of subjects. Otherwise rows and
    columns are two sets, drawn independently.
    """

    first: IntArray
    second: IntArray
    count: int
    shares: FloatArray
    cell: IntArray
    cells: int
    df: float

    @classmethod
    def of(cls, first: npt.ArrayLike, second: npt.ArrayLike) -> Subjects:
        """From one label per case on each side."""
        a, b = np.asarray(first), np.asarray(second)
        if a.ndim != 1 or a.shape != b.shape:
            raise ValueError(f"subjects have shapes {a.shape} and {b.shape}: expected one of each per case")
        names, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
        first_code, second_code = codes[: a.size], codes[a.size :]
        rows, columns = (np.bincount(side, minlength=names.size) > 0 for side in (first_code, second_code))
        if (rows & columns).any():
            sizes = np.full(rows.size, rows.size)
        else:
            sizes = np.where(rows, np.count_nonzero(rows), np.count_nonzero(columns))
        if sizes.min() < 3:
            raise ValueError(f"{sizes.min()} subjects on a side: a two-way variance needs three or more")
        low, high = np.minimum(first_code, second_code), np.maximum(first_code, second_code)
        cell = np.unique(low * names.size + high, return_inverse=True)[1]
        return cls(
            first_code, second_code, names.size, 1 - 1 / sizes, cell, int(cell.max()) + 1, float(sizes.min() - 1)
        )

    @property
    def same(self) -> BoolArray:
        """Whether both subjects of a case are the same (a genuine comparison)."""
        return np.asarray(self.first == self.second)

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum over all cases that involve a subject, each counted once."""
        once = np.where(self.same, 0.0, values)
        first = np.bincount(self.first, weights=values, minlength=self.count)
        return np.asarray(first + np.bincount(self.second, weights=once, minlength=self.count), dtype=np.float64)

    def cell_sums(self, values: FloatArray) -> FloatArray:
        """Sum over the cases of the same two subjects."""
        return np.bincount(self.cell, weights=values, minlength=self.cells).astype(np.float64)

    def cell_has_two_subjects(self) -> BoolArray:
        """Whether a cell's subjects are different."""
        different = np.zeros(self.cells, dtype=np.bool_)
        different[self.cell] = ~self.same
        return different


def two_way_variance(
    subjects: Subjects, weights: FloatArray, deviations: FloatArray, classes: tuple[BoolArray, ...]
) -> float:
    """Variance of a sum of weighted means, one per class, from each case's deviation from its class's mean.

    Leaving out a subject changes a weighted mean by minus the sum of its deviations over the remaining weight.
    """
    moved = np.zeros(subjects.count)
    within = np.zeros(weights.size)
    for of in classes:
        w = np.where(of, weights, 0.0)
        remaining = w.sum() - subjects.sums(w)
        require_rest(remaining, w.sum())
        moved -= subjects.sums(w * deviations) / remaining
        within += w * deviations / w.sum()
    cells = subjects.cell_sums(within) ** 2
    twice = cells[subjects.cell_has_two_subjects()].sum()
    return float(without_twice(subjects.shares @ moved**2, twice))


def without_twice(by_subject: FloatArray, twice: FloatArray) -> FloatArray:
    """Subtract what was counted twice, but no more than half.

    Half is the result for independent scores. By chance it may be less, and a difference of two variances may even be
    negative. Negatively related scores of a subject (genuine and impostor ones) give less than independent ones, so
    the variance of independent scores is not a lower limit.
    """
    return np.maximum(by_subject - twice, by_subject / 2)


def require_rest(remaining: FloatArray, total: float) -> None:
    """Raise a ValueError if leaving out a subject leaves nothing of the class."""
    if (remaining <= 1e-12 * total).any():
        raise ValueError("a subject is in all cases of a class: nothing is left without it")


def two_way_rate(
    accepted: npt.ArrayLike,
    subjects: Subjects,
    *,
    weights: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """A weighted rate, such as a false-match rate: one outcome, 0 or 1, per comparison of two subjects."""
    y = np.asarray(accepted, dtype=np.float64)
    if y.shape != subjects.first.shape or not ((y >= 0) & (y <= 1)).all():
        raise ValueError(f"outcomes {y.shape} for {subjects.first.size} comparisons: expected a 0 or 1 for each")
    checked = as_weights(weights, y.size)
    w = np.ones(y.size) if checked is None else checked
    if not w.any():
        raise ValueError("weights are all 0: at least one comparison needs a weight above 0")
    mean = float(w @ y / w.sum())
    everything = (np.ones(y.size, dtype=np.bool_),)
    return _wrap(mean, y - mean, subjects, w, everything, IntervalKind.SHARE, confidence)


def two_way_summary(
    of: LinearSummary | str, cases: ScoredCases, subjects: Subjects, *, confidence: float = 0.95
) -> Estimate:
    """Area ("auc") or equal error rate ("eer") by its linear form.

    This includes the dependence between the genuine and the impostor scores of a subject.
    """
    linear, classes = influence(of, cases), (cases.positive, ~cases.positive)
    return _wrap(linear.estimate, linear.deviations, subjects, cases.weight, classes, IntervalKind.BOUNDED, confidence)


def limits_of(rates: FloatArray, se: FloatArray, subjects: Subjects, cases: float, confidence: float) -> RateBands:
    """Limits of rates with their standard errors."""
    spread = np.where(se < 1e-12, 0.0, se)
    scale = _scale(subjects, IntervalKind.SHARE, np.full(rates.size, cases), spread)
    limits = scale_limits(scale, rates, spread, subjects.df, _check_confidence(confidence))
    return RateBands(rates, spread, limits.low, limits.high, confidence, "two-way", TARGET, df=subjects.df)


def _scale(subjects: Subjects, kind: IntervalKind, cases: FloatArray, se: FloatArray) -> Scale:
    """If nothing varies, the subjects of the smaller side are all the independent evidence there is.

    Observed false matches say more: a subject is in many comparisons, most of which are independent.
    """
    size = np.maximum(cases, subjects.df + 1)
    return Scale(kind, (0.0, 1.0), size, np.where(se > 0, size, subjects.df + 1))


def _wrap(
    value: float,
    deviations: FloatArray,
    subjects: Subjects,
    weights: FloatArray,
    classes: tuple[BoolArray, ...],
    kind: IntervalKind,
    confidence: float,
) -> Estimate:
    if deviations.shape != subjects.first.shape:
        raise ValueError(f"{deviations.size} cases, but subjects of {subjects.first.size}: expected the same cases")
    variance = two_way_variance(subjects, weights, deviations, classes)
    shares = sum(np.where(of, weights, 0.0) / weights[of].sum() for of in classes)
    independent = float(((shares * deviations) ** 2).sum())
    se = float(np.sqrt(variance)) if variance > 1e-24 else 0.0
    cases = float(kish(weights))
    scale = _scale(subjects, kind, np.array([cases]), np.array([se])).of(0)
    limits = scale_limits(scale, value, se, subjects.df, _check_confidence(confidence))
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


def _check_confidence(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence!r}: expected a number between 0 and 1")
    return confidence


def two_way_bands(
    cases: ScoredCases, subjects: Subjects, *, confidence: float = 0.95, most: int = DEFAULT_POINTS
) -> CurveBands:
    """Pointwise bands of both rates, at up to `most` points of the curve."""
    counts = counts_of(cases)
    at = thinned(counts, most)
    point = entry_points(cases, counts, at)
    tpr, fpr = (
        _class_bands(rates[at], point, np.where(of, cases.weight, 0.0), subjects, confidence)
        for rates, of in ((counts.tpr, cases.positive), (counts.fpr, ~cases.positive))
    )
    return CurveBands(at, counts.threshold[at], tpr, fpr)


def _class_bands(
    rates: FloatArray, point: IntArray, weights: FloatArray, subjects: Subjects, confidence: float
) -> RateBands:
    """`two_way_variance` at all points at once, from sums by subject and point."""
    total = weights.sum()
    involved, once = subjects.sums(weights), np.where(subjects.same, 0.0, weights)
    require_rest(total - involved, total)
    variance = np.empty(rates.size)
    for columns in column_blocks(subjects.count, rates.size):
        part = slice(*columns)
        entered = binned(subjects.first, subjects.count, point, weights, columns)
        entered = entered + binned(subjects.second, subjects.count, point, once, columns)
        moved = (entered - involved[:, None] * rates[part]) / (total - involved)[:, None]
        variance[part] = subjects.shares @ moved**2
    twice = _cell_squares(rates, point, once, subjects) / total**2
    cases = total**2 / float(weights @ weights)
    return limits_of(rates, np.sqrt(without_twice(variance, twice)), subjects, cases, confidence)


def _cell_squares(rates: FloatArray, point: IntArray, weights: FloatArray, subjects: Subjects) -> FloatArray:
    """Sum over cells of (A - rate W)^2 at every point; A is a cell's weight that has entered, W its whole weight."""
    whole = subjects.cell_sums(weights)
    squares, products = (
        binned(np.zeros_like(point), 1, point, step, (0, rates.size))[0]
        for step in (square_steps(subjects.cell, point, weights), weights * whole[subjects.cell])
    )
    return np.asarray(np.maximum(squares - 2 * rates * products + rates**2 * (whole @ whole), 0.0))
