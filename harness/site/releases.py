"""Tests at sites: found by name, version or address, brought into the cache whole, checked."""

import re
from dataclasses import dataclass
from pathlib import Path

from harness.errors import DataError, HateError, UsageError
from harness.script.load import Script, load_script
from harness.site.cache import cached, discard
from harness.site.catalogue import Catalogue, find_version
from harness.site.config import site_config
from harness.site.content import put
from harness.site.layout import Release, TestIndex, VersionEntry, encode
from harness.site.sites import Sites, open_site
from harness.site.urls import is_url, masked

RELEASES = "releases"
MANIFEST = "release.json"
FOLDER = "test"
# The address of a test is that of its page.
_ADDRESS = re.compile(r"(?P<site>.+?)/tests/(?P<name>[a-z0-9][a-z0-9._-]*)(@(?P<version>[A-Za-z0-9._+-]+))?/?")


@dataclass(frozen=True)
class Released:
    """A version of a test at a site."""

    catalogue: Catalogue
    index: TestIndex
    version: VersionEntry

    @property
    def label(self) -> str:
        """What it is called."""
        return f"{self.catalogue.place.name}: {self.index.name} {self.version.version}"

    def script(self) -> Script:
        """Its script, in the cache with every file beside it; a DataError unless they make the digest of the test."""
        release = self.catalogue.release(self.index, self.version)
        for last in (False, True):
            script = self._loaded(release)
            if script is not None and script.digest == release.digest:
                return script
            # The copy in the cache may be damaged; once it is made anew, it is the site's fault.
            discard(RELEASES, self.version.release.sha256)
            if last:
                break
        raise DataError(f"{self.label}: its files are not a test with the digest that its index says; refused")

    def _loaded(self, release: Release) -> Script | None:
        folder = cached(RELEASES, self.version.release.sha256, lambda folder: self._fill(folder, release))
        try:
            script = load_script(folder / FOLDER / release.script)
        except HateError:
            return None
        return script if (script.name, script.version) == (release.name, release.version) else None

    def _fill(self, folder: Path, release: Release) -> None:
        for file in release.files:
            put(self.catalogue.place.file(file.ref, file.path), folder / FOLDER / file.path)
        (folder / MANIFEST).write_bytes(encode(release))


def find_release(text: str, among: Sites) -> Released | None:
    """The test NAME or NAME@VERSION at the first site that has it; None where none has."""
    name, _, version = text.partition("@")
    others: list[str] = []
    for _, catalogue in among:
        try:
            index = catalogue.test(name)
        except HateError as error:
            among.refuse(error)
            continue
        if index is None:
            continue
        found = find_version(index, version)
        if found is not None:
            return Released(catalogue, index, found)
        others += [entry.version for entry in index.versions]
    if others:
        raise UsageError(f"test '{name}' has no version {version}; there is {', '.join(dict.fromkeys(others))}")
    among.raise_refusal()
    return None


def release_at(url: str) -> tuple[Released, str]:
    """The test at an address, SITE/tests/NAME or SITE/tests/NAME@VERSION, and what a user should know about it."""
    found = _ADDRESS.fullmatch(url.partition("?")[0].partition("#")[0])
    if found is None:
        raise UsageError(
            f"{masked(url)}: not the address of a test; that is SITE/tests/NAME or SITE/tests/NAME@VERSION"
        )
    catalogue, note = open_site(site_config(found["site"]))
    index = catalogue.test(found["name"])
    if index is None:
        raise UsageError(f"{masked(url)}: no test '{found['name']}' at {catalogue.place.name}")
    version = find_version(index, found["version"] or "")
    if version is None:
        known = ", ".join(entry.version for entry in index.versions)
        raise UsageError(f"{masked(url)}: no version {found['version']} of it; there is {known}")
    return Released(catalogue, index, version), note


def is_test_address(text: str) -> bool:
    """Whether a text is the address of a test."""
    return is_url(text) and _ADDRESS.fullmatch(text.partition("?")[0].partition("#")[0]) is not None
