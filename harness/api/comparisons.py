"""Comparisons from Python: `compare` several algorithms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.analysis.compare import compare_runs, runs_of_table
from harness.analysis.comparison import Comparison
from harness.analysis.pairs import Pair
from harness.api.extension import asked_for, extendable
from harness.api.result import PictureResult
from harness.api.transcripts import (
    OpenedTranscripts,
    Transcripts,
    baseline_remark,
    development_runs,
    metric_remark,
    open_transcripts,
)
from harness.errors import UsageError
from harness.measures import MEASURES, Reads
from harness.model import join_names
from harness.options import PictureOptions
from harness.options.comparing import CompareOptions, TableOptions
from harness.report.blocks import Block, Table
from harness.report.comparison import comparison_blocks, comparison_json, comparison_summary
from harness.report.comparison_pairs import pair_records
from harness.report.comparison_pairs import tidy_table as comparison_table
from harness.report.formats import Format, json_parts
from harness.report.plots.canvas import Picture
from harness.report.plots.groups import check_one_column, plot_groups
from harness.report.plots.values import plot_agreement
from harness.report.verdicts import pair_verdict
from harness.stats.estimate import Estimate
from harness.stats.replication.method import Method
from harness.tasks import Task, find_task
from harness.transcript.read import open_transcript

if TYPE_CHECKING:
    from harness.report.plots.canvas import Axes


@dataclass(frozen=True, repr=False)
class CompareResult(PictureResult):
    """A comparison on the same cases, or on other inputs in the same strata: every algorithm, every pair, verdicts."""

    remarks_beside_json = False
    comparison: Comparison
    remarks: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """What the transcripts are called."""
        return self.comparison.names

    @property
    def pairs(self) -> list[Pair]:
        """The tests and the estimate by design of every pair."""
        return self.comparison.pairs

    @property
    def estimates(self) -> dict[str, Estimate | None]:
        """The measure of every algorithm, by name; None where there is no design, as the rate then has none."""
        return {run.name: run.estimate for run in self.comparison.runs}

    @property
    def verdicts(self) -> list[str]:
        """A sentence or two about every pair."""
        return [*self.said([line for pair in self.pairs for line in pair_verdict(self.comparison, pair)])]

    @property
    def first_is_worse(self) -> bool:
        """Whether another is significantly better than the first."""
        return self.comparison.first_is_worse

    def payload(self) -> Any:
        return comparison_json(self.comparison)

    def parts(self, style: Format, width: int = 100, *, everything: bool = False) -> Iterator[str]:
        """What `render` returns; the JSON of many pairs is made some at a time."""
        if style is not Format.JSON:
            return super().parts(style, width, everything=everything)
        rest = self._with_added({**comparison_json(self.comparison, pairs=False), "pairs": []})
        return json_parts(rest, "pairs", pair_records(self.comparison))

    def blocks(self) -> Sequence[Block]:
        return comparison_blocks(self.comparison)

    def summary(self) -> Sequence[Block]:
        """The verdicts, the ranking and the differences."""
        return comparison_summary(self.comparison)

    def table(self) -> Table:
        """A row for each pair."""
        return comparison_table(self.comparison)

    @property
    def has_picture(self) -> bool:
        groups = len(self.comparison.breakdowns)
        return groups == 1 if groups else self.comparison.agreement is not None

    def make_picture(self, options: PictureOptions, ax: "Axes | None" = None) -> Picture:
        """The groups of `by`, or else the agreement of two runs' numbers."""
        comparison = self.comparison
        if comparison.breakdowns:
            check_one_column(len(comparison.breakdowns))
            names, pairs, measure = comparison.names, comparison.run_pairs, comparison.measure
            return plot_groups(comparison.breakdowns[0], names, pairs, measure, comparison.confidence, options, ax)
        if comparison.agreement is not None:
            return plot_agreement(comparison.agreement, comparison.confidence, options, ax)
        if comparison.paired and comparison.aligned.has_numbers:
            raise UsageError(
                "--plot: fewer than two cases have both answers, or these are not two runs; draw groups, --by"
            )
        raise UsageError("plot: there are no groups to draw; compare with by=COLUMN")


