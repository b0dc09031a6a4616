"""The gallery of a rank test, from its table."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.errors import ScriptError
from harness.files.mistakes import Mistakes
from harness.files.tables import rows
from harness.model import Question
from harness.script.load import Script
from harness.script.references import References
from harness.script.rows import case_of
from harness.tasks.gallery import Gallery


def load_gallery(script: Script, places: Mapping[str, Path]) -> Gallery | None:
    """The gallery, checked; None where the test has none. A ScriptError names all mistakes of its table."""
    if script.task.name != "rank" or script.file.gallery is None:
        return None
    table = script.file.gallery.table
    mistakes = Mistakes(str(script.path))
    references, entries, seen = References(places), [], set[str]()
    for line, row in rows(script.folder / table):
        try:
            entry = case_of(row)
            references.check(entry.input)
            if not entry.expect:
                raise ScriptError(f"gallery image '{entry.id}' has no identity; fill in expect")
            if entry.id in seen:
                raise ScriptError(f"id '{entry.id}' is there twice; ids must differ")
            seen.add(entry.id)
            entries.append(entry)
        except ScriptError as error:
            mistakes.add(str(error), place=f"{table}:{line}")
    mistakes.raise_if_any()
    if not entries:
        raise ScriptError(f"{script.path}: {table}: no rows; a gallery needs one at least")
    return Gallery(entries)


def enrolment(gallery: Gallery, references: References) -> Iterator[Question]:
    """What a program is told of the gallery: the images, and who they show."""
    for index, entry in enumerate(gallery.entries):
        yield Question(index, entry.id, references.resolve(entry.input), entry.expect, entry.columns)
