"""Transcripts by themselves from Python: `rate`; and runs that are looked at while they grow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.analysis.rate import RunMeasures, merge_breakdowns, rate_runs
from harness.analysis.sequential import SequentialComparison, sequential_json
from harness.analysis.sequential import compare_sequentially as compare_runs
from harness.api.extension import extendable
from harness.api.result import PictureResult, Result
from harness.api.transcripts import Transcripts, development_runs, open_transcripts
from harness.options import PictureOptions
from harness.options.comparing import RateOptions, SequentialOptions
from harness.report.blocks import Block, Table
from harness.report.plots.canvas import Picture
from harness.report.plots.groups import check_one_column, plot_groups
from harness.report.plots.scores import plot_reliability
from harness.report.plots.values import MAX_RUNS, plot_errors
from harness.report.rate import rate_blocks, rate_json
from harness.report.rate import tidy_table as rate_table
from harness.report.sequential import sequential_blocks, tidy_table
from harness.stats.estimate import Estimate
from harness.stats.replication.method import Replication

if TYPE_CHECKING:
    from harness.report.plots.canvas import Axes


@dataclass(frozen=True, repr=False)
class RateResult(PictureResult):
    """Every transcript by itself: its measures, its groups, and what explains its failures."""

    remarks_beside_json = False
    runs: Sequence[RunMeasures]
    replication: Replication
    remarks: Sequence[str] = ()

    @property
    def estimates(self) -> dict[str, dict[str, Estimate | None]]:
        """The estimates by the name of the transcript and of the measure."""
        return {run.name: run.estimates for run in self.runs}

    def payload(self) -> Any:
        return rate_json(self.runs)

    def blocks(self) -> Sequence[Block]:
        """Counts, measures, groups, and how the cases were sampled."""
        return rate_blocks(self.runs, self.replication)

    def table(self) -> Table:
        """A row for each transcript and measure, and for each group where there are any."""
        return rate_table(self.runs)

    @property
    def has_picture(self) -> bool:
        run = self.runs[0]
        few_numbers = run.aligned.has_numbers and len(self.runs) <= MAX_RUNS
        return len(run.by) == 1 if run.by else bool(run.reliability) or few_numbers

    def make_picture(self, options: PictureOptions, ax: "Axes | None" = None) -> Picture:
        """The groups, the reliability that `ece` measures, or the errors of numbers."""
        names, confidence = [run.name for run in self.runs], self.replication.confidence
        if not self.runs[0].by and not self.runs[0].reliability:
            return plot_errors(self.runs, self.replication, options, ax)
        if not self.runs[0].by:
            return plot_reliability([run.reliability for run in self.runs], names, confidence, options, ax)
        check_one_column(len(self.runs[0].by))
        name, groups = next(iter(merge_breakdowns(self.runs)[0].items()))
        return plot_groups(groups, names, [], self.runs[0].measures[name], confidence, options, ax)


@extendable
def rate(transcripts: Transcripts, *, options: RateOptions) -> RateResult:
    """Transcripts one by one: measures with errors by design, groups, the worst of them, and the gap.

    >>> harness.rate("wisard", by="truth", statistic="rate,tpr")
    """
    development = development_runs(options)
    opened = open_transcripts(transcripts, options)
    replication = Replication(confidence=options.confidence, seed=options.seed)
    return RateResult(rate_runs(opened.runs(), options, development), replication, opened.notes)


@dataclass(frozen=True, repr=False)
class SequentialResult(Result):
    """Rates and differences of the whole test, with intervals that hold at every moment."""

    comparison: SequentialComparison
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        return sequential_json(self.comparison)

    def blocks(self) -> Sequence[Block]:
        """Verdicts first."""
        return sequential_blocks(self.comparison)

    def table(self) -> Table:
        """A row for each pair, or for each run by itself."""
        return tidy_table(self.comparison)

    @property
    def first_is_worse(self) -> bool:
        """Whether another is known to be better than the first."""
        first = self.comparison.rates[0].name
        return any(pair.a == first and pair.interval.high < 0 for pair in self.comparison.pairs)


def compare_sequentially(transcripts: Transcripts, *, options: SequentialOptions) -> SequentialResult:
    """The rates of the whole test, and the differences of every two runs, however often one has looked at them.

    The intervals also hold for runs that stopped early. Only the cases that all transcripts have count.

    >>> harness.compare_sequentially(["mine.jsonl", "wisard"])
    """
    opened = open_transcripts(transcripts, options)
    comparison = compare_runs(opened.runs(), options, confidence=options.confidence, partial=options.partial)
    return SequentialResult(comparison, opened.notes)
