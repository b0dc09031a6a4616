"""The files of a site, as a plain web server would serve them: nothing but the layout, so nothing else can be had."""

import gzip
import re
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

from anyio import CapacityLimiter, open_file, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from harness.errors import DataError
from harness.site.layout import TOP
from harness.site.serving.conditions import Unsatisfiable, takes_gzip, unchanged, wanted_range
from harness.site.serving.stock import Stock
from harness.site.serving.top import TopFile

_NAMED = re.compile(
    r"(?:index/(?P<i>[0-9a-f]{2})/(?=(?P=i))[0-9a-f]{64}\.json"
    r"|files/(?P<f>[0-9a-f]{2})/(?=(?P=f))[0-9a-f]{64}"
    r"|signatures/[0-9a-f]{64}\.json)",
    re.ASCII,
)
FOR_EVER = "public, max-age=31536000, immutable"
# Kept, but asked about each time: what was published is seen at once.
ASK_AGAIN = "no-cache"
BLOCK = 256 << 10
# Larger content is streamed from the disk, and larger still never packed on the way.
LARGEST_KEPT = 256 << 10
LARGEST_PACKED = 32 << 20
SMALLEST_PACKED = 512
ROOM = 64 << 20


@dataclass(frozen=True)
class _Found:
    """A file that is there."""

    path: Path
    size: int
    modified: float
    etag: str
    media_type: str

    def headers(self, *, immutable: bool) -> dict[str, str]:
        return {
            "etag": self.etag,
            "last-modified": formatdate(self.modified, usegmt=True),
            "cache-control": FOR_EVER if immutable else ASK_AGAIN,
            "vary": "Accept-Encoding",
        }


class StaticFiles:
    """The layout in a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._top = TopFile(root)
        self._stock = Stock(ROOM)
        # Packing takes a core; whoever else asks must not wait for all of them.
        self._packers = CapacityLimiter(2)

    async def named(self, request: Request) -> Response:
        """A file that is named by its content."""
        path = request.url.path.removeprefix("/")
        if _NAMED.fullmatch(path) is None:
            raise HTTPException(404)
        # Here and not in a thread: a look at a file takes less time than the way to a thread and back.
        found = _look(self._root / path)
        return await self._respond(request, found)

    async def top(self, request: Request) -> Response:
        """The top index, which changes."""
        try:
            top = self._top.read()
        except DataError:
            raise HTTPException(404) from None
        found = _Found(self._root / TOP, len(top.data), top.modified, f'"{top.sha256}"', "application/json")
        headers = found.headers(immutable=False)
        if unchanged(request.headers, found.etag, found.modified):
            return Response(status_code=304, headers=headers)
        return _part(request, found, top.data, headers)

    async def _respond(self, request: Request, found: _Found) -> Response:
        headers = found.headers(immutable=True)
        if unchanged(request.headers, found.etag, found.modified):
            return Response(status_code=304, headers=headers)
        if "range" not in request.headers and takes_gzip(request.headers):
            packed = await self._packed(found)
            if packed:
                weak = {"content-encoding": "gzip", "etag": f"W/{found.etag}"}
                return Response(packed, headers=headers | weak, media_type=found.media_type)
        if found.size <= LARGEST_KEPT:
            data = self._stock.get((found.etag, ""))
            if data is None:
                data = found.path.read_bytes()
                self._stock.put((found.etag, ""), data)
            return _part(request, found, data, headers)
        return _streamed(request, found, headers)

    async def _packed(self, found: _Found) -> bytes:
        """The same in gzip; empty where that would not pay."""
        if not SMALLEST_PACKED <= found.size <= LARGEST_PACKED:
            return b""
        key = (found.etag, "gzip")
        kept = self._stock.get(key)
        if kept is not None:
            return kept
        return await to_thread.run_sync(self._stock.made, key, lambda: _pack(found), limiter=self._packers)


def _look(path: Path) -> _Found:
    try:
        found = path.stat()
    except OSError:
        raise HTTPException(404) from None
    if not stat.S_ISREG(found.st_mode):
        raise HTTPException(404)
    media_type = "application/json" if path.suffix == ".json" else "application/octet-stream"
    return _Found(path, found.st_size, found.st_mtime, f'"{path.stem}"', media_type)


def _pack(found: _Found) -> bytes:
    """Texts only: archives and pictures are packed already."""
    data = found.path.read_bytes()
    if b"\0" in data[:4096] or data[:2] == b"\x1f\x8b":
        return b""
    packed = gzip.compress(data, 6, mtime=0)
    return packed if len(packed) < 0.9 * len(data) else b""


def _range(request: Request, found: _Found) -> tuple[int, int] | None:
    if request.method != "GET":
        return None
    try:
        return wanted_range(request.headers, found.size, found.etag, found.modified)
    except Unsatisfiable:
        raise HTTPException(416, headers={"content-range": f"bytes */{found.size}"}) from None


def _ranged(found: _Found, wanted: tuple[int, int] | None, headers: dict[str, str]) -> dict[str, str]:
    start, stop = wanted or (0, found.size)
    said = {"accept-ranges": "bytes", "content-length": str(stop - start)}
    if wanted is not None:
        said["content-range"] = f"bytes {start}-{stop - 1}/{found.size}"
    return headers | said


def _part(request: Request, found: _Found, data: bytes, headers: dict[str, str]) -> Response:
    wanted = _range(request, found)
    start, stop = wanted or (0, found.size)
    status = 200 if wanted is None else 206
    return Response(data[start:stop], status, _ranged(found, wanted, headers), found.media_type)


def _streamed(request: Request, found: _Found, headers: dict[str, str]) -> Response:
    wanted = _range(request, found)
    said = _ranged(found, wanted, headers)
    status = 200 if wanted is None else 206
    if request.method == "HEAD":
        return Response(None, status, said, found.media_type)
    return StreamingResponse(_blocks(found.path, *(wanted or (0, found.size))), status, said, found.media_type)


async def _blocks(path: Path, start: int, stop: int) -> AsyncIterator[bytes]:
    async with await open_file(path, "rb") as file:
        await file.seek(start)
        while start < stop and (block := await file.read(min(BLOCK, stop - start))):
            start += len(block)
            yield block
