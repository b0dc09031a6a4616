"""Files at a URL that may change: kept in the cache, and downloaded again only if the server has a newer one."""

import contextlib
import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from harness.errors import TranscriptError, Unreachable
from harness.files.digest import file_sha256
from harness.site.cache import CONTENT, FILES, cache_folder, cached_by_content
from harness.site.config import is_offline
from harness.site.request import Download, DownloadLimits, DownloadRequest, Validators
from harness.site.urls import masked, parse
from harness.transcript.read import open_transcript

_SPACE = b" \t\r\n"


class Visit(msgspec.Struct, frozen=True):
    """What a URL led to the last time, as it is kept in the cache."""

    url: str
    sha256: str
    etag: str = ""
    modified: str = ""


@dataclass(frozen=True)
class FileFormat:
    """What is expected at a URL: the body is filtered on its way, and the file checked when it is complete."""

    body_filter: Callable[[str, Iterable[bytes]], Iterator[bytes]]
    check: Callable[[str, Path], None]


def remote_transcript(url: str, limits: DownloadLimits) -> Download:
    """The transcript at a URL; from the cache if the server says that it has not changed, or cannot be reached."""
    return remote_file(url, limits, TRANSCRIPT_FILE)


def remote_file(url: str, limits: DownloadLimits, expected: FileFormat) -> Download:
    """The file at a URL; from the cache if the server says that it has not changed, or cannot be reached."""
    parse(url)
    known = _last_download(url)
    request = DownloadRequest(
        url, limits, known=known, body_filter=lambda blocks: expected.body_filter(masked(url), blocks)
    )
    try:
        return _downloaded(request, expected)
    except Unreachable as error:
        if known is None:
            raise
        # A user who went offline knows it.
        return replace(known, note="" if is_offline() else f"{error}; using the copy in the cache")


class _Unchanged(Exception):
    """The copy that we have is current."""


def _downloaded(request: DownloadRequest, expected: FileFormat) -> Download:
    """The file, now in the cache: a new one, or the copy that was there if it is current."""
    # Imported here, because most commands never need it and it takes long to import.
    from harness.site.download import download

    found: list[Download] = []

    def make(folder: Path) -> str:
        found.append(download(request, folder / CONTENT))
        if found[0] is request.known:
            raise _Unchanged
        expected.check(request.name, found[0].path)
        return found[0].sha256

    try:
        entry = cached_by_content(FILES, make)
    except _Unchanged:
        return found[0]
    _remember(request.url, found[0])
    return replace(found[0], path=entry / CONTENT)


def _transcript_blocks(name: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The content, decompressed; a web page is noticed at its first byte, not after gigabytes."""
    from harness.site.body import gunzip_if_packed

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


def _unfiltered(_name: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
    return iter(blocks)


def _unchecked(_name: str, _path: Path) -> None:
    """Whoever reads it checks it."""


ANY_FILE = FileFormat(_unfiltered, _unchecked)
TRANSCRIPT_FILE = FileFormat(_transcript_blocks, _check_header)


def _visit_path(url: str) -> Path:
    return cache_folder() / "urls" / f"{hashlib.sha256(url.encode()).hexdigest()}.json"


def _last_download(url: str) -> Download | None:
    """What the last visit brought, if it is still intact in the cache."""
    try:
        visit = msgspec.json.decode(_visit_path(url).read_bytes(), type=Visit)
        path = cache_folder() / FILES / visit.sha256 / CONTENT
        whole = file_sha256(path) == visit.sha256
    except (OSError, msgspec.MsgspecError):
        return None
    return Download(path, visit.sha256, Validators(visit.etag, visit.modified)) if whole else None


def _remember(url: str, found: Download) -> None:
    """Record the visit; if the cache cannot be written to, that is no reason to fail."""
    visit = Visit(masked(url), found.sha256, found.validators.etag, found.validators.modified)
    path = _visit_path(url)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(msgspec.json.encode(visit))
        Path(file.name).replace(path)
