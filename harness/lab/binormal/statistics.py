"""The binormal ROC curve by maximum likelihood, and the area under it.

Some monotone transformation of the scores makes negatives normal with mean 0 and variance 1 and positives normal with
mean a/b and deviation 1/b. The area is then Phi(a / sqrt(1 + b^2)), whatever the transformation. Dorfman and Alf (1969)
fit a, b and the cuts between ordered categories. Metz, Herman and Shen (1998) found that runs of cases of one class,
in the order of the scores, are all that the likelihood of continuous scores depends on. Here, as in their LABROC5,
neighbouring runs are joined until at most 20 categories are left.

The categories are those of the whole sample, so the area is a smooth function of the case weights, and the score
equations give its linear form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.curves.roc import auc
from harness.stats.curves.scores import ScoredCases, require_both, threshold_counts
from harness.stats.curves.summaries import ScoredCell
from harness.stats.replication.statistic import WeightsStatistic

__all__ = ["BinormalFit", "binormal_area", "binormal_of_counts", "binormal_of_scores", "score_categories"]

MAX_CATEGORIES = 20
_STEPS = 200
# Newton's decrement per case at which the solution is exact to about ten digits.
_CONVERGED = 1e-20
# Where the likelihood has no maximum, its curvature vanishes; that of a solution is far above this, per case.
_FLAT = 1e-9
_NO_FIT = "no binormal curve fits best: too few scores lie where the classes overlap; use auc"


@dataclass(frozen=True, slots=True, eq=False)
class BinormalFit:
    """The intercept `a` and the slope `b` of the curve on normal axes, and the cuts between categories."""

    a: float
    b: float
    cuts: FloatArray

    @property
    def area(self) -> float:
        from scipy.special import ndtr

        return float(ndtr(self.a / np.sqrt(1 + self.b**2)))

    @property
    def equal_error(self) -> float:
        """The error rate at which both are equal: z(1 - x) = a + b z(x)."""
        from scipy.special import ndtr

        return float(ndtr(-self.a / (1 + self.b)))

    @property
    def vector(self) -> FloatArray:
        """All parameters: a, b, cuts."""
        return np.concatenate(([self.a, self.b], self.cuts))


def score_categories(cases: ScoredCases, most: int = MAX_CATEGORIES) -> IntArray:
    """The category of each case, from the worst scores to the best.

    Tied scores of both classes count as the runs they would have on average if ties were broken by lot; each category
    gets about equally many runs.
    """
    order = cases.order
    level = np.empty(cases.better.size, dtype=np.intp)
    level[order.cases] = np.searchsorted(order.ends, np.arange(order.cases.size))
    positives = np.bincount(level, weights=cases.positive)
    negatives = np.bincount(level, weights=~cases.positive)
    # 1 and 0 for levels of one class; mixed ones differ from every neighbour.
    kind = np.where(positives * negatives > 0, 2 + np.arange(positives.size), (positives > 0).astype(np.intp))
    run = np.concatenate(([0], np.cumsum(kind[1:] != kind[:-1])))
    p, n = np.bincount(run, weights=positives), np.bincount(run, weights=negatives)
    size = 1 + 2 * p * n / (p + n)
    if size.size > most:
        run = _joined(size, most)[run]
    return np.asarray(run.max() - run[level], dtype=np.intp)


def _joined(size: FloatArray, most: int) -> IntArray:
    """The category of each run.

    A cut above a run of positives is an outer corner of the curve, one above negatives an inner one. All of one kind
    would bias the area, by 0.002 with 1,000 cases; so the cuts alternate.
    """
    number = np.arange(1, most)
    cuts = np.searchsorted(np.cumsum(size), number / most * size.sum()) + 1
    cuts = np.unique(np.minimum(cuts + (cuts + number) % 2, size.size - 1))
    return np.searchsorted(cuts, np.arange(size.size), side="right")


def binormal_of_scores(cases: ScoredCases) -> BinormalFit:
    """The fit to scores; a ValueError if there is none."""
    cases = cases.counting()
    require_both(cases)
    return binormal_of_counts(*_counts(score_categories(cases), cases.positive, cases.weight))


def _counts(category: IntArray, positive: BoolArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The weights of negative and positive cases in each category."""
    size = int(category.max()) + 1
    negatives, positives = (np.bincount(category, weights=weights * of, minlength=size) for of in (~positive, positive))
    return negatives.astype(np.float64), positives.astype(np.float64)


