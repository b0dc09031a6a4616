"""Measures of curves: summaries over all thresholds, costs and calibration of scores, and the share found at a rank."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from harness.errors import UsageError
from harness.measures.measure import Measure, MeasureFamily, Reads, Runs
from harness.measures.outcomes import detection_parameters

if TYPE_CHECKING:
    from harness.measures.measure import Cell
    from harness.stats.curves.summaries import CurveSummary, ScoredCell
    from harness.stats.replication.statistic import Statistic

__all__ = ["FAMILIES", "MEASURES", "require_scored_cases"]


def curve_statistic(summary: CurveSummary, runs: Runs, cells: Sequence[Cell]) -> Statistic:
    """A summary of the curve over cases, or over pixels if these have the scores."""
    from harness.stats.curves.summaries import element_statistic, summary_statistic

    elements = runs.elements
    if elements is not None:
        return element_statistic(summary, [(elements[run], inside) for run, inside in cells])
    cases = runs.curve_cases()
    return summary_statistic(summary, [(cases[run], inside) for run, inside in cells])


_BOTH = ("positive", "negative")
OF_PIXELS = "of pixels there are auc, eer, average_precision and fnr@fpr=RATE"


def require_scored_cases(asked: str, runs: Runs, instead: str = OF_PIXELS) -> None:
    """A UsageError if pixels have the scores: that of an image is then its overlap, no evidence for an object."""
    if runs.elements is not None:
        raise UsageError(f"{asked}: these scores are of pixels, not of cases; {instead}")


def _summary(name: str, words: str, *, larger: bool) -> Measure:
    """A summary of the curve, by its name in `stats.curves`."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        from harness.stats.curves.summaries import SUMMARIES

        return curve_statistic(SUMMARIES[name], runs, cells)

    return Measure(name, words, statistic, larger, reads=Reads.SCORE, classes=_BOTH)


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


def _cost(name: str) -> Callable[[Sequence[ScoredCell]], Statistic]:
    """A function of `stats.curves.costs` by its name, imported when it is called."""

    def make(cells: Sequence[ScoredCell]) -> Statistic:
        from harness.stats.curves import costs

        statistic: Statistic = getattr(costs, name)(cells)
        return statistic

    return make


MEASURES = (
    _summary("auc", "area under the ROC curve", larger=True),
    _summary("eer", "equal error rate", larger=False),
    _summary("average_precision", "average precision over recall", larger=True),
    _of_scores(
        "cllr",
        "log-likelihood-ratio cost",
        _cost("log_cost"),
        (0.0, float("inf")),
        "a finite log-likelihood ratio each",
    ),
    _of_scores("min_cllr", "minimum log-likelihood-ratio cost", _cost("minimum_log_cost")),
    _of_scores("brier", "Brier score", _cost("squared_error")),
    _of_scores("ece", "expected calibration error", _cost("calibration_error")),
)


def _rank(match: re.Match[str], _asked: str) -> Measure:
    """The share of probes found at this rank or better, among probes of people in the gallery."""
    name, most = match[0], int(match[1])

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


def _minimum_cost(match: re.Match[str], asked: str) -> Measure:
    """The detection cost at the best threshold."""
    miss, fa, prior = detection_parameters(match[1] or "", asked)

    def make(cells: Sequence[ScoredCell]) -> Statistic:
        from harness.stats.curves.costs import DetectionPrior, minimum_detection_cost

        return minimum_detection_cost(cells, DetectionPrior(miss, fa, prior))

    return _of_scores(match[0], "minimum detection cost", make)


def _fnr_at_fpr(match: re.Match[str], asked: str) -> Measure:
    """The false negative rate at the laxest threshold whose false positive rate is within the limit."""
    try:
        limit = float(match[1])
    except ValueError:
        limit = -1.0
    if not 0 <= limit <= 1:
        raise UsageError(f"{asked}: '{match[1]}' is not a rate; write fnr@fpr=0.001")

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        from harness.stats.curves.summaries import fnr_at_fpr

        return curve_statistic(fnr_at_fpr(limit), runs, cells)

    return _measure(match[0], f"false negative rate at fpr {limit:g}", statistic)


FAMILIES = (
    MeasureFamily(re.compile(r"rank([1-9]\d{0,8})", re.ASCII), _rank, ("rank1", "rank5")),
    MeasureFamily(re.compile(r"min_dcf(?::(.*))?"), _minimum_cost, ("min_dcf",)),
    MeasureFamily(re.compile(r"fnm?r@fp?m?r=(.*)"), _fnr_at_fpr, ("fnr@fpr=0.001",)),
)
