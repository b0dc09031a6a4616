"""The numbers of a run of a comparison, each declared once with where it is shown."""

from collections.abc import Iterator
from dataclasses import replace
from enum import Flag, auto
from typing import Any

from harness.analysis.align import judged_json
from harness.analysis.comparison import Comparison, RunSummary
from harness.analysis.sampling import estimate_json, replication_json
from harness.report.blocks import NONE, Column, Table, records_of, table_of
from harness.report.counts import TALLY
from harness.report.numbers import percent, shown_name
from harness.stats.rates import Interval

# How a cost is named, and what it is divided by.
_UNITS = {"seconds": ("seconds", 1.0), "memory": ("MB", 1e6)}


class RunOutput(Flag):
    """Where the numbers of a run are shown."""

    # With the interval that the verdicts rest on, with all intervals, and what an answer costs.
    RANKING = auto()
    SUMMARY = auto()
    COSTS = auto()
    JSON = auto()


_SUMMARY, _JSON, _TABLES = RunOutput.SUMMARY, RunOutput.JSON, RunOutput.RANKING | RunOutput.SUMMARY
_NOWHERE = RunOutput(0)


def run_columns(comparison: Comparison) -> list[Column[RunSummary]]:
    """All that is known of a run, in the order of every table that has it."""
    level, by_design, operating = percent(comparison.confidence), comparison.by_design, comparison.operating
    measured = _measured(comparison)
    # What runs on different cases do not have.
    paired = _TABLES | _JSON if comparison.paired else _NOWHERE
    lettered = _TABLES if comparison.baseline is None else _NOWHERE
    decided = _SUMMARY | _JSON if operating is not None else _NOWHERE
    at = "" if operating is None else f"threshold at {operating.criterion}"
    errors = ("fpr", "fnr", *(("development",) if operating is not None and operating.development else ()))

    def decisive(run: RunSummary) -> Interval | None:
        return run.interval if not by_design else None if run.estimate is None else run.estimate.interval

    def replication(run: RunSummary) -> dict[str, Any] | None:
        return replication_json(run.estimate if by_design else None, run.measurement.sampling)

    return [
        Column("name", lambda run: shown_name(run.name, run.aligned.self_reported[run.number]), shown=_TABLES),
        Column("name", shown=RunOutput.COSTS | _JSON),
        Column("digest", lambda run: run.aligned.headers[0].test.digest, shown=_JSON & ~paired),
        *(Column[RunSummary](name, f"counts.{name}", shown=_TABLES | _JSON) for name in TALLY),
        Column("rate", shown=_TABLES | _JSON),
        Column("interval", shown=_SUMMARY | _JSON, head=f"Wilson {level}", form=".4f"),
        Column("value", "estimate.value", shown=_TABLES if measured else _NOWHERE, head=measured),
        Column("interval", decisive, shown=RunOutput.RANKING, head=f"{level} interval", form=".4f"),
        Column("interval", decisive, shown=_SUMMARY if by_design else _NOWHERE, head=f"by design {level}", form=".4f"),
        Column("letters", shown=lettered & paired),
        Column("threshold", _of_threshold("thresholds"), shown=decided & _SUMMARY & ~paired, head=at, form=".6g"),
        Column("value", shown=_JSON),
        Column("left_out", shown=_JSON & paired if comparison.measure.of_numbers else _NOWHERE),
        Column("letters", shown=_JSON & paired),
        Column("judged", lambda run: judged_json(run.aligned, run.number), shown=_JSON),
        Column("replication", replication, shown=_JSON),
        Column("threshold", _of_threshold("thresholds"), shown=decided & _JSON),
        *(Column(name, _of_threshold(name), shown=decided & _JSON & paired) for name in errors),
        *(column for name in _UNITS if name in comparison.further for column in _cost_columns(name, level)),
    ]


def _measured(comparison: Comparison) -> str:
    """What the estimate by design is called, where it is not the rate itself; else empty."""
    if not comparison.paired:
        name = comparison.measure.name
        return "" if not comparison.by_design else "estimate" if name == "rate" else name
    # At a threshold of its own the rate of success is another measure, with the value of the rate.
    if comparison.other_measure and comparison.measure.name != "rate":
        return comparison.measure.name
    return "weighted" if comparison.sampling.known and comparison.sampling.is_weighted else ""


def _of_threshold(name: str) -> Any:
    """A number of each run where its threshold was set."""
    return lambda run: None if run.operating is None else getattr(run.operating, name)[run.number]


def _cost_columns(name: str, level: str) -> list[Column[RunSummary]]:
    """The mean cost of an answer: a key of JSON, and two columns of a table."""
    unit, scale = _UNITS[name]

    def interval(run: RunSummary, scale: float = 1.0) -> Interval | None:
        mean = getattr(run, name)
        known = mean is not None and mean.interval is not None and mean.se > 0
        return Interval(mean.interval.low / scale, mean.interval.high / scale) if known else None

    def record(run: RunSummary) -> dict[str, Any] | None:
        mean = getattr(run, name)
        if mean is None:
            return None
        numbers = estimate_json(mean, "se", "df", value="mean")
        return {"cases": run.answers_with(name), **numbers, "interval": interval(run)}

    def scaled_mean(run: RunSummary) -> float | None:
        mean = getattr(run, name)
        return None if mean is None else mean.value / scale

    return [
        Column(name, record, shown=_JSON),
        Column("mean", scaled_mean, shown=RunOutput.COSTS, head=f"{unit} per case", form=".4g"),
        Column("interval", lambda run: interval(run, scale), shown=RunOutput.COSTS, head=f"{unit} {level}", form=".4g"),
    ]


def ranking_table(comparison: Comparison, max_runs: int | None = None) -> Table:
    """The best first, with the interval that the verdicts rest on: by design where one is known, else Wilson's."""
    runs = [comparison.runs[i] for i in comparison.order[:max_runs]]
    table = table_of(runs, run_columns(comparison), RunOutput.RANKING, missing=NONE)
    return replace(table, spare=frozenset(TALLY[1:-1]))


def summary_table(comparison: Comparison) -> Table:
    """Each algorithm, the best first; those that share a letter cannot be told apart.

    Runs on different cases are in the order in which they were named.
    """
    order = comparison.order if comparison.paired else range(len(comparison.runs))
    runs = [comparison.runs[i] for i in order]
    return table_of(runs, run_columns(comparison), RunOutput.SUMMARY, missing=NONE)


def cost_table(comparison: Comparison) -> Table:
    """Time and memory per case."""
    return table_of(comparison.runs, run_columns(comparison), RunOutput.COSTS)


def run_records(comparison: Comparison) -> Iterator[dict[str, Any]]:
    return records_of(comparison.runs, run_columns(comparison), RunOutput.JSON)
