"""Logistic regression by Newton's method: weights that turn several numbers into the log-odds of an event.

Maximum likelihood, as in McCullagh and Nelder, Generalized Linear Models (1989), section 4.4. If a combination of the
numbers separates the events from the rest, no finite weights are the most likely ones (Albert and Anderson 1984); if
one is a combination of the others, there are many. Then a penalty of half the squared weights of the standardised
numbers makes them finite and unique, and `shrunk` says so.
"""

from dataclasses import dataclass

import numpy as np

from harness.stats.arrays import BoolArray, FloatArray

MAX_STEPS = 100
# The change of the log-likelihood at which Newton's method, whose error squares with every step, has long converged.
_SMALL = 1e-12
# Events that are predicted this surely have been separated.
_SURE = 1e-6


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """The log-odds of an event: `intercept` plus the weighted sum of the numbers."""

    intercept: float
    weights: FloatArray
    shrunk: bool = False

    def log_odds(self, numbers: FloatArray) -> FloatArray:
        """For each row of numbers (cases, columns)."""
        return np.asarray(self.intercept + numbers @ self.weights)


def fit_logistic(numbers: FloatArray, event: BoolArray) -> LogisticModel:
    """The most likely weights of the columns of `numbers` (cases, columns); a column without variance gets 0.

    A ValueError if an event, or its absence, never occurs.
    """
    _check(numbers, event)
    centre, scale = numbers.mean(axis=0), numbers.std(axis=0)
    varies = scale > 1e-12 * np.maximum(np.abs(centre), 1e-300)
    scaled = (numbers[:, varies] - centre[varies]) / scale[varies]
    design = np.column_stack([np.ones(len(event)), scaled])
    slopes, shrunk = _newton(design, event, 0.0), False
    if slopes is None or _separates(design, slopes, event):
        slopes, shrunk = _newton(design, event, 1.0), True
    if slopes is None:
        raise ValueError("no weights found: the scores are too nearly the same, or too extreme")
    weights = np.zeros(numbers.shape[1])
    weights[varies] = slopes[1:] / scale[varies]
    return LogisticModel(float(slopes[0] - weights @ centre), weights, shrunk)


def _check(numbers: FloatArray, event: BoolArray) -> None:
    if numbers.ndim != 2 or len(numbers) != len(event):
        raise ValueError(f"numbers of shape {numbers.shape} for {len(event):,} events; give (cases, columns)")
    if not np.isfinite(numbers).all():
        raise ValueError("a number is not finite")
    if event.all() or not event.any():
        raise ValueError("all cases are of one kind; weights are learnt from both")


def _newton(design: FloatArray, event: BoolArray, penalty: float) -> FloatArray | None:
    """The weights, intercept first; None if they do not converge. The intercept is not penalised."""
    shrink = np.full(design.shape[1], penalty)
    shrink[0] = 0.0
    weights = np.zeros(design.shape[1])
    value = _likelihood(design, event, weights, shrink)
    for _ in range(MAX_STEPS):
        chance = _chance(design @ weights)
        gradient = design.T @ (event - chance) - shrink * weights
        information = (design * (chance * (1 - chance))[:, None]).T @ design + np.diag(shrink)
        try:
            step: FloatArray = np.asarray(np.linalg.solve(information, gradient), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
        following = _longest(design, event, weights, step, shrink, value)
        if following is None:
            return weights if np.abs(gradient).max() < 1e-6 * len(event) else None
        weights, gain = weights + following[0] * step, following[1] - value
        value = following[1]
        if gain < _SMALL * (1 + abs(value)) and np.abs(step).max() < 1e-9 * (1 + np.abs(weights).max()):
            return weights
    return None


def _longest(
    design: FloatArray, event: BoolArray, weights: FloatArray, step: FloatArray, shrink: FloatArray, value: float
) -> tuple[float, float] | None:
    """The longest of ever shorter steps that does not lower the likelihood, and the likelihood there."""
    part = 1.0
    while part > 1e-6:
        reached = _likelihood(design, event, weights + part * step, shrink)
        if reached >= value:
            return part, reached
        part /= 2
    return None


def _likelihood(design: FloatArray, event: BoolArray, weights: FloatArray, shrink: FloatArray) -> float:
    odds = design @ weights
    return float(-np.logaddexp(0.0, np.where(event, -odds, odds)).sum() - shrink @ weights**2 / 2)


def _chance(odds: FloatArray) -> FloatArray:
    """The probability of log-odds, without overflow."""
    small = np.exp(-np.abs(odds))
    return np.asarray(np.where(odds >= 0, 1.0, small) / (1 + small))


def _separates(design: FloatArray, weights: FloatArray, event: BoolArray) -> bool:
    """Whether every case is predicted with certainty: the weights would grow for ever."""
    wrong = np.abs(event - _chance(design @ weights))
    return bool((wrong < _SURE).all())
