"""The latest state of the site that is served."""

import hashlib
import threading
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import DataError
from harness.files.digest import NOT_A_FILE, Stamp, file_stamp
from harness.site.catalogue import Catalogue, SiteTest, find_version
from harness.site.layout import TOP, TestEntry, TranscriptEntry, decode_top
from harness.site.sites import FolderStore


@dataclass(frozen=True)
class TopContent:
    """The bytes of the top index, their hash, and when they were written."""

    data: bytes
    sha256: str
    modified: float


class TopFile:
    """The top index, the one file of a site that changes; read again only after it was replaced."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._path = root / TOP
        self._known: tuple[Stamp, TopContent] | None = None

    def read(self) -> TopContent:
        """Its current content; a DataError if it is gone."""
        stamp = file_stamp(self._path)
        if self._known is None or self._known[0] != stamp:
            data = FolderStore(self._root).top()
            if data is None or stamp == NOT_A_FILE:
                raise DataError(f"{self._path}: gone; the site is incomplete")
            self._known = stamp, TopContent(data, hashlib.sha256(data).hexdigest(), stamp.mtime_ns / 1e9)
        return self._known[1]


# If a test has more transcripts, only the best are listed.
MAX_TRANSCRIPTS = 10_000


@dataclass(frozen=True)
class SiteState:
    """The site according to one top index."""

    sha256: str
    catalogue: Catalogue
    # Where the runs of blind tests are, with their outcomes.
    private: Path | None = None

    @property
    def title(self) -> str:
        return self.catalogue.top.title or "Tests"


@dataclass
class ServedSite:
    """A folder, read again when its top index changes."""

    root: Path
    private: Path | None = None
    _state: SiteState | None = None
    _tests: tuple[str, list[TestEntry]] = ("", [])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._top = TopFile(self.root)

    def state(self) -> SiteState:
        """What is published now."""
        top, state = self._top.read(), self._state
        if state is None or state.sha256 != top.sha256:
            catalogue = Catalogue(FolderStore(self.root), decode_top(top.data, str(self.root / TOP)))
            state = SiteState(top.sha256, catalogue, self.private)
            self._state = state
        return state

    def tests(self, state: SiteState) -> list[TestEntry]:
        """All tests by name; read again only after a test has changed."""
        root = state.catalogue.top.tests
        key = root.sha256 if root is not None else ""
        with self._lock:
            if self._tests[0] != key:
                self._tests = key, sorted(state.catalogue.tests(), key=lambda entry: entry.name)
            return self._tests[1]


def find_test(state: SiteState, text: str) -> SiteTest | None:
    """A test by NAME or NAME@VERSION."""
    name, _, version = text.partition("@")
    index = state.catalogue.test(name)
    entry = None if index is None else find_version(index, version)
    return None if index is None or entry is None else SiteTest(state.catalogue, index, entry)


def transcripts_of(state: SiteState, test: SiteTest) -> list[TranscriptEntry]:
    """The transcripts of a version, the best first as far as the index knows."""
    entries = [e for e in state.catalogue.transcripts(test.index) if e.version == test.version.version]
    return sorted(entries, key=lambda entry: (-entry.ranked_by.merit, entry.name))[:MAX_TRANSCRIPTS]
