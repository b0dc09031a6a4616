"""What a site has: tests, their versions and transcripts, found by name or gone through."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.errors import DataError
from harness.site.layout import (
    NameEntry,
    Ref,
    Release,
    TestEntry,
    TestIndex,
    Top,
    TranscriptEntry,
    VersionEntry,
    decode,
    decode_release,
    index_path,
)
from harness.site.tree import Tree


class Place(Protocol):
    """Where the files of a site are."""

    @property
    def name(self) -> str:
        """What to call it in messages."""

    def index(self, ref: Ref) -> bytes:
        """An index, checked."""

    def ahead(self, refs: Sequence[Ref]) -> None:
        """All of these indexes will be asked for."""

    def file(self, ref: Ref, label: str = "") -> Path:
        """Content, checked, as a file of this machine; `label` is what people call it."""


@dataclass(frozen=True)
class Catalogue:
    """One state of a site."""

    place: Place
    top: Top

    @property
    def test_tree(self) -> Tree[TestEntry]:
        """All tests."""
        return Tree(TestEntry, self.top.tests)

    @property
    def name_tree(self) -> Tree[NameEntry]:
        """All names of transcripts."""
        return Tree(NameEntry, self.top.names)

    def tests(self) -> Iterator[TestEntry]:
        """Every test."""
        return self.test_tree.walk(self.place)

    def entry(self, name: str) -> TestEntry | None:
        """The entry of a test."""
        return next(iter(self.test_tree.find(self.place, name)), None)

    def test(self, name: str) -> TestIndex | None:
        """The index of a test."""
        entry = self.entry(name)
        return None if entry is None else self.index_of(entry)

    def index_of(self, entry: TestEntry) -> TestIndex:
        """The index that an entry names."""
        said = f"{self.place.name}: {index_path(entry.index.sha256)}"
        index = decode(self.place.index(entry.index), TestIndex, said)
        if index.name != entry.name:
            raise DataError(f"{said}: the index of test '{index.name}', not of '{entry.name}'")
        return index

    def release(self, index: TestIndex, version: VersionEntry) -> Release:
        """What a version of a test consists of."""
        said = f"{self.place.name}: {index_path(version.release.sha256)}"
        release = decode_release(self.place.index(version.release), said)
        if (release.name, release.version, release.digest) != (index.name, version.version, version.digest):
            raise DataError(f"{said}: not the release of {index.name} {version.version}")
        return release

    def transcript_tree(self, index: TestIndex) -> Tree[TranscriptEntry]:
        """All transcripts of a test."""
        return Tree(TranscriptEntry, index.transcripts)

    def transcripts(self, index: TestIndex) -> Iterator[TranscriptEntry]:
        """Every transcript of a test, of all its versions."""
        return self.transcript_tree(index).walk(self.place)

    def transcript(self, index: TestIndex, name: str, version: str = "") -> TranscriptEntry | None:
        """A transcript by name; of the latest version of the test that has one, unless told."""
        found = {entry.version: entry for entry in self.transcript_tree(index).find(self.place, name)}
        order = [version] if version else [one.version for one in reversed(index.versions)]
        return next((found[one] for one in order if one in found), None)

    def tests_with(self, name: str) -> NameEntry | None:
        """Which tests have a transcript of this name."""
        return next(iter(self.name_tree.find(self.place, name)), None)


def find_version(index: TestIndex, version: str) -> VersionEntry | None:
    """A version of a test; the latest where none is named."""
    if not version:
        return index.latest
    return next((entry for entry in index.versions if entry.version == version), None)
