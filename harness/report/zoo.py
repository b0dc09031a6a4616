"""The biometric zoo, for people."""

from collections.abc import Sequence
from math import isnan

from harness.analysis.zoo import Zoo
from harness.report.blocks import Block, Cell, Heading, Number, Paragraphs, Table
from harness.report.numbers import p_cell, p_is

# Subjects that a report shows; JSON and CSV have all.
MOST_SUBJECTS = 20
_WHAT = {
    "goats": "genuine scores differ between people",
    "lambs": "some are imitated more easily than others",
    "wolves": "some imitate others more easily",
}


def zoo_blocks(zoos: Sequence[Zoo]) -> list[Block]:
    """Whether people differ, how many are in two extreme quarters, and who they are."""
    blocks: list[Block] = []
    for zoo in zoos:
        test = zoo.test
        blocks += [
            Heading(f"{test.name} {test.version}: {zoo.name}, {len(zoo.subjects):,} people"),
            _animal_table(zoo),
            Paragraphs(_lines(zoo)),
            subject_table([zoo], MOST_SUBJECTS),
        ]
    return blocks


def _animal_table(zoo: Zoo) -> Table:
    rows: list[list[Cell]] = [
        [
            name,
            one.count,
            Number(one.expected, ".1f"),
            p_cell(one.p_value),
            p_cell(zoo.adjusted[name]),
            p_cell(one.p_binomial),
        ]
        for name, one in zoo.animals.items()
    ]
    return Table(["kind", "people", "expected", "p", "p Holm", "p binomial"], rows)


def _lines(zoo: Zoo) -> list[str]:
    lines = []
    for name, test in zoo.tests.items():
        if test is not None:
            shown = _WHAT[name] if test.p_value <= 0.05 else f"it was not shown that {_WHAT[name]}"
            lines.append(f"{name}: {shown} (Kruskal and Wallis's test: {p_is(test.p_value)}).")
    more = [name for name in zoo.animals if zoo.adjusted[name] <= 0.05]
    if more:
        lines.append(f"More {' and '.join(more)} than chance gives.")
    else:
        lines.append("No more of any kind than chance gives.")
    if zoo.incomplete:
        lines.append(f"Left out: {zoo.incomplete:,} people without both genuine and impostor scores.")
    if zoo.left_out:
        lines.append(f"Left out: {zoo.left_out:,} cases without a score.")
    return lines


def subject_table(zoos: Sequence[Zoo], most: int | None = None) -> Table:
    """A row for each person, those with most kinds first in a report."""
    rows: list[list[Cell]] = []
    for zoo in zoos:
        subjects = zoo.subjects if most is None else sorted(zoo.subjects, key=lambda one: one.genuine_mean)[:most]
        rows += [
            [
                zoo.name, one.name, one.genuine, one.impostor,
                *(None if isnan(mean) else mean
                  for mean in (one.genuine_mean, one.impostor_mean, one.claimed_mean, one.other_mean)),
                " ".join(one.kinds),
            ]
            for one in subjects
        ]  # fmt: skip
    columns = [
        "transcript",
        "subject",
        "genuine",
        "impostor",
        "genuine mean",
        "impostor mean",
        "as claimed",
        "as other",
    ]
    return Table([*columns, "kinds"], rows)
