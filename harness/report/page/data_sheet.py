"""The data sheet of one algorithm, section by section: what the tutorial wishes for in its section 7."""

from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.confusion import Confusion
from harness.analysis.rate import RunMeasures
from harness.analysis.rate_errors import DesignRate
from harness.model import Counts
from harness.report.blocks import Paragraphs, Table
from harness.report.confusion import MAX_COLUMNS, confusion_blocks
from harness.report.counts import TALLY, design_words
from harness.report.numbers import INDEPENDENT, interval_text, percent, sampling_lines
from harness.report.page.document import (
    Bar,
    BarColumn,
    DataTable,
    Facts,
    KeyFigure,
    KeyFigures,
    Part,
    ReportSection,
    parts_of,
)
from harness.report.rate import explained_blocks, left_out_lines, measure_table, tidy_table
from harness.stats.estimate import Estimate
from harness.stats.rates import wilson
from harness.stats.replication.method import Replication

RESOURCES = ("seconds", "memory")
RATE = "rate of success"
# Pairs of classes that are named as confused.
MAX_CONFUSED = 10


def key_figures(run: RunMeasures, replication: Replication) -> KeyFigures:
    """What counts in the test, the rate, each with its interval, by design if there is one, and the counts."""
    counts, rate = run.aligned.counts[0], run.estimates.get("rate")
    first = next(iter(run.estimates))
    main = [] if first == "rate" else [_key_figure(run, run.measures[first].words, run.estimates[first])]
    if not run.sampling.known or rate is None or rate.interval is None:
        return KeyFigures([*main, *count_figures(counts, replication.confidence).figures])
    return KeyFigures([*main, _key_figure(run, RATE, rate), *_tally(counts)])


def _key_figure(run: RunMeasures, words: str, estimate: Estimate | None) -> KeyFigure:
    if estimate is None:
        return KeyFigure(words, "-")
    by_design = design_words(DesignRate(estimate, run.sampling)).removeprefix("interval")
    how = by_design if run.sampling.known else f", {INDEPENDENT}"
    note = f"{percent(estimate.confidence)} interval {interval_text(estimate.interval)}{how}"
    return KeyFigure(words, f"{estimate.value:.4f}", "" if estimate.interval is None else note)


def count_figures(counts: Counts, confidence: float) -> KeyFigures:
    """The same for independent cases, of which there may be a single one."""
    interval = wilson(counts.successes, counts.tests, confidence=confidence)
    note = f"{percent(confidence)} interval {interval_text(interval)}, {INDEPENDENT}"
    return KeyFigures([KeyFigure(RATE, f"{counts.rate:.4f}", note), *_tally(counts)])


def _tally(counts: Counts) -> list[KeyFigure]:
    return [KeyFigure(name, f"{getattr(counts, name):,}") for name in TALLY]


def sampling_section(run: RunMeasures, facts: Facts) -> ReportSection:
    """What was tested, and how the cases were sampled."""
    first = next((estimate for estimate in run.estimates.values() if estimate is not None), None)
    return ReportSection("test", "What was tested", [facts, Paragraphs(sampling_lines(run.sampling, first))])


def measure_section(run: RunMeasures, replication: Replication, further: Sequence[str]) -> ReportSection:
    """All measures but time and memory, with errors by design."""
    shown = _only(run, [name for name in run.estimates if name not in RESOURCES])
    rows = [
        [Bar.of_estimate(estimate) if shown.measures[name].bounds == (0.0, 1.0) else None]
        for name, estimate in shown.estimates.items()
    ]
    table = DataTable(
        caption="Measures, with errors by design" if run.sampling.known else "Measures",
        table=measure_table([shown], replication),
        bars=BarColumn(f"{percent(replication.confidence)} intervals", rows, bounds=(0.0, 1.0)),
        data=tidy_table([shown]),
    )
    lines = [*left_out_lines([shown]), *further]
    return ReportSection("measures", "Measures", [table, *([Paragraphs(lines)] if lines else [])])


def resource_section(run: RunMeasures, replication: Replication) -> ReportSection | None:
    """Time and memory per case; None if neither was recorded."""
    names = [name for name in RESOURCES if run.estimates.get(name) is not None]
    if not names:
        return None
    table = measure_table([_only(run, names)], replication)
    return ReportSection("resources", "Time and memory", [DataTable("Time and memory per case", table)])


def explained_section(run: RunMeasures) -> ReportSection | None:
    """Which columns explain success; None if there are none."""
    if not run.explained:
        return None
    heading, *rest = explained_blocks([run])
    return ReportSection("explained", "What explains success", parts_of(rest, getattr(heading, "text", "Columns")))


def confusion_parts(confusion: Confusion, confidence: float) -> list[Part]:
    """The matrix, shaded by the share of its row, each class, and which are confused."""
    _, *blocks = confusion_blocks([confusion], confidence, MAX_CONFUSED)
    captions = iter(
        ["Confusion matrix: rows the truth, columns the answer"] if len(confusion.labels) <= MAX_COLUMNS else []
    )
    parts: list[Part] = []
    for block in blocks:
        if not isinstance(block, Table):
            parts += parts_of([block])
        elif caption := next(captions, ""):
            matrix = confusion.matrix.tolist()
            shares = [[count / (sum(row) or 1) for count in row] for row in matrix]
            parts.append(DataTable(caption, block, shades=shares))
        else:
            parts.append(DataTable("Classes" if "recall" in block.columns else "The most confused pairs", block))
    return parts


def _only(run: RunMeasures, names: Sequence[str]) -> RunMeasures:
    """The run with some of its measures."""
    kept = {name: run.left_out[name] for name in names if name in run.left_out}
    return replace(run, estimates={name: run.estimates[name] for name in names}, left_out=kept)
