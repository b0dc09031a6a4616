"""Where a run stands among the runs of its test: by which measure, and its value by the design and the weights."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from harness.analysis.align import Run
from harness.analysis.compare import CompareRequest, compare_runs
from harness.analysis.sampling import Sampling
from harness.errors import TranscriptError
from harness.measures import Measure
from harness.options import DesignOptions
from harness.stats.rates import Interval
from harness.transcript.columns import read_columns
from harness.transcript.format import PLAIN_WEIGHTS, Header
from harness.transcript.read import open_transcript


@dataclass(frozen=True)
class RunStanding:
    """A run by itself; `method` is that of its interval by the design, None if its cases are independent."""

    measure: Measure
    value: float
    interval: Interval
    confidence: float
    method: str | None
    sampling: Sampling

    @property
    def merit(self) -> float:
        """The value as a number such that more is better, whatever the measure is."""
        return float(self.measure.merit(self.value))


def ranking_request(header: Header, columns: Collection[str]) -> CompareRequest:
    """How runs are compared for a ranking: by what counts in their test, the design and the declared weights."""
    design = DesignOptions(weights=design_weights(header, columns))
    return CompareRequest(statistic=header.test.main_measure, resources=False, design=design)


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
    comparison = compare_runs([run], ranking_request(run.columns.header, run.columns.columns))
    (own,) = comparison.runs
    if own.value is None:
        raise TranscriptError(f"{run.source}: these records have no {comparison.measure.name}")
    interval = own.interval if own.estimate is None else own.estimate.interval
    return RunStanding(
        measure=comparison.measure,
        value=own.value,
        interval=interval or Interval(*comparison.measure.bounds),
        confidence=comparison.confidence,
        method=None if own.estimate is None else own.estimate.method,
        sampling=comparison.sampling,
    )
