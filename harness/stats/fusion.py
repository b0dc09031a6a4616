"""Several answers to each case as one: scores on one scale, votes for labels, and weights by logistic regression.

Scores of different programs have different scales. They are made comparable by what the program said over all cases,
never by the truth: by the median and the median absolute deviation, or by ranks (Jain, Nandakumar and Ross 2005 call
these robust). Arrays have a row for each program and a column for each case.

The regression is by maximum likelihood and Newton's method, as in McCullagh and Nelder, Generalized Linear Models
(1989), section 4.4. If a combination of the numbers separates the events from the rest, no finite weights are the most
likely ones (Albert and Anderson 1984); if one is a combination of the others, there are many. Then a penalty of half
the squared weights of the standardised numbers makes them finite and unique, and `shrunk` says so.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.stats.arrays import BoolArray, FloatArray, IntArray

# The median absolute deviation of a normal distribution, times this, is its standard deviation.
MAD_TO_SD = 1.482602218505602
Normaliser = Callable[[FloatArray], FloatArray]


def by_median(scores: FloatArray) -> Normaliser:
    """Distances from the median, in robust standard deviations; missing scores (NaN) do not count.

    If more than half of the scores are equal, the standard deviation is taken; if all are, distances stay as they are.
    """
    known = scores[~np.isnan(scores)]
    centre = float(np.median(known))
    spread = MAD_TO_SD * float(np.median(np.abs(known - centre))) or float(known.std()) or 1.0
    return lambda values: np.asarray((values - centre) / spread)


def by_scale(scores: FloatArray) -> Normaliser:
    """Multiples of the median, for scores from 0 up whose 0 means that nothing speaks for the answer.

    If the median is 0, of the mean; if all scores are 0, they stay so.
    """
    known = scores[~np.isnan(scores)]
    scale = float(np.median(known))
    scale = scale if scale > 0 else float(known.mean())
    return lambda values: np.asarray(values / (scale if scale > 0 else 1.0))


def by_rank(scores: FloatArray) -> Normaliser:
    """The share of scores that are smaller, with half of those that are equal: from 0 to 1.

    A value between two scores lies between their shares.
    """
    known = np.sort(scores[~np.isnan(scores)])

    def shares(values: FloatArray) -> FloatArray:
        below, upto = (np.searchsorted(known, values, side=side) for side in ("left", "right"))
        return np.asarray(np.where(np.isnan(values), np.nan, (below + upto) / (2 * known.size)))

    return shares


@dataclass(frozen=True, eq=False)
class Winners:
    """For each case the program whose label won, how far it leads the second label, and whether that is nothing."""

    program: IntArray
    lead: FloatArray
    tied: BoolArray


def count_votes(labels: IntArray, weights: FloatArray) -> Winners:
    """The label with the largest sum of weights in each case; of several such, that of the first program.

    A label of -1 is no vote; a case without any vote is tied.
    """
    same = (labels[:, None, :] == labels[None, :, :]) & (labels >= 0)[:, None, :]
    totals = np.where(labels >= 0, (same * weights[None, :, :]).sum(axis=1), -np.inf)
    return best_label(labels, totals)


def best_label(labels: IntArray, totals: FloatArray) -> Winners:
    """The label with the largest total in each case; programs with the same label have the same total.

    A label that has no rival leads by its total.
    """
    cases = np.arange(labels.shape[1])
    program = np.argmax(np.where(labels >= 0, totals, -np.inf), axis=0)
    best = totals[program, cases]
    rivals = np.where((labels >= 0) & (labels != labels[program, cases]), totals, -np.inf).max(axis=0)
    voted = (labels >= 0).any(axis=0)
    lead = np.where(voted, best - np.where(np.isfinite(rivals), rivals, 0.0), 0.0)
    return Winners(program, lead, ~voted | (np.isfinite(rivals) & (lead <= 1e-12 * (1 + np.abs(best)))))


def fold_units(units: IntArray, folds: int, *, rng: np.random.Generator) -> IntArray:
    """A fold for each case: units are dealt out at random, as equally as possible; a unit is never divided."""
    names, numbers = np.unique(units, return_inverse=True)
    if not 2 <= folds <= names.size:
        raise ValueError(f"{folds} folds of {names.size:,} units; give from 2 to {names.size:,}")
    return np.asarray(rng.permutation(np.arange(names.size) % folds)[numbers])


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
    if numbers.ndim != 2 or len(numbers) != len(event):
        raise ValueError(f"numbers of shape {numbers.shape} for {len(event):,} events; give (cases, columns)")
    if not np.isfinite(numbers).all():
        raise ValueError("a number is not finite")
    if event.all() or not event.any():
        raise ValueError("all cases are of one kind; weights are learnt from both")
    centre, scale = numbers.mean(axis=0), numbers.std(axis=0)
    varies = scale > 1e-12 * np.maximum(np.abs(centre), 1e-300)
    scaled = (numbers[:, varies] - centre[varies]) / scale[varies]
    design = np.column_stack([np.ones(len(event)), scaled])
    slopes, shrunk = _newton(design, event, 0.0), False
    # If every case is predicted with certainty, the weights would grow for ever.
    if slopes is None or (np.abs(event - _chance(design @ slopes)) < _SURE).all():
        slopes, shrunk = _newton(design, event, 1.0), True
    if slopes is None:
        raise ValueError("no weights found: the scores are too nearly the same, or too extreme")
    weights = np.zeros(numbers.shape[1])
    weights[varies] = slopes[1:] / scale[varies]
    return LogisticModel(float(slopes[0] - weights @ centre), weights, shrunk)


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
        following = _longest_step(design, event, weights, step, shrink, value)
        if following is None:
            return weights if np.abs(gradient).max() < 1e-6 * len(event) else None
        weights, gain = weights + following[0] * step, following[1] - value
        value = following[1]
        if gain < _SMALL * (1 + abs(value)) and np.abs(step).max() < 1e-9 * (1 + np.abs(weights).max()):
            return weights
    return None


def _longest_step(
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
