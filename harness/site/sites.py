"""Open sites, in a folder or at an address, read their files, and find their tests.

A configured site that cannot be used leads to a note, not an error.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import DataError, HateError, Unreachable, UsageError
from harness.files.digest import file_sha256
from harness.site.catalogue import Catalogue, SiteTest, find_version
from harness.site.config import SiteConfig, configured_sites, is_offline, site_config
from harness.site.download_request import Download, DownloadLimits, content_request
from harness.site.layout import (
    MAX_INDEX_BYTES,
    MAX_TOP_BYTES,
    TOP,
    Ref,
    Top,
    decode_top,
    file_path,
    index_path,
    signature_path,
)
from harness.site.trust import check_top
from harness.site.url_cache import ANY_FILE, checked_content, remote_file
from harness.site.urls import is_url, masked

DOWNLOADS_AT_ONCE = 8
# An index is small: a server that takes longer is down.
_TOP_LIMITS = DownloadLimits(
    seconds=60.0, size=MAX_TOP_BYTES, attempts=3, slow_remedy="try again", large_remedy="not the index of a site"
)


@dataclass
class Sites:
    """The sites, and notes about them for the user."""

    configs: Sequence[SiteConfig]
    notes: list[str] = field(default_factory=list)
    # Sites that answered but are damaged or cannot be trusted. They may have what is missing elsewhere, so no message
    # may say that it does not exist.
    refusals: list[HateError] = field(default_factory=list)
    _opened: list[tuple[SiteConfig, Catalogue]] | None = None

    def __iter__(self) -> Iterator[tuple[SiteConfig, Catalogue]]:
        if self._opened is None:
            opened = []
            for config in self.configs:
                try:
                    catalogue, note = open_site(config)
                except HateError as error:
                    self.refuse(error)
                    continue
                self.notes += [note] if note else []
                opened.append((config, catalogue))
            self._opened = opened
        return iter(self._opened)

    def refuse(self, error: HateError) -> None:
        """Note that a site cannot be reached, is damaged, or cannot be trusted."""
        self.notes.append(f"site skipped: {error}")
        if not isinstance(error, Unreachable):
            self.refusals.append(error)

    def raise_refusal(self) -> None:
        """Raise the first refusal, if there is one, rather than say that something does not exist."""
        if self.refusals:
            first = self.refusals[0]
            self.notes[:] = [note for note in self.notes if str(first) not in note]
            raise first


def sites() -> Sites:
    return Sites(configured_sites())


def open_site(config: SiteConfig) -> tuple[Catalogue, str]:
    """A site and a note about it for the user; a DataError if it cannot be trusted."""
    if config.is_folder:
        folder = FolderStore(Path(config.address))
        data, top = folder.read_top()
        check_top(config, data, top, folder)
        return Catalogue(folder, top), ""
    # From the cache if it cannot be reached.
    download = _download_top(config)
    data = download.path.read_bytes()
    top = decode_top(data, f"{config.name}/{TOP}")
    bases = (config.address, *config.mirrors, *_named_mirrors(config, top))
    store = WebStore(config.name, tuple(dict.fromkeys(bases)))
    check_top(config, data, top, store, fresh=not (download.note or is_offline()))
    return Catalogue(store, top), download.note


def open_folder(root: Path) -> Catalogue:
    """The current state of the site in a folder; a DataError if the folder is not a site."""
    store = FolderStore(root)
    return Catalogue(store, store.read_top()[1])


def _download_top(site: SiteConfig) -> Download:
    """The top index from the site, or from the first of its mirrors that answers."""
    copy: Download | None = None
    refusal: Unreachable | None = None
    bases = [site.address, *site.mirrors]
    for base in bases:
        try:
            download = remote_file(f"{base}/{TOP}", _TOP_LIMITS, ANY_FILE)
        except Unreachable as error:
            refusal = refusal or error
            continue
        if not download.note:
            return download
        if copy is None:
            copy = download
            named = _named_mirrors(site, decode_top(download.path.read_bytes(), f"{site.name}/{TOP}"))
            bases += [url for url in named if url not in bases]
    if copy is not None:
        return copy
    raise refusal or Unreachable(f"{site.name}: no address")


def _named_mirrors(site: SiteConfig, top: Top) -> Iterator[str]:
    """The mirrors that the site names, except those less secure than the site."""
    for url in top.mirrors:
        if is_url(url) and url.startswith(("https://", site.address[:7])):
            yield url.rstrip("/")


@dataclass(frozen=True)
class FolderStore:
    """A site in a folder."""

    root: Path

    @property
    def name(self) -> str:
        return str(self.root)

    def top(self) -> bytes | None:
        """The bytes of the top index; None if nothing has been published yet."""
        try:
            with (self.root / TOP).open("rb") as file:
                data = file.read(MAX_TOP_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataError(f"{self.root / TOP}: {error.strerror}") from None
        if len(data) > MAX_TOP_BYTES:
            raise DataError(f"{self.root / TOP}: larger than {MAX_TOP_BYTES:,} bytes; not the index of a site")
        return data

    def read_top(self) -> tuple[bytes, Top]:
        """The top index, as bytes and decoded; a DataError if the folder is not a site."""
        data = self.top()
        if data is None:
            raise DataError(f"{self.root}: not a site, it has no {TOP}; `hate publish PATH --to {self.root}` makes one")
        return data, decode_top(data, str(self.root / TOP))

    def signature(self, sha256: str) -> bytes | None:
        path = self.root / signature_path(sha256)
        try:
            return path.read_bytes() if path.stat().st_size <= MAX_TOP_BYTES else None
        except OSError:
            return None

    def index(self, ref: Ref) -> bytes:
        """An index, checked."""
        path = self.root / index_path(ref.sha256)
        if ref.bytes > MAX_INDEX_BYTES:
            raise DataError(f"{path}: an index of {ref.bytes:,} bytes; refused")
        try:
            with path.open("rb") as file:
                data = file.read(ref.bytes + 1)
        except OSError as error:
            raise DataError(f"{path}: {error.strerror}; the site is incomplete") from None
        if len(data) != ref.bytes or hashlib.sha256(data).hexdigest() != ref.sha256:
            raise DataError(f"{path}: not what the index says; damaged")
        return data

    def prefetch(self, refs: Sequence[Ref]) -> None:
        """Nothing to do: the indexes are here."""

    def file(self, ref: Ref, label: str = "") -> Path:
        """A file, checked."""
        path = self.root / file_path(ref.sha256)
        try:
            intact = path.stat().st_size == ref.bytes and file_sha256(path) == ref.sha256
        except OSError as error:
            raise DataError(f"{path}: {error.strerror}; the site is incomplete") from None
        if not intact:
            raise DataError(f"{path}: not what the index says; damaged")
        return path


@dataclass(frozen=True)
class WebStore:
    """A site at an address: its files come through the cache, from the site or from a mirror."""

    name: str
    # The site's address and its mirrors, in the order in which to try them.
    bases: tuple[str, ...]

    def index(self, ref: Ref) -> bytes:
        """An index, checked."""
        return self._index(ref).read_bytes()

    def signature(self, sha256: str) -> bytes | None:
        for base in self.bases:
            try:
                return remote_file(f"{base}/{signature_path(sha256)}", _TOP_LIMITS, ANY_FILE).path.read_bytes()
            except DataError:
                continue
        return None

    def prefetch(self, refs: Sequence[Ref]) -> None:
        """Download several indexes at once that will be read one after the other."""
        with ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as pool:
            list(pool.map(self._index, refs))

    def _index(self, ref: Ref) -> Path:
        if ref.bytes > MAX_INDEX_BYTES:
            raise DataError(f"{self.name}: an index of {ref.bytes:,} bytes; refused")
        return self._get(ref, index_path(ref.sha256), small=True)

    def file(self, ref: Ref, label: str = "") -> Path:
        """A file, checked."""
        return self._get(ref, file_path(ref.sha256), label=label)

    def _get(self, ref: Ref, path: str, *, small: bool = False, label: str = "") -> Path:
        urls = [f"{base}/{path}" for base in self.bases]
        stated_by = "the site's index"
        return checked_content(
            content_request(urls, ref.sha256, ref.bytes, stated_by=stated_by, small=small, label=label)
        )


# NAME or NAME@VERSION in the address of a page.
TEST_IN_ADDRESS = r"(?P<name>[a-z0-9][a-z0-9._-]*)(@(?P<version>[A-Za-z0-9._+-]+))?"
# The address of a test is that of its page.
_ADDRESS = re.compile(rf"(?P<site>.+?)/tests/{TEST_IN_ADDRESS}/?")
# What the names of pages end in that are files.
PAGE_SUFFIX = ".html"


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
        entry = find_version(index, version)
        if entry is not None:
            return SiteTest(catalogue, index, entry)
        others += [known.version for known in index.versions]
    if others:
        raise UsageError(f"test '{name}' has no version {version}, only {', '.join(dict.fromkeys(others))}")
    searched.raise_refusal()
    return None


def find_release_at(url: str) -> tuple[SiteTest, str]:
    """The test at an address, SITE/tests/NAME or SITE/tests/NAME@VERSION, and a note about it for the user."""
    match = _ADDRESS.fullmatch(page_address(url))
    if match is None:
        raise UsageError(
            f"{masked(url)}: not the address of a test, such as SITE/tests/NAME or SITE/tests/NAME@VERSION"
        )
    catalogue, note = open_site(site_config(match["site"]))
    index = catalogue.test(match["name"])
    if index is None:
        raise UsageError(f"{masked(url)}: no test '{match['name']}' at {catalogue.store.name}")
    version = find_version(index, match["version"] or "")
    if version is None:
        known = ", ".join(entry.version for entry in index.versions)
        raise UsageError(f"{masked(url)}: no version {match['version']}, only {known}")
    return SiteTest(catalogue, index, version), note


def page_address(url: str) -> str:
    """The address of a page, whether it is served or a file."""
    return url.partition("?")[0].partition("#")[0].removesuffix(PAGE_SUFFIX)


def is_test_address(text: str) -> bool:
    return is_url(text) and _ADDRESS.fullmatch(page_address(text)) is not None
