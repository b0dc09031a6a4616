"""Download one file: streamed, limited in time and size, tried again when that may help, whole or not at all.

What has no known SHA-256 begins anew with every attempt; the rest goes on where the last attempt ended.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import requests

from harness import __version__
from harness.errors import DataError, Unreachable
from harness.site.arriving import save
from harness.site.deadline import Abandoned, within
from harness.site.limits import Limits
from harness.site.offline import is_offline
from harness.site.reasons import connection, encryption, first_line
from harness.site.retry import Retry, retry_after, wait_before
from harness.site.urls import Address, masked, parse, redirected
from harness.site.wish import Fetched, Wish

MOST_REDIRECTS = 5
PACKING = 1024


def fetch(wish: Wish, target: Path) -> Fetched | None:
    """The file in `target`; None when the server says that the known copy is still the right one."""
    start = parse(wish.url)
    if is_offline():
        raise Unreachable(f"{wish.name}: not asked for, since --offline or HATE_OFFLINE says so")
    try:
        return within(wish.limits.seconds, lambda abandoned: _attempts(wish, start, target, abandoned))
    except TimeoutError:
        text = f"{wish.name}: not done after {wish.limits.seconds:g} s; {wish.limits.slow_remedy}"
        raise Unreachable(text) from None


@dataclass(frozen=True)
class Known:
    """Content that is known by its SHA-256, and who said so, for the messages."""

    sha256: str
    size: int | None
    said_by: str = "the script"
    # Worth packing for the way; what is large is not, so that a download can be taken up where it broke off.
    small: bool = False
    label: str = ""

    def wish(self, url: str) -> Wish:
        """What to ask for."""
        return Wish(url, self._limits(), compressed=self.small, resumed=not self.small, label=self.label)

    def _limits(self) -> Limits:
        """A test's data may be large, and its author has said how large; a slow line gets a day."""
        if self.size is None:
            return Limits(seconds=86_400.0, size=1 << 40, slow_remedy="try again", large_remedy="refused")
        # What is tiny grows when it is packed.
        room = self.size + (PACKING if self.small else 0)
        remedy = f"{self.said_by} says so; refused"
        return Limits(seconds=86_400.0, size=room, slow_remedy="try again", large_remedy=remedy)


def download(url: str, target: Path, known: Known) -> None:
    """Known content; a DataError where it cannot be had or is something else. What is in the target already is taken
    for its beginning, and stays there when the download breaks off."""
    begun = target.exists()
    try:
        _download(known.wish(url), target, known)
    except _Wrong:
        target.unlink(missing_ok=True)
        if not begun:
            raise
        # The beginning may have been wrong, not the rest.
        download(url, target, known)


class _Wrong(DataError):
    """It came whole, and is something else."""


def _download(wish: Wish, target: Path, known: Known) -> None:
    found = fetch(wish, target)
    if found is None:
        raise DataError(f"{wish.name}: HTTP 304, but nothing was here to be unchanged")
    if known.size is not None and found.size != known.size:
        raise _Wrong(f"{wish.name}: {found.size:,} bytes, {known.said_by} says {known.size:,}; try again")
    if found.sha256 != known.sha256:
        text = f"sha256 is {found.sha256}, {known.said_by} says {known.sha256}; not the data of this test"
        raise _Wrong(f"{wish.name}: {text}")


def _attempts(wish: Wish, start: Address, target: Path, abandoned: threading.Event) -> Fetched | None:
    attempt = 0
    while True:
        attempt += 1
        begun = _begun(wish, target)
        try:
            return _attempt(wish, start, target, abandoned)
        except Retry as retry:
            # Whoever gets on may go on, however often the connection breaks.
            attempt = 1 if _begun(wish, target) > begun else attempt
            pause = wait_before(attempt + 1, wish.limits, asked=retry.after)
            if pause is None:
                raise Unreachable(f"{wish.name}: {retry}") from None
            if abandoned.wait(pause):
                raise Abandoned from None


def _begun(wish: Wish, target: Path) -> int:
    """How many bytes are here already, and need not be asked for."""
    try:
        return target.stat().st_size if wish.resumed else 0
    except OSError:
        return 0


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
            with _ask(session, wish, address, _begun(wish, target)) as response:
                if not response.is_redirect:
                    return _take(wish, response, target, abandoned)
                address = redirected(address, response.headers["Location"])
    raise DataError(f"{wish.name}: more than {MOST_REDIRECTS} redirects, the last to {masked(address.url)}")


def _ask(session: requests.Session, wish: Wish, address: Address, begun: int) -> requests.Response:
    headers = {"User-Agent": f"hate/{__version__}", "Accept-Encoding": "gzip" if wish.compressed else "identity"}
    headers |= {"Range": f"bytes={begun}-"} if begun else {}
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
    begun = _begun(wish, target)
    if status == HTTPStatus.OK or (status == HTTPStatus.PARTIAL_CONTENT and _continues(response, begun)):
        start = 0 if status == HTTPStatus.OK else begun
        return save(wish, response, target, start, abandoned)
    text = f"HTTP {status} {response.reason or ''}".rstrip()
    if begun and status in (HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE):
        target.unlink(missing_ok=True)
        raise Retry(f"{text}, with another part than was asked for")
    if (
        status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
        or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    ):
        raise Retry(text, after=retry_after(response.headers.get("Retry-After", "")))
    raise DataError(f"{wish.name}: {text}")


def _continues(response: requests.Response, begun: int) -> bool:
    """Whether a part of the file begins where ours ends."""
    return begun > 0 and response.headers.get("Content-Range", "").strip().startswith(f"bytes {begun}-")
