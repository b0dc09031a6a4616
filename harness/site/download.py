"""Download one file: streamed, limited in time and size, tried again when that may help, whole or not at all."""

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import requests
from urllib3.exceptions import HTTPError

from harness import __version__
from harness.errors import DataError, Unreachable
from harness.site.deadline import Abandoned, within
from harness.site.inflate import BadGzip, gunzip
from harness.site.limits import Limits
from harness.site.reasons import connection, encryption, first_line
from harness.site.retry import Retry, retry_after, wait_before
from harness.site.urls import Address, masked, parse, redirected

MOST_REDIRECTS = 5
BLOCK = 1 << 16
Filter = Callable[[Iterable[bytes]], Iterator[bytes]]


@dataclass(frozen=True)
class Validators:
    """What a server calls the state of a file, so that it can be asked whether that has changed."""

    etag: str = ""
    modified: str = ""

    def headers(self) -> dict[str, str]:
        """The conditions of a request."""
        named = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in named.items() if value}


@dataclass(frozen=True)
class Fetched:
    """A file that has arrived whole."""

    sha256: str
    size: int
    validators: Validators


@dataclass(frozen=True)
class Wish:
    """What to fetch, and how."""

    url: str
    limits: Limits = field(default_factory=Limits)
    # Of a copy that is here already.
    known: Validators = field(default_factory=Validators)
    # What is made of the content on its way to the file.
    through: Filter = iter
    # Whether the server may compress on the way.
    compressed: bool = True

    @property
    def name(self) -> str:
        """The address for messages."""
        return masked(self.url)


def fetch(wish: Wish, target: Path) -> Fetched | None:
    """The file in `target`; None when the server says that the known copy is still the right one."""
    start = parse(wish.url)
    try:
        return within(wish.limits.seconds, lambda abandoned: _attempts(wish, start, target, abandoned))
    except TimeoutError:
        text = f"{wish.name}: not done after {wish.limits.seconds:g} s; {wish.limits.slow_remedy}"
        raise Unreachable(text) from None


def download(url: str, target: Path, *, sha256: str, size: int | None) -> None:
    """Data of a test; a DataError where it cannot be had or is not what the script means."""
    wish = Wish(url, _data_limits(size), compressed=False)
    found = fetch(wish, target)
    if found is None:
        raise DataError(f"{wish.name}: HTTP 304, but nothing was here to be unchanged")
    if size is not None and found.size != size:
        raise DataError(f"{wish.name}: {found.size:,} bytes, the script says {size:,}; try again")
    if found.sha256 != sha256:
        raise DataError(f"{wish.name}: sha256 is {found.sha256}, the script says {sha256}; not the data of this test")


def _data_limits(size: int | None) -> Limits:
    """A test's data may be large, and its author has said how large; a slow line gets a day."""
    if size is None:
        return Limits(seconds=86_400.0, size=1 << 40, slow_remedy="try again", large_remedy="refused")
    return Limits(seconds=86_400.0, size=size, slow_remedy="try again", large_remedy="the script says so; refused")


def _attempts(wish: Wish, start: Address, target: Path, abandoned: threading.Event) -> Fetched | None:
    for attempt in range(1, wish.limits.attempts + 1):
        try:
            return _attempt(wish, start, target, abandoned)
        except Retry as retry:
            pause = wait_before(attempt + 1, wish.limits, asked=retry.after)
            if pause is None:
                raise Unreachable(f"{wish.name}: {retry}") from None
            if abandoned.wait(pause):
                raise Abandoned from None
    raise Unreachable(f"{wish.name}: no attempt was made")


class _Session(requests.Session):
    """Leaves redirects alone. The library would look at them even when it is told not to follow, and read their
    bodies whole, however large."""

    def resolve_redirects(self, *_: Any, **__: Any) -> Iterator[Any]:
        """None."""
        return iter(())


