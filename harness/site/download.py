"""Download one file: streamed, limited in time and size, retried if that may help, checked if its hash is known.

Uploads are retried by the same rules.
"""

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import requests
from urllib3 import Retry
from urllib3.exceptions import HTTPError, InvalidHeader, MaxRetryError

from harness import __version__
from harness.errors import DataError, Unreachable
from harness.files.gzip_blocks import BadGzip, gunzip
from harness.site.config import is_offline
from harness.site.download_request import Download, DownloadLimits, DownloadRequest, Validators, progress_listener
from harness.site.urls import Address, masked, parse, redirected

# Rather than wait longer than this, the command fails and says why.
MAX_PAUSE = 60.0
# Request timeout, too many requests, and all server errors.
RETRY_STATUSES = frozenset({408, 429, *range(500, 600)})
T = TypeVar("T")


class TryAgain(Exception):
    """An attempt failed, but the next one may succeed."""

    def __init__(self, text: str, *, after: float | None = None) -> None:
        super().__init__(text)
        # Seconds that the server asks us to wait.
        self.after = after


def retry_policy(limits: DownloadLimits) -> Retry:
    """How many attempts to make, with which pauses, and after which statuses."""
    # urllib3 retries once without a pause and then waits factor * 2, factor * 4 and so on.
    return Retry(
        total=limits.attempts - 1,
        backoff_factor=limits.pause / 2,
        backoff_jitter=limits.pause / 2,
        backoff_max=MAX_PAUSE,
        status_forcelist=RETRY_STATUSES,
    )


def next_attempt(policy: Retry, failure: TryAgain) -> tuple[Retry, float] | None:
    """The policy after a failure and the seconds to wait before the next attempt; None to give up."""
    if failure.after is not None and failure.after > MAX_PAUSE:
        return None
    try:
        policy = policy.increment("GET", error=failure)
    except MaxRetryError:
        return None
    return policy, max(failure.after or 0.0, policy.get_backoff_time())


def retry_after(text: str) -> float | None:
    """The seconds that a Retry-After header asks for, as a number or a date; None if it makes no sense."""
    try:
        return Retry().parse_retry_after(text)
    except (InvalidHeader, ValueError, OverflowError):
        return None


class Abandoned(Exception):
    """The caller has stopped waiting for the result."""


def run_within(seconds: float, work: Callable[[threading.Event], T]) -> T:
    """What `work` returns, or TimeoutError after `seconds`.

    Work may block anywhere (in a DNS lookup, a handshake, a trickle of bytes), and the timeout of a socket starts
    again with every byte. So it runs in a thread of its own, which is abandoned when time is up. The event that is
    passed to `work` is then set, and it should end soon; its result is ignored.
    """
    abandoned, results, errors = threading.Event(), list[T](), list[BaseException]()

    def run() -> None:
        try:
            results.append(work(abandoned))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="download", daemon=True)
    thread.start()
    try:
        thread.join(seconds)
    finally:
        abandoned.set()
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError
    return results[0]


def with_retries(
    name: str,
    limits: DownloadLimits,
    attempt: Callable[[threading.Event], T],
    progress: Callable[[], int] = lambda: 0,
) -> T:
    """What an attempt returns, made until one succeeds, there is no point in trying again, or time is up.

    `name` is for messages, `progress` how much has been transferred.
    """

    def work(abandoned: threading.Event) -> T:
        policy = retry_policy(limits)
        while True:
            before = progress()
            try:
                return attempt(abandoned)
            except TryAgain as failure:
                # A transfer that makes progress may continue, however often the connection breaks.
                if progress() > before:
                    policy = retry_policy(limits)
                after = next_attempt(policy, failure)
                if after is None:
                    raise Unreachable(f"{name}: {failure}") from None
                policy, pause = after
                if abandoned.wait(pause):
                    raise Abandoned from None

    try:
        return run_within(limits.seconds, work)
    except TimeoutError:
        raise Unreachable(f"{name}: not finished after {limits.seconds:g} s; {limits.slow_remedy}") from None


@contextmanager
def request_errors(name: str) -> Iterator[None]:
    """Within it, what goes wrong with a request is a reason to try again, or a DataError about the named file."""
    try:
        yield
    except requests.exceptions.SSLError as error:
        raise DataError(f"{name}: {encryption_reason(error)}") from None
    except requests.Timeout:
        raise TryAgain("no answer in time") from None
    except requests.ConnectionError as error:
        raise TryAgain(connection_reason(error)) from None
    except (requests.RequestException, ValueError) as error:
        raise DataError(f"{name}: {first_line(error)}") from None


