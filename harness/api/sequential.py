"""Runs that were looked at while they grew, or stopped early: what `--sequential` of `rate` and `compare` gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.sequential import SequentialComparison, compare_sequentially, sequential_json
from harness.api.result import Result
from harness.api.transcripts import OpenedTranscripts
from harness.errors import UsageError
from harness.options import ConfidenceOptions, DesignOptions, DownloadOptions, PartialOptions, SeedOptions
from harness.options.comparing import CompareOptions, IntersectOptions, RateOptions
from harness.report.blocks import Block, Table
from harness.report.sequential import sequential_blocks, tidy_table


@dataclass(frozen=True, repr=False)
class SequentialResult(Result):
    """Rates and differences of the whole test, with intervals that hold at every moment."""

    found: SequentialComparison
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        """As documented for the option."""
        return sequential_json(self.found)

    def blocks(self) -> Sequence[Block]:
        """Verdicts first."""
        return sequential_blocks(self.found)

    def table(self) -> Table:
        """A row for each pair, or for each run by itself."""
        return tidy_table(self.found)

    @property
    def first_is_worse(self) -> bool:
        """Whether another is known to be better than the first."""
        first = self.found.rates[0].name
        return any(pair.a == first and pair.interval.high < 0 for pair in self.found.pairs)


# Options that mean something for runs that are looked at while they grow; only the cases that all have count anyway.
_TAKEN = (
    "sequential",
    "statistic",
    IntersectOptions,
    DesignOptions,
    ConfidenceOptions,
    SeedOptions,
    PartialOptions,
    DownloadOptions,
)


def sequential(opened: OpenedTranscripts, options: CompareOptions | RateOptions) -> SequentialResult:
    """The rates of the transcripts, and the differences of every two."""
    kind = CompareOptions if isinstance(options, CompareOptions) else RateOptions
    kind.taken_from(options).refuse_others("--sequential is for plain rates", *_TAKEN)
    if options.statistic not in (None, "rate"):
        raise UsageError(f"--sequential is for the rate, not for --statistic {options.statistic}")
    found = compare_sequentially(opened.runs(), options, confidence=options.confidence, partial=options.partial)
    return SequentialResult(found, opened.notes)
