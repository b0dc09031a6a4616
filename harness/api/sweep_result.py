"""What a sweep came to: a row for each combination, as a table, as JSON and as a picture."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.result import PictureResult
from harness.api.runs import is_all_errors
from harness.model import Counts
from harness.options import PictureOptions
from harness.params import Value
from harness.report.blocks import Block, Cell, Table
from harness.report.counts import CountRow, count_row, count_table, design_remarks, rate_interval, tidy_table
from harness.report.formats import Format
from harness.report.numbers import interval_cell

if TYPE_CHECKING:
    from harness.analysis.run_rates import DesignRate
    from harness.report.plots.canvas import Picture
    from harness.stats.estimate import Estimate
    from harness.stats.rates import Interval


@dataclass(frozen=True)
class SweepResultRow:
    """One combination of parameter values: the counts, and the rate by the test's design where it has one."""

    params: Mapping[str, Value]
    counts: Counts
    design: "DesignRate | None" = None
    # Another measure, if one was asked for and has a value.
    measured: "Estimate | None" = None


@dataclass(frozen=True, repr=False)
class SweepResult(PictureResult):
    """What a sweep came to: a row for each combination, and the transcripts of its runs."""

    rows: Sequence[SweepResultRow]
    paths: Sequence[Path]
    # The parameters that vary.
    swept: Sequence[str]
    remarks: Sequence[str] = ()
    statistic: str = "rate"

    @property
    def all_errors(self) -> bool:
        """Whether every case of a row was an error."""
        return any(is_all_errors(row.counts) for row in self.rows)

    def payload(self) -> dict[str, Any]:
        """The command's JSON."""
        return {
            "rows": [self._row_json(row) for row in self.rows],
            "transcripts": [str(path) for path in self.paths],
        }

    def _row_json(self, row: SweepResultRow) -> dict[str, Any]:
        found = count_row(row.params, row.counts, row.design)
        if self.statistic == "rate":
            return found
        from harness.analysis.sampling import estimate_json

        measured = None if row.measured is None else estimate_json(row.measured, "se", "interval", value="value")
        return {**found, "measure": None if measured is None else {"name": self.statistic, **measured}}

    def drawn(self, look: PictureOptions) -> "Picture":
        """The rates, or the other measure, over the parameters that vary."""
        from harness.measures import find_measure
        from harness.report.plots.settings import ON_TEST, SettingsChart, SettingValue, plot_settings

        measure = find_measure(self.statistic)
        settings = [
            SettingValue(row.params, row.counts.rate, rate_interval(row.counts, row.design))
            if self.statistic == "rate"
            else SettingValue(row.params, *_value_and_interval(row.measured))
            for row in self.rows
        ]
        varying = [name for name in self.swept if len({row.params[name] for row in self.rows}) > 1]
        chart = SettingsChart(settings, varying, measure.words, measure.larger_is_better is not False, ON_TEST)
        return plot_settings(chart, look)

    def blocks(self) -> Sequence[Block]:
        """The table of counts."""
        table = count_table(*self._rows())
        if self.statistic == "rate":
            return [table]
        cells = [_measure_cells(row.measured) for row in self.rows]
        columns = [*table.columns, self.statistic, f"{self.statistic} 95 %"]
        return [dataclasses.replace(table, columns=columns, rows=_beside(table.rows, [one[:2] for one in cells]))]

    def table(self) -> Table:
        """A row for each combination."""
        table = tidy_table(*self._rows())
        if self.statistic == "rate":
            return table
        cells = [_measure_cells(row.measured) for row in self.rows]
        columns = [*table.columns, *(f"{self.statistic}{end}" for end in ("", "_low", "_high"))]
        rows = _beside(table.rows, [[one[0], *one[2:]] for one in cells])
        return dataclasses.replace(table, columns=columns, rows=rows)

    def _rows(self) -> "tuple[list[CountRow], Sequence[str], list[DesignRate | None]]":
        return [(row.params, row.counts) for row in self.rows], self.swept, [row.design for row in self.rows]

    def remarks_in(self, style: Format) -> Sequence[str]:
        """The remarks beside a format."""
        return [*design_remarks(style, [row.design for row in self.rows]), *self.remarks]


def _value_and_interval(one: "Estimate | None") -> "tuple[float, Interval | None]":
    return (math.nan, None) if one is None else (one.value, one.interval)


def _measure_cells(one: "Estimate | None") -> list[Cell]:
    """The value, its interval in words, and its limits."""
    value, interval = _value_and_interval(one)
    limits: list[Cell] = [None, None] if interval is None else [interval.low, interval.high]
    return [None if one is None else value, interval_cell(interval), *limits]


def _beside(rows: Sequence[Sequence[Cell]], more: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    return [[*row, *cells] for row, cells in zip(rows, more, strict=True)]
