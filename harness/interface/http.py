"""[http]: a service that gets a case as JSON by POST and answers with JSON."""

import os
import queue
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import msgspec
import requests

from harness.errors import InterfaceError
from harness.interface.contract import NO_LINKS, AlgorithmLinks, Interface, Session, Setup
from harness.interface.process import next_item
from harness.model import ErrorKind, Question, Reply
from harness.params import Param

_SECRET = re.compile(r"\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
LARGEST_ANSWER = 16 << 20
CONNECT_SECONDS = 10.0
# The answer, or the kind of error and its message.
HttpReply = tuple[Any, ErrorKind | None, str]


@dataclass(frozen=True)
class HttpInterface:
    """A service that is reached by HTTP."""

    name: str
    version: str
    sha256: str
    params: Mapping[str, Param]
    url: str
    headers: Mapping[str, str]
    kind: str = "http"
    links: AlgorithmLinks = NO_LINKS
    learns: bool = False
    enrols: bool = False

    def open(self, setup: Setup) -> Session:
        """A connection to the service, which must be running."""
        parts = urlsplit(self.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            socket.create_connection((parts.hostname or "", port), CONNECT_SECONDS).close()
        except OSError as error:
            raise InterfaceError(f"{self.url}: {error.strerror or error}; is the service running?") from None
        return HttpSession(self, setup)

    def isolated(self) -> Interface:
        """A service already runs in its own process."""
        return self


class HttpSession:
    """One connection, kept open."""

    def __init__(self, interface: HttpInterface, setup: Setup) -> None:
        self._url = interface.url
        self._setup = setup
        self._headers = {name: _fill_in_secrets(text, name) for name, text in interface.headers.items()}
        self._session = self._connect()

    def _connect(self) -> requests.Session:
        session = requests.Session()
        # Only what the interface says: without this, the library would add the password that ~/.netrc has for the host.
        session.auth = lambda request: request
        session.headers.update(self._headers)
        session.headers["Content-Type"] = "application/json"
        return session

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """One request after the other."""
        for question in questions:
            start = perf_counter()
            limit = self._setup.timeout
            raw, kind, message = (
                self._ask(self._session, question) if limit is None else self._ask_in_time(question, limit)
            )
            yield Reply(question, raw, kind, message, perf_counter() - start)

    def _ask_in_time(self, question: Question, limit: float) -> HttpReply:
        """Ask in a thread that can be abandoned: a server that sends byte by byte never times out a read."""
        replies: queue.SimpleQueue[HttpReply] = queue.SimpleQueue()
        session = self._session

        def ask() -> None:
            replies.put(self._ask(session, question))
            if session is not self._session:
                session.close()

        threading.Thread(target=ask, daemon=True).start()
        try:
            return next_item(replies, limit)
        except queue.Empty:
            self._session = self._connect()
            return None, ErrorKind.TIMEOUT, f"no answer in {limit:g} s"

    def _ask(self, session: requests.Session, question: Question) -> HttpReply:
        body = {"id": question.id, "input": question.input, "params": dict(self._setup.params)}
        body |= {"expect": question.expect} if question.expect else {}
        body |= {"columns": question.columns} if question.columns else {}
        body |= {"repeat": question.repeat} if question.repeat > 1 else {}
        # A read that takes far longer belongs to an abandoned request, which must end at some time.
        read_timeout = None if self._setup.timeout is None else 2 * self._setup.timeout + 1
        try:
            with session.post(
                self._url,
                data=msgspec.json.encode(body),
                timeout=(CONNECT_SECONDS, read_timeout),
                stream=True,
                allow_redirects=False,
            ) as response:
                content = _content(response)
        except requests.Timeout:
            return None, ErrorKind.TIMEOUT, f"no connection in {CONNECT_SECONDS:g} s"
        except (requests.RequestException, HTTPException, OSError, ValueError) as error:
            return None, ErrorKind.INTERFACE, f"{self._url}: {_reason(error)}"
        if response.status_code != 200:
            words = " ".join(content[:200].decode(errors="replace").split())
            return None, ErrorKind.CRASH, f"HTTP {response.status_code} {response.reason}: {words}"
        return _read(content)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()


def _reason(error: BaseException) -> str:
    """The system's message: that of the innermost of the nested errors."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _content(response: requests.Response) -> bytes:
    """The body, up to a limit."""
    content = b""
    for block in response.iter_content(1 << 16):
        content += block
        if len(content) > LARGEST_ANSWER:
            break
    return content


def _read(content: bytes) -> HttpReply:
    if len(content) > LARGEST_ANSWER:
        return None, ErrorKind.ANSWER, f"answered more than {LARGEST_ANSWER >> 20} MiB"
    try:
        raw = msgspec.json.decode(content) if content.strip() else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None, ErrorKind.ANSWER, f"answered {content[:60].decode(errors='replace')!r}, which is not JSON"
    if isinstance(raw, dict):
        if (error := raw.get("error")) is not None:
            return None, ErrorKind.CRASH, str(error)
        raw = raw.get("answer", raw)
    return raw, None, ""


def _fill_in_secrets(text: str, name: str) -> str:
    """A header with its secrets filled in from the environment, to keep them out of files."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise InterfaceError(f"http.headers.{name}: environment variable {match[1]} is not set")
        return os.environ[match[1]]

    return _SECRET.sub(value, text)
