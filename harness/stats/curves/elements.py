"""Curves over what the cases consist of, such as pixels: the elements have scores, but the cases are the sample.

The elements of a case are not independent, so every error comes from the cases, or from their units: a replicate gives
all elements of a case the weight of their case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.curves.scores import Order, ScoredCases
from harness.stats.curves.summaries import CurveSummary, counted_cases, summary_of_weights, summary_slopes
from harness.stats.replication.sample import Sample
from harness.stats.replication.statistic import WeightsStatistic

__all__ = ["ElementCell", "ScoredElements", "element_sample", "element_statistic"]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredElements:
    """Elements with a score, a class and a weight, and the case that each belongs to."""

    scored: ScoredCases
    case: IntArray

    @property
    def weight(self) -> FloatArray:
        """How much each element counts within its case."""
        return self.scored.weight


# The elements of a run, and which of the cases count; None if all do.
ElementCell = tuple[ScoredElements, BoolArray | None]


def element_sample(sample: Sample, elements: ScoredElements) -> Sample:
    """The elements as a sample: each in the unit of its case, with the weight of its case times its own."""
    return replace(
        sample,
        weights=sample.weights[elements.case] * elements.weight,
        unit_of_case=sample.unit_of_case[elements.case],
        clustered=True,
    )


def element_statistic(summary: CurveSummary, cells: Sequence[ElementCell]) -> WeightsStatistic:
    """A summary of the curves of some cells as a function of the weights of the cases; each sort is done once."""
    orders = [elements.scored.order for elements, _ in cells]
    curves = [
        summary_of_weights(summary, elements.scored, order) for (elements, _), order in zip(cells, orders, strict=True)
    ]

    def function(weights: FloatArray) -> FloatArray:
        return np.array([curve(_spread(weights, cell)) for curve, cell in zip(curves, cells, strict=True)])

    def linear(weights: FloatArray) -> FloatArray:
        columns = [
            _gather(summary, weights, cell, order, weights.size) for cell, order in zip(cells, orders, strict=True)
        ]
        return np.stack(columns, axis=1)

    return WeightsStatistic(
        function,
        bounds=(0.0, 1.0),
        size=len(cells),
        linear=None if summary.linear is None else linear,
        smooth=summary.smooth,
        optimistic=summary.optimistic,
        counted=counted_cases([inside for _, inside in cells]),
        words=summary.words,
    )


def _spread(weights: FloatArray, cell: ElementCell) -> FloatArray:
    """The weight of each element, from the weights of the cases."""
    elements, inside = cell
    counted = weights if inside is None else weights * inside
    return np.asarray(counted[elements.case] * elements.weight)


def _gather(summary: CurveSummary, weights: FloatArray, cell: ElementCell, order: Order, cases: int) -> FloatArray:
    """What each case adds per unit of weight: the sum over its elements."""
    elements, inside = cell
    slopes = summary_slopes(summary, elements.scored, order, _spread(weights, cell)) * elements.weight
    sums = np.bincount(elements.case, weights=slopes, minlength=cases)
    return np.asarray(sums if inside is None else sums * inside)
