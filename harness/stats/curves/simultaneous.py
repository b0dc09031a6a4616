"""Bands that hold along a whole curve at once: the confidence that each point needs for that.

The largest standardised deviation along the curve is drawn with random multipliers of the units (the multiplier
bootstrap: Gine and Zinn 1984; for bands, Montiel Olea and Plagborg-Moller 2019). No resample is formed, and the limits
themselves are those of every other band, only with a higher confidence.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from harness.stats.curves.bands import places_of
from harness.stats.curves.cases import BoolArray, Cases, FloatArray, IntArray
from harness.stats.curves.counts import counts_of
from harness.stats.rates import normal_quantile
from harness.stats.replication.sample import Sample, make_sample

__all__ = ["simultaneous_confidence"]

DRAWS = 2000
# Cases times draws: beyond it fewer draws are made, at least a few hundred.
_MOST = 1 << 28
_FEWEST = 300


def simultaneous_confidence(
    cases: Cases,
    sample: Sample | None,
    at: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> float:
    """The pointwise confidence at which both rates are within their limits at all of these places of the curve."""
    normal_quantile(confidence)  # refuses what is no confidence
    known = make_sample(cases.better.size, weights=cases.weights) if sample is None else sample
    places = np.asarray(at, dtype=np.intp)
    weighted = Cases(cases.better, cases.positive, known.weights, cases.larger_is_better)
    entered = places_of(weighted, counts_of(weighted), places)
    draws = max(_FEWEST, min(DRAWS, _MOST // max(known.cases, 1)))
    classes = (cases.positive, ~cases.positive)
    moved = np.empty((draws, 2, places.size))
    for draw in range(draws):
        pulled = known.weights * _multipliers(known, rng)[known.unit_of_case]
        moved[draw] = [_moved(known, entered, of, pulled, places.size) for of in classes]
    spread = moved.std(axis=0)
    standardised = np.abs(moved) / np.where(spread > 1e-12, spread, np.inf)
    from scipy.special import ndtr

    return float(2 * ndtr(np.quantile(standardised.max(axis=(1, 2)), confidence)) - 1)


def _multipliers(sample: Sample, rng: np.random.Generator) -> FloatArray:
    """A normal number a unit, centred within strata, so that the variance is that of the textbook."""
    sizes = sample.stratum_sizes
    drawn = rng.standard_normal(sample.units)
    means = np.bincount(sample.stratum_of_unit, weights=drawn, minlength=sample.strata) / sizes
    scale = np.sqrt(sizes / np.maximum(sizes - 1, 1))
    return np.asarray((drawn - means[sample.stratum_of_unit]) * scale[sample.stratum_of_unit])


def _moved(sample: Sample, entered: IntArray, of: BoolArray, pulled: FloatArray, points: int) -> FloatArray:
    """How far the weights' multipliers move the rate of a class at every place."""
    weights, moved = np.where(of, sample.weights, 0.0), np.where(of, pulled, 0.0)
    whole, shift = (np.cumsum(np.bincount(entered, weights=w, minlength=points + 1)) for w in (weights, moved))
    total = weights.sum()
    return np.asarray((shift[:-1] - whole[:-1] / total * moved.sum()) / total)
