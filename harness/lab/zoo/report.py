"""The biometric zoo as a result: JSON and a table for programs, tables and sentences for people."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.run_identity import identity_json
from harness.api.result import Result
from harness.lab.zoo.analysis import Zoo
from harness.model import finite
from harness.report.blocks import Block, Cell, Heading, Number, Paragraphs, Table
from harness.report.numbers import p_cell, p_text
from harness.transcript.format import TestInfo

# Subjects that a report shows; JSON and CSV have all.
MAX_SUBJECTS = 20
_WHAT = {
    "goats": "genuine scores differ between people",
    "lambs": "some are imitated more easily than others",
    "wolves": "some imitate others more easily",
}


@dataclass(frozen=True, repr=False)
class ZooResult(Result):
    """Goats, lambs, wolves, worms, doves, chameleons and phantoms of every transcript."""

    test: TestInfo
    columns: tuple[str, str]
    zoos: Sequence[Zoo]
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        return {"test": identity_json(self.test), "columns": self.columns, "transcripts": self.zoos}

    def blocks(self) -> Sequence[Block]:
        """Tests, counts, and the people with the lowest genuine scores."""
        return zoo_blocks(self.test, self.zoos)

    def table(self) -> Table:
        """A row for each person."""
        return subject_table(self.zoos)


def zoo_blocks(test: TestInfo, zoos: Sequence[Zoo]) -> list[Block]:
    """Whether people differ, how many are in two extreme quarters, and who they are."""
    blocks: list[Block] = []
    for zoo in zoos:
        blocks += [
            Heading(f"{test.name} {test.version}: {zoo.name}, {zoo.people:,} people"),
            _animal_table(zoo),
            Paragraphs(_lines(zoo)),
            subject_table([zoo], MAX_SUBJECTS),
        ]
    return blocks


def _animal_table(zoo: Zoo) -> Table:
    rows: list[list[Cell]] = [
        [
            name,
            animal.count,
            Number(animal.expected, ".1f"),
            *map(p_cell, (animal.p_value, animal.p_adjusted, animal.p_binomial)),
        ]
        for name, animal in zoo.animals.items()
    ]
    return Table(["kind", "people", "expected", "p", "p Holm", "p binomial"], rows)


def _lines(zoo: Zoo) -> list[str]:
    lines = []
    for name, test in zoo.tests.items():
        if test is not None:
            shown = _WHAT[name] if test.p_value <= 0.05 else f"it was not shown that {_WHAT[name]}"
            lines.append(f"{name}: {shown} (Kruskal and Wallis's test: {p_text(test.p_value)}).")
    more = [name for name, animal in zoo.animals.items() if animal.p_adjusted is not None and animal.p_adjusted <= 0.05]
    if more:
        lines.append(f"More {' and '.join(more)} than chance gives.")
    else:
        lines.append("No more of any kind than chance gives.")
    if zoo.incomplete:
        lines.append(f"Left out: {zoo.incomplete:,} people without both genuine and impostor scores.")
    if zoo.left_out:
        lines.append(f"Left out: {zoo.left_out:,} cases without a score.")
    return lines


_SUBJECT = ("transcript", "subject", "genuine", "impostor", "genuine mean", "impostor mean", "as claimed", "as other")


def subject_table(zoos: Sequence[Zoo], most: int | None = None) -> Table:
    """A row for each person, those with the lowest genuine scores first in a report."""
    rows: list[list[Cell]] = []
    for zoo in zoos:
        subjects = (
            zoo.subjects if most is None else sorted(zoo.subjects, key=lambda subject: subject.genuine_mean)[:most]
        )
        for subject in subjects:
            means = map(finite, (subject.genuine_mean, subject.impostor_mean, subject.claimed_mean, subject.other_mean))
            rows.append([zoo.name, subject.name, subject.genuine, subject.impostor, *means, " ".join(subject.kinds)])
    return Table([*_SUBJECT, "kinds"], rows)
