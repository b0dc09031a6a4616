"""Measures of verification and detection: what scores cost, an error rate at a limit of the other, calibration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from harness.measures.curves import curve_statistic, require_scored_cases
from harness.measures.measure import Measure, Reads, Runs

if TYPE_CHECKING:
    from harness.measures.measure import Cell
    from harness.stats.curves.costs import Cell as ScoredCell
    from harness.stats.replication.statistic import Statistic
__all__ = ["MEASURES", "fnr_at_fpr", "minimum_cost"]

_BOTH = ("positive", "negative")


def _of_scores(
    name: str,
    words: str,
    make: Callable[[Sequence[ScoredCell]], Statistic],
    bounds: tuple[float, float] = (0.0, 1.0),
    needs: str = "",
) -> Measure:
    """A cost of the scores; less is better."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        require_scored_cases(f"--statistic {name}", runs)
        cases = runs.curve_cases()
        return make([(cases[run], inside) for run, inside in cells])

    return _measure(name, words, statistic, bounds, needs)


def _measure(
    name: str,
    words: str,
    statistic: Callable[[Runs, Sequence[Cell]], Statistic],
    bounds: tuple[float, float] = (0.0, 1.0),
    needs: str = "",
) -> Measure:
    return Measure(name, words, statistic, False, bounds, reads=Reads.SCORE, classes=_BOTH, needs=needs)


def _log_cost(cells: Sequence[ScoredCell]) -> Statistic:
    from harness.stats.curves.costs import log_cost

    return log_cost(cells)


def _minimum_log_cost(cells: Sequence[ScoredCell]) -> Statistic:
    from harness.stats.curves.costs import minimum_log_cost

    return minimum_log_cost(cells)


def _squared_error(cells: Sequence[ScoredCell]) -> Statistic:
    from harness.stats.curves.costs import squared_error

    return squared_error(cells)


def _calibration_error(cells: Sequence[ScoredCell]) -> Statistic:
    from harness.stats.curves.costs import calibration_error

    return calibration_error(cells)


MEASURES = (
    _of_scores(
        "cllr", "log-likelihood-ratio cost", _log_cost, (0.0, float("inf")), "a finite log-likelihood ratio each"
    ),
    _of_scores("min_cllr", "minimum log-likelihood-ratio cost", _minimum_log_cost),
    _of_scores("brier", "Brier score", _squared_error),
    _of_scores("ece", "expected calibration error", _calibration_error),
)


def minimum_cost(name: str, miss: float, fa: float, prior: float) -> Measure:
    """The detection cost at the best threshold."""

    def make(cells: Sequence[ScoredCell]) -> Statistic:
        from harness.stats.curves.costs import DetectionPrior, minimum_detection_cost

        return minimum_detection_cost(cells, DetectionPrior(miss, fa, prior))

    return _of_scores(name, "minimum detection cost", make)


def fnr_at_fpr(name: str, limit: float) -> Measure:
    """The false negative rate at the laxest threshold whose false positive rate is within the limit."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        from harness.stats.curves.summaries import fnr_at_fpr

        return curve_statistic(fnr_at_fpr(limit), runs, cells)

    return _measure(name, f"false negative rate at fpr {limit:g}", statistic)
