"""A comparison of runs on different inputs, for people and as JSON."""

import math
from typing import Any

import msgspec

from harness.analysis.comparing.replicated import Replicated
from harness.analysis.comparing.unpaired import Contrast, Side, UnpairedComparison
from harness.report.document import Block, Heading, Lines
from harness.report.numbers import p_text, span
from harness.report.table import Cell, Table
from harness.stats.rates import Interval


def unpaired_blocks(found: UnpairedComparison) -> list[Block]:
    """Every run, every pair, and what it means."""
    test = found.sides[0].aligned.headers[0].test
    sampling = found.sides[0].sampling
    whom = sampling.target_in_words if sampling.known else "all cases taken as independent"
    what = f"{found.words[0].upper()}{found.words[1:]}, {whom}."
    lines = [f"Nothing is matched: each run has its own cases, and variances add. {what}"]
    return [
        Heading(f"{test.name} {test.version}: {len(found.sides)} transcripts of different inputs"),
        Lines(lines + found.notes),
        _sides(found),
        _pairs(found),
        Heading("Verdicts"),
        Lines([_verdict(found, one) for one in found.contrasts]),
    ]


def _sides(found: UnpairedComparison) -> Table:
    level = f"{found.plan.confidence * 100:g} %"
    columns = ["name", "tests", "TP", "TN", "FP", "FN", "ER", "rate", f"Wilson {level}"]
    columns += (
        [] if found.plain else [found.statistic if found.statistic != "rate" else "estimate", f"by design {level}"]
    )
    columns += [] if found.point is None else [f"threshold at {found.point}"]
    rows: list[list[Cell]] = []
    for side in found.sides:
        c, one = side.aligned.counts[0], side.replication
        row: list[Cell] = [
            side.name,
            c.tests,
            c.TP,
            c.TN,
            c.FP,
            c.FN,
            c.ER,
            side.rate,
            span(side.interval.low, side.interval.high),
        ]
        row += (
            []
            if found.plain
            else ["-", "-"]
            if one is None
            else [one.estimate, span(one.interval.low, one.interval.high)]
        )
        row += [] if side.threshold is None else [f"{side.threshold:.6g}"]
        rows.append(row)
    return Table(columns, rows)


def _pairs(found: UnpairedComparison) -> Table:
    level = f"{found.plan.confidence * 100:g} %"
    if found.plain:
        columns = ["pair", "difference", f"Newcombe {level}", "z", "p", "p Fisher", "p Holm"]
    else:
        columns = ["pair", "method", "difference", "se", "df", f"{level} interval", "p", "p Holm"]
    return Table(columns, [_row(found, one) for one in found.contrasts])


def _row(found: UnpairedComparison, one: Contrast) -> list[Cell]:
    pair = f"{found.sides[one.a].name} - {found.sides[one.b].name}"
    if found.plain:
        test = one.independent
        ps: list[Cell] = [p_text(test.p_z), p_text(test.p_fisher), p_text(one.p_adjusted)]
        return [pair, test.difference, span(test.interval.low, test.interval.high), f"{test.z:.3f}", *ps]
    r = one.replication
    if r is None:
        return [pair, *["-"] * 7]
    return [
        pair,
        r.method,
        r.estimate,
        r.se,
        f"{r.df:.0f}",
        span(r.interval.low, r.interval.high),
        p_text(r.p_value),
        p_text(r.p_adjusted),
    ]


def _verdict(found: UnpairedComparison, one: Contrast) -> str:
    a, b = found.sides[one.a].name, found.sides[one.b].name
    interval = one.independent.interval if one.replication is None else one.replication.interval
    if one.replication is None and not found.plain:
        return f"{a} and {b} cannot be compared: one of them has no {found.words}."
    if found.p_decisive(one) > found.alpha:
        return f"{a} and {b} cannot be told apart in {found.words}."
    better, worse = (a, b) if found.ahead(one) > 0 else (b, a)
    low, high = sorted((abs(interval.low), abs(interval.high)))
    return f"{better} is better than {worse} in {found.words}, by {low:.4f} to {high:.4f}."


def unpaired_json(found: UnpairedComparison) -> dict[str, Any]:
    """Under the names of a paired comparison, as far as they make sense."""
    test = found.sides[0].aligned.headers[0].test
    return {
        "test": {"name": test.name, "version": test.version, "digest": None},
        "unpaired": True,
        "statistic": found.statistic,
        **({} if found.point is None else {"at": str(found.point)}),
        "transcripts": [_side_json(found, side) for side in found.sides],
        "pairs": [_contrast_json(found, one) for one in found.contrasts],
        "confidence": found.plan.confidence,
        "notes": found.notes,
    }


def _side_json(found: UnpairedComparison, side: Side) -> dict[str, Any]:
    counts = side.aligned.counts[0]
    threshold = {} if side.threshold is None else {"threshold": _finite(side.threshold)}
    return {
        "name": side.name,
        "digest": side.aligned.headers[0].test.digest,
        "tests": counts.tests,
        **msgspec.structs.asdict(counts),
        "rate": side.rate,
        "interval": _limits(side.interval),
        "value": side.value,
        **threshold,
        "replication": _replication(found, side, side.replication),
    }


def _contrast_json(found: UnpairedComparison, one: Contrast) -> dict[str, Any]:
    a, b = found.sides[one.a], found.sides[one.b]
    ahead = found.ahead(one)
    test = one.independent
    return {
        "a": a.name,
        "b": b.name,
        "difference": test.difference,
        "interval": _limits(test.interval),
        "z": test.z,
        "p_value": test.p_z,
        "p_exact": test.p_fisher,
        "p_adjusted": one.p_adjusted,
        "better": None if ahead == 0 else a.name if ahead > 0 else b.name,
        "replication": _replication(found, a, one.replication),
    }


def _replication(found: UnpairedComparison, side: Side, one: Replicated | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "method": one.method,
        "target": side.sampling.target,
        "stratum": side.sampling.stratum,
        "psu": side.sampling.psu,
        "weights": side.sampling.weights,
        "fay": one.fay,
        "seed": found.plan.seed,
        "estimate": one.estimate,
        "se": one.se,
        "df": one.df,
        "interval": _limits(one.interval),
        "p_value": one.p_value,
        "p_adjusted": one.p_adjusted,
    }


def _limits(interval: Interval) -> list[float | None]:
    return [_finite(interval.low), _finite(interval.high)]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
