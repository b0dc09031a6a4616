"""The counts of a run or of each setting of a sweep: a row each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.model import Counts
from harness.params import Value, value_texts
from harness.report.blocks import Cell, ExactNumber, Table, ValueText
from harness.report.formats import Format
from harness.report.numbers import interval_cell, interval_text, method_words, target_words
from harness.stats.rates import Interval, wilson

if TYPE_CHECKING:
    from harness.analysis.rate_errors import DesignRate


CountRow = tuple[Mapping[str, Value], Counts]
# The tutorial's columns, and the rate.
TALLY = ("tests", "TP", "TN", "FP", "FN", "ER")
COUNTS = (*TALLY, "rate")
# Where programs read it, the interval is two numbers.
LIMITS = ("estimate", "low", "high")


def count_row(params: Mapping[str, Value], counts: Counts, design: DesignRate | None = None) -> dict[str, Any]:
    """A row of the JSON output: `interval` is Wilson's at 95 %, for independent cases; `replication` is by design."""
    interval = wilson(counts.successes, counts.tests)
    replication = None
    if design is not None and design.estimate is not None and design.sampling is not None:
        from harness.analysis.sampling import replication_json

        replication = replication_json(design.estimate, design.sampling)
    return {
        "params": dict(params),
        **dict(zip(COUNTS, count_cells(counts), strict=True)),
        "interval": interval,
        "replication": replication,
    }


def count_table(
    rows: Sequence[CountRow],
    swept: Sequence[str] = (),
    designs: Sequence[DesignRate | None] | None = None,
    *,
    interval: bool = True,
) -> Table:
    """Swept parameters first, then the tutorial's columns, then the rate with its interval, by design if known."""
    known = designs or [None] * len(rows)
    weighted = any(_is_weighted(design) for design in known)
    columns = [*swept, *COUNTS, *(["weighted"] * weighted)]
    columns += ["95 % interval"] * interval
    values = parameter_cells([params for params, _ in rows], swept)
    lines: list[list[Cell]] = []
    for (_, counts), cells, design in zip(rows, values, known, strict=True):
        cells += count_cells(counts)
        cells += [design.estimate.value if design and design.estimate else None] * weighted
        lines.append([*cells, *([interval_cell(rate_interval(counts, design))] * interval)])
    return Table(columns, lines, wide=frozenset({"rate", "weighted", "95 % interval"}))


def limit_cells(counts: Counts, design: DesignRate | None) -> list[Cell]:
    """The cells of the columns `LIMITS`: the rate by design and its interval, for programs."""
    interval = rate_interval(counts, design)
    return [design_value(counts, design), *((None, None) if interval is None else (interval.low, interval.high))]


def tidy_table(
    rows: Sequence[CountRow], swept: Sequence[str] = (), designs: Sequence[DesignRate | None] | None = None
) -> Table:
    """The same for programs: numbers only, the interval as `low` and `high`; `estimate` is the rate by design."""
    known = designs or [None] * len(rows)
    values = parameter_cells([params for params, _ in rows], swept)
    lines: list[list[Cell]] = []
    for (_, counts), cells, design in zip(rows, values, known, strict=True):
        lines.append([*cells, *count_cells(counts), *limit_cells(counts, design)])
    return Table([*swept, *COUNTS, *LIMITS], lines)


def count_cells(counts: Counts) -> list[Cell]:
    """The cells of the columns `COUNTS`."""
    return [getattr(counts, name) for name in COUNTS]


def _is_weighted(design: DesignRate | None) -> bool:
    return design is not None and design.sampling is not None and design.sampling.is_weighted


def design_value(counts: Counts, design: DesignRate | None) -> float:
    """The rate by design, which follows its weights; without a design, or an estimate by it, the plain one."""
    return counts.rate if design is None or design.estimate is None else design.estimate.value


def rate_interval(counts: Counts, design: DesignRate | None) -> Interval | None:
    """The design's interval; without a design Wilson's, which does not need numpy."""
    if design is None:
        return wilson(counts.successes, counts.tests)
    return None if design.estimate is None else design.estimate.interval


def design_words(design: DesignRate) -> str:
    """What an interval by design is, in a line beside the table."""
    if design.estimate is None or design.sampling is None:
        return f"no interval by design: {design.reason}"
    return f"interval by {method_words(design.estimate.method)}, {target_words(design.sampling)}"


def design_remarks(style: Format, designs: Sequence[DesignRate | None]) -> list[str]:
    """What the intervals of a table are, except where the results say it themselves, or are for programs."""
    if style in (Format.PLAIN, Format.JSON, Format.TRANSCRIPT):
        return []
    return list(dict.fromkeys(design_words(design) for design in designs if design is not None))


def rate_words(counts: Counts, design: DesignRate | None) -> str:
    """The rate with its interval on one line; if there is a design, both are the design's."""
    if design is not None and (design.estimate is None or design.sampling is None):
        return f"rate {counts.rate:.4f}, {design_words(design)}"
    interval = f"95 % interval {interval_text(rate_interval(counts, design))}"
    if design is None or design.estimate is None:
        return f"rate {counts.rate:.4f}, {interval}"
    what = "weighted rate" if _is_weighted(design) else "rate"
    return f"{what} {design.estimate.value:.4f}, {interval} {design_words(design).removeprefix('interval ')}"


def parameter_cells(settings: Sequence[Mapping[str, Value]], names: Sequence[str]) -> list[list[Cell]]:
    """The values of parameters in a table: a row for each setting."""
    rows: list[list[Cell]] = [[] for _ in settings]
    for name in names:
        values = [setting[name] for setting in settings]
        # Beside whole numbers, 1.0 is not 1.
        mixed = int in set(map(type, values))
        for row, value, text in zip(rows, values, value_texts(values), strict=True):
            if value is None or isinstance(value, bool) or (mixed and isinstance(value, float)):
                row.append(ValueText(text, value))
            else:
                row.append(ExactNumber(value) if isinstance(value, float) else value)
    return rows
