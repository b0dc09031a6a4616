"""The measure `auc_binormal`: the area under the binormal ROC curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.errors import UsageError
from harness.measures.curves import require_scored_cases
from harness.measures.measure import Measure, Reads, Runs

if TYPE_CHECKING:
    from harness.measures.measure import Cell
    from harness.stats.replication.statistic import Statistic


def _area(runs: Runs, cells: Sequence[Cell]) -> Statistic:
    """The area under the curve; a run without one is named."""
    from harness.lab.binormal.statistics import binormal_area, binormal_of_scores

    require_scored_cases("--statistic auc_binormal", runs)
    cases = runs.curve_cases()
    for run in sorted({run for run, inside in cells if inside is None}):
        try:
            binormal_of_scores(cases[run])
        except ValueError as error:
            raise UsageError(f"--statistic auc_binormal: {runs.names[run]}: {error}") from None
    return binormal_area([(cases[run], inside) for run, inside in cells])


AUC_BINORMAL = Measure(
    "auc_binormal",
    "area under the binormal ROC curve",
    _area,
    reads=Reads.SCORE,
    classes=("positive", "negative"),
    # The best settings may separate the classes, and then it has no value.
    tunable=False,
)
