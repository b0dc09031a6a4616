"""The biometric zoo as a result: JSON and a table for programs, tables and sentences for people."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.run_identity import identity_json
from harness.api.result import Result
from harness.lab.zoo.analysis import Zoo
from harness.lab.zoo.statistics import QuarterOverlap
from harness.model import finite
from harness.report.blocks import Block, Cell, Column, Heading, P, Paragraphs, Table, table_of
from harness.report.numbers import p_text
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
        """Whether people differ, how many are in two extreme quarters, and who has the lowest genuine scores."""
        blocks: list[Block] = []
        for zoo in self.zoos:
            blocks += [
                Heading(f"{self.test.name} {self.test.version}: {zoo.name}, {zoo.people:,} people"),
                table_of(zoo.animals.items(), _ANIMALS),
                Paragraphs(_lines(zoo)),
                subject_table([zoo], MAX_SUBJECTS),
            ]
        return blocks

    def table(self) -> Table:
        """A row for each person."""
        return subject_table(self.zoos)


_ANIMALS: list[Column[tuple[str, QuarterOverlap]]] = [
    Column("kind", lambda item: item[0]),
    Column("people", lambda item: item[1].count),
    Column("expected", lambda item: item[1].expected, form=".1f"),
    Column("p", lambda item: item[1].p_value, form=P),
    Column("p Holm", lambda item: item[1].p_adjusted, form=P),
    Column("p binomial", lambda item: item[1].p_binomial, form=P),
]


def _lines(zoo: Zoo) -> list[str]:
    lines = []
    for name, test in zoo.tests.items():
        if test is not None:
            shown = _WHAT[name] if test.p_value <= 0.05 else f"it was not shown that {_WHAT[name]}"
            lines.append(f"{name}: {shown} (Kruskal and Wallis's test: {p_text(test.p_value)}).")
    more = [name for name, animal in zoo.animals.items() if animal.p_adjusted is not None and animal.p_adjusted <= 0.05]
    lines.append(f"More {' and '.join(more)} than chance gives." if more else "No more of any kind than chance gives.")
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
