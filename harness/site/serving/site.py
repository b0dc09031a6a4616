"""The site that is served, in its latest state, and what pages ask of it again and again."""

import threading
from dataclasses import dataclass, field
from pathlib import Path

from harness.site.catalogue import Catalogue, find_version
from harness.site.folder import Folder
from harness.site.layout import TOP, Release, TestEntry, TestIndex, TranscriptEntry, VersionEntry, decode_top
from harness.site.serving.top import TopFile

# A test with more transcripts is listed up to here: the best ones.
MOST_TRANSCRIPTS = 10_000


@dataclass(frozen=True)
class State:
    """The site as one top index has it."""

    sha256: str
    catalogue: Catalogue

    @property
    def title(self) -> str:
        """What the site is called."""
        return self.catalogue.top.title or "Tests"


@dataclass(frozen=True)
class Test:
    """One version of a test."""

    index: TestIndex
    version: VersionEntry

    @property
    def name(self) -> str:
        """The test's name."""
        return self.index.name

    @property
    def full_name(self) -> str:
        """As a command line and an address have it."""
        return f"{self.index.name}@{self.version.version}"


@dataclass
class Site:
    """A folder, read again when its top index changes."""

    root: Path
    _state: State | None = None
    _listed: tuple[str, list[TestEntry]] = ("", [])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._top = TopFile(self.root)

    def state(self) -> State:
        """What is published now."""
        top, state = self._top.read(), self._state
        if state is None or state.sha256 != top.sha256:
            state = State(top.sha256, Catalogue(Folder(self.root), decode_top(top.data, str(self.root / TOP))))
            self._state = state
        return state

    def tests(self, state: State) -> list[TestEntry]:
        """All tests by name; gone through once for every change of any test."""
        root = state.catalogue.top.tests
        key = root.sha256 if root is not None else ""
        with self._lock:
            if self._listed[0] != key:
                self._listed = key, sorted(state.catalogue.tests(), key=lambda entry: entry.name)
            return self._listed[1]


def find_test(state: State, text: str) -> Test | None:
    """A test by NAME or NAME@VERSION."""
    name, _, version = text.partition("@")
    index = state.catalogue.test(name)
    found = None if index is None else find_version(index, version)
    return None if index is None or found is None else Test(index, found)


def transcripts_of(state: State, test: Test) -> list[TranscriptEntry]:
    """The transcripts of a version, the highest rate first."""
    entries = [e for e in state.catalogue.transcripts(test.index) if e.version == test.version.version]
    return sorted(entries, key=lambda entry: (-rate_of(entry), entry.name))[:MOST_TRANSCRIPTS]


def rate_of(entry: TranscriptEntry) -> float:
    """The share of successes."""
    return (entry.TP + entry.TN) / entry.tests if entry.tests else 0.0


def release_of(state: State, test: Test) -> Release:
    """The files of a version."""
    return state.catalogue.release(test.index, test.version)
