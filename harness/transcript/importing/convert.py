"""Imported results as the header and the records of a transcript."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from harness.errors import ForeignError
from harness.files.mistakes import Mistakes
from harness.model import Trial
from harness.transcript.format import Header
from harness.transcript.importing.content import as_text, look_up
from harness.transcript.importing.grouping import Design
from harness.transcript.importing.header import transcript_header
from harness.transcript.importing.judge import Judge
from harness.transcript.importing.results import Imported, Result, Wishes
from harness.transcript.importing.values import Values
from harness.transcript.importing.verdict import settle


@dataclass(frozen=True)
class Converted:
    """A transcript that only has to be written."""

    header: Header
    trials: Sequence[Trial]
    notes: Sequence[str]


def convert(imported: Imported, wishes: Wishes) -> Converted:
    """Check everything, then decide every outcome; a ForeignError says what is in the way."""
    results = _keyed(imported, wishes.fields.id)
    _check(imported, results, partial=wishes.partial)
    verdict = settle(imported, wishes)
    values = Values.of(imported, wishes, verdict)
    design = Design.of(results, wishes)
    ordered = _ordered(results)
    repeats = max(Counter(result.id for result in results).values())
    trials = list(Judge(verdict, values, design, repeated=repeats > 1).trials(ordered))
    missing = f"incomplete: {imported.missing}" if imported.missing else ""
    notes = [note for note in (*imported.notes, missing, verdict.note) if note]
    header = transcript_header(replace(imported, results=ordered), wishes, verdict, design, repeats)
    return Converted(header, trials, notes)


def _keyed(imported: Imported, column: str | None) -> Sequence[Result]:
    """By another column, where a tool's own ids are only positions; a table has chosen already."""
    if column is None or imported.keyed:
        return imported.results
    return [
        structs.replace(result, id=as_text(look_up({"id": result.id, **result.columns}, column, result.place)))
        for result in imported.results
    ]


def _check(imported: Imported, results: Sequence[Result], *, partial: bool) -> None:
    mistakes = Mistakes(imported.source)
    if not results:
        raise ForeignError(f"{imported.source}: no results in it")
    if imported.missing and not partial:
        mistakes.add(f"{imported.missing}; --partial imports what is there")
    seen: dict[tuple[str, int], Result] = {}
    cases: dict[str, Result] = {}
    for result in results:
        place = _within(result, imported.source)
        if not result.id:
            mistakes.add("no id; every case needs one", place=place)
        elif (result.id, result.repeat) in seen:
            mistakes.add(f"id '{result.id}' is there twice; ids must differ, or --repeat names a column", place=place)
        elif cases.setdefault(result.id, result).expect != result.expect:
            mistakes.add(f"id '{result.id}' has another ground truth here than before", place=place)
        seen[result.id, result.repeat] = result
    if not partial and not mistakes.count and len(seen) % len(cases):
        mistakes.add(f"{len(seen):,} answers to {len(cases):,} cases: some lack a repeat; --partial imports them")
    if mistakes.count:
        raise ForeignError(mistakes.report())


def _within(result: Result, source: str) -> str:
    """The place in a file that the report names already."""
    place = result.place.removeprefix(source)
    return f"line {place[1:]}" if place[1:].isdecimal() else place.lstrip(": ")


def _ordered(results: Sequence[Result]) -> list[Result]:
    """In the order of the cases, the repeats of each together."""
    rank: dict[str, int] = {}
    for result in results:
        rank.setdefault(result.id, len(rank))
    return sorted(results, key=lambda result: (rank[result.id], result.repeat))
