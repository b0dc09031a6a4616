"""Tests at sites or at any address: found, checked and brought into the cache."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit

from harness.errors import DataError, HateError, ScriptError, UsageError
from harness.files.mistakes import Mistakes
from harness.files.toml import read_toml, validate
from harness.script.load import SUFFIX, Script, load_script
from harness.script.schema import FORMAT, ScriptFile
from harness.site.cache import cached, discard_entry, link_or_copy
from harness.site.catalogue import Catalogue, find_version
from harness.site.config import site_config
from harness.site.layout import Release, TestIndex, VersionEntry, check_inside, encode
from harness.site.remote import ANY_FILE, remote_file
from harness.site.request import DownloadLimits
from harness.site.sites import Sites, open_site
from harness.site.urls import is_url, masked

RELEASES = "releases"
MANIFEST = "release.json"
FOLDER = "test"
SCRIPTS = "scripts"
# The address of a test is that of its page.
_ADDRESS = re.compile(r"(?P<site>.+?)/tests/(?P<name>[a-z0-9][a-z0-9._-]*)(@(?P<version>[A-Za-z0-9._+-]+))?/?")


@dataclass(frozen=True)
class SiteTest:
    """A version of a test at a site."""

    catalogue: Catalogue
    index: TestIndex
    version: VersionEntry

    @property
    def name(self) -> str:
        """The test's name."""
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

    def script(self) -> Script:
        """Its script, in the cache with every file beside it; a DataError unless they have the digest of the test."""
        release = self.release
        # The copy in the cache may be damaged; if a new one is no better, it is the site's fault.
        for _ in range(2):
            script = self._loaded(release)
            if script is not None and script.digest == release.digest:
                return script
            discard_entry(RELEASES, self.version.release.sha256)
        raise DataError(f"{self.label}: its files do not have the digest that its index says; refused")

    def _loaded(self, release: Release) -> Script | None:
        folder = cached(RELEASES, self.version.release.sha256, lambda folder: self._fill(folder, release))
        try:
            script = load_script(folder / FOLDER / release.script)
        except HateError:
            return None
        return script if (script.name, script.version) == (release.name, release.version) else None

    def _fill(self, folder: Path, release: Release) -> None:
        for file in release.files:
            link_or_copy(self.catalogue.store.file(file.ref, file.path), folder / FOLDER / file.path)
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
        raise UsageError(f"test '{name}' has no version {version}; there is {', '.join(dict.fromkeys(others))}")
    searched.raise_refusal()
    return None


def find_release_at(url: str) -> tuple[SiteTest, str]:
    """The test at an address, SITE/tests/NAME or SITE/tests/NAME@VERSION, and what a user should know about it."""
    found = _ADDRESS.fullmatch(url.partition("?")[0].partition("#")[0])
    if found is None:
        raise UsageError(
            f"{masked(url)}: not the address of a test, which is SITE/tests/NAME or SITE/tests/NAME@VERSION"
        )
    catalogue, note = open_site(site_config(found["site"]))
    index = catalogue.test(found["name"])
    if index is None:
        raise UsageError(f"{masked(url)}: no test '{found['name']}' at {catalogue.store.name}")
    version = find_version(index, found["version"] or "")
    if version is None:
        known = ", ".join(entry.version for entry in index.versions)
        raise UsageError(f"{masked(url)}: it has no version {found['version']}; there is {known}")
    return SiteTest(catalogue, index, version), note


def is_test_address(text: str) -> bool:
    """Whether a text is the address of a test's page."""
    return is_url(text) and _ADDRESS.fullmatch(text.partition("?")[0].partition("#")[0]) is not None


def is_script_address(text: str) -> bool:
    """Whether a text is the address of a script."""
    return is_url(text) and urlsplit(text).path.endswith(SUFFIX)


def fetch_script(url: str) -> tuple[Script, str]:
    """The script at any address, in the cache with the files that it names, and what a user should know about it."""
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    check_inside(name, masked(url))
    found = remote_file(url, DownloadLimits(), ANY_FILE)
    files, notes = {name: found.path}, [found.note]
    for other in _files_named(found.path, masked(url)):
        check_inside(other, masked(url))
        beside = remote_file(urljoin(url, quote(other)), DownloadLimits(), ANY_FILE)
        files[other] = beside.path
        notes.append(beside.note)
    folder = cached(SCRIPTS, _script_key(files), lambda folder: _fill_script(folder, files))
    return load_script(folder / name), next(filter(None, notes), "")


def _files_named(path: Path, name: str) -> Iterator[str]:
    """The files that a script names, after a check that it is a script."""
    try:
        parsed, text = read_toml(path)
    except ScriptError as error:
        raise ScriptError(str(error).replace(str(path), name)) from None
    if parsed.get("format", FORMAT) != FORMAT:
        raise DataError(
            f"{name}: format {parsed['format']!r} is not known here, only {FORMAT}; a newer hate may read it"
        )
    file = validate(ScriptFile, parsed, text, Mistakes(name))
    yield from Script(path, file).tables
    yield from (data.path for data in file.data.values() if data.path is not None)


def _script_key(files: dict[str, Path]) -> str:
    """The hash of all names and contents: each file is in a folder that is named by its content."""
    lines = sorted(f"{name}\0{path.parent.name}\n" for name, path in files.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _fill_script(folder: Path, files: dict[str, Path]) -> None:
    for name, path in files.items():
        link_or_copy(path, folder / name)
