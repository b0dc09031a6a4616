"""Several answers to each case as one: scores on one scale, votes for labels.

Scores of different programs have different scales. They are made comparable by what the program said over all cases,
never by the truth: by the median and the median absolute deviation, or by ranks (Jain, Nandakumar and Ross 2005 call
these robust). Arrays have a row for each program and a column for each case.
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
