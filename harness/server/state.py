"""The latest state of the site that is served, and the caches in memory."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import DataError
from harness.site.catalogue import Catalogue, find_version
from harness.site.layout import TOP, TestEntry, TranscriptEntry, decode_top
from harness.site.published import SiteTest
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
        self._known: tuple[tuple[int, int, int], TopContent] | None = None

    def read(self) -> TopContent:
        """Its current content; a DataError if it is gone."""
        try:
            status = self._path.stat()
        except OSError as error:
            raise DataError(f"{self._path}: {error.strerror}; the site is incomplete") from None
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if self._known is None or self._known[0] != stamp:
            data = FolderStore(self._root).top()
            if data is None:
                raise DataError(f"{self._path}: gone; the site is incomplete")
            self._known = stamp, TopContent(data, hashlib.sha256(data).hexdigest(), status.st_mtime)
        return self._known[1]


# If a test has more transcripts, only the best are listed.
MOST_TRANSCRIPTS = 10_000


@dataclass(frozen=True)
class SiteState:
    """The site according to one top index."""

    sha256: str
    catalogue: Catalogue
    # Where the runs of blind tests are, with their outcomes.
    private: Path | None = None

    @property
    def title(self) -> str:
        """The name of the site."""
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
    found = None if index is None else find_version(index, version)
    return None if index is None or found is None else SiteTest(state.catalogue, index, found)


def transcripts_of(state: SiteState, test: SiteTest) -> list[TranscriptEntry]:
    """The transcripts of a version, the best first as far as the index knows."""
    entries = [e for e in state.catalogue.transcripts(test.index) if e.version == test.version.version]
    return sorted(entries, key=lambda entry: (-entry.place.merit, entry.name))[:MOST_TRANSCRIPTS]


@dataclass
class MemoryCache:
    """Bytes by key, for several threads; the least recently used are dropped first."""

    size: int
    _values: OrderedDict[Hashable, bytes] = field(default_factory=OrderedDict)
    _making: dict[Hashable, threading.Lock] = field(default_factory=dict)
    _used: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: Hashable) -> bytes | None:
        """The value, if it is here."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: bytes) -> None:
        """Store a value, unless it alone would take up much of the cache."""
        if len(value) > self.size // 4:
            return
        with self._lock:
            old = self._values.pop(key, None)
            self._used += _cost(value) - (0 if old is None else _cost(old))
            self._values[key] = value
            while self._used > self.size:
                self._used -= _cost(self._values.popitem(last=False)[1])

    def get_or_make(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """The value; a missing one is made, only once even if several threads need it at the same time."""
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        try:
            with making:
                value = self.get(key)
                if value is None:
                    value = make()
                    self.put(key, value)
                return value
        finally:
            with self._lock:
                self._making.pop(key, None)


def _cost(value: bytes) -> int:
    """The memory that a value takes, even if it is empty."""
    return len(value) + 500
