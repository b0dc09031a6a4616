"""When to retry a download, how long it may take, and why an attempt failed."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import requests
from urllib3 import Retry
from urllib3.exceptions import InvalidHeader, MaxRetryError

from harness.errors import DataError
from harness.site.request import DownloadLimits

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
    said, where, _ = str(error).partition(" (_ssl")
    match = re.search(r"\[SSL: (\w+)\] (.*)", said, re.DOTALL) if where else None
    if match and match[1] == "CERTIFICATE_VERIFY_FAILED":
        return f"the server's certificate is not valid: {match[2].removeprefix('certificate verify failed: ')}"
    return f"no encrypted connection: {match[2] if match else first_line(error)}"


def first_line(error: BaseException) -> str:
    """The first line of an error's text, which may have several."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
