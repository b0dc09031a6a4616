"""Hand in a transcript at a site that is served: sent with a token, tried again if that may help."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import msgspec
import requests

from harness import __version__
from harness.errors import DataError, Unreachable, UsageError
from harness.site.config import is_offline
from harness.site.download import (
    Abandoned,
    TryAgain,
    first_line,
    request_errors,
    retry_after,
    retry_policy,
    with_retries,
)
from harness.site.download_request import DownloadLimits, progress_listener
from harness.site.urls import masked, parse

BLOCK = 1 << 16
MAX_ANSWER_BYTES = 1 << 20
# The server answers when it has judged every record.
_LIMITS = DownloadLimits(seconds=3600.0, silent_seconds=900.0, slow_remedy="try again")


class SubmissionReceipt(msgspec.Struct, frozen=True):
    """What a server says about a transcript that it has accepted."""

    result: str
    page: str = ""
    # A sentence for the submitter, if there is more to say.
    message: str = ""


class SubmissionRefused(UsageError):
    """The server does not want the transcript, and says why."""


@dataclass(frozen=True)
class Upload:
    """A transcript on its way to a site."""

    path: Path
    site: str
    # TEST@VERSION and the name of the transcript.
    test: str
    name: str
    token: str

    @property
    def url(self) -> str:
        """The address that its page will have."""
        return f"{parse(self.site).url.rstrip('/')}/transcripts/{quote(self.test, safe='@')}/{quote(self.name)}"


def send(upload: Upload) -> SubmissionReceipt:
    """Send a transcript; a SubmissionRefused has the server's own words, Unreachable says that it may work later."""
    name = masked(upload.url)
    if is_offline():
        raise Unreachable(f"{name}: not sent, because of --offline or HATE_OFFLINE")
    # What was received before the connection broke is "already there" the next time.
    return with_retries(name, _LIMITS, lambda abandoned: _attempt(upload, abandoned))


def _attempt(upload: Upload, abandoned: threading.Event) -> SubmissionReceipt:
    with (
        upload.path.open("rb") as file,
        requests.Session() as session,
        _Body(file, upload.path.stat().st_size, upload.name, abandoned) as body,
    ):
        with request_errors(masked(upload.url)):
            response = session.put(
                upload.url,
                data=body,
                headers={"User-Agent": f"hate/{__version__}", "Accept": "application/json"},
                auth=_Bearer(upload.token),
                allow_redirects=False,
                stream=True,
                timeout=(_LIMITS.connect_seconds, _LIMITS.silent_seconds),
            )
        with response:
            return _receipt(upload, response)


class _Bearer(requests.auth.AuthBase):
    """The token, and never a password from ~/.netrc in its place."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


@dataclass
class _Body:
    """The file as it is sent; progress is reported to the listener."""

    file: IO[bytes]
    size: int
    name: str
    abandoned: threading.Event

    def __enter__(self) -> "_Body":
        if (listener := progress_listener()) is not None:
            listener.begin(self.name, self.size, 0)
        return self

    def __exit__(self, *_: object) -> None:
        if (listener := progress_listener()) is not None:
            listener.end(self.name)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[bytes]:
        return iter(lambda: self.read(BLOCK), b"")

    def read(self, size: int = -1) -> bytes:
        if self.abandoned.is_set():
            raise Abandoned
        block = self.file.read(size)
        if block and (listener := progress_listener()) is not None:
            listener.advance(self.name, len(block))
        return block


def _receipt(upload: Upload, response: requests.Response) -> SubmissionReceipt:
    status, text = response.status_code, _answer_text(response)
    name = masked(upload.url)
    if status in (HTTPStatus.OK, HTTPStatus.CREATED):
        try:
            return msgspec.json.decode(text, type=SubmissionReceipt)
        except msgspec.MsgspecError:
            raise DataError(f"{name}: not a site that takes transcripts: {_first_line(text)}") from None
    if response.is_redirect:
        location = masked(response.headers.get("Location", ""))
        raise DataError(f"{name}: redirected to {location}; tokens are not sent on, give that address with --to")
    reason = _first_line(text) or response.reason or ""
    if retry_policy(_LIMITS).is_retry("PUT", status):
        raise TryAgain(f"HTTP {status}: {reason}", after=retry_after(response.headers.get("Retry-After", "")))
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
        reason = f"{reason}; this site takes no transcripts, ask its owner about `hate serve --tokens`"
    raise SubmissionRefused(f"{name}: refused, HTTP {status}: {reason}")


def _answer_text(response: requests.Response) -> str:
    try:
        data: Any = response.raw.read(MAX_ANSWER_BYTES, decode_content=True)
    except Exception as error:
        raise TryAgain(f"the answer broke off: {first_line(error)}") from None
    return bytes(data).decode(errors="replace")


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0][:500]
