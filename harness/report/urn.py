"""What `hate urn` found, for people."""

import math

from harness.analysis.urns.experiment import Row, Urn
from harness.report.document import Block, Heading, Lines
from harness.report.numbers import p_text
from harness.report.table import Cell, Exact, Table
from harness.stats.mixing import DESIGNS

NAMES = {"st": "stratified", "srs": "simple random", "cl": "cluster"}


def urn_blocks(found: Urn) -> list[Block]:
    """The table, the verdict, and what to try next."""
    return [
        Heading("Variance of the rate from trial to trial"),
        urn_table(found),
        Lines([*_verdict(found), *_facts(found)]),
    ]


def urn_table(found: Urn) -> Table:
    """A row a threshold, or a run; ratios with their p beside."""
    several = found.wishes.runs > 1
    columns = [*(["run"] if several else []), "threshold", "rate", "sample variance"]
    columns += [word for design in DESIGNS for word in (f"/ {design}", "p")]
    return Table([*columns, "compatible"], [_row(row, several=several) for row in found.rows])


def _row(row: Row, *, several: bool) -> list[Cell]:
    one = row.mixing
    cells: list[Cell] = [row.run] if several else []
    cells += ["-" if row.threshold is None else Exact(row.threshold), one.rate, f"{one.sample_variance:.3g}"]
    for design in DESIGNS:
        ratio = one.ratio(design)
        cells += ["-" if math.isnan(ratio) else f"{ratio:.2f}", p_text(one.p_values[design])]
    return [*cells, ", ".join(row.compatible) or "none"]


def long_table(found: Urn) -> Table:
    """All numbers, for programs."""
    columns = ["run", "threshold", "rate", "sample_variance", *DESIGNS, *(f"p_{design}" for design in DESIGNS)]
    rows: list[list[Cell]] = []
    for row in found.rows:
        one = row.mixing
        numbers = [one.rate, one.sample_variance, *(one.predicted[d] for d in DESIGNS)]
        numbers += [one.p_values[d] for d in DESIGNS]
        rows.append([row.run, row.threshold, *numbers, " ".join(row.compatible)])
    return Table([*columns, "compatible"], rows)


def _verdict(found: Urn) -> list[str]:
    wishes, total = found.wishes, len(found.rows)
    name = NAMES[wishes.proposed]
    failed = [row for row in found.rows if wishes.proposed not in row.compatible]
    if not failed:
        text = f"{name.capitalize()} sampling with groups by {wishes.group} is compatible with the sample variance."
        return [text]
    where = "" if total == 1 else f" in {len(failed)} of {total} rows"
    directions = {row.mixing.direction[wishes.proposed] for row in failed}
    how = {1: "varies more than it predicts", -1: "varies less than it predicts"}
    text = " or ".join(how[one] for one in sorted(directions, reverse=True) if one in how) or "does not fit"
    lines = [f"{name.capitalize()} sampling with groups by {wishes.group} is rejected{where}: the rate {text}."]
    return lines + _others(found) + _next(found)


def _others(found: Urn) -> list[str]:
    fits = [d for d in DESIGNS if d != found.wishes.proposed and all(d in row.compatible for row in found.rows)]
    return [f"Compatible throughout: {' and '.join(NAMES[design] for design in fits)} sampling."] if fits else []


def _next(found: Urn) -> list[str]:
    if found.next is None:
        if all(found.wishes.proposed in row.compatible for row in found.rows if row.run == 1):
            return [f"In {found.wishes.alpha * 100:g} of 100 runs that happens by chance."]
        return ["No column explains a tenth of the difference; an unrecorded cofactor may."]
    share = f"{found.next.share * 100:.0f} %"
    if found.next.action == "shuffle":
        return [f"Try next: --shuffle {found.next.column}, which explains {share} of the excess variance."]
    return [f"Try next: --group {found.next.column}, which holds {share} of the variance within groups."]


def _facts(found: Urn) -> list[str]:
    wishes = found.wishes
    fixed = "others in every trial" if wishes.resample is not None else "the same in every trial"
    mixed = f", {', '.join(wishes.shuffle)} shuffled within groups" if wishes.shuffle else ""
    lines = [
        f"{found.trials:,} trials of about {found.per_trial:,} elements, {found.groups:,} groups, {fixed}{mixed}; "
        f"success: {found.rule}. Seed {wishes.seed}, {wishes.permutations:,} permutations, two-sided p, "
        f"rejected at {wishes.alpha:g}.",
        "st: the groups are strata, srs: no groups, cl: clusters. A ratio is the sample variance over the mean "
        "estimate of it, and wanders by chance; p does not. The test is meant for the partition that you end with, "
        "not for each one on the way.",
    ]
    for count, what in (
        (found.alone, "elements were alone in their group and trial"),
        (found.left_out, "probes have nobody to find"),
    ):
        if count:
            lines.append(f"{count:,} {what} and are left out.")
    return lines
