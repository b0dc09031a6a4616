"""What a site has: its tests with their versions and transcripts, one by name or all of them."""

from collections.abc import Iterator
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
from harness.site.tree import IndexStore, Tree


class SiteStore(IndexStore, Protocol):
    """The files of a site, checked as they are read."""

    def file(self, ref: Ref, label: str = "") -> Path:
        """A file with this content on this machine, checked; `label` is its name for users."""


@dataclass(frozen=True)
class Catalogue:
    """One state of a site."""

    store: SiteStore
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
        """All tests, one by one."""
        return self.test_tree.walk(self.store)

    def entry(self, name: str) -> TestEntry | None:
        """The entry of a test."""
        return next(iter(self.test_tree.find(self.store, name)), None)

    def test(self, name: str) -> TestIndex | None:
        """The index of a test."""
        entry = self.entry(name)
        return None if entry is None else self.index_of(entry)

    def index_of(self, entry: TestEntry) -> TestIndex:
        """The index of the test of an entry."""
        name = f"{self.store.name}: {index_path(entry.index.sha256)}"
        index = decode(self.store.index(entry.index), TestIndex, name)
        if index.name != entry.name:
            raise DataError(f"{name}: the index of test '{index.name}', not of '{entry.name}'")
        return index

    def release(self, index: TestIndex, version: VersionEntry) -> Release:
        """What a version of a test consists of."""
        name = f"{self.store.name}: {index_path(version.release.sha256)}"
        release = decode_release(self.store.index(version.release), name)
        if (release.name, release.version, release.digest) != (index.name, version.version, version.digest):
            raise DataError(f"{name}: not the release of {index.name} {version.version}")
        return release

    def transcript_tree(self, index: TestIndex) -> Tree[TranscriptEntry]:
        """All transcripts of a test."""
        return Tree(TranscriptEntry, index.transcripts)

    def transcripts(self, index: TestIndex) -> Iterator[TranscriptEntry]:
        """All transcripts of a test, of all its versions."""
        return self.transcript_tree(index).walk(self.store)

    def transcript(self, index: TestIndex, name: str, version: str = "") -> TranscriptEntry | None:
        """A transcript by name; if no version is named, of the latest version of the test that has it."""
        found = {entry.version: entry for entry in self.transcript_tree(index).find(self.store, name)}
        versions = [version] if version else [entry.version for entry in reversed(index.versions)]
        return next((found[each] for each in versions if each in found), None)

    def tests_with(self, name: str) -> NameEntry | None:
        """Which tests have a transcript of this name."""
        return next(iter(self.name_tree.find(self.store, name)), None)


def find_version(index: TestIndex, version: str) -> VersionEntry | None:
    """A version of a test; the latest if none is named."""
    if not version:
        return index.latest
    return next((entry for entry in index.versions if entry.version == version), None)
