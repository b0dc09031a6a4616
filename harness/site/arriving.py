"""The body of an answer, on its way into a file: counted, limited, unpacked, hashed."""

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import requests
from urllib3.exceptions import HTTPError

from harness.errors import DataError
from harness.site.deadline import Abandoned
from harness.site.inflate import BadGzip, gunzip
from harness.site.reasons import first_line
from harness.site.retry import Retry
from harness.site.watch import watcher
from harness.site.wish import Fetched, Validators, Wish

BLOCK = 1 << 16


def _arriving(wish: Wish, response: requests.Response, start: int, abandoned: threading.Event) -> Iterator[bytes]:
    """The body, unpacked if the server packed it for the way."""
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    blocks = _watched(wish, response, start, abandoned)
    if encoding in ("", "identity"):
        return blocks
    if encoding in ("gzip", "x-gzip"):
        return gunzip(blocks)
    raise DataError(f"{wish.name}: sent as '{encoding}', which was not asked for")


def _wire(wish: Wish, response: requests.Response, start: int, abandoned: threading.Event) -> Iterator[bytes]:
    """The bytes as sent, as many as the server announced."""
    expected = _announced(response)
    _check_size(wish, start + (expected or 0))
    done, broken = 0, ""
    try:
        while block := response.raw.read(BLOCK, decode_content=False):
            if abandoned.is_set():
                raise Abandoned
            done += len(block)
            _check_size(wish, start + done)
            yield block
    except (HTTPError, OSError) as error:
        broken = first_line(error)
    if expected is not None and done < expected:
        raise Retry(f"the body ends after {done:,} of {expected:,} bytes; try again")
    if broken:
        raise Retry(f"the connection broke after {done:,} bytes; try again")


def _announced(response: requests.Response) -> int | None:
    text = response.headers.get("Content-Length", "")
    return int(text) if text.isdecimal() and len(text) < 20 else None


def _watched(wish: Wish, response: requests.Response, start: int, abandoned: threading.Event) -> Iterator[bytes]:
    """The blocks as they arrive; whoever wants to know is told of them."""
    blocks, seen = _wire(wish, response, start, abandoned), watcher()
    if seen is None:
        yield from blocks
        return
    announced, name = _announced(response), wish.label or wish.name
    seen.begin(name, None if announced is None else start + announced, start)
    try:
        for block in blocks:
            seen.advance(name, len(block))
            yield block
    finally:
        seen.end(name)


def save(wish: Wish, response: requests.Response, target: Path, start: int, abandoned: threading.Event) -> Fetched:
    """The body in its file, after the `start` bytes that are there already."""
    digest, done = hashlib.sha256(), start
    try:
        with target.open("r+b" if start else "wb") as file:
            _hash_beginning(file, start, digest)
            for block in wish.through(_arriving(wish, response, start, abandoned)):
                done += len(block)
                _check_size(wish, done)
                digest.update(block)
                file.write(block)
    except BadGzip as error:
        raise DataError(f"{wish.name}: {error}") from None
    headers = response.headers
    return Fetched(digest.hexdigest(), done, Validators(headers.get("ETag", ""), headers.get("Last-Modified", "")))


def _hash_beginning(file: IO[bytes], size: int, digest: "hashlib._Hash") -> None:
    """Read what is there already; the file then stands where the rest belongs."""
    left = size
    while left and (block := file.read(min(left, 1 << 20))):
        digest.update(block)
        left -= len(block)


def _check_size(wish: Wish, size: int) -> None:
    if size > wish.limits.size:
        text = f"{wish.name}: larger than {wish.limits.size:,} bytes; {wish.limits.large_remedy}"
        raise DataError(text)
