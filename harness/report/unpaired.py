"""A comparison of runs on different inputs, for people."""

from harness.analysis.unpaired import UnpairedComparison, UnpairedPair
from harness.report.blocks import NONE, Block, Cell, Heading, Number, Paragraphs, Table
from harness.report.groups import group_blocks, tidy_group_table
from harness.report.numbers import (
    DIFFERENCE,
    correction_name,
    difference_cells,
    estimate_cells,
    independent_cells,
    interval_cell,
    p_cell,
    percent,
    shown_name,
)
from harness.report.sampling import target_words
from harness.report.verdicts import error_lines, margin_sentence, unpaired_verdict


def unpaired_blocks(comparison: UnpairedComparison) -> list[Block]:
    """Every run, every pair, and what it means."""
    test = comparison.runs[0].aligned.headers[0].test
    sampling = comparison.runs[0].sampling
    whom = target_words(sampling) if sampling.known else "all cases taken as independent"
    what = f"{comparison.measure.words[0].upper()}{comparison.measure.words[1:]}, {whom}."
    lines = [f"Nothing is matched: each run has its own cases, and variances add. {what}"]
    correction = correction_name(comparison.multiplicity)
    groups = [
        block
        for by in comparison.breakdowns
        for block in group_blocks(
            by, comparison.names, comparison.places, comparison.measure, comparison.replication, correction
        )
    ]
    verdicts = [unpaired_verdict(comparison, one) for one in comparison.pairs]
    failed = error_lines([one.aligned for one in comparison.runs])
    return [
        Heading(f"{test.name} {test.version}: {len(comparison.runs)} transcripts of different inputs"),
        Paragraphs(lines + comparison.notes),
        _sides(comparison),
        _pairs(comparison),
        *groups,
        Heading("Verdicts"),
        Paragraphs([*verdicts, *failed, *comparison.machine_cautions]),
        *_margins(comparison),
    ]


def _margins(comparison: UnpairedComparison) -> list[Block]:
    if comparison.margins is None:
        return []
    names = [side.name for side in comparison.runs]
    lines = [
        margin_sentence(names[one.a], names[one.b], margin, comparison.alpha)
        for one, margin in zip(comparison.pairs, comparison.margins, strict=True)
    ]
    return [Heading("Equivalence"), Paragraphs([*lines, "Choose the margin before you see the data."])]


def _sides(comparison: UnpairedComparison) -> Table:
    level = percent(comparison.confidence)
    columns = ["name", "tests", "TP", "TN", "FP", "FN", "ER", "rate", f"Wilson {level}"]
    own = comparison.measure.name if comparison.measure.name != "rate" else "estimate"
    columns += [] if comparison.plain else [own, f"by design {level}"]
    columns += [] if comparison.criterion is None else [f"threshold at {comparison.criterion}"]
    rows: list[list[Cell]] = []
    for side in comparison.runs:
        c = side.aligned.counts[0]
        name = shown_name(side.name, side.aligned.self_reported[0])
        row: list[Cell] = [name, c.tests, c.TP, c.TN, c.FP, c.FN, c.ER, side.rate, interval_cell(side.interval)]
        row += [] if comparison.plain else estimate_cells(side.estimate)
        row += [] if side.threshold is None else [Number(side.threshold, ".6g")]
        rows.append(row)
    return Table(columns, rows)


def tidy_table(comparison: UnpairedComparison) -> Table:
    """The pairs for programs: the difference by design, or else Newcombe's with Fisher's exact p-value.

    With groups, a row for each pair in each group.
    """
    if comparison.breakdowns:
        return tidy_group_table(comparison.breakdowns, comparison.names, comparison.places, comparison.measure.name)
    names, rows = comparison.names, list[list[Cell]]()
    for pair in comparison.pairs:
        alone = pair.independent
        if comparison.plain:
            cells = independent_cells(alone.difference, alone.interval, alone.p_fisher, pair.p_adjusted)
        else:
            cells = difference_cells(pair.estimate)
        rows.append([names[pair.a], names[pair.b], *cells, comparison.measure.name])
    return Table(["a", "b", *DIFFERENCE, "measure"], rows)


def _pairs(comparison: UnpairedComparison) -> Table:
    level = percent(comparison.confidence)
    if comparison.plain:
        columns = [
            "pair",
            "difference",
            f"Newcombe {level}",
            "z",
            "p",
            "p Fisher",
            f"p {correction_name(comparison.multiplicity)}",
        ]
    else:
        columns = [
            "pair",
            "method",
            "difference",
            "se",
            "df",
            f"{level} interval",
            "p",
            f"p {correction_name(comparison.multiplicity)}",
        ]
    return Table(columns, [_row(comparison, one) for one in comparison.pairs])


def _row(comparison: UnpairedComparison, pair: UnpairedPair) -> list[Cell]:
    name = f"{comparison.runs[pair.a].name} - {comparison.runs[pair.b].name}"
    if comparison.plain:
        test = pair.independent
        ps: list[Cell] = [p_cell(test.p_z), p_cell(test.p_fisher), p_cell(pair.p_adjusted)]
        return [name, test.difference, interval_cell(test.interval), Number(test.z, ".3f"), *ps]
    one = pair.estimate
    if one is None:
        return [name, NONE, *[Number(None)] * 6]
    figures: list[Cell] = [one.value, one.se, Number(one.df, ".0f"), interval_cell(one.interval)]
    return [name, one.method, *figures, p_cell(one.p_value), p_cell(one.p_adjusted)]
