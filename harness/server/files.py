"""The files of a site over HTTP: conditional requests, ranges and compression as in RFC 9110."""

import gzip
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path

from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from harness.errors import DataError
from harness.files.caches import MemoryCache, memory_of
from harness.server.state import TopFile
from harness.site.layout import TOP

_NAMED = re.compile(
    r"(?:index/(?P<i>[0-9a-f]{2})/(?=(?P=i))[0-9a-f]{64}\.json"
    r"|files/(?P<f>[0-9a-f]{2})/(?=(?P=f))[0-9a-f]{64}"
    r"|signatures/[0-9a-f]{64}\.json)",
    re.ASCII,
)
FOREVER = "public, max-age=31536000, immutable"
# Clients may cache it, but must check every time whether it has changed.
REVALIDATE = "no-cache"
BLOCK = 256 << 10
# Larger files are streamed from the disk instead of being cached in memory.
MAX_CACHED_BYTES = 256 << 10
# Files of other sizes are not compressed for the transfer.
MIN_COMPRESSED_BYTES = 512
MAX_COMPRESSED_BYTES = 32 << 20
FILE_CACHE_SIZE = 64 << 20
_RANGE = re.compile(r"bytes=\s*(\d{0,18})-(\d{0,18})\s*", re.ASCII | re.IGNORECASE)
Headers = Mapping[str, str]


class Unsatisfiable(Exception):
    """The range begins after the end of the file."""


def is_unchanged(headers: Headers, etag: str, modified: float) -> bool:
    """Whether the client's copy is current. An ETag takes precedence over a date."""
    tags = headers.get("if-none-match")
    if tags is not None:
        known = {tag.strip().removeprefix("W/") for tag in tags.split(",")}
        return "*" in known or etag.removeprefix("W/") in known
    since = _date(headers.get("if-modified-since", ""))
    return since is not None and int(modified) <= since


def requested_range(headers: Headers, size: int, etag: str, modified: float) -> tuple[int, int] | None:
    """The first byte and the one after the last; None for the whole file, also if several ranges are requested."""
    match = _RANGE.fullmatch(headers.get("range", ""))
    condition = headers.get("if-range")
    # Only an exact match will do: two halves of different files do not make a file.
    holds = condition is None or condition.strip() == etag or _date(condition) == int(modified)
    if match is None or match[1] == match[2] == "" or not holds:
        return None
    if not match[1]:
        start, stop = max(0, size - int(match[2])), size
    else:
        start, stop = int(match[1]), min(size, int(match[2]) + 1) if match[2] else size
        if match[2] and int(match[2]) < start:
            return None
    if start >= size or start >= stop:
        raise Unsatisfiable
    return start, stop


def _date(text: str) -> int | None:
    try:
        return int(parsedate_to_datetime(text).timestamp())
    except (ValueError, TypeError, OverflowError):
        return None


def accepts_gzip(headers: Headers) -> bool:
    accepted = {}
    for part in headers.get("accept-encoding", "").lower().split(","):
        name, _, quality = part.partition(";")
        accepted[name.strip()] = re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", quality) is None
    return accepted.get("gzip", accepted.get("x-gzip", accepted.get("*", False)))


@dataclass(frozen=True)
class _StoredFile:
    """A file that exists."""

    path: Path
    size: int
    modified: float
    etag: str
    media_type: str

    def headers(self, *, immutable: bool) -> dict[str, str]:
        return {
            "etag": self.etag,
            "last-modified": formatdate(self.modified, usegmt=True),
            "cache-control": FOREVER if immutable else REVALIDATE,
            "vary": "Accept-Encoding",
        }


