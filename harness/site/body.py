"""The body of a response on its way into a file: counted, limited, decompressed, hashed."""

import hashlib
import threading
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import requests
from urllib3.exceptions import HTTPError

from harness.errors import DataError
from harness.site.attempts import Abandoned, TryAgain
from harness.site.request import Download, DownloadRequest, Validators, progress_listener

BLOCK = 1 << 16
DECOMPRESSED_BLOCK = 1 << 20
MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True)
class ResponseBody:
    """A response whose body is the file that was requested, or its end after the first `start` bytes."""

    request: DownloadRequest
    response: requests.Response
    start: int
    # Set when nobody waits for the download any more.
    abandoned: threading.Event

    def save(self, target: Path) -> Download:
        """Write the body to a file, after the bytes that are there already."""
        digest, done = hashlib.sha256(), self.start
        try:
            with target.open("r+b" if self.start else "wb") as file:
                _hash_beginning(file, self.start, digest)
                for block in self.request.body_filter(self._decoded()):
                    done += len(block)
                    self._check_size(done)
                    digest.update(block)
                    file.write(block)
        except BadGzip as error:
            raise DataError(f"{self.request.name}: {error}") from None
        headers = self.response.headers
        validators = Validators(headers.get("ETag", ""), headers.get("Last-Modified", ""))
        return Download(target, digest.hexdigest(), validators)

    def _decoded(self) -> Iterator[bytes]:
        """The body, decompressed if the server compressed it for the transfer."""
        encoding = self.response.headers.get("Content-Encoding", "").strip().lower()
        if encoding in ("", "identity"):
            return self._reported()
        if encoding in ("gzip", "x-gzip"):
            return gunzip(self._reported())
        raise DataError(f"{self.request.name}: sent as '{encoding}', which was not asked for")

    def _reported(self) -> Iterator[bytes]:
        """The bytes as sent; whoever wants to show progress is told."""
        listener = progress_listener()
        if listener is None:
            yield from self._raw()
            return
        announced, name = self._announced(), self.request.label or self.request.name
        listener.begin(name, None if announced is None else self.start + announced, self.start)
        try:
            for block in self._raw():
                listener.advance(name, len(block))
                yield block
        finally:
            listener.end(name)

    def _raw(self) -> Iterator[bytes]:
        """The bytes as sent, exactly as many as the server announced."""
        expected = self._announced()
        self._check_size(self.start + (expected or 0))
        done, broken = 0, False
        try:
            while block := self.response.raw.read(BLOCK, decode_content=False):
                if self.abandoned.is_set():
                    raise Abandoned
                done += len(block)
                self._check_size(self.start + done)
                yield block
        except (HTTPError, OSError):
            broken = True
        if expected is not None and done < expected:
            raise TryAgain(f"the body ends after {done:,} of {expected:,} bytes; try again")
        if broken:
            raise TryAgain(f"the connection broke after {done:,} bytes; try again")

    def _announced(self) -> int | None:
        text = self.response.headers.get("Content-Length", "")
        return int(text) if text.isdecimal() and len(text) < 20 else None

    def _check_size(self, size: int) -> None:
        limits = self.request.limits
        if size > limits.size:
            raise DataError(f"{self.request.name}: larger than {limits.size:,} bytes; {limits.large_remedy}")


def _hash_beginning(file: IO[bytes], size: int, digest: "hashlib._Hash") -> None:
    """Hash what is there already; the file is then positioned where the rest belongs."""
    left = size
    while left and (block := file.read(min(left, 1 << 20))):
        digest.update(block)
        left -= len(block)


class BadGzip(Exception):
    """It is not gzip, or it is damaged or ends early."""


def gunzip(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The content of a gzip stream, in blocks of at most 1 MiB, so that the reader can stop a decompression bomb."""
    member, members = None, 0
    for block in blocks:
        data = block
        while data:
            if member is None:
                # Some writers pad with zeros after the last member.
                data = data.lstrip(b"\0") if members else data
                member, members = (zlib.decompressobj(_GZIP), members + 1) if data else (None, members)
                continue
            yield _decompress(member, data)
            data = member.unused_data if member.eof else member.unconsumed_tail
            member = None if member.eof else member
    if member is not None:
        raise BadGzip("the compressed data ends early")


def _decompress(member: "zlib._Decompress", data: bytes) -> bytes:
    try:
        return member.decompress(data, DECOMPRESSED_BLOCK)
    except zlib.error as error:
        raise BadGzip(f"damaged compressed data ({error})") from None


def gunzip_if_packed(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The content of a gzip stream; anything else as it is."""
    stream = iter(blocks)
    head = b""
    for block in stream:
        head += block
        if len(head) >= len(MAGIC):
            break
    rest = _chain(head, stream)
    yield from gunzip(rest) if head.startswith(MAGIC) else rest


def _chain(head: bytes, stream: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from stream
