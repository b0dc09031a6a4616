"""A comparison of runs on different inputs, for people."""

from harness.analysis.comparing.unpaired import Contrast, UnpairedComparison
from harness.report.document import Block, Heading, Lines
from harness.report.groups import group_blocks
from harness.report.numbers import distance, estimate_cells, interval_text, p_is, p_text, percent
from harness.report.table import Cell, Table
from harness.report.verdicts import correction_name, margin_sentence
from harness.stats.estimate import Estimate
from harness.stats.power import detectable


def unpaired_blocks(found: UnpairedComparison) -> list[Block]:
    """Every run, every pair, and what it means."""
    test = found.sides[0].aligned.headers[0].test
    sampling = found.sides[0].sampling
    whom = sampling.target_in_words if sampling.known else "all cases taken as independent"
    what = f"{found.measure.words[0].upper()}{found.measure.words[1:]}, {whom}."
    lines = [f"Nothing is matched: each run has its own cases, and variances add. {what}"]
    names, pairs = [side.name for side in found.sides], [(one.a, one.b) for one in found.contrasts]
    by = (
        []
        if found.by is None
        else group_blocks(found.by, names, pairs, found.measure, found.plan, correction_name(found.multiplicity))
    )
    return [
        Heading(f"{test.name} {test.version}: {len(found.sides)} transcripts of different inputs"),
        Lines(lines + found.notes),
        _sides(found),
        _pairs(found),
        *by,
        Heading("Verdicts"),
        Lines([_verdict(found, one) for one in found.contrasts]),
        *_margins(found),
    ]


def _margins(found: UnpairedComparison) -> list[Block]:
    if found.margins is None:
        return []
    names = [side.name for side in found.sides]
    lines = [
        margin_sentence(names[one.a], names[one.b], margin, found.alpha)
        for one, margin in zip(found.contrasts, found.margins, strict=True)
    ]
    return [Heading("As good as"), Lines([*lines, "Choose the margin before you see the data."])]


def _sides(found: UnpairedComparison) -> Table:
    level = percent(found.plan.confidence)
    columns = ["name", "tests", "TP", "TN", "FP", "FN", "ER", "rate", f"Wilson {level}"]
    own = found.measure.name if found.measure.name != "rate" else "estimate"
    columns += [] if found.plain else [own, f"by design {level}"]
    columns += [] if found.point is None else [f"threshold at {found.point}"]
    rows: list[list[Cell]] = []
    for side in found.sides:
        c = side.aligned.counts[0]
        row: list[Cell] = [side.name, c.tests, c.TP, c.TN, c.FP, c.FN, c.ER, side.rate, interval_text(side.interval)]
        row += [] if found.plain else estimate_cells(side.estimate)
        row += [] if side.threshold is None else [f"{side.threshold:.6g}"]
        rows.append(row)
    return Table(columns, rows)


def _pairs(found: UnpairedComparison) -> Table:
    level = percent(found.plan.confidence)
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
    return Table(columns, [_row(found, one) for one in found.contrasts])


def _row(found: UnpairedComparison, one: Contrast) -> list[Cell]:
    pair = f"{found.sides[one.a].name} - {found.sides[one.b].name}"
    if found.plain:
        test = one.independent
        ps: list[Cell] = [p_text(test.p_z), p_text(test.p_fisher), p_text(one.p_adjusted)]
        return [pair, test.difference, interval_text(test.interval), f"{test.z:.3f}", *ps]
    r = one.estimate
    if r is None:
        return [pair, *["-"] * 7]
    limits = interval_text(r.interval)
    return [pair, r.method, r.value, r.se, f"{r.df:.0f}", limits, p_text(r.p_value), p_text(r.p_adjusted)]


def _verdict(found: UnpairedComparison, one: Contrast) -> str:
    a, b, words = found.sides[one.a].name, found.sides[one.b].name, found.measure.words
    if one.estimate is None:
        return f"{a} and {b} cannot be compared: one of them has no {words}."
    sampling = found.sides[one.a].sampling
    whom = sampling.target_in_words if sampling.known else "for new cases, taken as independent"
    if found.p_decisive(one) > found.alpha:
        return f"{a} and {b} cannot be told apart in {words}, {whom}{_missed(found, one, one.estimate)}."
    better, worse = (a, b) if found.ahead(one) > 0 else (b, a)
    interval, share = one.estimate.interval, found.measure.share
    if interval is None or interval.low <= 0 <= interval.high:
        return f"{better} is better than {worse} in {words} ({p_is(found.p_decisive(one))}, {whom})."
    low, high = sorted((abs(interval.low), abs(interval.high)))
    how = f"{percent(found.plan.confidence)} interval, {whom}"
    return f"{better} is better than {worse} in {words} by {distance(low, high, rate=share)} ({how})."


def _missed(found: UnpairedComparison, pair: Contrast, one: Estimate) -> str:
    """The difference that would have been seen, with 80 % power; unknown where a side does not vary."""
    sides = [found.sides[place].estimate for place in (pair.a, pair.b)]
    if one.interval is None or any(side is None or side.se == 0 for side in sides):
        return ""
    missed = detectable(one.se, one.df, alpha=found.alpha, comparisons=len(found.contrasts))
    low, high = one.scale.bounds
    if not missed < max(-low, high):
        return f": {one.units:,} units are too few to show any difference"
    return (
        f": a difference below {distance(missed, rate=found.measure.share)} would be missed more than one time in five"
    )
