"""The gallery of a rank test, and virtual experiments with a part of the gallery and of the probes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from harness.errors import ScriptError, UsageError
from harness.files.conditions import Condition, parse_condition
from harness.files.mistakes import Mistakes
from harness.files.tables import rows
from harness.model import Case, Question
from harness.params import nearest
from harness.script.case_source import case_of
from harness.script.design import FIXED_COLUMNS
from harness.script.load import Script
from harness.script.references import References
from harness.tasks.rank import Gallery

if TYPE_CHECKING:
    from harness.script.cases import CaseSet


def load_gallery(script: Script, data_paths: Mapping[str, Path] | None) -> Gallery | None:
    """The gallery, checked; None if the test has none. A ScriptError lists all mistakes in its table.

    If `data_paths` is None, the images themselves need not be here.
    """
    mistakes = Mistakes(str(script.path))
    gallery = read_gallery(script, data_paths, mistakes)
    mistakes.raise_if_any()
    return gallery


def read_gallery(script: Script, data_paths: Mapping[str, Path] | None, mistakes: Mistakes) -> Gallery | None:
    """The gallery, with all mistakes of its table added; None if it has any, or if the test has no gallery."""
    if not script.task.uses_gallery or script.file.gallery is None:
        return None
    table, before = script.file.gallery.table, mistakes.count
    references = None if data_paths is None else References(data_paths, script.file.data, confined=script.confined)
    try:
        entries = list(_entries(script, table, references, mistakes))
    except ScriptError as error:
        mistakes.add(str(error))
        return None
    if not entries and mistakes.count == before:
        mistakes.add(f"{table}: no rows; a gallery needs at least one")
    return Gallery(entries) if mistakes.count == before else None


def _entries(script: Script, table: str, references: References | None, mistakes: Mistakes) -> Iterator[Case]:
    seen = set[str]()
    for line, row in rows(script.folder / table):
        try:
            entry = case_of(row)
            if references is not None:
                references.check(entry.input)
            if not entry.expect:
                raise ScriptError(f"gallery image '{entry.id}' has no identity; fill in expect")
            if entry.id in seen:
                raise ScriptError(f"id '{entry.id}' appears twice; ids must differ")
            seen.add(entry.id)
            yield entry
        except ScriptError as error:
            mistakes.add(str(error), location=f"{table}:{line}")


def enrolment(gallery: Gallery, references: References) -> Iterator[Question]:
    """What a program is told about the gallery: the images and their identities."""
    for index, entry in enumerate(gallery.entries):
        yield Question(index, entry.id, references.resolve(entry.input), entry.expect, entry.columns)


@dataclass(frozen=True)
class CaseConditions:
    """Conditions on the columns of a case, and their text as the user wrote it."""

    words: tuple[str, ...]
    conditions: tuple[Condition, ...]

    def keeps(self, case: Case) -> bool:
        return all(
            part.holds(case.column(part.name) if part.name in FIXED_COLUMNS else case.columns.get(part.name))
            for part in self.conditions
        )


@dataclass(frozen=True)
class VirtualExperiment:
    """A part of a rank test: some of the probes, compared with some of the gallery.

    A probe of a person who is not enrolled is a negative case in an open-set test, and left out of other tests.
    """

    gallery_conditions: CaseConditions
    probe_conditions: CaseConditions
    gallery: Gallery
    open_set: bool
    # The number of probes left out because their person is not enrolled.
    left_out: int = 0

    @property
    def words(self) -> dict[str, str]:
        """The conditions by the names of their options."""
        named = {"--gallery": self.gallery_conditions.words, "--probe": self.probe_conditions.words}
        return {name: "\n".join(words) for name, words in named.items() if words}

    def of(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The cases that take part."""
        for case in cases:
            if not self.probe_conditions.keeps(case):
                continue
            if not case.positive or self.gallery.person_of(case) >= 0:
                yield case
            elif self.open_set:
                yield msgspec.structs.replace(case, positive=False, truth=case.real_class)


def select_gallery_cases(cases: "CaseSet", gallery: Sequence[str], probe: Sequence[str]) -> "CaseSet":
    """The part of a test that meets the conditions; all of it without conditions."""
    if not gallery and not probe:
        return cases
    if cases.gallery is None:
        option = "--gallery" if gallery else "--probe"
        raise UsageError(f"{option}: for rank tests; {cases.script.name} is a {cases.script.task.name} test")
    gallery_conditions = _conditions("--gallery", gallery, cases.gallery.entries[0])
    probe_conditions = _conditions("--probe", probe, next(iter(cases)))
    part = Gallery(entry for entry in cases.gallery.entries if gallery_conditions.keeps(entry))
    if not part.entries:
        raise UsageError(f"--gallery {' '.join(gallery)}: no gallery image matches")
    open_set = "threshold" in cases.script.params
    experiment = VirtualExperiment(gallery_conditions, probe_conditions, part, open_set)
    selected = list(experiment.of(cases))
    if not selected:
        raise UsageError(f"--probe {' '.join(probe)}: no probe matches, or none is of a person in the gallery")
    experiment = replace(experiment, left_out=sum(map(probe_conditions.keeps, cases)) - len(selected))
    strata = None if cases.stratum is None else len({cases.stratum(case) for case in selected})
    positives = sum(case.positive for case in selected)
    return replace(cases, gallery=part, experiment=experiment, count=len(selected), positives=positives, strata=strata)


def _conditions(option: str, words: Sequence[str], example: Case) -> CaseConditions:
    conditions = [parse_condition(text, option) for text in words]
    known = [*FIXED_COLUMNS, *example.columns]
    for condition in conditions:
        if condition.name not in known:
            raise UsageError(f"{option} {condition.name}: no such column; {nearest(condition.name, known)}")
    return CaseConditions(tuple(words), tuple(conditions))