def binormal_of_counts(negatives: FloatArray, positives: FloatArray, start: BinormalFit | None = None) -> BinormalFit:
    """The fit to ordered categories, worst first; a ValueError if the likelihood has no maximum.

    `start` is the solution for similar counts in the same categories.
    """
    full = negatives + positives > 0
    counts = np.stack([negatives[full], positives[full]])
    if not (counts.sum(axis=1) > 0).all():
        raise ValueError("a class has no cases")
    _check_overlap(counts)
    counts = counts / counts.sum()
    x = _start(counts) if start is None or not full.all() else start.vector
    for _ in range(_STEPS):
        here = _likelihood(x, counts)
        if here is None:
            raise ValueError(_NO_FIT)
        step = here.step()
        decrement = float(here.gradient @ step)
        if decrement < _CONVERGED:
            break
        x = _search(x, step, counts, here.value)
    else:
        raise ValueError(_NO_FIT)
    if np.linalg.eigvalsh(here.observed)[0] < _FLAT:
        raise ValueError(_NO_FIT)
    return BinormalFit(float(x[0]), float(x[1]), x[2:])


def _check_overlap(counts: FloatArray) -> None:
    if counts.shape[1] < 2:
        raise ValueError("all scores are equal: no binormal curve can be fitted")
    used = [np.flatnonzero(row) for row in counts]
    if used[0].max() < used[1].min() or used[1].max() < used[0].min():
        raise ValueError("the scores separate the two classes perfectly, and then no binormal curve fits best; use auc")
    if counts.shape[1] < 3:
        raise ValueError("two different scores are too few for a binormal curve, which takes three or more; use auc")


def _start(counts: FloatArray) -> FloatArray:
    """Equal variances, the trapezium's area, and cuts at the quantiles of both classes together."""
    from scipy.special import ndtr, ndtri

    level = np.arange(counts.shape[1])
    area = auc(
        threshold_counts(np.tile(level, 2), np.repeat([False, True], level.size), weights=np.concatenate(counts))
    )
    a = float(np.sqrt(2) * ndtri(np.clip(area, 0.02, 0.98)))
    wanted = np.cumsum((counts / counts.sum(axis=1, keepdims=True)).mean(axis=0))[:-1]
    low, high = np.full(wanted.size, -12.0), np.full(wanted.size, 12.0)
    for _ in range(60):
        middle = (low + high) / 2
        below = (ndtr(middle) + ndtr(middle - a)) / 2 < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.concatenate(([a, 1.0], (low + high) / 2))


@dataclass(frozen=True, slots=True, eq=False)
class _Likelihood:
    """The log-likelihood at a point, its gradient, and the observed and expected information.

    `scores` (classes, categories, parameters): the gradient of the logarithm of each category's probability.
    """

    value: float
    gradient: FloatArray
    observed: FloatArray
    expected: FloatArray
    scores: FloatArray

    def step(self) -> FloatArray:
        """Newton's step, or that of Fisher scoring where the likelihood is not concave."""
        for matrix in (self.observed, self.expected):
            try:
                np.linalg.cholesky(matrix)
                return np.asarray(np.linalg.solve(matrix, self.gradient))
            except np.linalg.LinAlgError:
                continue
        raise ValueError(_NO_FIT)


def _likelihood(x: FloatArray, counts: FloatArray) -> _Likelihood | None:
    """None if a category has no probability."""
    a, b, cuts = float(x[0]), float(x[1]), x[2:]
    # How the cuts on the scale of each class change with a, b and the cuts.
    plain = np.column_stack([np.zeros((cuts.size, 2)), np.eye(cuts.size)])
    scaled = np.column_stack([np.full(cuts.size, -1.0), cuts, b * np.eye(cuts.size)])
    negative = _class_likelihood(cuts, plain, counts[0])
    positive = _class_likelihood(b * cuts - a, scaled, counts[1])
    if negative is None or positive is None:
        return None
    # The second derivative of b t - a by b and t is 1.
    slope = counts[1] @ positive.scores[:, 2:] / b
    observed = negative.observed + positive.observed
    observed[1, 2:] -= slope
    observed[2:, 1] -= slope
    return _Likelihood(
        value=negative.value + positive.value,
        gradient=negative.gradient + positive.gradient,
        observed=observed,
        expected=negative.expected + positive.expected,
        scores=np.stack([negative.scores, positive.scores]),
    )


def _class_likelihood(u: FloatArray, jacobian: FloatArray, counts: FloatArray) -> _Likelihood | None:
    """The part of one class, with cuts u on its own scale, which are linear in the parameters."""
    p, density = _probabilities(u), np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi)
    if not (p > 0).all():
        return None
    scores = np.zeros((p.size, u.size))
    here = np.arange(u.size)
    scores[here, here], scores[here + 1, here] = density / p[:-1], -density / p[1:]
    slope = counts @ scores
    # Minus the second derivatives along u: of the densities, and of the logarithm.
    observed = np.diag(u * slope) + scores.T @ (counts[:, None] * scores)
    expected = scores.T @ ((counts.sum() * p)[:, None] * scores)
    used = counts > 0
    return _Likelihood(
        value=float(counts[used] @ np.log(p[used])),
        gradient=slope @ jacobian,
        observed=jacobian.T @ observed @ jacobian,
        expected=jacobian.T @ expected @ jacobian,
        scores=scores @ jacobian,
    )


