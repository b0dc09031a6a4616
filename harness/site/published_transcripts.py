"""Published transcripts: those that ship with the harness, then those of the sites."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.bundled import bundled
from harness.errors import DataError, HateError, TranscriptError, UsageError
from harness.site.catalogue import Catalogue
from harness.site.config import configured_sites
from harness.site.layout import TestIndex, TranscriptEntry
from harness.site.local_runs import SUFFIXES, LocalRun, read_run, transcript_files
from harness.site.sites import Sites, sites
from harness.transcript.format import Header
from harness.transcript.read import open_transcript

MOST_HINTS = 10


@dataclass(frozen=True)
class PublishedTranscript:
    """A transcript that has a name among those of its test."""

    test: str
    name: str
    path: Path
    # Where it is, for messages, and what a user should know about that.
    location: str = ""
    note: str = ""

    @property
    def full_name(self) -> str:
        """TEST/NAME."""
        return f"{self.test}/{self.name}"

    @cached_property
    def run(self) -> LocalRun | None:
        """The file with its header; None if it cannot be read, of which whoever opens it will be told."""
        try:
            return read_run(self.path)
        except TranscriptError:
            return None

    @property
    def header(self) -> Header | None:
        """Its header, if it can be read."""
        return None if self.run is None else self.run.header

    def has_name(self, text: str) -> bool:
        """Whether this is its name, with or without the test and the test's version."""
        test, slash, name = text.rpartition("/")
        called, at, version = test.partition("@")
        if name != self.name or (slash and called != self.test):
            return False
        return not at or (self.header is not None and self.header.test.version == version)


def bundled_transcripts() -> list[PublishedTranscript]:
    """The transcripts that ship with the harness; if there is a plain and a compressed file, the plain one."""
    found: dict[tuple[str, str], PublishedTranscript] = {}
    for entry in _in_folder(bundled("transcripts")):
        found.setdefault((entry.test, entry.name), entry)
    return list(found.values())


def _in_folder(folder: Path) -> Iterator[PublishedTranscript]:
    for path in transcript_files(folder):
        suffix = next((s for s in reversed(SUFFIXES) if path.name.endswith(s)), None)
        if suffix:
            yield PublishedTranscript(path.parent.name, path.name.removesuffix(suffix), path)


def published_header(header: Header, known: Iterable[PublishedTranscript]) -> Header | None:
    """The header of the published run of the same algorithm on the same test, if there is one."""
    wanted = (header.test.name, header.algorithm.name)
    for entry in known:
        found = entry.header
        if found is not None and (found.test.name, found.algorithm.name) == wanted:
            return found
    return None


def find_published(text: str) -> PublishedTranscript:
    """The transcript that is meant, downloaded if it is at a site; a UsageError says which there are."""
    known = bundled_transcripts()
    matches = [entry for entry in known if entry.has_name(text)]
    found = only_match(text, matches) if matches else find_at_sites(text)
    if found is None:
        raise UsageError(f"{text}: no such file and no published transcript of that name; {name_hint(text, known)}")
    return found


def only_match(text: str, matches: Sequence[PublishedTranscript]) -> PublishedTranscript:
    """The only match; a UsageError lists them if there are several."""
    if len(matches) > 1:
        names = ", ".join(entry.full_name for entry in matches)
        raise UsageError(f"{text}: several tests have a transcript of that name; say which: {names}")
    return matches[0]


def find_at_sites(text: str) -> PublishedTranscript | None:
    """The transcript at a site, downloaded; None if no site has it."""
    if not configured_sites():
        return None
    searched = sites()
    found = find_site_transcript(text, searched)
    if found is None:
        return None
    note = "; ".join(searched.notes)
    return PublishedTranscript(found.index.name, found.entry.name, found.path(), found.label, note)


def name_hint(text: str, known: Sequence[PublishedTranscript], others: Iterable[str] = ()) -> str:
    """What an unknown name may have meant."""
    full = [entry.full_name for entry in known]
    names = sorted({entry.name for entry in known} | set(full) | set(others))
    near = difflib.get_close_matches(text, names, n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(near)}?"
    listed = [*dict.fromkeys(others), *full]
    more = f" and {len(listed) - MOST_HINTS:,} more" if len(listed) > MOST_HINTS else ""
    return f"known: {', '.join(listed[:MOST_HINTS])}{more}" if listed else "none is published here"


@dataclass(frozen=True)
class SiteTranscript:
    """A transcript of a test at a site."""

    catalogue: Catalogue
    index: TestIndex
    entry: TranscriptEntry

    @property
    def label(self) -> str:
        """Its name for messages."""
        return f"{self.catalogue.store.name}: {self.index.name}/{self.entry.name}"

    def path(self) -> Path:
        """The file in the cache; a DataError if it belongs to another test than the index says."""
        path = self.catalogue.store.file(self.entry.file, self.entry.name)
        with open_transcript(path, name=self.label) as reader:
            test = reader.header.test
        if (test.name, test.version, test.digest) != (self.index.name, self.entry.version, self.entry.digest):
            raise DataError(
                f"{self.label}: a transcript of {test.name} {test.version}, not what the index says; refused"
            )
        return path


def find_site_transcript(text: str, searched: Sites) -> SiteTranscript | None:
    """The transcript that is meant, at the first site that has it; None if none does."""
    test, slash, name = text.rpartition("/")
    for _, catalogue in searched:
        try:
            found = _by_full_name(catalogue, test, name) if slash else _by_bare_name(catalogue, text)
        except UsageError:
            raise
        except HateError as error:
            searched.refuse(error)
            continue
        if found is not None:
            return found
    searched.raise_refusal()
    return None


def _by_full_name(catalogue: Catalogue, test: str, name: str) -> SiteTranscript | None:
    called, _, version = test.partition("@")
    index = catalogue.test(called)
    entry = catalogue.transcript(index, name, version) if index is not None else None
    return SiteTranscript(catalogue, index, entry) if index is not None and entry is not None else None


def _by_bare_name(catalogue: Catalogue, name: str) -> SiteTranscript | None:
    """NAME, if only one test of the site has it."""
    known = catalogue.tests_with(name)
    if known is None:
        return None
    if known.count > 1:
        more = f" and {known.count - len(known.tests):,} more" if known.count > len(known.tests) else ""
        names = ", ".join(f"{test}/{name}" for test in known.tests)
        raise UsageError(f"{name}: several tests have a transcript of that name; say which: {names}{more}")
    return _by_full_name(catalogue, known.tests[0], name)


def site_transcripts_of(test: str, digest: str, searched: Sites) -> Iterator[SiteTranscript]:
    """All transcripts of a test at the sites."""
    for _, catalogue in searched:
        try:
            index = catalogue.test(test)
            if index is not None:
                entries = catalogue.transcripts(index)
                yield from (SiteTranscript(catalogue, index, entry) for entry in entries if entry.digest == digest)
        except HateError as error:
            searched.refuse(error)
