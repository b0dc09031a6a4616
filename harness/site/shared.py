"""Transcripts at sites: found by TEST/NAME, TEST@VERSION/NAME or NAME, brought into the cache."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import DataError, HateError, UsageError
from harness.site.catalogue import Catalogue
from harness.site.layout import TestIndex, TranscriptEntry
from harness.site.sites import Sites
from harness.transcript.read import open_transcript


@dataclass(frozen=True)
class Shared:
    """A transcript of a test at a site."""

    catalogue: Catalogue
    index: TestIndex
    entry: TranscriptEntry

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return f"{self.catalogue.place.name}: {self.index.name}/{self.entry.name}"

    def path(self) -> Path:
        """The file in the cache; a DataError where it is one of another test than the index says."""
        path = self.catalogue.place.file(self.entry.file, self.entry.name)
        with open_transcript(path, name=self.label) as reader:
            test = reader.header.test
        if (test.name, test.version, test.digest) != (self.index.name, self.entry.version, self.entry.digest):
            raise DataError(
                f"{self.label}: a transcript of {test.name} {test.version}, not what the index says; refused"
            )
        return path


def find_shared(text: str, among: Sites) -> Shared | None:
    """The transcript that is meant, at the first site that has it; None where none has."""
    test, slash, name = text.rpartition("/")
    for _, catalogue in among:
        try:
            found = _named(catalogue, test, name) if slash else _alone(catalogue, text)
        except UsageError:
            raise
        except HateError as error:
            among.refuse(error)
            continue
        if found is not None:
            return found
    among.raise_refusal()
    return None


def _named(catalogue: Catalogue, test: str, name: str) -> Shared | None:
    called, _, version = test.partition("@")
    index = catalogue.test(called)
    entry = catalogue.transcript(index, name, version) if index is not None else None
    return Shared(catalogue, index, entry) if index is not None and entry is not None else None


def _alone(catalogue: Catalogue, name: str) -> Shared | None:
    """NAME, when only one test of the site has it."""
    known = catalogue.tests_with(name)
    if known is None:
        return None
    if known.count > 1:
        more = f" and {known.count - len(known.tests):,} more" if known.count > len(known.tests) else ""
        names = ", ".join(f"{test}/{name}" for test in known.tests)
        raise UsageError(f"{name}: several tests have a transcript of that name; say which: {names}{more}")
    return _named(catalogue, known.tests[0], name)


def transcripts_of(test: str, digest: str, among: Sites) -> Iterator[Shared]:
    """Every transcript of a test at the sites."""
    for _, catalogue in among:
        try:
            index = catalogue.test(test)
            if index is not None:
                entries = catalogue.transcripts(index)
                yield from (Shared(catalogue, index, entry) for entry in entries if entry.digest == digest)
        except HateError as error:
            among.refuse(error)