def connection_reason(error: requests.ConnectionError) -> str:
    """Why there is no connection, in the words of the operating system if it gives a reason."""
    cause: BaseException | None = error
    seen: list[BaseException] = []
    while cause is not None and cause not in seen:
        seen.append(cause)
        if isinstance(cause, OSError) and not isinstance(cause, requests.RequestException) and cause.strerror:
            return f"cannot connect: {cause.strerror}"
        cause = _inner_cause(cause)
    return "cannot connect"


def _inner_cause(error: BaseException) -> BaseException | None:
    """The cause of an error; urllib3 stores it as an attribute or as an argument."""
    inner = getattr(error, "reason", None)
    if isinstance(inner, BaseException):
        return inner
    in_args = next((arg for arg in error.args if isinstance(arg, BaseException)), None)
    return error.__cause__ or error.__context__ or in_args


def encryption_reason(error: requests.exceptions.SSLError) -> str:
    """Why there is no encrypted connection."""
    text, mark, _ = str(error).partition(" (_ssl")
    match = re.search(r"\[SSL: (\w+)\] (.*)", text, re.DOTALL) if mark else None
    if match and match[1] == "CERTIFICATE_VERIFY_FAILED":
        return f"the server's certificate is not valid: {match[2].removeprefix('certificate verify failed: ')}"
    return f"no encrypted connection: {match[2] if match else first_line(error)}"


def first_line(error: BaseException) -> str:
    """The first line of an error's text, which may have several."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


MAX_REDIRECTS = 5
BLOCK = 1 << 16


def download(request: DownloadRequest, target: Path) -> Download:
    """Download to `target`; returns the known copy instead if the server says that it is current.

    If the hash is known, a partial file in `target` is continued, and it stays there if the download is interrupted.
    Otherwise every attempt starts from the beginning. A DataError says why the download failed, or that the content
    is wrong.
    """
    resumed = _partial_size(request, target) > 0
    result = _download(request, target)
    if not request.sha256:
        return result
    try:
        _check_content(request, result)
    except DataError:
        target.unlink(missing_ok=True)
        if not resumed:
            raise
        # The partial file may have been wrong, so start from the beginning.
        return download(request, target)
    return result


def _check_content(request: DownloadRequest, result: Download) -> None:
    if request.size is not None and result.size != request.size:
        text = f"{result.size:,} bytes, {request.stated_by} says {request.size:,}; try again"
        raise DataError(f"{request.name}: {text}")
    if result.sha256 != request.sha256:
        text = f"sha256 is {result.sha256}, {request.stated_by} says {request.sha256}; not the expected content"
        raise DataError(f"{request.name}: {text}")


def _download(request: DownloadRequest, target: Path) -> Download:
    start = parse(request.url)
    if is_offline():
        raise Unreachable(f"{request.name}: not downloaded, because of --offline or HATE_OFFLINE")
    return with_retries(
        request.name,
        request.limits,
        lambda abandoned: _Transfer(request, target, abandoned).attempt(start),
        lambda: _partial_size(request, target),
    )


def _partial_size(request: DownloadRequest, target: Path) -> int:
    """How many bytes are here already and need not be requested."""
    try:
        return target.stat().st_size if request.resumable else 0
    except OSError:
        return 0


class _Session(requests.Session):
    """Ignores redirects. The library reads the bodies of redirects, however large, even if told not to follow them."""

    def __init__(self) -> None:
        super().__init__()
        # Credentials come from the address alone: without this, the library would send those of ~/.netrc to whatever
        # host a script or a redirect names.
        self.auth = lambda request: request

    def resolve_redirects(self, *_: Any, **__: Any) -> Iterator[Any]:
        return iter(())


@dataclass(frozen=True)
class _Transfer:
    """A download in progress, in a thread of its own."""

    request: DownloadRequest
    target: Path
    # Set when the caller has stopped waiting.
    abandoned: threading.Event

    def attempt(self, start: Address) -> Download:
        """One attempt: follow redirects by hand, then handle the response."""
        address = start
        with _Session() as session:
            for _ in range(MAX_REDIRECTS + 1):
                with self._get(session, address) as response:
                    if not response.is_redirect:
                        return self._handle(response)
                    address = redirected(address, response.headers["Location"])
        raise DataError(f"{self.request.name}: more than {MAX_REDIRECTS} redirects, the last to {masked(address.url)}")

    def _get(self, session: requests.Session, address: Address) -> requests.Response:
        limits, partial_size = self.request.limits, _partial_size(self.request, self.target)
        encoding = "gzip" if self.request.compressed else "identity"
        part = {"Range": f"bytes={partial_size}-"} if partial_size else {}
        with request_errors(self.request.name):
            return session.get(
                address.url,
                headers={"User-Agent": f"hate/{__version__}", "Accept-Encoding": encoding}
                | part
                | self.request.conditions,
                auth=address.credentials,
                allow_redirects=False,
                stream=True,
                timeout=(limits.connect_seconds, limits.silent_seconds),
            )

    def _handle(self, response: requests.Response) -> Download:
        """Act on the response's status; save the body if it is the file."""
        status = response.status_code
        if status == HTTPStatus.NOT_MODIFIED and self.request.known is not None and self.request.conditions:
            return self.request.known
        partial_size = _partial_size(self.request, self.target)
        # Whether a partial response begins where the partial file ends.
        content_range = response.headers.get("Content-Range", "").strip()
        continues = partial_size > 0 and content_range.startswith(f"bytes {partial_size}-")
        if status == HTTPStatus.OK or (status == HTTPStatus.PARTIAL_CONTENT and continues):
            start = 0 if status == HTTPStatus.OK else partial_size
            return ResponseBody(self.request, response, start, self.abandoned).save(self.target)
        text = f"HTTP {status} {response.reason or ''}".rstrip()
        if partial_size and status in (HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE):
            self.target.unlink(missing_ok=True)
            raise TryAgain(f"{text}, not the part that was requested")
        if retry_policy(self.request.limits).is_retry("GET", status):
            raise TryAgain(text, after=retry_after(response.headers.get("Retry-After", "")))
        raise DataError(f"{self.request.name}: {text}")


