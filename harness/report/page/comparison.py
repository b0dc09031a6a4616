"""The comparison of several algorithms, section by section: the verdicts first, then what supports them."""

from collections.abc import Sequence

from harness.analysis.comparison import Comparison
from harness.report.blocks import Paragraphs, Table
from harness.report.comparison import combined_line, first_words, joint_lines, multiplicity_lines, ranking_lines
from harness.report.comparison_details import (
    agreement_blocks,
    better_table,
    pair_table,
    resource_blocks,
    tutorial_lines,
    win_blocks,
)
from harness.report.comparison_pairs import PairOutput, design_table, pair_table_of, tidy_table
from harness.report.comparison_runs import ranking_table, summary_table
from harness.report.counts import TALLY
from harness.report.numbers import percent, sampling_lines
from harness.report.page.document import (
    Bar,
    BarColumn,
    DataTable,
    Facts,
    Folded,
    Part,
    ReportSection,
    Verdicts,
    parts_of,
)
from harness.report.verdicts import error_lines, pair_verdict

# Verdicts that stand first; the others are folded.
MAX_VERDICTS = 6
# With more pairs, a table for each is more than anyone reads.
MAX_TABLES = 15


def verdict_parts(comparison: Comparison) -> list[Part]:
    """A verdict for each pair; of many pairs, first those of the best run."""
    best = comparison.order[0]
    pairs = comparison.pairs
    first = list(pairs) if len(pairs) <= MAX_VERDICTS else [pair for pair in pairs if best in (pair.a, pair.b)]
    parts: list[Part] = [Verdicts([pair_verdict(comparison, pair) for pair in first[:MAX_VERDICTS]])]
    rest = [pair for pair in pairs if pair not in first[:MAX_VERDICTS]]
    if rest:
        verdicts = Verdicts([pair_verdict(comparison, pair) for pair in rest])
        parts.append(Folded(f"{len(rest):,} more verdicts", [verdicts]))
    failed = [*error_lines([comparison.aligned]), *comparison.machine_cautions]
    return [*parts, Paragraphs(failed)] if failed else parts


def ranking_section(comparison: Comparison) -> ReportSection:
    """Each algorithm by itself, the best first, with letters and intervals."""
    rows = []
    for index in comparison.order:
        run = comparison.runs[index]
        by_design = None if run.estimate is None else run.estimate.interval
        rows.append([Bar.of(run.value, run.interval if not comparison.by_design else by_design)])
    what, ranking = comparison.measure.words, ranking_table(comparison)
    # Names, letters and intervals side by side: a screen may be too narrow for all columns.
    names = ranking.columns
    order = sorted(range(len(names)), key=lambda i: (names[i] not in ("name", "letters"), names[i] in TALLY))
    table = DataTable(
        caption=f"{first_words(comparison)} first, by {what}",
        table=Table([names[i] for i in order], [[row[i] for i in order] for row in ranking.rows]),
        bars=BarColumn(f"{what}, {percent(comparison.confidence)}", rows),
    )
    more: list[Part] = [DataTable("Intervals by design, and if cases were independent", summary_table(comparison))]
    more += [Paragraphs(lines)] if (lines := joint_lines(comparison)) else []
    return ReportSection(
        "ranking", "Ranking", [table, Paragraphs(ranking_lines(comparison)), Folded("All runs together", more)]
    )


def pair_section(comparison: Comparison) -> ReportSection:
    """The difference of every pair; what stands behind it is folded."""
    by_design = comparison.by_design
    differences = [
        [Bar.of_estimate(pair.estimate) if by_design else Bar.of(pair.difference, pair.interval)]
        for pair in comparison.pairs
    ]
    bars = BarColumn(f"difference, {percent(comparison.confidence)}", differences, zero=0.0)
    parts: list[Part] = [
        DataTable("Differences", pair_table_of(comparison, PairOutput.SHORT), bars=bars, data=tidy_table(comparison))
    ]
    only = f"only A: {comparison.aligned.counted} on which A succeeded and B failed."
    lines = [only, *multiplicity_lines(comparison), *comparison.cautions]
    parts.append(Paragraphs(lines))
    if by_design:
        table = DataTable("Differences, with errors by design", design_table(comparison))
        parts.append(Folded("With errors by design", [table]))
    if not comparison.other_measure:
        mcnemar = DataTable(
            "McNemar's test, if cases were independent", pair_table_of(comparison, PairOutput.INDEPENDENT)
        )
        tables = comparison.pairs if len(comparison.pairs) <= MAX_TABLES else []
        folded: list[Part] = [mcnemar]
        for pair in tables:
            title = f"{comparison.names[pair.a]} and {comparison.names[pair.b]}"
            folded += [DataTable(title, pair_table(comparison, pair)), Paragraphs(tutorial_lines(comparison, pair))]
        parts.append(Folded("McNemar's test, case by case", folded))
    return ReportSection("pairs", "Pairs", [*parts, *parts_of(win_blocks(comparison), "Win rates")])


def complement_section(comparison: Comparison) -> ReportSection:
    """On how many cases one was right where another was wrong, and what picking the right one would give."""
    table = DataTable(
        f"{comparison.aligned.counted.capitalize()} on which the one of the row was right and the one of the column "
        "wrong",
        better_table(comparison),
    )
    return ReportSection(
        "complement", "Where they complement one another", [table, Paragraphs([combined_line(comparison)])]
    )


def resource_parts(comparison: Comparison) -> list[Part]:
    """Time and memory per case, without the heading."""
    blocks = resource_blocks(comparison, pairs=len(comparison.pairs) <= MAX_TABLES)[1:]
    return parts_of(blocks, "Time and memory per case", "Ratios of time and memory")


def agreement_parts(comparison: Comparison) -> list[Part]:
    """How far the numbers of two runs agree, without the heading."""
    return parts_of(agreement_blocks(comparison)[1:], "Agreement of the answers")


def sampling_section(comparison: Comparison, facts: Facts) -> ReportSection:
    """What was tested, and how the cases were sampled."""
    example = next((pair.estimate for pair in comparison.pairs if pair.estimate is not None), None)
    lines: Sequence[str] = sampling_lines(comparison.sampling, example)
    return ReportSection("test", "What was tested", [facts, Paragraphs(lines)])
