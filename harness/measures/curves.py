"""Measures of curves: summaries over all thresholds, and the share of probes found at a rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.errors import UsageError
from harness.measures.measure import Measure, Reads, Runs

if TYPE_CHECKING:
    from harness.measures.measure import Cell
    from harness.stats.curves.summaries import CurveSummary
    from harness.stats.replication.statistic import Statistic
__all__ = ["MEASURES", "curve_statistic", "rank", "require_scored_cases"]


def curve_statistic(summary: CurveSummary, runs: Runs, cells: Sequence[Cell]) -> Statistic:
    """A summary of the curve over cases, or over pixels if these have the scores."""
    from harness.stats.curves.elements import element_statistic
    from harness.stats.curves.summaries import summary_statistic

    elements = runs.elements()
    if elements is not None:
        return element_statistic(summary, [(elements[run], inside) for run, inside in cells])
    cases = runs.curve_cases()
    return summary_statistic(summary, [(cases[run], inside) for run, inside in cells])


OF_PIXELS = "of pixels there are auc, eer, average_precision and fnr@fpr=RATE"


def require_scored_cases(asked: str, runs: Runs, instead: str = OF_PIXELS) -> None:
    """A UsageError if pixels have the scores: that of an image is then its overlap, no evidence for an object."""
    if runs.elements() is not None:
        raise UsageError(f"{asked}: these scores are of pixels, not of cases; {instead}")


def _summary(name: str, words: str, *, larger: bool) -> Measure:
    """A summary of the curve, by its name in `stats.curves`."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        from harness.stats.curves.summaries import SUMMARIES

        return curve_statistic(SUMMARIES[name], runs, cells)

    return Measure(name, words, statistic, larger, reads=Reads.SCORE, classes=("positive", "negative"))


MEASURES = (
    _summary("auc", "area under the ROC curve", larger=True),
    _summary("eer", "equal error rate", larger=False),
    _summary("average_precision", "average precision over recall", larger=True),
)


def rank(most: int) -> Measure:
    """The share of probes found at this rank or better, among probes of people in the gallery."""
    name = f"rank{most}"

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        import numpy as np

        from harness.stats.replication.statistic import shares

        ranks = runs.ranks
        for run, of_run in zip(runs.names, ranks, strict=True):
            if np.isnan(of_run).all():
                raise UsageError(f"--statistic {name}: {run} has no ranks; only rank tests record them")
        # A probe without a rank was not found: refused, an error, or beyond the end of a list.
        counted = [runs.positive if inside is None else runs.positive & inside for _, inside in cells]
        return shares([(ranks[run] <= most) & of for (run, _), of in zip(cells, counted, strict=True)], counted)

    return Measure(name, f"rate at rank {most}", statistic, reads=Reads.RANK, classes=("positive",), share=True)
