"""The configured sites, opened one after the other; one that cannot be used is a note, not an error."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import DataError, HateError, Unreachable
from harness.site.catalogue import Catalogue
from harness.site.config import SiteConfig, configured_sites
from harness.site.layout import LARGEST_TOP, TOP, Top, decode_top, ref_of, signature_path
from harness.site.remote import ANY_FILE, remote_file
from harness.site.request import Download, DownloadLimits
from harness.site.stores import FolderStore, WebStore
from harness.site.trust import check_top
from harness.site.urls import is_url

# An index is small: a server that needs longer is gone.
_TOP_LIMITS = DownloadLimits(
    seconds=60.0, size=LARGEST_TOP, attempts=3, slow_remedy="try again", large_remedy="not the index of a site"
)


@dataclass
class Sites:
    """The sites, and what users should know about them."""

    configs: Sequence[SiteConfig]
    notes: list[str] = field(default_factory=list)
    # Sites that answered but are damaged or cannot be trusted. What is missing may have been there, so nobody should
    # be told that it does not exist.
    refusals: list[HateError] = field(default_factory=list)
    _opened: list[tuple[SiteConfig, Catalogue]] | None = None

    def __iter__(self) -> Iterator[tuple[SiteConfig, Catalogue]]:
        if self._opened is None:
            self._opened = list(self._open())
        return iter(self._opened)

    def _open(self) -> Iterator[tuple[SiteConfig, Catalogue]]:
        for config in self.configs:
            try:
                catalogue, note = open_site(config)
            except HateError as error:
                self.refuse(error)
                continue
            if note:
                self.notes.append(note)
            yield config, catalogue

    def refuse(self, error: HateError) -> None:
        """Note that a site cannot be reached, is damaged, or cannot be trusted."""
        self.notes.append(f"site skipped: {error}")
        if not isinstance(error, Unreachable):
            self.refusals.append(error)

    def raise_refusal(self) -> None:
        """Raise the first refusal, if there was one, instead of saying that something does not exist."""
        if self.refusals:
            first = self.refusals[0]
            self.notes[:] = [note for note in self.notes if str(first) not in note]
            raise first


def sites() -> Sites:
    """The configured ones."""
    return Sites(configured_sites())


def open_site(config: SiteConfig) -> tuple[Catalogue, str]:
    """A site, wherever it is, and what a user should know about it; a DataError if it cannot be trusted."""
    return (_open_trusted_folder(config), "") if config.is_folder else _open_web(config)


def open_folder(root: Path) -> Catalogue:
    """The site in a folder as it is now; a DataError if the folder is not a site."""
    store = FolderStore(root)
    return Catalogue(store, store.read_top()[1])


def _open_trusted_folder(config: SiteConfig) -> Catalogue:
    store = FolderStore(Path(config.address))
    data, top = store.read_top()
    check_top(config, data, top, lambda: store.signature(ref_of(data).sha256))
    return Catalogue(store, top)


def _open_web(site: SiteConfig) -> tuple[Catalogue, str]:
    """The site at an address, from the cache if it cannot be reached."""
    found = _download_top(site)
    data = found.path.read_bytes()
    top = decode_top(data, f"{site.name}/{TOP}")
    bases = (site.address, *site.mirrors, *_own_mirrors(site, top))
    check_top(site, data, top, lambda: _signature(bases, found.sha256))
    return Catalogue(WebStore(site.name, tuple(dict.fromkeys(bases))), top), found.note


def _download_top(site: SiteConfig) -> Download:
    """The top index of the site; if the site does not answer, of the first of its mirrors that does."""
    copy: Download | None = None
    refusal: Unreachable | None = None
    waiting = [site.address, *site.mirrors]
    for base in waiting:
        try:
            found = remote_file(f"{base}/{TOP}", _TOP_LIMITS, ANY_FILE)
        except Unreachable as error:
            refusal = refusal or error
            continue
        if not found.note:
            return found
        if copy is None:
            copy = found
            own = _own_mirrors(site, decode_top(found.path.read_bytes(), f"{site.name}/{TOP}"))
            waiting += [url for url in own if url not in waiting]
    if copy is not None:
        return copy
    raise refusal or Unreachable(f"{site.name}: no address to ask")


def _own_mirrors(site: SiteConfig, top: Top) -> Iterator[str]:
    """The mirrors that the site names; none that is less secure than the site."""
    for url in top.mirrors:
        if is_url(url) and url.startswith(("https://", site.address[:7])):
            yield url.rstrip("/")


def _signature(bases: Iterable[str], sha256: str) -> bytes | None:
    for base in bases:
        try:
            return remote_file(f"{base}/{signature_path(sha256)}", _TOP_LIMITS, ANY_FILE).path.read_bytes()
        except DataError:
            continue
    return None
