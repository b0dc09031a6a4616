"""A site at an address: its files come through the cache, from the site or from a mirror of it."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.errors import DataError, Unreachable
from harness.site.catalogue import Catalogue
from harness.site.config import SiteConfig
from harness.site.content import Wanted, checked_content
from harness.site.layout import (
    LARGEST_INDEX,
    LARGEST_TOP,
    TOP,
    Ref,
    Top,
    decode_top,
    file_path,
    index_path,
    signature_path,
)
from harness.site.limits import Limits
from harness.site.remote import AS_IT_IS, Remote, remote_file
from harness.site.trust import check_top
from harness.site.urls import is_url

AT_ONCE = 8
# An index is small: whoever needs longer has gone.
_TOP_LIMITS = Limits(
    seconds=60.0, size=LARGEST_TOP, attempts=3, slow_remedy="try again", large_remedy="not the index of a site"
)


@dataclass(frozen=True)
class Web:
    """Its files, checked as they come."""

    name: str
    # Where to ask, in this order.
    bases: tuple[str, ...]

    def index(self, ref: Ref) -> bytes:
        """An index, checked."""
        return self._index(ref).read_bytes()

    def ahead(self, refs: Sequence[Ref]) -> None:
        """Bring several indexes here at once, for whoever will ask for them one after the other."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self._index, refs))

    def _index(self, ref: Ref) -> Path:
        if ref.bytes > LARGEST_INDEX:
            raise DataError(f"{self.name}: an index of {ref.bytes:,} bytes; refused")
        return self._get(ref, index_path(ref.sha256), small=True)

    def file(self, ref: Ref, label: str = "") -> Path:
        """Content, checked."""
        return self._get(ref, file_path(ref.sha256), label=label)

    def _get(self, ref: Ref, path: str, *, small: bool = False, label: str = "") -> Path:
        urls = [f"{base}/{path}" for base in self.bases]
        return checked_content(Wanted(ref.sha256, ref.bytes, urls, "the site's index", small, label))


@dataclass(frozen=True)
class Opened:
    """What a site has now; `note` is what a user should know about that."""

    catalogue: Catalogue
    note: str = ""


def open_web(site: SiteConfig) -> Opened:
    """The site at an address, from the cache where it cannot be reached; a DataError where it cannot be believed."""
    found = _top(site)
    data = found.path.read_bytes()
    top = decode_top(data, f"{site.name}/{TOP}")
    bases = (site.address, *site.mirrors, *_own_mirrors(site, top))
    check_top(site, data, top, lambda: _signature(bases, found.path.parent.name))
    return Opened(Catalogue(Web(site.name, tuple(dict.fromkeys(bases))), top), found.note)


def _top(site: SiteConfig) -> Remote:
    """The top index of the site; where it does not answer, of the first of its mirrors that does."""
    copy: Remote | None = None
    refusal: Unreachable | None = None
    waiting = [site.address, *site.mirrors]
    for base in waiting:
        try:
            found = remote_file(f"{base}/{TOP}", _TOP_LIMITS, AS_IT_IS)
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
    raise refusal or Unreachable(f"{site.name}: nowhere to ask")


def _own_mirrors(site: SiteConfig, top: Top) -> Iterator[str]:
    """Those that the site names; none that is less safe than the site."""
    for url in top.mirrors:
        if is_url(url) and url.startswith(("https://", site.address[:7])):
            yield url.rstrip("/")


def _signature(bases: Iterable[str], sha256: str) -> bytes | None:
    for base in bases:
        try:
            return remote_file(f"{base}/{signature_path(sha256)}", _TOP_LIMITS, AS_IT_IS).path.read_bytes()
        except DataError:
            continue
    return None