@dataclass(frozen=True)
class ResponseBody:
    """A response whose body is the requested file, or the rest of it after the first `start` bytes."""

    request: DownloadRequest
    response: requests.Response
    start: int
    # Set when the caller has stopped waiting.
    abandoned: threading.Event

    def save(self, target: Path) -> Download:
        """Write the body to a file, after the first `start` bytes."""
        digest, done = hashlib.sha256(), self.start
        try:
            with target.open("r+b" if self.start else "wb") as file:
                left = self.start
                while left and (block := file.read(min(left, 1 << 20))):
                    digest.update(block)
                    left -= len(block)
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
        raise DataError(f"{self.request.name}: sent as '{encoding}', which was not requested")

    def _reported(self) -> Iterator[bytes]:
        """The bytes as sent; progress is reported to the listener."""
        listener = progress_listener()
        if listener is None:
            yield from self._raw()
            return
        content_length, name = self._content_length(), self.request.label or self.request.name
        listener.begin(name, None if content_length is None else self.start + content_length, self.start)
        try:
            for block in self._raw():
                listener.advance(name, len(block))
                yield block
        finally:
            listener.end(name)

    def _raw(self) -> Iterator[bytes]:
        """The bytes as sent, exactly as many as the server announced."""
        expected = self._content_length()
        self._check_size(self.start + (expected or 0))
        done, broken = 0, False
        try:
            while block := self.response.raw.read(BLOCK, decode_content=False):
                if self.abandoned.is_set():
                    raise Abandoned
                done += len(block)
                self._check_size(self.start + done)
                yield block
        except (HTTPError, OSError, ValueError):  # ValueError: a negative size of a chunk
            broken = True
        if expected is not None and done < expected:
            raise TryAgain(f"the body ends after {done:,} of {expected:,} bytes; try again")
        if broken:
            raise TryAgain(f"the connection broke after {done:,} bytes; try again")

    def _content_length(self) -> int | None:
        text = self.response.headers.get("Content-Length", "")
        return int(text) if text.isdecimal() and len(text) < 20 else None

    def _check_size(self, size: int) -> None:
        limits = self.request.limits
        if size > limits.size:
            raise DataError(f"{self.request.name}: larger than {limits.size:,} bytes; {limits.large_remedy}")
