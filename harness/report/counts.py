"""The counts of a run or of each setting of a sweep: a row each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.model import Counts
from harness.params import Value
from harness.report.numbers import interval_text, method_words
from harness.report.table import Cell, Exact, Table
from harness.stats.rates import Interval, wilson

if TYPE_CHECKING:
    from harness.analysis.rates import DesignRate

Row = tuple[Mapping[str, Value], Counts]


def count_row(params: Mapping[str, Value], counts: Counts, design: DesignRate | None = None) -> dict[str, Any]:
    """A row as JSON has it. The interval is Wilson's, at 95 %, as if cases were independent; `replication` is not."""
    interval = wilson(counts.successes, counts.tests)
    replication = None
    if design is not None and design.estimate is not None and design.sampling is not None:
        from harness.analysis.as_json import replication_json

        replication = replication_json(design.estimate, design.sampling)
    return {
        "params": dict(params),
        "tests": counts.tests,
        "TP": counts.TP,
        "TN": counts.TN,
        "FP": counts.FP,
        "FN": counts.FN,
        "ER": counts.ER,
        "rate": counts.rate,
        "interval": [interval.low, interval.high],
        "replication": replication,
    }


def count_table(
    rows: Sequence[Row],
    swept: Sequence[str] = (),
    designs: Sequence[DesignRate | None] | None = None,
    *,
    interval: bool = True,
) -> Table:
    """Swept parameters first, then the tutorial's columns, then the rate with its interval, by design if known."""
    known = designs or [None] * len(rows)
    weighted = any(_weighs(design) for design in known)
    columns = [*swept, "tests", "TP", "TN", "FP", "FN", "ER", "rate", *(["weighted"] * weighted)]
    columns += ["95 % interval"] * interval
    lines: list[list[Cell]] = []
    for (params, counts), design in zip(rows, known, strict=True):
        cells: list[Cell] = [parameter_cell(params[name]) for name in swept]
        cells += [counts.tests, counts.TP, counts.TN, counts.FP, counts.FN, counts.ER, counts.rate]
        cells += [design.estimate.value if design and design.estimate else None] * weighted
        lines.append([*cells, *([interval_cell(counts, design)] * interval)])
    return Table(columns, lines, wide=frozenset({"rate", "weighted", "95 % interval"}))


def _weighs(design: DesignRate | None) -> bool:
    return design is not None and design.sampling is not None and design.sampling.weights != "cases"


def interval_cell(counts: Counts, design: DesignRate | None) -> str:
    """The interval that people are shown; without a design, the same as `wilson`, and without importing numpy."""
    interval: Interval | None = wilson(counts.successes, counts.tests)
    if design is not None:
        interval = None if design.estimate is None else design.estimate.interval
    return interval_text(interval)


def design_words(design: DesignRate) -> str:
    """What an interval by design is, for a line beside the table."""
    if design.estimate is None or design.sampling is None:
        return f"no interval by design: {design.reason}"
    return f"interval by {method_words(design.estimate.method)}, {design.sampling.target_in_words}"


def rate_words(counts: Counts, design: DesignRate | None) -> str:
    """The rate with its interval in a line: that of the design, which may weigh the cases, where there is one."""
    if design is not None and (design.estimate is None or design.sampling is None):
        return f"rate {counts.rate:.4f}, {design_words(design)}"
    interval = f"95 % interval {interval_cell(counts, design)}"
    if design is None or design.estimate is None:
        return f"rate {counts.rate:.4f}, {interval}"
    what = "weighted rate" if _weighs(design) else "rate"
    return f"{what} {design.estimate.value:.4f}, {interval} {design_words(design).removeprefix('interval ')}"


def parameter_cell(value: Value) -> Cell:
    """The value of a parameter in a table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return Exact(value) if isinstance(value, float) else value