def _attempt(wish: Wish, start: Address, target: Path, abandoned: threading.Event) -> Fetched | None:
    """One try: follow redirects by hand, then take what is there."""
    address = start
    with _Session() as session:
        for _ in range(MOST_REDIRECTS + 1):
            with _ask(session, wish, address) as response:
                if not response.is_redirect:
                    return _take(wish, response, target, abandoned)
                address = redirected(address, response.headers["Location"])
    raise DataError(f"{wish.name}: more than {MOST_REDIRECTS} redirects, the last to {masked(address.url)}")


def _ask(session: requests.Session, wish: Wish, address: Address) -> requests.Response:
    headers = {"User-Agent": f"hate/{__version__}", "Accept-Encoding": "gzip" if wish.compressed else "identity"}
    limits = wish.limits
    try:
        return session.get(
            address.url,
            headers=headers | wish.known.headers(),
            auth=address.credentials,
            allow_redirects=False,
            stream=True,
            timeout=(limits.connect_seconds, limits.silent_seconds),
        )
    except requests.exceptions.SSLError as error:
        raise DataError(f"{wish.name}: {encryption(error)}") from None
    except requests.Timeout:
        raise Retry("no answer in time") from None
    except requests.ConnectionError as error:
        raise Retry(connection(error)) from None
    except (requests.RequestException, ValueError) as error:
        raise DataError(f"{wish.name}: {first_line(error)}") from None


def _take(wish: Wish, response: requests.Response, target: Path, abandoned: threading.Event) -> Fetched | None:
    """What to do about the answer's status; the body, if it is the file."""
    status = response.status_code
    if status == HTTPStatus.NOT_MODIFIED and wish.known.headers():
        return None
    if status == HTTPStatus.OK:
        size, sha256 = _save(wish, _arriving(wish, response, abandoned), target)
        headers = response.headers
        return Fetched(sha256, size, Validators(headers.get("ETag", ""), headers.get("Last-Modified", "")))
    text = f"HTTP {status} {response.reason or ''}".rstrip()
    if (
        status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
        or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    ):
        raise Retry(text, after=retry_after(response.headers.get("Retry-After", "")))
    raise DataError(f"{wish.name}: {text}")


def _arriving(wish: Wish, response: requests.Response, abandoned: threading.Event) -> Iterator[bytes]:
    """The body, unpacked if the server packed it for the way."""
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    blocks = _wire(wish, response, abandoned)
    if encoding in ("", "identity"):
        return blocks
    if encoding in ("gzip", "x-gzip"):
        return gunzip(blocks)
    raise DataError(f"{wish.name}: sent as '{encoding}', which was not asked for")


def _wire(wish: Wish, response: requests.Response, abandoned: threading.Event) -> Iterator[bytes]:
    """The bytes as sent, as many as the server announced."""
    announced = response.headers.get("Content-Length", "")
    expected = int(announced) if announced.isdecimal() else None
    _check_size(wish, expected or 0)
    done, broken = 0, ""
    try:
        while block := response.raw.read(BLOCK, decode_content=False):
            if abandoned.is_set():
                raise Abandoned
            done += len(block)
            _check_size(wish, done)
            yield block
    except (HTTPError, OSError) as error:
        broken = first_line(error)
    if expected is not None and done < expected:
        raise Retry(f"the body ends after {done:,} of {expected:,} bytes; try again")
    if broken:
        raise Retry(f"the connection broke after {done:,} bytes; try again")


def _save(wish: Wish, blocks: Iterator[bytes], target: Path) -> tuple[int, str]:
    digest, done = hashlib.sha256(), 0
    try:
        with target.open("wb") as file:
            for block in wish.through(blocks):
                done += len(block)
                _check_size(wish, done)
                digest.update(block)
                file.write(block)
    except BadGzip as error:
        raise DataError(f"{wish.name}: {error}") from None
    return done, digest.hexdigest()


def _check_size(wish: Wish, size: int) -> None:
    if size > wish.limits.size:
        text = f"{wish.name}: larger than {wish.limits.size:,} bytes; {wish.limits.large_remedy}"
        raise DataError(text)
