"""Rates of identification: the share of probes found among the first so many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.errors import UsageError
from harness.measures.measure import Measure, Reads, Runs

if TYPE_CHECKING:
    from harness.measures.measure import Cell
    from harness.stats.replication.statistic import Statistic

__all__ = ["rank"]


def rank(most: int) -> Measure:
    """The share of probes of people in the gallery that are found at this rank or better."""
    name = f"rank{most}"

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        import numpy as np

        from harness.stats.replication.statistic import shares

        ranks = runs.ranks
        for run, own in zip(runs.names, ranks, strict=True):
            if np.isnan(own).all():
                raise UsageError(f"--statistic {name}: {run} has no ranks; they are recorded in rank tests")
        # A probe without a rank was not found: refused, in error, or not on a list that ended before.
        counted = [runs.positive if inside is None else runs.positive & inside for _, inside in cells]
        return shares([(ranks[run] <= most) & of for (run, _), of in zip(cells, counted, strict=True)], counted)

    return Measure(name, f"rate at rank {most}", statistic, reads=Reads.RANK, classes=("positive",), share=True)
