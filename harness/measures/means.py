"""Means of recorded numbers: what answers cost, and the further values that records may have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from harness.measures.measure import Measure, Reads, Runs

if TYPE_CHECKING:
    from harness.measures.measure import Cell, FloatArray
    from harness.stats.replication.statistic import Statistic

__all__ = ["MEASURES", "VALUES", "value"]

# What a further value is called where a measure has its name.
VALUES = "values."


def _mean(
    get: Callable[[Runs], FloatArray], bounds: tuple[float, float]
) -> Callable[[Runs, Sequence[Cell]], Statistic]:
    """The mean over the cases that have the number."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        import numpy as np

        from harness.stats.replication.statistic import ratio

        values = get(runs)
        known = [~np.isnan(values[run]) & (True if inside is None else inside) for run, inside in cells]
        above = [np.where(of, values[run], 0.0) for (run, _), of in zip(cells, known, strict=True)]
        counted = np.stack(known, axis=1).astype(np.float64)
        return ratio(np.stack(above, axis=1), counted, bounds=bounds, counted=counted)

    return statistic


_COST = (0.0, math.inf)
MEASURES = (
    Measure("seconds", "seconds a case", _mean(lambda runs: runs.seconds, _COST), False, _COST, Reads.COST,
            needs="recorded times", unit="s"),
    Measure("memory", "memory a case", _mean(lambda runs: runs.memory, _COST), False, _COST, Reads.COST,
            needs="programs in processes of their own", unit="B"),
)  # fmt: skip


def value(name: str) -> Measure:
    """The mean of a further number of the records."""
    bounds = (-math.inf, math.inf)
    statistic = _mean(lambda runs: runs.value(name), bounds)
    return Measure(name, f"mean {name}", statistic, True, bounds, Reads.VALUES, needs=f"records with {name}")
