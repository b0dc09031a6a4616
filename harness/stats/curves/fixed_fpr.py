"""The true-positive rate at a fixed false-positive rate, with a band that allows for the threshold being estimated too.

A band at a threshold treats the threshold as given; read at a false-positive rate it covers far too little. Here the
limits combine two sources in quadrature: the limits of the true-positive rate at the threshold, and the curve at the
false-positive rates that the negatives allow there (Woodruff 1952, for quantiles). No slope is estimated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import BoolArray, FloatArray, IntArray, kish
from harness.stats.curves.bands import places_of
from harness.stats.curves.entries import RateErrors
from harness.stats.curves.scores import ScoredCases, ThresholdCounts, counts_of
from harness.stats.curves.summaries import with_weights_of
from harness.stats.limits import cases_without_variance, difference_limits, share_limits, stretched_wilson
from harness.stats.rates import Intervals, normal_quantile
from harness.stats.replication.sample import Sample, unit_sums

__all__ = ["FixedFprBands", "along_curve", "fixed_fpr_bands"]


_ROUNDING = 1e-12
# Curves steepen towards an fpr of 0; their exponent there is assumed to be this times that of the first few, at most 1.
_STEEPER, _FIRST = 1.5, 4
_MIN_POWER = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class FixedFprBands:
    """True-positive rates at given false-positive rates, with pointwise limits.

    `tpr` is that of the laxest threshold whose false-positive rate is within the given one, as in `fnmr_at_fmr`: the
    next negative is just below it, so it is slightly optimistic. The limits are those of the strictest threshold with
    the same rate, whose false-positive rate is right on average; they contain both.
    """

    fpr: FloatArray
    tpr: FloatArray
    low: FloatArray
    high: FloatArray
    confidence: float
    df: float


@dataclass(frozen=True, slots=True, eq=False)
class _Errors:
    """Standard errors of both rates at some thresholds, and the correlation of the two."""

    tpr: FloatArray
    fpr: FloatArray
    correlation: FloatArray
    df: float


@dataclass(frozen=True, slots=True)
class _ClassSize:
    """Kish's numbers of cases and of units in a class."""

    cases: float
    units: float


def fixed_fpr_bands(
    cases: ScoredCases, sample: Sample | None, fpr: npt.ArrayLike, *, confidence: float = 0.95
) -> FixedFprBands:
    """Bands at some false-positive rates, under a design, or for independent cases without a sample."""
    targets = _check_rates(fpr)
    normal_quantile(confidence)  # checks the confidence
    weighted = cases if sample is None else with_weights_of(cases, sample)
    counts = counts_of(weighted)
    laxest = np.searchsorted(counts.fpr, targets + _ROUNDING, side="right") - 1
    at = _strictest(counts)[_fpr_rank(counts, laxest)]
    errors = _independent(counts, at) if sample is None else _by_design(weighted, counts, sample, at)
    positives, negatives = (_size(weighted, of, sample) for of in (cases.positive, ~cases.positive))
    rates = share_limits(
        counts.tpr[at], errors.tpr, errors.df, cases=positives.cases, units=positives.units, confidence=confidence
    )
    moved = _at_moved_thresholds(counts, targets, at, errors, negatives, confidence)
    limits = _combine(np.minimum(counts.tpr[at], 1.0), rates, moved, errors.correlation)
    tpr = np.minimum(counts.tpr[laxest], 1.0)
    return FixedFprBands(targets, tpr, limits.low, np.maximum(limits.high, tpr), confidence, errors.df)


def along_curve(bands: FixedFprBands) -> FixedFprBands:
    """Bands at the rates of a whole curve, with limits at its ends taken from the rest of it.

    By themselves the ends have the widest limits of all, since no error shows how far a threshold may move. But a
    curve rises: at the start it is not above its later upper limits, and at the end not below its earlier lower limits.
    """
    start, end = bands.fpr <= _ROUNDING, bands.fpr >= 1 - _ROUNDING
    low, high = np.where(end, bands.low.max(), bands.low), np.where(start, bands.high.min(), bands.high)
    return replace(bands, low=low, high=high)


def _combine(tpr: FloatArray, rates: Intervals, moved: Intervals, correlation: FloatArray) -> Intervals:
    """The rate at the fixed fpr is the rate at the threshold minus what a move of the threshold removes."""
    removed = Intervals(np.minimum(tpr - moved.high, 0.0), np.maximum(tpr - moved.low, 0.0))
    return difference_limits(tpr, rates, 0.0, removed, correlation=correlation, bounds=(0.0, 1.0))