class StaticFiles:
    """The files of a site: only those that its layout names can be downloaded."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._top = TopFile(root)
        self._cache = MemoryCache(FILE_CACHE_SIZE, memory_of)
        # Each takes up a core.
        self._compressors = CapacityLimiter(2)

    async def named(self, request: Request) -> Response:
        """A file that is named after its content."""
        path = str(request.scope["path"]).removeprefix("/")
        if _NAMED.fullmatch(path) is None:
            raise HTTPException(404)
        # Not in a thread: stat takes less time than switching to a thread and back.
        file = _stored_file(self._root / path)
        headers = file.headers(immutable=True)
        if is_unchanged(request.headers, file.etag, file.modified):
            return Response(status_code=304, headers=headers)
        if "range" not in request.headers and accepts_gzip(request.headers):
            compressed = await self._compressed(file)
            if compressed:
                weak = {"content-encoding": "gzip", "etag": f"W/{file.etag}"}
                return Response(compressed, headers=headers | weak, media_type=file.media_type)
        if file.size <= MAX_CACHED_BYTES:
            data = self._cache.get((file.etag, ""))
            if data is None:
                data = file.path.read_bytes()
                self._cache.put((file.etag, ""), data)
            return _from_memory(request, file, data, headers)
        return _Stream(request, file, headers)

    async def top(self, request: Request) -> Response:
        """The top index, which changes."""
        try:
            top = self._top.read()
        except DataError:
            raise HTTPException(404) from None
        file = _StoredFile(self._root / TOP, len(top.data), top.modified, f'"{top.sha256}"', "application/json")
        headers = file.headers(immutable=False)
        if is_unchanged(request.headers, file.etag, file.modified):
            return Response(status_code=304, headers=headers)
        return _from_memory(request, file, top.data, headers)

    async def _compressed(self, file: _StoredFile) -> bytes:
        """The file in gzip; empty if that is not worthwhile."""
        if not MIN_COMPRESSED_BYTES <= file.size <= MAX_COMPRESSED_BYTES:
            return b""
        key = (file.etag, "gzip")
        cached = self._cache.get(key)
        if cached is not None:
            return cached
        return await to_thread.run_sync(
            self._cache.get_or_make, key, lambda: _compress(file), limiter=self._compressors
        )


def _stored_file(path: Path) -> _StoredFile:
    try:
        status = path.stat()
    except OSError:
        raise HTTPException(404) from None
    if not stat.S_ISREG(status.st_mode):
        raise HTTPException(404)
    media_type = "application/json" if path.suffix == ".json" else "application/octet-stream"
    return _StoredFile(path, status.st_size, status.st_mtime, f'"{path.stem}"', media_type)


def _compress(file: _StoredFile) -> bytes:
    """Only texts are compressed: archives and images are compressed already."""
    data = file.path.read_bytes()
    if b"\0" in data[:4096] or data[:2] == b"\x1f\x8b":
        return b""
    compressed = gzip.compress(data, 6, mtime=0)
    return compressed if len(compressed) < 0.9 * len(data) else b""


def _range(request: Request, file: _StoredFile) -> tuple[int, int] | None:
    if request.method != "GET":
        return None
    try:
        return requested_range(request.headers, file.size, file.etag, file.modified)
    except Unsatisfiable:
        raise HTTPException(416, headers={"content-range": f"bytes */{file.size}"}) from None


def _from_memory(request: Request, file: _StoredFile, data: bytes, headers: dict[str, str]) -> Response:
    part_range = _range(request, file)
    if part_range is None:
        return Response(data, 200, headers | {"accept-ranges": "bytes"}, file.media_type)
    start, stop = part_range
    part = {"accept-ranges": "bytes", "content-range": f"bytes {start}-{stop - 1}/{file.size}"}
    return Response(data[start:stop], 206, headers | part, file.media_type)


class _Stream(FileResponse):
    """A file streamed from the disk. Starlette answers 400 to ranges that RFC 9110 ignores, and sends parts after HEAD,
    so the range is parsed here, and Starlette sees a valid one or none."""

    chunk_size = BLOCK

    def __init__(self, request: Request, file: _StoredFile, headers: dict[str, str]) -> None:
        super().__init__(file.path, headers=headers, media_type=file.media_type, stat_result=file.path.stat())
        self._range = _range(request, file)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [pair for pair in scope["headers"] if pair[0] not in (b"range", b"if-range")]
        if self._range is not None:
            headers.append((b"range", f"bytes={self._range[0]}-{self._range[1] - 1}".encode()))
        await super().__call__({**scope, "headers": headers}, receive, send)
