"""[http]: a service that gets a case as JSON by POST and answers with JSON."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from time import perf_counter
from typing import Any

import msgspec

from harness.errors import InterfaceError
from harness.interface.contract import NO_LINKS, AlgorithmLinks, Interface, Session, Setup
from harness.interface.http_connection import CONNECT_SECONDS, LARGEST_ANSWER, Connection, Late
from harness.interface.interrupts import check_interrupt
from harness.model import ErrorKind, Question, Reply
from harness.params import Param

_SECRET = re.compile(r"\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
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
        session = HttpSession(self, setup)
        try:
            session.connect()
        except (OSError, HTTPException) as error:
            session.close()
            reason = getattr(error, "strerror", None) or error
            raise InterfaceError(f"{self.url}: {reason}; is the service running?") from None
        return session

    def isolated(self) -> Interface:
        """A service already runs in its own process."""
        return self


class HttpSession:
    """One connection, kept open."""

    def __init__(self, interface: HttpInterface, setup: Setup) -> None:
        self._url = interface.url
        self._setup = setup
        # Only what the interface says: no password that ~/.netrc has for the host, no cookies.
        headers = {name: _fill_in_secrets(text, name) for name, text in interface.headers.items()}
        self._connection = Connection(interface.url, headers, setup.timeout)

    def connect(self) -> None:
        """Open the connection."""
        self._connection.open()

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """One request after the other."""
        for question in questions:
            check_interrupt()
            start = perf_counter()
            raw, kind, message = self._ask(question)
            yield Reply(question, raw, kind, message, perf_counter() - start)

    def _ask(self, question: Question) -> HttpReply:
        body = {"id": question.id, "input": question.input, "params": dict(self._setup.params)}
        body |= {"expect": question.expect} if question.expect else {}
        body |= {"columns": question.columns} if question.columns else {}
        body |= {"repeat": question.repeat} if question.repeat > 1 else {}
        try:
            answer = self._connection.post(msgspec.json.encode(body))
        except Late:
            return None, ErrorKind.TIMEOUT, f"no answer in {self._setup.timeout:g} s"
        except TimeoutError:  # reading has no time limit of its own
            limit = min(CONNECT_SECONDS, self._setup.timeout or CONNECT_SECONDS)
            return None, ErrorKind.TIMEOUT, f"no connection in {limit:g} s"
        except (HTTPException, OSError, ValueError) as error:
            return None, ErrorKind.INTERFACE, f"{self._url}: {_reason(error)}"
        if answer.status != 200:
            words = " ".join(answer.content[:200].decode(errors="replace").split())
            return None, ErrorKind.CRASH, f"HTTP {answer.status} {answer.reason}: {words}"
        return _read(answer.content)

    def close(self) -> None:
        """Close the connection."""
        self._connection.end()


def _reason(error: BaseException) -> str:
    """The system's message: that of the innermost of the nested errors."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


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
        if "answer" in raw and "values" not in raw:
            raw = raw["answer"]
    return raw, None, ""


def _fill_in_secrets(text: str, name: str) -> str:
    """A header with its secrets filled in from the environment, to keep them out of files."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise InterfaceError(f"http.headers.{name}: environment variable {match[1]} is not set")
        return os.environ[match[1]]

    return _SECRET.sub(value, text)
