"""Measures of the whole curve over all thresholds, from the recorded scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.measures.measure import Measure, Reads, Runs

if TYPE_CHECKING:
    from harness.measures.measure import Cell
    from harness.stats.replication.statistic import Statistic

__all__ = ["MEASURES"]


def _summary(name: str, words: str, *, larger: bool) -> Measure:
    """A summary of the curve that `stats.curves` knows by name."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        from harness.stats.curves.summaries import SUMMARIES, summary_statistic

        cases = runs.curve_cases()
        return summary_statistic(SUMMARIES[name], [(cases[run], inside) for run, inside in cells])

    return Measure(name, words, statistic, larger, reads=Reads.SCORE, classes=("positive", "negative"))


MEASURES = (
    _summary("auc", "area under the ROC curve", larger=True),
    _summary("eer", "equal error rate", larger=False),
)
