"""Pointwise bands of a ROC curve from a similarity matrix, which know both subjects of a score."""

from __future__ import annotations

import numpy as np

from harness.stats.curves.bands import DEFAULT_POINTS, CurveBands, places_of
from harness.stats.curves.cases import Cases, FloatArray, IntArray
from harness.stats.curves.counts import counts_of
from harness.stats.curves.cumulative import RateBands
from harness.stats.curves.entries import binned, column_blocks, square_steps
from harness.stats.curves.points import thinned
from harness.stats.curves.subjects import Subjects, require_rest, without_twice
from harness.stats.curves.two_way import limits_of

__all__ = ["two_way_bands"]


def two_way_bands(cases: Cases, subjects: Subjects, *, confidence: float = 0.95) -> CurveBands:
    """Pointwise bands of both rates, at up to 1,000 places of the curve."""
    counts = counts_of(cases)
    at = thinned(counts, DEFAULT_POINTS)
    place = places_of(cases, counts, at)
    tpr, fpr = (
        _class_bands(rates[at], place, np.where(of, cases.weight, 0.0), subjects, confidence)
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
    cases = total**2 / float(weights @ weights)
    return limits_of(rates, np.sqrt(without_twice(variance, twice)), subjects, cases, confidence)


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
