"""Files at URLs, kept in the cache: known content, and files that may change."""

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from harness.errors import DataError, TranscriptError, Unreachable
from harness.files.digest import file_sha256
from harness.files.gzip_blocks import gunzip_if_packed
from harness.site.cache import (
    CONTENT,
    FILES,
    PARTIAL,
    cache_folder,
    cached,
    cached_by_content,
    discard_entry,
    is_whole,
    verified,
)
from harness.site.config import is_offline
from harness.site.download_request import Download, DownloadLimits, DownloadRequest, Validators
from harness.site.urls import masked, parse
from harness.transcript.read import open_transcript
from harness.transcript.storage import PARQUET_MAGIC

# Servers that did not answer; others with the same content are asked first.
_silent: set[tuple[str, str, int]] = set()
_SPACE = b" \t\r\n"


def cached_content(request: DownloadRequest) -> Path:
    """The file with known content, downloaded once from the first address that has it."""
    return cached(FILES, request.sha256, lambda folder: _fill_content(request, folder)) / CONTENT


def verified_content(request: DownloadRequest) -> Path:
    """The same; a copy that was changed since it was written is downloaded again."""
    return verified(FILES, request.sha256, lambda folder: _fill_content(request, folder)) / CONTENT


def checked_content(request: DownloadRequest) -> Path:
    """The same, hashed again: a damaged copy is downloaded again."""
    path = cached_content(request)
    if is_whole(path, request.sha256, request.size):
        return path
    discard_entry(FILES, request.sha256)
    path = cached_content(request)
    if not is_whole(path, request.sha256, request.size):
        raise DataError(f"{path}: damaged right after it was written; check the disk")
    return path


def _fill_content(request: DownloadRequest, folder: Path) -> None:
    """Called by one process at a time for each content, so no other process touches the partial file."""
    partial = cache_folder() / PARTIAL / request.sha256
    partial.parent.mkdir(parents=True, exist_ok=True)
    if not is_whole(partial, request.sha256, request.size):
        _check_room(request, partial)
        _download_from_any(request, partial)
    partial.replace(folder / CONTENT)


def _check_room(request: DownloadRequest, partial: Path) -> None:
    """Fail before hours of downloading, not after."""
    partial_size = partial.stat().st_size if partial.exists() else 0
    if request.size is not None and partial_size > request.size:
        partial.unlink()
    free = shutil.disk_usage(partial.parent).free
    if (request.size or 0) - partial_size > free:
        text = f"the download has {request.size:,} bytes, but only {free:,} are free in {cache_folder()}"
        raise DataError(f"{text}; free some space or set XDG_CACHE_HOME")


def _download_from_any(request: DownloadRequest, partial: Path) -> None:
    # Imported here, because most commands never need it and it takes long to import.
    from harness.site.download import download

    errors: list[DataError] = []
    for url in sorted([request.url, *request.mirrors], key=lambda url: parse(url).origin in _silent):
        try:
            download(request.at(url), partial)
            return
        except DataError as error:
            errors.append(error)
            if isinstance(error, Unreachable):
                _silent.add(parse(url).origin)
    # Users know the first address; the errors of its mirrors matter less.
    more = f" (and {len(errors) - 1} mirrors did not have it either)" if len(errors) > 1 else ""
    raise type(errors[0])(f"{errors[0]}{more}")


class LastDownload(msgspec.Struct, frozen=True):
    """What the last download from a URL was, as stored in the cache."""

    url: str
    sha256: str
    etag: str = ""
    modified: str = ""


@dataclass(frozen=True)
class FileFormat:
    """The expected kind of file: how to filter the body as it arrives, and how to check the complete file."""

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
        return _new_or_known(request, expected)
    except Unreachable as error:
        if known is None:
            raise
        # A user who chose to be offline need not be told.
        return replace(known, note="" if is_offline() else f"{error}; using the copy in the cache")


class _Unchanged(Exception):
    """The known copy is current."""


def _new_or_known(request: DownloadRequest, expected: FileFormat) -> Download:
    """The file in the cache: a new one, or the known copy if it is current."""
    # Imported here, because most commands never need it and it takes long to import.
    from harness.site.download import download

    results: list[Download] = []

    def make(folder: Path) -> str:
        result = download(request, folder / CONTENT)
        results.append(result)
        if result is request.known:
            raise _Unchanged
        expected.check(request.name, result.path)
        return result.sha256

    try:
        entry = cached_by_content(FILES, make)
    except _Unchanged:
        return results[0]
    _remember(request.url, results[0])
    return replace(results[0], path=entry / CONTENT)


def _transcript_blocks(name: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The content, decompressed; a web page is recognised by its first byte, not after gigabytes."""
    begun = False
    for block in gunzip_if_packed(blocks):
        start = b"" if begun else block.lstrip(_SPACE)[:1]
        begun = begun or bool(start)
        if start and start != b"{" and not block.startswith(PARQUET_MAGIC):
            what = "a web page" if start == b"<" else "something else"
            raise TranscriptError(f"{name}: {what}, not a transcript; give the address of the file itself")
        yield block


def _check_header(name: str, path: Path) -> None:
    with open_transcript(path, name=name):
        pass


# The reader of the file checks it.
ANY_FILE = FileFormat(lambda _name, blocks: iter(blocks), lambda _name, _path: None)
TRANSCRIPT_FILE = FileFormat(_transcript_blocks, _check_header)


def _record_path(url: str) -> Path:
    return cache_folder() / "urls" / f"{hashlib.sha256(url.encode()).hexdigest()}.json"


def _last_download(url: str) -> Download | None:
    """The last download from a URL, if it is still intact in the cache."""
    try:
        record = msgspec.json.decode(_record_path(url).read_bytes(), type=LastDownload)
        path = cache_folder() / FILES / record.sha256 / CONTENT
        intact = file_sha256(path) == record.sha256
    except (OSError, msgspec.MsgspecError):
        return None
    return Download(path, record.sha256, Validators(record.etag, record.modified)) if intact else None


def _remember(url: str, result: Download) -> None:
    """Record the download; not an error if the cache cannot be written to."""
    record = LastDownload(masked(url), result.sha256, result.validators.etag, result.validators.modified)
    path = _record_path(url)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(msgspec.json.encode(record))
        Path(file.name).replace(path)
