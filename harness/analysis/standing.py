"""Where a run stands among the runs of its test: by which measure, and its value by the design and the weights."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from harness.analysis.align import Run
from harness.analysis.compare import compare_runs
from harness.errors import HateError, TranscriptError
from harness.model import Standing
from harness.options.comparing import CompareOptions
from harness.stats.rates import Interval
from harness.transcript.columns import read_columns
from harness.transcript.format import PLAIN_WEIGHTS, Header
from harness.transcript.read import open_transcript


@dataclass(frozen=True)
class RunStanding:
    """Where a run stands by itself, without the sample that it was computed from."""

    standing: Standing
    interval: Interval
    confidence: float
    # Of the interval: its method and target by the design, with the name of the strata; None of independent cases.
    method: str | None
    target: str | None
    stratum: str | None


def ranking_options(header: Header, columns: Collection[str]) -> CompareOptions:
    """How runs are compared for a ranking: by what counts in their test, the design and the declared weights."""
    return CompareOptions(statistic=header.test.main_measure, weights=design_weights(header, columns))


def design_weights(header: Header, columns: Collection[str]) -> str | None:
    """The weights that a run declares, unless it names a file: a submitted header must not name local files."""
    declared = header.design.get("weights", "cases")
    if not isinstance(declared, str):
        return None
    return declared if declared in (*PLAIN_WEIGHTS, *columns) else "cases"


def read_ranked(path: Path, name: str) -> Run:
    """A run with what a ranking needs of it; for a rate that is less than all."""
    with open_transcript(path, name=name) as reader:
        by_rate = reader.header.test.main_measure == "rate" and not reader.header.weighs_cases
    return Run(read_columns(path, name=name, lean=by_rate), name, name)


def run_standing(run: Run) -> RunStanding:
    """Where it stands; a HateError if its sample or its records do not have the measure."""
    options = ranking_options(run.columns.header, run.columns.columns)
    comparison = compare_runs([run], options, resources=False)
    (summary,) = comparison.runs
    if summary.value is None:
        raise TranscriptError(f"{run.source}: these records have no {comparison.measure.name}")
    measure, sampling = comparison.measure, comparison.sampling
    interval = summary.interval if summary.estimate is None else summary.estimate.interval
    return RunStanding(
        standing=Standing(measure.name, summary.value, float(measure.merit(summary.value))),
        interval=interval or Interval(*measure.bounds),
        confidence=comparison.confidence,
        method=None if summary.estimate is None else summary.estimate.method,
        target=sampling.target if sampling.known else None,
        stratum=sampling.stratum,
    )


def standing_of(path: Path) -> Standing | None:
    """What a judged run is ranked by; None if its sample gives no such number."""
    try:
        standing = run_standing(read_ranked(path, path.name)).standing
    except HateError:
        return None
    return standing if math.isfinite(standing.merit) else None
