"""Tests that are published at sites, brought into the cache."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import DataError, HateError, UsageError
from harness.script.references import DOWNLOADED
from harness.site.cache import MANIFEST, RELEASE_FOLDER, RELEASES, cached, discard_entry, link_or_copy
from harness.site.catalogue import Catalogue, find_version
from harness.site.config import site_config
from harness.site.layout import Release, TestIndex, VersionEntry, encode
from harness.site.sites import Sites, open_site
from harness.site.urls import is_url, masked

if TYPE_CHECKING:
    from harness.script.load import Script

# NAME or NAME@VERSION in the address of a page.
TEST_IN_ADDRESS = r"(?P<name>[a-z0-9][a-z0-9._-]*)(@(?P<version>[A-Za-z0-9._+-]+))?"
# The address of a test is that of its page.
_ADDRESS = re.compile(rf"(?P<site>.+?)/tests/{TEST_IN_ADDRESS}/?")
# What the names of pages end in that are files.
PAGE_SUFFIX = ".html"


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
    found = _ADDRESS.fullmatch(page_address(url))
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


def page_address(url: str) -> str:
    """The address of a page, whether it is served or a file."""
    return url.partition("?")[0].partition("#")[0].removesuffix(PAGE_SUFFIX)


def is_test_address(text: str) -> bool:
    """Whether a text is the address of a test's page."""
    return is_url(text) and _ADDRESS.fullmatch(page_address(text)) is not None
