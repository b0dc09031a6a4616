"""A comparison of runs on different inputs, for people."""

from harness.analysis.unpaired import UnpairedComparison, UnpairedPair
from harness.report.blocks import Block, Cell, Heading, Paragraphs, Table
from harness.report.groups import group_blocks
from harness.report.numbers import correction_name, estimate_cells, interval_text, p_text, percent
from harness.report.sampling import target_words
from harness.report.verdicts import margin_sentence, unpaired_verdict


def unpaired_blocks(found: UnpairedComparison) -> list[Block]:
    """Every run, every pair, and what it means."""
    test = found.runs[0].aligned.headers[0].test
    sampling = found.runs[0].sampling
    whom = target_words(sampling) if sampling.known else "all cases taken as independent"
    what = f"{found.measure.words[0].upper()}{found.measure.words[1:]}, {whom}."
    lines = [f"Nothing is matched: each run has its own cases, and variances add. {what}"]
    by = (
        []
        if found.by is None
        else group_blocks(
            found.by, found.names, found.places, found.measure, found.replication, correction_name(found.multiplicity)
        )
    )
    return [
        Heading(f"{test.name} {test.version}: {len(found.runs)} transcripts of different inputs"),
        Paragraphs(lines + found.notes),
        _sides(found),
        _pairs(found),
        *by,
        Heading("Verdicts"),
        Paragraphs([unpaired_verdict(found, one) for one in found.pairs]),
        *_margins(found),
    ]


def _margins(found: UnpairedComparison) -> list[Block]:
    if found.margins is None:
        return []
    names = [side.name for side in found.runs]
    lines = [
        margin_sentence(names[one.a], names[one.b], margin, found.alpha)
        for one, margin in zip(found.pairs, found.margins, strict=True)
    ]
    return [Heading("As good as"), Paragraphs([*lines, "Choose the margin before you see the data."])]


def _sides(found: UnpairedComparison) -> Table:
    level = percent(found.confidence)
    columns = ["name", "tests", "TP", "TN", "FP", "FN", "ER", "rate", f"Wilson {level}"]
    own = found.measure.name if found.measure.name != "rate" else "estimate"
    columns += [] if found.plain else [own, f"by design {level}"]
    columns += [] if found.criterion is None else [f"threshold at {found.criterion}"]
    rows: list[list[Cell]] = []
    for side in found.runs:
        c = side.aligned.counts[0]
        row: list[Cell] = [side.name, c.tests, c.TP, c.TN, c.FP, c.FN, c.ER, side.rate, interval_text(side.interval)]
        row += [] if found.plain else estimate_cells(side.estimate)
        row += [] if side.threshold is None else [f"{side.threshold:.6g}"]
        rows.append(row)
    return Table(columns, rows)


def _pairs(found: UnpairedComparison) -> Table:
    level = percent(found.confidence)
    if found.plain:
        columns = [
            "pair",
            "difference",
            f"Newcombe {level}",
            "z",
            "p",
            "p Fisher",
            f"p {correction_name(found.multiplicity)}",
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
            f"p {correction_name(found.multiplicity)}",
        ]
    return Table(columns, [_row(found, one) for one in found.pairs])


def _row(found: UnpairedComparison, one: UnpairedPair) -> list[Cell]:
    pair = f"{found.runs[one.a].name} - {found.runs[one.b].name}"
    if found.plain:
        test = one.independent
        ps: list[Cell] = [p_text(test.p_z), p_text(test.p_fisher), p_text(one.p_adjusted)]
        return [pair, test.difference, interval_text(test.interval), f"{test.z:.3f}", *ps]
    r = one.estimate
    if r is None:
        return [pair, *["-"] * 7]
    limits = interval_text(r.interval)
    return [pair, r.method, r.value, r.se, f"{r.df:.0f}", limits, p_text(r.p_value), p_text(r.p_adjusted)]
