"""[http]: a service that takes a case as JSON by POST and answers with JSON."""

import os
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import msgspec
import requests

from harness.errors import InterfaceError
from harness.interface.contract import Interface, Session, Setting
from harness.model import ErrorKind, Question, Reply
from harness.params import Param

_SECRET = re.compile(r"\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
LARGEST_ANSWER = 16 << 20
CONNECT_SECONDS = 10.0


@dataclass(frozen=True)
class HttpInterface:
    """A service somewhere."""

    name: str
    version: str
    sha256: str
    params: Mapping[str, Param]
    url: str
    headers: Mapping[str, str]
    kind: str = "http"

    def open(self, setting: Setting) -> Session:
        """A connection to the service, which must be there."""
        parts = urlsplit(self.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            socket.create_connection((parts.hostname or "", port), CONNECT_SECONDS).close()
        except OSError as error:
            raise InterfaceError(f"{self.url}: {error.strerror or error}; is the service running?") from None
        return HttpSession(self, setting)

    def isolated(self) -> Interface:
        """It is elsewhere already."""
        return self


class HttpSession:
    """One connection, kept open."""

    def __init__(self, interface: HttpInterface, setting: Setting) -> None:
        self._url = interface.url
        self._setting = setting
        self._session = requests.Session()
        self._session.headers.update({name: _reveal(text, name) for name, text in interface.headers.items()})
        self._session.headers["Content-Type"] = "application/json"
        self._session.max_redirects = 0

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """One request after the other."""
        for question in questions:
            start = perf_counter()
            raw, kind, message = self._ask(question)
            yield Reply(question, raw, kind, message, perf_counter() - start)

    def _ask(self, question: Question) -> tuple[Any, ErrorKind | None, str]:
        body = {"id": question.id, "input": question.input, "params": dict(self._setting.params)}
        body |= {"expect": question.expect} if question.expect else {}
        body |= {"columns": question.columns} if question.columns else {}
        body |= {"repeat": question.repeat} if question.repeat > 1 else {}
        deadline = None if self._setting.timeout is None else perf_counter() + self._setting.timeout
        try:
            with self._session.post(
                self._url,
                data=msgspec.json.encode(body),
                timeout=(CONNECT_SECONDS, self._setting.timeout),
                stream=True,
                allow_redirects=False,
            ) as response:
                content = _content(response, deadline)
        except (requests.Timeout, TimeoutError):
            return None, ErrorKind.TIMEOUT, f"no answer in {self._setting.timeout or CONNECT_SECONDS:g} s"
        except requests.RequestException as error:
            return None, ErrorKind.INTERFACE, f"{self._url}: {type(error).__name__}"
        if response.status_code != 200:
            words = " ".join(content[:200].decode(errors="replace").split())
            return None, ErrorKind.CRASH, f"HTTP {response.status_code} {response.reason}: {words}"
        return _read(content)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()


def _content(response: requests.Response, deadline: float | None) -> bytes:
    """The body, up to a limit in size and, since a server can dribble for ever, in time."""
    content = b""
    for block in response.iter_content(1 << 16):
        content += block
        if len(content) > LARGEST_ANSWER:
            break
        if deadline is not None and perf_counter() > deadline:
            raise TimeoutError
    return content


def _read(content: bytes) -> tuple[Any, ErrorKind | None, str]:
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


def _reveal(text: str, name: str) -> str:
    """A header with secrets from the environment, so that none stands in a file."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in os.environ:
            raise InterfaceError(f"http.headers.{name}: environment variable {found[1]} is not set")
        return os.environ[found[1]]

    return _SECRET.sub(value, text)