@extendable
def compare(transcripts: Transcripts, *, options: CompareOptions) -> CompareResult:
    """Is A better than B? McNemar's test, replication by design, and verdicts, of two or more transcripts.

    >>> harness.compare(["wisard", "witch"], by="truth")

    With `unpaired=True` the transcripts are of other inputs in the same strata.

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned.
    """
    for name in ("baseline", "items", "intersect") if options.unpaired else ():
        if getattr(options, name):
            raise UsageError(f"--unpaired matches no cases, so --{name} has nothing to work on")
    opened = open_transcripts(transcripts, options)
    if len(opened.sources) < 2:
        raise UsageError(
            f"{opened.sources[0].name}: one transcript is not a comparison; `hate rate` looks at one by itself"
        )
    development, runs = development_runs(options), opened.runs(lean=_is_lean(opened, options))
    chosen = replace(options, baseline=opened.shown_name(options.baseline, runs))
    comparison = compare_runs(runs, chosen, development=development)
    if options.unpaired:
        return CompareResult(comparison, opened.notes)
    further = [
        metric_remark(comparison.names, comparison.aligned.headers),
        _unused_remark(comparison, options),
        baseline_remark(comparison.aligned.headers[0].test, comparison.names),
    ]
    return CompareResult(comparison, [*opened.notes, *filter(None, further)])


def compare_table(counts: Sequence[int | str], *, options: TableOptions) -> CompareResult:
    """Compare two algorithms by four counts, where there are no transcripts: McNemar's test, and an interval.

    >>> harness.compare_table([58, 31, 9, 902])

    Args:
        counts: How often both failed, only A succeeded, only B succeeded, both succeeded.
    """
    return _compare_table(counts, options=CompareOptions.taken_from(options))


@extendable
def _compare_table(counts: Sequence[int | str], *, options: CompareOptions) -> CompareResult:
    return CompareResult(compare_runs(runs_of_table([str(count) for count in counts]), options))


# Options that look at more of a record than its outcome, score, time, stratum and PSU.
_NEED_COLUMNS = ("stratum", "psu", "weights", "by", "at")


def _is_lean(opened: OpenedTranscripts, options: CompareOptions) -> bool:
    """Whether it is enough to read those."""
    of_columns = any(not issubclass(TableOptions, entry.extends) for entry in asked_for(options))
    if of_columns or any(getattr(options, name) for name in _NEED_COLUMNS):
        return False
    with open_transcript(opened.paths[0]) as reader:
        header, task = reader.header, find_task(reader.header.test.task)
    name = options.statistic or header.test.main_measure
    measure = None if task is not None and name in task.measure_names else MEASURES.get(name)
    if measure is None or measure.reads not in (Reads.OUTCOME, Reads.RESOURCES):
        return False
    # The cautions of a task are about details of its records.
    needs_more = task is not None and (task.answers_numbers or type(task).cautions is not Task.cautions)
    # Whether a claim compares two identities is seen in their columns.
    may_compare_identities = task is not None and task.shows_claim and not header.design.get("psu")
    return not (header.weighs_cases or needs_more or may_compare_identities)


def _unused_remark(comparison: Comparison, options: CompareOptions) -> str:
    """Options of replication that had no effect."""
    changed = [name for name in ("method", "fay", "df") if name in options.changed()]
    methods = {pair.estimate.method for pair in comparison.pairs if pair.estimate is not None}
    if "fay" in changed and methods and Method.BRR not in methods:
        return f"--fay was not used: it is a factor of BRR, and the method here is {join_names(sorted(methods))}"
    if not changed or methods:
        return ""
    return (
        f"--{changed[0]} was not used: no stratum or PSU is known, so cases are taken as independent; "
        "name one with --stratum or --psu"
    )
