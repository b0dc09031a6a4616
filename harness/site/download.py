"""Download one file: streamed, limited in time and size, tried again where that may help, checked if it is known."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import requests

from harness import __version__
from harness.errors import DataError, Unreachable
from harness.site.attempts import (
    Abandoned,
    TryAgain,
    connection_reason,
    encryption_reason,
    first_line,
    next_attempt,
    retry_after,
    retry_policy,
    run_within,
)
from harness.site.body import ResponseBody
from harness.site.config import is_offline
from harness.site.request import Download, DownloadRequest
from harness.site.urls import Address, masked, parse, redirected

MOST_REDIRECTS = 5


def download(request: DownloadRequest, target: Path) -> Download:
    """The file in `target`, or the known copy if the server says that it is current.

    Known content that is already in the target is taken as its beginning, and stays there if the download breaks off.
    Anything else starts again with every attempt. A DataError says why the file cannot be had, or that it is wrong.
    """
    begun = _begun(request, target)
    found = _download(request, target)
    if not request.sha256:
        return found
    try:
        _check_content(request, found)
    except DataError:
        target.unlink(missing_ok=True)
        if not begun:
            raise
        # The beginning may have been wrong, and not the rest.
        return download(request, target)
    return found


def _check_content(request: DownloadRequest, found: Download) -> None:
    said = request.stated_by
    if request.size is not None and found.size != request.size:
        raise DataError(f"{request.name}: {found.size:,} bytes, {said} says {request.size:,}; try again")
    if found.sha256 != request.sha256:
        text = f"sha256 is {found.sha256}, {said} says {request.sha256}; not the data of this test"
        raise DataError(f"{request.name}: {text}")


def _download(request: DownloadRequest, target: Path) -> Download:
    start = parse(request.url)
    if is_offline():
        raise Unreachable(f"{request.name}: not downloaded, because of --offline or HATE_OFFLINE")
    try:
        return run_within(
            request.limits.seconds, lambda abandoned: _Transfer(request, target, abandoned).with_retries(start)
        )
    except TimeoutError:
        text = f"{request.name}: not finished after {request.limits.seconds:g} s; {request.limits.slow_remedy}"
        raise Unreachable(text) from None


def _begun(request: DownloadRequest, target: Path) -> int:
    """How many bytes are here already and need not be asked for."""
    try:
        return target.stat().st_size if request.resumable else 0
    except OSError:
        return 0


class _Session(requests.Session):
    """Leaves redirects alone. The library would look at them even if told not to follow them, and read their bodies
    whole, however large."""

    def resolve_redirects(self, *_: Any, **__: Any) -> Iterator[Any]:
        """None."""
        return iter(())


@dataclass(frozen=True)
class _Transfer:
    """A download under way, in a thread of its own."""

    request: DownloadRequest
    target: Path
    # Set when nobody waits for it any more.
    abandoned: threading.Event

    def with_retries(self, start: Address) -> Download:
        """Try until it succeeds or there is no point in trying again."""
        policy = retry_policy(self.request.limits)
        while True:
            begun = _begun(self.request, self.target)
            try:
                return self._attempt(start)
            except TryAgain as failure:
                # A download that makes progress may go on, however often the connection breaks.
                if _begun(self.request, self.target) > begun:
                    policy = retry_policy(self.request.limits)
                after = next_attempt(policy, failure)
                if after is None:
                    raise Unreachable(f"{self.request.name}: {failure}") from None
                policy, pause = after
                if self.abandoned.wait(pause):
                    raise Abandoned from None

    def _attempt(self, start: Address) -> Download:
        """One attempt: follow redirects by hand, then take what is there."""
        address = start
        with _Session() as session:
            for _ in range(MOST_REDIRECTS + 1):
                with self._ask(session, address) as response:
                    if not response.is_redirect:
                        return self._take(response)
                    address = redirected(address, response.headers["Location"])
        raise DataError(f"{self.request.name}: more than {MOST_REDIRECTS} redirects, the last to {masked(address.url)}")

    def _headers(self) -> dict[str, str]:
        encoding = "gzip" if self.request.compressed else "identity"
        begun = _begun(self.request, self.target)
        part = {"Range": f"bytes={begun}-"} if begun else {}
        return {"User-Agent": f"hate/{__version__}", "Accept-Encoding": encoding} | part | self.request.conditions

    def _ask(self, session: requests.Session, address: Address) -> requests.Response:
        name, limits = self.request.name, self.request.limits
        try:
            return session.get(
                address.url,
                headers=self._headers(),
                auth=address.credentials,
                allow_redirects=False,
                stream=True,
                timeout=(limits.connect_seconds, limits.silent_seconds),
            )
        except requests.exceptions.SSLError as error:
            raise DataError(f"{name}: {encryption_reason(error)}") from None
        except requests.Timeout:
            raise TryAgain("no answer in time") from None
        except requests.ConnectionError as error:
            raise TryAgain(connection_reason(error)) from None
        except (requests.RequestException, ValueError) as error:
            raise DataError(f"{name}: {first_line(error)}") from None

    def _take(self, response: requests.Response) -> Download:
        """Act on the response's status; save the body if it is the file."""
        status = response.status_code
        if status == HTTPStatus.NOT_MODIFIED and self.request.known is not None and self.request.conditions:
            return self.request.known
        begun = _begun(self.request, self.target)
        if status == HTTPStatus.OK or (status == HTTPStatus.PARTIAL_CONTENT and _continues(response, begun)):
            start = 0 if status == HTTPStatus.OK else begun
            return ResponseBody(self.request, response, start, self.abandoned).save(self.target)
        text = f"HTTP {status} {response.reason or ''}".rstrip()
        if begun and status in (HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE):
            self.target.unlink(missing_ok=True)
            raise TryAgain(f"{text}, not the part that was asked for")
        if retry_policy(self.request.limits).is_retry("GET", status):
            raise TryAgain(text, after=retry_after(response.headers.get("Retry-After", "")))
        raise DataError(f"{self.request.name}: {text}")


def _continues(response: requests.Response, begun: int) -> bool:
    """Whether a partial response begins where our part ends."""
    return begun > 0 and response.headers.get("Content-Range", "").strip().startswith(f"bytes {begun}-")
