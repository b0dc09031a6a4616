"""What a site has: its tests with their versions, files and transcripts, one by name or all of them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from harness.errors import DataError, HateError, OutputError, UsageError
from harness.script.references import DOWNLOADED
from harness.site.cache import MANIFEST, RELEASE_FOLDER, RELEASES, cached, discard_entry, link_or_copy
from harness.site.layout import (
    InterfaceEntry,
    NameEntry,
    Ref,
    Release,
    TestEntry,
    TestIndex,
    Top,
    TranscriptEntry,
    VersionEntry,
    check_inside,
    decode,
    decode_release,
    encode,
    index_path,
)
from harness.site.tree import IndexStore, Tree

if TYPE_CHECKING:
    from harness.script.load import Script


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
        return Tree(TestEntry, self.top.tests)

    @property
    def name_tree(self) -> Tree[NameEntry]:
        """All names of transcripts."""
        return Tree(NameEntry, self.top.names)

    def tests(self) -> Iterator[TestEntry]:
        return self.test_tree.walk(self.store)

    def entry(self, name: str) -> TestEntry | None:
        return next(iter(self.test_tree.find(self.store, name)), None)

    def test(self, name: str) -> TestIndex | None:
        entry = self.entry(name)
        return None if entry is None else self.index_of(entry)

    def index_of(self, entry: TestEntry) -> TestIndex:
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
        return Tree(TranscriptEntry, index.transcripts)

    def transcripts(self, index: TestIndex) -> Iterator[TranscriptEntry]:
        """All transcripts of a test, of all its versions."""
        return self.transcript_tree(index).walk(self.store)

    def transcript(self, index: TestIndex, name: str, version: str = "") -> TranscriptEntry | None:
        """A transcript by name; if no version is named, of the latest version of the test that has it."""
        by_version = {entry.version: entry for entry in self.transcript_tree(index).find(self.store, name)}
        versions = [version] if version else [entry.version for entry in reversed(index.versions)]
        return next((by_version[version] for version in versions if version in by_version), None)

    def tests_with(self, name: str) -> NameEntry | None:
        """Which tests have a transcript of this name."""
        return next(iter(self.name_tree.find(self.store, name)), None)


def find_version(index: TestIndex, version: str) -> VersionEntry | None:
    """A version of a test; the latest if none is named."""
    if not version:
        return index.latest
    return next((entry for entry in index.versions if entry.version == version), None)


@dataclass(frozen=True)
class SiteTest:
    """A version of a test at a site."""

    catalogue: Catalogue
    index: TestIndex
    version: VersionEntry

    @property
    def name(self) -> str:
        return self.index.name

    @property
    def full_name(self) -> str:
        """NAME@VERSION, as in commands and addresses."""
        return f"{self.index.name}@{self.version.version}"

    @property
    def label(self) -> str:
        return f"{self.catalogue.store.name}: {self.index.name} {self.version.version}"

    @property
    def release(self) -> Release:
        return self.catalogue.release(self.index, self.version)

    def script(self) -> "Script":
        """Its script, in the cache with all other files; a DataError unless they have the digest of the test."""
        release = self.release
        # The copy in the cache may be damaged; if a new one is too, the site is at fault.
        for _ in range(2):
            script = self._load(release)
            if script is not None and script.digest == release.digest:
                return script
            discard_entry(RELEASES, self.version.release.sha256)
        raise DataError(f"{self.label}: its files do not have the digest in its index; refused")

    def _load(self, release: Release) -> "Script | None":
        def fill(folder: Path) -> None:
            for file in release.files:
                link_or_copy(self.catalogue.store.file(file.ref, file.path), folder / RELEASE_FOLDER / file.path)
            (folder / MANIFEST).write_bytes(encode(release))

        folder = cached(RELEASES, self.version.release.sha256, fill)
        from harness.script.load import load_script  # with pydantic, which takes long to import

        try:
            script = replace(load_script(folder / RELEASE_FOLDER / release.script), confined=DOWNLOADED)
        except HateError:
            return None
        return script if (script.name, script.version) == (release.name, release.version) else None


def copy_interface(store: SiteStore, entry: InterfaceEntry, folder: Path) -> Path:
    """Write the files of a published interface into FOLDER/NAME, which must not exist; the path of its main file."""
    target = folder / entry.name
    if target.exists():
        raise UsageError(f"{target}: exists; choose another folder, nothing is overwritten")
    for file in entry.files:
        check_inside(file.path, entry.name)
        source = store.file(file.ref, file.path)
        try:
            (target / file.path).parent.mkdir(parents=True, exist_ok=True)
            (target / file.path).write_bytes(source.read_bytes())
        except OSError as error:
            raise OutputError(f"{target / file.path}: {error.strerror}") from None
    return target
