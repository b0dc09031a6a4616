"""Published transcripts: TEST/NAME, TEST@VERSION/NAME, or NAME; those that ship with the harness, then the sites'."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.bundled import bundled
from harness.errors import TranscriptError, UsageError
from harness.site.config import configured_sites
from harness.site.own import SUFFIXES, OwnRun, read_run, transcript_files
from harness.transcript.format import Header

MOST_HINTS = 10


@dataclass(frozen=True)
class Published:
    """A transcript that has a name among those of its test."""

    test: str
    name: str
    path: Path
    # Where it is, for messages, and what a user should know about that.
    place: str = ""
    note: str = ""

    @property
    def full_name(self) -> str:
        """Its name among all tests."""
        return f"{self.test}/{self.name}"

    @cached_property
    def run(self) -> OwnRun | None:
        """The run that it is of; None where it cannot be read, which whoever opens it will be told."""
        try:
            return read_run(self.path)
        except TranscriptError:
            return None

    @property
    def header(self) -> Header | None:
        """Its header, where it can be read."""
        return None if self.run is None else self.run.header

    def answers_to(self, text: str) -> bool:
        """Whether a name is its own, with or without the test and the test's version."""
        test, slash, name = text.rpartition("/")
        called, at, version = test.partition("@")
        if name != self.name or (slash and called != self.test):
            return False
        return not at or (self.header is not None and self.header.test.version == version)


def published() -> list[Published]:
    """The transcripts that ship with the harness; of two files of a name, plain and packed, the plain one."""
    found: dict[tuple[str, str], Published] = {}
    for entry in _in_folder(bundled("transcripts")):
        found.setdefault((entry.test, entry.name), entry)
    return list(found.values())


def _in_folder(folder: Path) -> Iterator[Published]:
    for path in transcript_files(folder):
        suffix = next((s for s in reversed(SUFFIXES) if path.name.endswith(s)), None)
        if suffix:
            yield Published(path.parent.name, path.name.removesuffix(suffix), path)


def usual_run(header: Header, known: Iterable[Published]) -> Header | None:
    """The header of the published run of the same algorithm on the same test, where there is one."""
    wanted = (header.test.name, header.algorithm.name)
    for entry in known:
        found = entry.header
        if found is not None and (found.test.name, found.algorithm.name) == wanted:
            return found
    return None


def find_published(text: str) -> Published:
    """The one that is meant, brought here where it is at a site; a UsageError says which there are."""
    known = published()
    matches = [entry for entry in known if entry.answers_to(text)]
    found = the_one(text, matches) if matches else at_sites(text)
    if found is None:
        raise UsageError(f"{text}: no such file and no published transcript of that name; {hint(text, known)}")
    return found


def the_one(text: str, matches: Sequence[Published]) -> Published:
    """The only match; a UsageError names them where there are several."""
    if len(matches) > 1:
        names = ", ".join(entry.full_name for entry in matches)
        raise UsageError(f"{text}: several tests have a transcript of that name; say which: {names}")
    return matches[0]


def at_sites(text: str) -> Published | None:
    """The one at a site, brought here; None where no site has it."""
    if not configured_sites():
        return None
    from harness.site.shared import find_shared
    from harness.site.sites import sites

    among = sites()
    found = find_shared(text, among)
    if found is None:
        return None
    note = "; ".join(among.notes)
    return Published(found.index.name, found.entry.name, found.path(), found.label, note)


def hint(text: str, known: Sequence[Published], others: Iterable[str] = ()) -> str:
    """What a name that is not known may have meant."""
    full = [entry.full_name for entry in known]
    names = sorted({entry.name for entry in known} | set(full) | set(others))
    near = difflib.get_close_matches(text, names, n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(near)}?"
    listed = [*dict.fromkeys(others), *full]
    more = f" and {len(listed) - MOST_HINTS:,} more" if len(listed) > MOST_HINTS else ""
    return f"known: {', '.join(listed[:MOST_HINTS])}{more}" if listed else "none is published here"
