"""What `hate urn` found, for people."""

import math
from collections.abc import Sequence

from harness.analysis.urn import UrnExperiment, UrnRow
from harness.report.blocks import Block, Cell, ExactNumber, Heading, Paragraphs, Table
from harness.report.numbers import p_is, p_text
from harness.stats.urn import DESIGNS, variance_interval

NAMES = {"st": "stratified", "srs": "simple random", "cl": "cluster"}


def urn_blocks(found: UrnExperiment) -> list[Block]:
    """The table, the verdict, and what to try next."""
    return [
        Heading("Variance of the rate from trial to trial"),
        urn_table(found),
        Paragraphs([*_verdict(found), *_facts(found)]),
    ]


def urn_table(found: UrnExperiment) -> Table:
    """A row for each threshold or run; ratios with their p-values."""
    several = found.request.runs > 1
    columns = [*(["run"] if several else []), "threshold", "rate", "sample variance"]
    columns += [word for design in DESIGNS for word in (f"/ {design}", "p")]
    return Table([*columns, "compatible"], [_row(row, several=several) for row in found.rows])


def _row(row: UrnRow, *, several: bool) -> list[Cell]:
    one = row.mixing
    cells: list[Cell] = [row.run] if several else []
    cells += ["-" if row.threshold is None else ExactNumber(row.threshold), one.rate, f"{one.sample_variance:.3g}"]
    for design in DESIGNS:
        ratio = one.ratio(design)
        cells += ["-" if math.isnan(ratio) else f"{ratio:.2f}", p_text(one.p_values[design])]
    return [*cells, ", ".join(row.compatible) or "none"]


def tidy_table(found: UrnExperiment) -> Table:
    """All numbers, for programs."""
    columns = ["run", "threshold", "rate", "sample_variance", *DESIGNS, *(f"p_{design}" for design in DESIGNS)]
    rows: list[list[Cell]] = []
    for row in found.rows:
        one = row.mixing
        numbers = [one.rate, one.sample_variance, *(one.predicted[d] for d in DESIGNS)]
        numbers += [one.p_values[d] for d in DESIGNS]
        rows.append([row.run, row.threshold, *numbers, " ".join(row.compatible)])
    return Table([*columns, "compatible"], rows)


def _verdict(found: UrnExperiment) -> list[str]:
    """What the test of the proposed design says, and no more."""
    design = found.request.proposed
    name = f"{NAMES[design].capitalize()} sampling"
    name += "" if design == "srs" else f" with groups by {found.request.group}"
    if {row.mixing.rate for row in found.rows} <= {0.0, 1.0}:
        return [f"{name} cannot be tested: every element succeeds, or every one fails, so that nothing varies."]
    tested = [row for row in found.rows if not math.isnan(row.mixing.p_values[design])]
    if not tested:
        return [f"{name} cannot be tested: a trial has a single group, which does not show how groups differ."]
    rejected = [row for row in tested if row.rejects(design)]
    if not rejected:
        return _not_rejected(found, name, [row.mixing.p_values[design] for row in tested])
    return _rejected(found, name, rejected) + _others(found) + _next(found)


def _not_rejected(found: UrnExperiment, name: str, p_values: Sequence[float]) -> list[str]:
    """As the paper says: a partition that is not rejected is supported by the data, but not proved."""
    p = p_is(min(p_values)) if len(p_values) == 1 else f"smallest {p_is(min(p_values))} of {len(p_values)} rows"
    limits = variance_interval(1.0, found.trials - 1)
    return [
        f"{name} is not rejected: from trial to trial the rate varied no more, and no less, than chance allows under "
        f"this design ({p}).",
        "That is no proof that the design holds or that nothing else makes the rate vary: "
        f"{found.trials:,} trials leave the real variance anywhere from {limits.low:.2f} to {limits.high:,.2f} times "
        "the sample variance (95 %, chi-square).",
    ]