def _probabilities(u: FloatArray) -> FloatArray:
    """Of the intervals between normal quantiles; in the upper tail from above, where digits are not lost."""
    from scipy.special import ndtr

    edges = np.concatenate(([-np.inf], u, [np.inf]))
    upper = edges[:-1] > 0
    below, above = np.where(upper, -edges[1:], edges[:-1]), np.where(upper, -edges[:-1], edges[1:])
    return np.asarray(ndtr(above) - ndtr(below))


def _search(x: FloatArray, step: FloatArray, counts: FloatArray, value: float) -> FloatArray:
    """As much of a step as keeps the cuts in order and does not lower the likelihood."""
    size = 1.0
    while size > 1e-10:
        there = x + size * step
        if there[1] > 0 and (np.diff(there[2:]) > 0).all():
            likelihood = _likelihood(there, counts)
            if likelihood is not None and likelihood.value >= value - 1e-14:
                return there
        size /= 2
    raise ValueError(_NO_FIT)


def _area_slopes(fit: BinormalFit, category: IntArray, positive: BoolArray, weights: FloatArray) -> FloatArray:
    """What each case adds to the area per unit of weight, to first order, by the score equations."""
    counts = np.stack(_counts(category, positive, weights))
    full = counts.sum(axis=0) > 0
    here = _likelihood(fit.vector, counts[:, full])
    if here is None:
        raise ValueError(_NO_FIT)
    root = np.sqrt(1 + fit.b**2)
    gradient = np.zeros(fit.cuts.size + 2)
    gradient[:2] = np.array([1 / root, -fit.a * fit.b / root**3])
    gradient *= np.exp(-((fit.a / root) ** 2) / 2) / np.sqrt(2 * np.pi)
    by_category = np.zeros(counts.shape)
    by_category[:, full] = here.scores @ np.linalg.solve(here.observed, gradient)
    return np.asarray(by_category[positive.astype(np.intp), category])


@dataclass(frozen=True, slots=True, eq=False)
class _Curve:
    """The categories of a cell's cases, which of them count, and the solution for equal weights, if there is one."""

    category: IntArray
    positive: BoolArray
    inside: BoolArray
    start: BinormalFit | None

    def fit(self, weights: FloatArray) -> BinormalFit | None:
        """The solution for these weights; None if there is none."""
        counts = _counts(self.category, self.positive, weights * self.inside)
        try:
            return binormal_of_counts(*counts, start=self.start)
        except ValueError:
            return None

    def area(self, weights: FloatArray) -> float:
        """NaN if there is no solution."""
        fit = self.fit(weights)
        return float("nan") if fit is None else fit.area

    def slopes(self, weights: FloatArray) -> FloatArray:
        """The linear form at these weights."""
        fit = self.fit(weights)
        if fit is None:
            raise ValueError(_NO_FIT)
        return _area_slopes(fit, self.category, self.positive, weights * self.inside) * self.inside


def binormal_area(cells: Sequence[ScoredCell]) -> WeightsStatistic:
    """The area under the binormal curves of some cells; a ValueError if that of all cases cannot be fitted."""
    curves = [_curve(*cell) for cell in cells]
    grouped = any(inside is not None for _, inside in cells)
    return WeightsStatistic(
        lambda weights: np.array([curve.area(weights) for curve in curves]),
        bounds=(0.0, 1.0),
        size=len(cells),
        linear=lambda weights: np.stack([curve.slopes(weights) for curve in curves], axis=1),
        counted=np.stack([curve.inside for curve in curves], axis=1).astype(np.float64) if grouped else None,
        classes=cells[0][0].positive,
        words="area under the binormal curve",
    )


def _curve(cases: ScoredCases, inside: BoolArray | None) -> _Curve:
    require_both(cases)
    counted = np.ones(cases.positive.size, dtype=np.bool_) if inside is None else inside
    category = np.zeros(cases.positive.size, dtype=np.intp)
    chosen = ScoredCases(cases.better[counted], cases.positive[counted], None, cases.larger_is_better)
    if counted.any():
        category[counted] = score_categories(chosen)
    counts = _counts(category, cases.positive, cases.weight * counted)
    start = None
    try:
        start = binormal_of_counts(*counts)
    except ValueError:
        # A group without a curve has no value; a whole run without one is told why.
        if inside is None:
            raise
    return _Curve(category, cases.positive, counted, start)
