"""The counts of a run or of each setting of a sweep: a row each."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.model import Counts
from harness.params import Value
from harness.report.table import Cell, Exact, Table
from harness.stats.rates import wilson

Row = tuple[Mapping[str, Value], Counts]


def count_row(params: Mapping[str, Value], counts: Counts) -> dict[str, Any]:
    """A row as JSON has it. The interval is Wilson's, at 95 %, as if cases were independent."""
    interval = wilson(counts.successes, counts.tests)
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
    }


def count_table(rows: Sequence[Row], swept: Sequence[str] = ()) -> Table:
    """Swept parameters first, then the tutorial's columns, then the rate with its interval."""
    columns = [*swept, "tests", "TP", "TN", "FP", "FN", "ER", "rate", "95 % interval"]
    lines: list[list[Cell]] = []
    for params, counts in rows:
        row = count_row(params, counts)
        low, high = row["interval"]
        cells: list[Cell] = [parameter_cell(params[name]) for name in swept]
        cells += [row[name] for name in ("tests", "TP", "TN", "FP", "FN", "ER", "rate")]
        lines.append([*cells, f"{low:.4f} to {high:.4f}"])
    return Table(columns, lines, wide=frozenset({"rate", "95 % interval"}))


def parameter_cell(value: Value) -> Cell:
    """The value of a parameter in a table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return Exact(value) if isinstance(value, float) else value