def _rejected(found: UrnExperiment, name: str, rejected: Sequence[UrnRow]) -> list[str]:
    design, total = found.request.proposed, len(found.rows)
    where = "" if total == 1 else f" in {len(rejected)} of {total} rows"
    directions = {row.mixing.direction[design] for row in rejected}
    how = {1: "varies more than it predicts", -1: "varies less than it predicts"}
    text = " or ".join(how[one] for one in sorted(directions, reverse=True) if one in how) or "does not fit"
    p = min(row.mixing.p_values[design] for row in rejected)
    return [f"{name} is rejected{where}: the rate {text} ({'smallest ' if len(rejected) > 1 else ''}{p_is(p)})."]


def _fitting(found: UrnExperiment) -> list[str]:
    return [d for d in DESIGNS if d != found.request.proposed and all(d in row.compatible for row in found.rows)]


def _others(found: UrnExperiment) -> list[str]:
    names = " and ".join(f"{NAMES[design]} sampling" for design in _fitting(found))
    return [f"Not rejected{' in any row' if len(found.rows) > 1 else ''}: {names}."] if names else []


def _next(found: UrnExperiment) -> list[str]:
    """What to try next, as found in the first run."""
    if found.next is None:
        return _nothing_found(found)
    share = f"{found.next.share * 100:.0f} %"
    if found.next.action == "shuffle":
        return [f"Try next: --shuffle {found.next.column}, which explains about {share} of the excess variance."]
    return [f"Try next: --group {found.next.column}, which holds about {share} of the variance within groups."]


def _nothing_found(found: UrnExperiment) -> list[str]:
    design = found.request.proposed
    rejected = [row.mixing.direction for row in found.rows if row.run == 1 and row.rejects(design)]
    if not rejected:
        return [f"By chance alone, a design that holds is rejected in {found.request.alpha * 100:g} of 100 runs."]
    # Columns are searched for excess variance, or for what stratified sampling predicts too much.
    searched = any(direction[design] > 0 or direction["st"] < 0 for direction in rejected)
    if _fitting(found) or not searched:
        return []
    return ["No column explains a tenth of the difference; something that was not recorded may."]


def _facts(found: UrnExperiment) -> list[str]:
    request, rows = found.request, len(found.rows)
    mixed = f", {', '.join(request.shuffle)} shuffled within groups" if request.shuffle else ""
    nested = " (st: by chi-square, since no group is in two trials)" if found.cells == found.groups else ""
    lines = [
        f"{found.trials:,} trials of about {found.per_trial:,} elements, {found.groups:,} groups, {_presence(found)}"
        f"{mixed}; success: {found.rule}. Seed {request.seed}; p is two-sided, from {request.permutations:,} "
        f"permutations{nested}; a design is rejected where p is at most {request.alpha:g}.",
        "st: the groups are strata; srs: they do not matter; cl: they are clusters. A ratio (/ st) is the sample "
        "variance over what the design predicts from within the trials; it differs from 1 by chance, the more so the "
        "fewer the trials. p is how often chance alone gives a sample variance so far off where the design holds"
        f"{', each row by itself' if rows > 1 else ''}; p itself would differ in another experiment. The test is "
        "meant for your final partition, not for each one on the way.",
    ]
    if request.runs > 1:
        lines.append("Each run has a random half of the repetitions: runs share data, and do not confirm one another.")
    return lines + _left_out(found)


def _presence(found: UrnExperiment) -> str:
    if found.cells == found.groups:
        return "others in every trial"
    return "the same in every trial" if found.cells == found.groups * found.trials else "not all of them in every trial"


def _left_out(found: UrnExperiment) -> list[str]:
    lines = []
    if found.alone:
        what = "element that was alone in its" if found.alone == 1 else "elements that were alone in their"
        lines.append(f"Left out: {found.alone:,} {what} group and trial.")
    if found.left_out:
        what = "probe that has" if found.left_out == 1 else "probes that have"
        lines.append(f"Left out: {found.left_out:,} {what} no one to find.")
    return lines
