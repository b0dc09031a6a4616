"""Published tests and transcripts: those that ship with the harness, then those at sites, brought into the cache."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from harness.bundled import bundled
from harness.errors import DataError, HateError, TranscriptError, UsageError
from harness.script.references import DOWNLOADED
from harness.site.cache import MANIFEST, RELEASE_FOLDER, RELEASES, cached, discard_entry, link_or_copy
from harness.site.catalogue import Catalogue, find_version
from harness.site.config import configured_sites, site_config
from harness.site.layout import Release, TestIndex, TranscriptEntry, VersionEntry, encode
from harness.site.local_runs import SUFFIXES, LocalRun, read_run, transcript_files
from harness.site.sites import Sites, open_site, sites
from harness.site.urls import is_url, masked
from harness.transcript.format import Header
from harness.transcript.read import open_transcript

if TYPE_CHECKING:
    from harness.script.load import Script

# The address of a test or a transcript is that of its page.
_TEST = r"(?P<name>[a-z0-9][a-z0-9._-]*)(@(?P<version>[A-Za-z0-9._+-]+))?"
_ADDRESS = re.compile(rf"(?P<site>.+?)/tests/{_TEST}/?")
_TRANSCRIPT_ADDRESS = re.compile(rf"(?P<site>.+?)/transcripts/{_TEST}/(?P<transcript>[A-Za-z0-9][A-Za-z0-9._+-]*)")
# What the names of pages end in that are files.
PAGE_SUFFIX = ".html"
MOST_HINTS = 10


@dataclass(frozen=True)
class SiteTest:
    """A version of a test at a site."""

    catalogue: Catalogue
    index: TestIndex
    version: VersionEntry

    @property
    def name(self) -> str:
        """The name of the test."""
        return self.index.name

    @property
    def full_name(self) -> str:
        """NAME@VERSION, as in commands and addresses."""
        return f"{self.index.name}@{self.version.version}"

    @property
    def label(self) -> str:
        """Its name for messages."""
        return f"{self.catalogue.store.name}: {self.index.name} {self.version.version}"

    @property
    def release(self) -> Release:
        """Its files."""
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
        folder = cached(RELEASES, self.version.release.sha256, lambda folder: self._fill(folder, release))
        from harness.script.load import load_script  # with pydantic, which takes long to import

        try:
            script = replace(load_script(folder / RELEASE_FOLDER / release.script), confined=DOWNLOADED)
        except HateError:
            return None
        return script if (script.name, script.version) == (release.name, release.version) else None

    def _fill(self, folder: Path, release: Release) -> None:
        for file in release.files:
            link_or_copy(self.catalogue.store.file(file.ref, file.path), folder / RELEASE_FOLDER / file.path)
        (folder / MANIFEST).write_bytes(encode(release))


def find_release(text: str, searched: Sites) -> SiteTest | None:
    """The test NAME or NAME@VERSION at the first site that has it; None if none does."""
    name, _, version = text.partition("@")
    others: list[str] = []
    for _, catalogue in searched:
        try:
            index = catalogue.test(name)
        except HateError as error:
            searched.refuse(error)
            continue
        if index is None:
            continue
        found = find_version(index, version)
        if found is not None:
            return SiteTest(catalogue, index, found)
        others += [entry.version for entry in index.versions]
    if others:
        raise UsageError(f"test '{name}' has no version {version}, only {', '.join(dict.fromkeys(others))}")
    searched.raise_refusal()
    return None


def find_release_at(url: str) -> tuple[SiteTest, str]:
    """The test at an address, SITE/tests/NAME or SITE/tests/NAME@VERSION, and a note about it for the user."""
    found = _ADDRESS.fullmatch(_page(url))
    if found is None:
        raise UsageError(
            f"{masked(url)}: not the address of a test, such as SITE/tests/NAME or SITE/tests/NAME@VERSION"
        )
    catalogue, note = open_site(site_config(found["site"]))
    index = catalogue.test(found["name"])
    if index is None:
        raise UsageError(f"{masked(url)}: no test '{found['name']}' at {catalogue.store.name}")
    version = find_version(index, found["version"] or "")
    if version is None:
        known = ", ".join(entry.version for entry in index.versions)
        raise UsageError(f"{masked(url)}: no version {found['version']}, only {known}")
    return SiteTest(catalogue, index, version), note


def _page(url: str) -> str:
    """The address of a page, whether it is served or a file."""
    return url.partition("?")[0].partition("#")[0].removesuffix(PAGE_SUFFIX)


def is_test_address(text: str) -> bool:
    """Whether a text is the address of a test's page."""
    return is_url(text) and _ADDRESS.fullmatch(_page(text)) is not None


@dataclass(frozen=True)
class PublishedTranscript:
    """A transcript that can be named by its test and its own name."""

    test: str
    name: str
    path: Path
    # Where it is, for messages, and a note about that for the user.
    location: str = ""
    note: str = ""

    @property
    def full_name(self) -> str:
        """TEST/NAME."""
        return f"{self.test}/{self.name}"

    @cached_property
    def run(self) -> LocalRun | None:
        """The file with its header; None if it cannot be read, which raises an error when it is opened."""
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
        test_name, at, version = test.partition("@")
        if name != self.name or (slash and test_name != self.test):
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
    names = (header.test.name, header.algorithm.name)
    for entry in known:
        other = entry.header
        if other is not None and (other.test.name, other.algorithm.name) == names:
            return other
    return None


def find_published(text: str) -> PublishedTranscript:
    """The transcript with this name, downloaded if it is at a site; a UsageError lists what exists."""
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


def find_transcript_at(url: str) -> PublishedTranscript | None:
    """The transcript whose page has this address, downloaded; None if it is another address, that of a file say."""
    found = _TRANSCRIPT_ADDRESS.fullmatch(_page(url))
    if found is None or found["transcript"].endswith(SUFFIXES):
        return None
    try:
        catalogue, note = open_site(site_config(found["site"]))
    except HateError:
        return None
    test = found["name"] + (f"@{found['version']}" if found["version"] else "")
    known = _by_full_name(catalogue, test, found["transcript"])
    if known is None:
        raise UsageError(f"{masked(url)}: no transcript '{found['transcript']}' of {test} at {catalogue.store.name}")
    return PublishedTranscript(known.index.name, known.entry.name, known.path(), known.label, note)


def name_hint(text: str, known: Sequence[PublishedTranscript], others: Iterable[str] = ()) -> str:
    """Names that the user may have meant by an unknown one."""
    full = [entry.full_name for entry in known]
    names = sorted({entry.name for entry in known} | set(full) | set(others))
    near = difflib.get_close_matches(text, names, n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(near)}?"
    listed = [*dict.fromkeys(others), *full]
    more = f" and {len(listed) - MOST_HINTS:,} more" if len(listed) > MOST_HINTS else ""
    return f"known: {', '.join(listed[:MOST_HINTS])}{more}" if listed else "nothing is published here"


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
        """The file in the cache; a DataError if it does not belong to the test that the index says."""
        path = self.catalogue.store.file(self.entry.file, self.entry.name)
        with open_transcript(path, name=self.label) as reader:
            test = reader.header.test
        if (test.name, test.version, test.digest) != (self.index.name, self.entry.version, self.entry.digest):
            raise DataError(
                f"{self.label}: a transcript of {test.name} {test.version}, not what the index says; refused"
            )
        return path


def find_site_transcript(text: str, searched: Sites) -> SiteTranscript | None:
    """The transcript with this name at the first site that has it; None if none does."""
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
    test_name, _, version = test.partition("@")
    index = catalogue.test(test_name)
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
