"""Each run by itself, for people: its measures, its groups, and what explains them."""

from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple

from harness.analysis.align import judged_json
from harness.analysis.breakdown import distinct_columns
from harness.analysis.rate import RunMeasures, lacking_cautions, merge_breakdowns, timed_cautions
from harness.analysis.run_identity import identity_json
from harness.analysis.sampling import replication_json
from harness.errors import quoting
from harness.report.blocks import (
    Audience,
    Block,
    Cell,
    Column,
    Heading,
    Number,
    Paragraphs,
    Table,
    table_of,
    tidy_table_of,
)
from harness.report.comparison_details import threshold_blocks
from harness.report.counts import COUNTS, TALLY, count_cells
from harness.report.groups import breakdown_json, group_blocks, value_in
from harness.report.numbers import (
    left_out_line,
    p_cell,
    p_text,
    percent,
    sampling_lines,
    share_text,
    shown_name,
    why_untested,
)
from harness.report.verdicts import error_lines
from harness.stats.estimate import Estimate
from harness.stats.rates import wilson
from harness.stats.replication.method import Replication

# Columns that the table of explanations shows.
MAX_COLUMNS = 8


def rate_blocks(runs: Sequence[RunMeasures], replication: Replication) -> list[Block]:
    """Counts and measures of every run, then its groups or what explains it, then how the cases were sampled."""
    test = runs[0].aligned.headers[0].test
    blocks: list[Block] = [Heading(f"{test.name} {test.version}: {', '.join(run.name for run in runs)}")]
    if operating := [run.operating for run in runs if run.operating is not None]:
        blocks += threshold_blocks(operating, [run.name for run in runs])
    blocks.append(count_table(runs))
    blocks += [Paragraphs(lines)] if (lines := error_lines([run.aligned for run in runs])) else []
    blocks.append(measure_table(runs, replication))
    lines = [*lacking_cautions(runs), *left_out_lines(runs), *timed_cautions(runs)]
    blocks += [Paragraphs(lines)] if lines else []
    names = [run.name for run in runs]
    for groups in merge_breakdowns(runs):
        for name, by in groups.items():
            blocks += group_blocks(by, names, [], runs[0].measures[name], replication)
    if any(run.explained for run in runs):
        blocks += explained_blocks(runs)
    first = next((estimate for estimate in runs[0].estimates.values() if estimate is not None), None)
    return [*blocks, Heading("How the cases were sampled"), Paragraphs(sampling_lines(runs[0].sampling, first))]


def count_table(runs: Sequence[RunMeasures]) -> Table:
    """The tutorial's columns."""
    rows: list[list[Cell]] = [
        [shown_name(run.name, run.aligned.self_reported[0]), *(getattr(run.aligned.counts[0], name) for name in TALLY)]
        for run in runs
    ]
    return Table(["name", *TALLY], rows)


class MeasuredRun(NamedTuple):
    """A measure of a run, of all its cases or of those of a group, which has values in the columns of all groups."""

    run: RunMeasures
    name: str
    estimate: Estimate | None
    cases: int = 0
    group_values: Sequence[str | None] = ()


def _measure_columns(level: str = "", groups: Sequence[str] = (), *, alone: bool = False) -> list[Column[MeasuredRun]]:
    """All that is known of a measure of a run; people are told which run it is unless it is `alone`."""
    people, programs = Audience.PEOPLE, Audience.PROGRAMS

    def words(item: MeasuredRun) -> str:
        words = item.run.measures[item.name].words
        return words if words == item.name else f"{words} ({item.name})"

    def form(item: MeasuredRun) -> str:
        return ".4f" if all(map(isfinite, item.run.measures[item.name].bounds)) else ".4g"

    return [
        Column("transcript", "run.name", programs if alone else people | programs, head="name"),
        Column("measure", words if alone else "name", people),
        Column("measure", "name", programs),
        *(Column(name, value_in(index), programs) for index, name in enumerate(groups)),
        *([Column[MeasuredRun]("cases", shown=programs)] if groups else []),
        Column("value", "estimate.value", form=form),
        Column("se", "estimate.se", form=form),
        Column("df", "estimate.df", programs, form=".0f"),
        Column("interval", "estimate.interval", people, head=f"{level} interval", form=form),
        Column("low", "estimate.interval.low", programs, form=form),
        Column("high", "estimate.interval.high", programs, form=form),
        Column("deff", "estimate.design_effect", people, form=".2f"),
    ]


def measure_table(runs: Sequence[RunMeasures], replication: Replication) -> Table:
    """A row for each run and each of its measures; in words if there is only one run."""
    items = [MeasuredRun(run, *measured) for run in runs for measured in run.estimates.items()]
    return table_of(items, _measure_columns(percent(replication.confidence), alone=len(runs) == 1))


