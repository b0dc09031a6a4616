"""What is at a URL and may change: kept in the cache by content, and asked for again only if the server has a newer
one."""

import contextlib
import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from harness.errors import DataError, TranscriptError, Unreachable
from harness.files.digest import file_sha256
from harness.site.cache import cache_folder, kept
from harness.site.content import CONTENT, FILES
from harness.site.download import fetch
from harness.site.inflate import gunzip_if_packed
from harness.site.limits import Limits
from harness.site.offline import is_offline
from harness.site.urls import masked, parse
from harness.site.wish import Fetched, Validators, Wish
from harness.transcript.read import open_transcript

_SPACE = b" \t\r\n"


@dataclass(frozen=True)
class Remote:
    """A file that is now here; `note` is what a user should know about it."""

    path: Path
    note: str = ""


class Visit(msgspec.Struct, frozen=True):
    """What a URL led to the last time."""

    url: str
    sha256: str
    etag: str = ""
    modified: str = ""

    @property
    def content(self) -> Path:
        """Where that is."""
        return cache_folder() / FILES / self.sha256 / CONTENT


@dataclass(frozen=True)
class Kind:
    """What is expected at a URL: looked at on its way, and once more when it is whole."""

    through: Callable[[str, Iterable[bytes]], Iterator[bytes]]
    check: Callable[[str, Path], None]


def remote_transcript(url: str, limits: Limits) -> Remote:
    """The transcript at a URL, from the cache where the server says that it is the same, or cannot be reached."""
    return remote_file(url, limits, TRANSCRIPT)


def remote_file(url: str, limits: Limits, kind: Kind) -> Remote:
    """The file at a URL, from the cache where the server says that it is the same, or cannot be reached."""
    parse(url)
    visit = _last_visit(url)
    known = Validators(visit.etag, visit.modified) if visit else Validators()
    wish = Wish(url, limits, known, through=lambda blocks: kind.through(masked(url), blocks))
    try:
        return Remote(_fetched(wish, visit, kind))
    except Unreachable as error:
        if visit is None:
            raise
        # Whoever went offline knows it.
        return Remote(visit.content, "" if is_offline() else f"{error}; using the copy in the cache")


def _fetched(wish: Wish, visit: Visit | None, kind: Kind) -> Path:
    arrived: list[Fetched] = []

    def make(folder: Path) -> str:
        found = fetch(wish, folder / CONTENT)
        if found is None:
            raise _Unchanged
        kind.check(wish.name, folder / CONTENT)
        arrived.append(found)
        return found.sha256

    try:
        path = kept(FILES, make) / CONTENT
    except _Unchanged:
        if visit is None:
            raise DataError(f"{wish.name}: HTTP 304, but nothing was here to be unchanged") from None
        return visit.content
    _remember(wish.url, arrived[0])
    return path


class _Unchanged(Exception):
    """The known copy is still the right one."""


def _checked(name: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The content; a page for people is found out at its first byte, not after gigabytes."""
    begun = False
    for block in gunzip_if_packed(blocks):
        start = b"" if begun else block.lstrip(_SPACE)[:1]
        begun = begun or bool(start)
        if start and start != b"{":
            what = "a web page" if start == b"<" else "something else"
            raise TranscriptError(f"{name}: {what}, not a transcript; give the address of the file itself")
        yield block


def _check_header(name: str, path: Path) -> None:
    with open_transcript(path, name=name):
        pass


def _untouched(_name: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
    return iter(blocks)


def _unchecked(_name: str, _path: Path) -> None:
    """Whoever reads it checks it."""


AS_IT_IS = Kind(_untouched, _unchecked)
TRANSCRIPT = Kind(_checked, _check_header)


def _visit_path(url: str) -> Path:
    return cache_folder() / "urls" / f"{hashlib.sha256(url.encode()).hexdigest()}.json"


def _last_visit(url: str) -> Visit | None:
    """The last visit, if what it brought is still in the cache, whole."""
    try:
        visit = msgspec.json.decode(_visit_path(url).read_bytes(), type=Visit)
        return visit if file_sha256(visit.content) == visit.sha256 else None
    except (OSError, msgspec.MsgspecError):
        return None


def _remember(url: str, found: Fetched) -> None:
    """Note the visit; a cache that cannot is no reason to fail."""
    visit = Visit(masked(url), found.sha256, found.validators.etag, found.validators.modified)
    path = _visit_path(url)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(msgspec.json.encode(visit))
        Path(file.name).replace(path)
