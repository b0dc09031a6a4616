"""The binormal ROC curve: the smooth curve that fits scores best if some transformation makes both classes normal.

Dorfman and Alf (1969) fit it to ratings, Metz, Herman and Shen (1998) to continuous scores. `--statistic auc_binormal`
is the area under it, and `--binormal` of `hate roc`, `det` and `pr` shows the fit of each curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.entries import OptionsEntry
from harness.errors import UsageError
from harness.measures.curves import require_scored_cases
from harness.measures.measure import Measure, Reads, Runs
from harness.options.curves import CurveOptions
from harness.options.declaration import OptionSet, option

if TYPE_CHECKING:
    from harness.measures.measure import Cell
    from harness.stats.replication.statistic import Statistic


class BinormalOptions(OptionSet):
    """Options of `roc --binormal`."""

    binormal: bool = option(
        "--binormal", default=False, help="Fit a binormal curve to the scores, with the area under it."
    )


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


BINORMAL = OptionsEntry(
    name="binormal",
    extends=CurveOptions,
    options=BinormalOptions,
    where="harness.lab.binormal.fits:BinormalFits",
)
AUC_BINORMAL = Measure(
    "auc_binormal",
    "area under the binormal ROC curve",
    _area,
    reads=Reads.SCORE,
    classes=("positive", "negative"),
    # The best settings may separate the classes, and then it has no value.
    tunable=False,
)