def left_out_lines(runs: Sequence[RunMeasures]) -> list[str]:
    """Which measures are of fewer cases than the others."""
    lines = []
    for run in runs:
        for count in dict.fromkeys(run.left_out.values()):
            names = [name for name, number in run.left_out.items() if number == count]
            lines.append(left_out_line(run.name, names, count, run.aligned.n))
    return lines


def tidy_table(runs: Sequence[RunMeasures]) -> Table:
    """For spreadsheets: a row for each run and measure, or for each run, measure and group; numbers only.

    There is a column for each that groups are by; it is empty in the rows of the others.
    """
    columns = distinct_columns([by for groups in runs[0].by for by in groups.values()])
    items: list[MeasuredRun] = []
    for run in runs:
        if not run.by:
            items += [MeasuredRun(run, *measured) for measured in run.estimates.items()]
        for name, by in (item for measured in run.by for item in measured.items()):
            groups = zip(by.groups, by.group_values(columns), strict=True)
            items += [MeasuredRun(run, name, group.runs[0], group.cases, values) for group, values in groups]
    return tidy_table_of(items, _measure_columns(groups=columns))


def explained_blocks(runs: Sequence[RunMeasures]) -> list[Block]:
    """Which columns explain success, and how much of it."""
    rows: list[list[Cell]] = [
        [run.name, factor.column, factor.groups, Number(factor.share, ".1%"), p_cell(factor.p_adjusted)]
        for run in runs
        for factor in run.explained[:MAX_COLUMNS]
    ]
    table = Table(["name", "column", "groups", "share of variance", "p Holm"], rows)
    return [Heading("Columns that explain success"), table, Paragraphs(_explained_lines(runs))]


def _explained_lines(runs: Sequence[RunMeasures]) -> list[str]:
    lines = []
    for run in runs:
        lines += [
            f"{run.name}: it was not tested whether {factor.column} matters: {why_untested(factor.untested, 'groups')}."
            for factor in run.explained[:MAX_COLUMNS]
            if factor.untested is not None
        ]
        first = next(
            (factor for factor in run.explained if factor.p_adjusted is not None and factor.p_adjusted <= 0.05), None
        )
        if first is None:
            lines.append(f"{run.name}: no column was shown to matter.")
            continue
        among = "" if first is run.explained[0] else " among those that were shown to matter"
        text = (
            f"{run.name}: {first.column} explains most{among}, {share_text(first.share)} of the variance "
            f"({p_text(first.p_adjusted)}); --by {first.column} shows its groups."
        )
        lines.append(quoting(text, first.column))
    return lines


def rate_json(runs: Sequence[RunMeasures]) -> dict[str, Any]:
    """The JSON that the documentation promises."""
    names = [run.name for run in runs]
    statistics = list(dict.fromkeys(name for run in runs for name in run.estimates))
    payload: dict[str, Any] = {
        "test": identity_json(runs[0].aligned.headers[0].test),
        "statistic": statistics[0],
        "statistics": statistics,
        **({} if runs[0].operating is None else {"at": str(runs[0].operating.criterion)}),
        "transcripts": [_run_json(run, statistics) for run in runs],
    }
    breakdowns = [{name: breakdown_json(by, names) for name, by in merged.items()} for merged in merge_breakdowns(runs)]
    if breakdowns:
        payload["by"] = breakdowns[0][statistics[0]]
        payload["by_statistic"] = breakdowns[0]
    if len(breakdowns) > 1:
        payload["breakdowns"] = [{**groups[statistics[0]], "by_statistic": groups} for groups in breakdowns]
    if cautions := [*lacking_cautions(runs), *timed_cautions(runs)]:
        payload["cautions"] = cautions
    return payload


def _run_json(run: RunMeasures, statistics: Sequence[str]) -> dict[str, Any]:
    counts, first, operating = run.aligned.counts[0], run.estimates.get(statistics[0]), run.operating
    shown = run.sampling.known or statistics[0] != "rate" or operating is not None
    thresholds: dict[str, Any] = {}
    if operating is not None:
        thresholds = {"threshold": operating.thresholds[0], "fpr": operating.fpr[0], "fnr": operating.fnr[0]}
        thresholds |= {"development": operating.development[0]} if operating.development else {}
    return {
        "name": run.name,
        **dict(zip(COUNTS, count_cells(counts), strict=True)),
        "interval": wilson(counts.successes, counts.tests, confidence=first.confidence if first else 0.95),
        "value": None if first is None else first.value,
        "judged": judged_json(run.aligned, 0),
        "replication": replication_json(first, run.sampling) if shown else None,
        **thresholds,
        "measures": {name: replication_json(run.estimates.get(name), run.sampling) for name in statistics},
        "left_out": run.left_out,
        **({"reliability": run.reliability} if run.reliability else {}),
        "explained": [
            {name: getattr(factor, name) for name in ("column", "groups", "share", "p_value", "p_adjusted")}
            for factor in run.explained
        ],
    }
