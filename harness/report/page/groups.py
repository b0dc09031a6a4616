"""Behaviour by a column on a page: a bar for each group, or a line over a scale; and the worst of all groups."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.breakdown import Breakdown
from harness.measures import Measure
from harness.report.blocks import Cell, Heading, Paragraphs, Table
from harness.report.chart import Band, Chart, ChartAxis, Series
from harness.report.groups import gap_lines, group_blocks
from harness.report.numbers import estimate_cells, percent
from harness.report.page.document import Bar, BarColumn, DataTable, Folded, Part, ReportSection
from harness.stats.replication.method import Replication

# Groups of all columns that are called the worst.
MAX_WORST = 8
# Bars of more runs in one row cannot be told apart.
MAX_BARS = 7
NUMBERS = ("value", "se", "low", "high")


@dataclass(frozen=True)
class GroupStudy:
    """Runs by every column: who they are, the pairs that are compared, and what was measured."""

    names: Sequence[str]
    pairs: Sequence[tuple[int, int]]
    measure: Measure
    replication: Replication
    columns: Sequence[Breakdown]


def group_section(study: GroupStudy) -> ReportSection:
    ranked = study.measure.directed and len(study.names) == 1 and len(study.columns) > 1
    parts: list[Part] = [_worst(study)] if ranked else []
    for breakdown in study.columns:
        parts += _column(study, breakdown)
    return ReportSection("groups", "Behaviour by property of the inputs", parts)


def _column(study: GroupStudy, breakdown: Breakdown) -> list[Part]:
    """What `--by` says, with bars or a line: the worst groups are named, what else was found is folded."""
    blocks = group_blocks(breakdown, study.names, study.pairs, study.measure, study.replication)
    title = next(block.text for block in blocks if isinstance(block, Heading))
    values, *others = [block for block in blocks if isinstance(block, Table)]
    lines = [text for block in blocks if isinstance(block, Paragraphs) for text in block.texts]
    gaps = gap_lines(breakdown, study.names, study.measure, study.replication)
    parts: list[Part] = [Heading(title), *([_line(study, breakdown, title)] if breakdown.positions is not None else [])]
    rows = [[Bar.of_estimate(estimate) for estimate in group.runs] for group in breakdown.groups]
    level = f"{percent(study.replication.confidence)} intervals"
    drawn = breakdown.positions is None and len(study.names) <= MAX_BARS
    bars = BarColumn(level, rows, study.names) if drawn else None
    parts.append(DataTable(title, values, bars=bars, data=_data(study, breakdown)))
    parts += [Paragraphs(gaps)] if gaps else []
    folded: list[Part] = [DataTable(f"{title}, differences of pairs", table) for table in others]
    rest = [line for line in lines if line not in gaps]
    folded += [Paragraphs(rest)] if rest else []
    return [*parts, *([Folded(f"Differences by {breakdown.column}", folded)] if folded else [])]


def _line(study: GroupStudy, breakdown: Breakdown, title: str) -> Chart:
    """Over a scale, each run is a line; groups without a value are left out of it."""
    series, ends = [], list[float]()
    for number, name in enumerate(study.names):
        bars = [Bar.of_estimate(group.runs[number]) for group in breakdown.groups]
        known = [(x, bar) for x, bar in zip(breakdown.positions or [], bars, strict=True) if bar is not None]
        columns = {
            "x": [x for x, _ in known],
            "y": [bar.value for _, bar in known],
            "low": [bar.low for _, bar in known],
            "high": [bar.high for _, bar in known],
        }
        series.append(Series(name, columns, band=Band(columns, "x", "low", "high", bars=True), dots=True))
        ends += [*columns["low"], *columns["high"]]
    return Chart(
        caption=f"{title}, with {percent(study.replication.confidence)} intervals",
        description=f"{study.measure.words} for each value of {breakdown.column}; the table below has the numbers.",
        x=ChartAxis.over(breakdown.column, breakdown.positions or []),
        y=ChartAxis.over(study.measure.words, ends),
        series=series,
        data=_data(study, breakdown),
    )


def _data(study: GroupStudy, breakdown: Breakdown) -> Table:
    """A row for each run and group, for programs."""
    rows: list[list[Cell]] = []
    for number, name in enumerate(study.names):
        for group in breakdown.groups:
            estimate = group.runs[number]
            numbers = [None, None] if estimate is None else [estimate.value, estimate.se]
            limits = (None, None) if estimate is None or estimate.interval is None else estimate.interval
            rows.append([name, group.label, group.cases, *numbers, *limits])
    return Table(["transcript", breakdown.column, "cases", *NUMBERS], rows)


def _worst(study: GroupStudy) -> DataTable:
    """The groups with the worst values, whatever their column."""
    known = [
        (breakdown.column, group, estimate)
        for breakdown in study.columns
        for group in breakdown.groups
        if (estimate := group.runs[0]) is not None
    ]
    worst = sorted(known, key=lambda item: study.measure.merit(item[2].value))[:MAX_WORST]
    level = percent(study.replication.confidence)
    rows: list[list[Cell]] = [
        [f"{column} {group.label}", group.cases, *estimate_cells(estimate)] for column, group, estimate in worst
    ]
    return DataTable(
        caption=f"The worst groups: {study.measure.words}",
        table=Table(["group", "cases", study.measure.name, f"{level} interval"], rows),
        bars=BarColumn(f"{level} intervals", [[Bar.of_estimate(estimate)] for *_, estimate in worst]),
    )