def _strictest(counts: ThresholdCounts) -> IntArray:
    """The first place of the curve with each false-positive rate; for a rate of 0, the last."""
    rises = np.flatnonzero(np.diff(counts.fpr) > 0)
    return np.append(rises[:1], rises + 1)


def _fpr_rank(counts: ThresholdCounts, at: IntArray) -> IntArray:
    """How many different false-positive rates come before that of a place."""
    rank = np.concatenate(([0], np.cumsum(np.diff(counts.fpr) > 0)))
    return np.asarray(rank[at])


def _check_rates(fpr: npt.ArrayLike) -> FloatArray:
    targets = np.atleast_1d(np.asarray(fpr, dtype=np.float64))
    if targets.ndim != 1 or not ((targets >= 0) & (targets <= 1)).all():
        raise ValueError(f"false-positive rates {fpr!r}: expected rates between 0 and 1")
    return targets


def _independent(counts: ThresholdCounts, at: IntArray) -> _Errors:
    def error(rates: FloatArray, size: float) -> FloatArray:
        return np.asarray(np.sqrt(np.clip(rates * (1 - rates), 0, None) / size))

    tpr, fpr = error(counts.tpr[at], counts.positives.effective), error(counts.fpr[at], counts.negatives.effective)
    return _Errors(tpr, fpr, np.zeros(at.size), np.inf)


def _by_design(cases: ScoredCases, counts: ThresholdCounts, sample: Sample, at: IntArray) -> _Errors:
    """Linearised over units, once for each place."""
    places, back = np.unique(at, return_inverse=True)
    along = RateErrors(sample, sample.unit_of_case, places_of(cases, counts, places), places.size)
    positive, negative = (along.sums(np.where(of, sample.weights, 0.0)) for of in (cases.positive, ~cases.positive))
    tpr, fpr = np.sqrt(along.variance(positive)), np.sqrt(along.variance(negative))
    both, error = along.covariance(positive, negative), tpr * fpr
    correlation = np.divide(both, error, out=np.zeros(places.size), where=error > _ROUNDING**2)
    return _Errors(tpr[back], fpr[back], correlation[back], float(sample.units - sample.strata))


def _size(cases: ScoredCases, of: BoolArray, sample: Sample | None) -> _ClassSize:
    effective = cases.size(of).effective
    return _ClassSize(effective, effective if sample is None else float(kish(unit_sums(sample, of))))


def _at_moved_thresholds(
    counts: ThresholdCounts, fpr: FloatArray, at: IntArray, errors: _Errors, negatives: _ClassSize, confidence: float
) -> Intervals:
    """The curve at the false-positive rates that the threshold may have."""
    observed = counts.fpr[at]
    fallback = float(cases_without_variance(negatives.cases, negatives.units))
    varies = errors.fpr > _ROUNDING
    effective = np.where(varies, observed * (1 - observed) / np.where(varies, errors.fpr, 1.0) ** 2, fallback)
    limits = stretched_wilson(fpr, np.minimum(effective, negatives.cases), errors.df, confidence=confidence)
    low = _curve_at(counts, np.clip(limits.low, 0.0, 1.0), negatives.cases)
    return Intervals(low, _curve_at(counts, np.clip(limits.high, 0.0, 1.0), negatives.cases))


def _curve_at(counts: ThresholdCounts, fpr: FloatArray, negatives: float) -> FloatArray:
    """The curve, linear between its points; before the first negative, where it is unknown, a power of the fpr.

    The false-positive rate of a threshold above all negatives is unknown: at the highest negative it is 1 / n on
    average, and from there the curve falls to 0 with the exponent of its first few negatives, made somewhat steeper.
    """
    places, first = _strictest(counts), 1 / negatives
    x, y = counts.fpr[places], counts.tpr[places]
    curve = np.interp(fpr, x, y)
    one, few = np.interp([first, min(_FIRST * first, 1.0)], x, y)
    half = 0.5 / counts.positives.effective
    power = np.clip(_STEEPER * np.log(max(few, half) / max(one, half)) / np.log(_FIRST), _MIN_POWER, 1.0)
    return np.asarray(np.where(fpr < first, np.minimum(curve, one * (fpr / first) ** power), curve))
