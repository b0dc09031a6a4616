"""[http]: a service that gets a case as JSON by POST and answers with JSON, over one connection that is kept alive."""

import contextlib
import os
import re
import select
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from math import inf
from time import perf_counter
from typing import Annotated, Any, NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit

import msgspec
from pydantic import Field, field_validator

from harness.errors import InterfaceError
from harness.interface.contract import Interface, Session, Setup
from harness.interface.interrupts import check_interrupt
from harness.interface.toml import InterfaceFile, KindSection
from harness.model import ErrorKind, Question, Reply

CONNECT_SECONDS = 10.0
MAX_ANSWER_BYTES = 16 << 20
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[^\0\r\n]*")
# What `requests` leaves as it is in an address.
_SAFE = "!#$%&'()*+,/:;=?@[]~"
_SECRET = re.compile(r"\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
# The answer, or the kind of error and its message.
HttpReply = tuple[Any, ErrorKind | None, str]


class HttpSection(KindSection):
    """[http]: a service."""

    url: Annotated[str, Field(pattern=r"^https?://[^/]+")]
    headers: dict[str, str] = {}

    @field_validator("url")
    @classmethod
    def _has_host_and_port(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            # As a resolver would: "a..b" has an empty label.
            valid = (parts.hostname or "").encode("idna") and parts.port != 0
        except ValueError:
            valid = False
        if not valid:
            raise ValueError(f"'{url}' has no valid host, or an invalid port; write http://host:8000/path")
        return url

    def load(self, file: InterfaceFile) -> "HttpInterface":
        return HttpInterface(**file.described(), url=self.url, headers=self.headers)


@dataclass(frozen=True, kw_only=True)
class HttpInterface(Interface):
    """A service that is reached by HTTP."""

    kind = "http"
    is_service = True

    url: str
    headers: Mapping[str, str]

    def open(self, setup: Setup) -> Session:
        session = HttpSession(self, setup)
        try:
            session.connect()
        except (OSError, HTTPException) as error:
            session.close()
            reason = getattr(error, "strerror", None) or error
            raise InterfaceError(f"{self.url}: {reason}; is the service running?") from None
        return session


class HttpSession:
    """One connection, kept open."""

    def __init__(self, interface: HttpInterface, setup: Setup) -> None:
        self._url = interface.url
        self._setup = setup
        # Only what the interface says: no password that ~/.netrc has for the host, no cookies.
        headers = {name: _fill_in_secrets(text, name) for name, text in interface.headers.items()}
        self._connection = Connection(interface.url, headers, setup.timeout)

    def connect(self) -> None:
        self._connection.open()

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
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
            # The system's message is that of the innermost of the nested errors.
            inner: BaseException = error
            while (cause := inner.__cause__ or inner.__context__) is not None:
                inner = cause
            reason = getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
            return None, ErrorKind.INTERFACE, f"{self._url}: {reason}"
        if answer.status != 200:
            words = " ".join(answer.content[:200].decode(errors="replace").split())
            return None, ErrorKind.CRASH, f"HTTP {answer.status} {answer.reason}: {words}"
        return _read(answer.content)

    def close(self) -> None:
        self._connection.end()


def _read(content: bytes) -> HttpReply:
    if len(content) > MAX_ANSWER_BYTES:
        return None, ErrorKind.ANSWER, f"answered more than {MAX_ANSWER_BYTES >> 20} MiB"
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


class HttpAnswer(NamedTuple):
    """A response: its status, and its body up to a limit."""

    status: int
    reason: str
    content: bytes


class Late(Exception):
    """The time was up before the whole answer was there."""


class Connection:
    """Asks one question after the other; opened again if the service has closed it."""

    def __init__(self, url: str, headers: Mapping[str, str], limit: float | None) -> None:
        self._parts = urlsplit(url)
        self._proxy, self._ca_file = _environment(url, self._parts)
        self._head = _head(self._parts, headers, self._proxy)
        self._limit = limit
        self._watchdog = None if limit is None else Watchdog(limit)
        # The address at the first connection, so that no name is looked up again while time runs.
        self._address: tuple[str, int] | None = None
        self._connection: HTTPConnection | None = None

    def open(self) -> None:
        """Connect; an OSError or HTTPException if that fails."""
        host = (self._proxy or self._parts).hostname or ""
        port = (self._proxy or self._parts).port or (443 if _is_secure(self._proxy or self._parts) else 80)
        host, port = self._address or (host, port)
        seconds = CONNECT_SECONDS if self._limit is None else min(CONNECT_SECONDS, self._limit)
        if not _is_secure(self._parts):
            connection = HTTPConnection(host, port, timeout=seconds)
        else:
            context = ssl.create_default_context(cafile=self._ca_file)
            connection = _Secure(host, port, timeout=seconds, context=context)
            connection.name = self._parts.hostname or ""
            if self._proxy is not None:
                target = (connection.name, self._parts.port or 443)
                connection.set_tunnel(*target, headers=_proxy_authorization(self._proxy))
        try:
            connection.connect()
        except BaseException:
            connection.close()
            raise
        self._connection, self._address = connection, connection.sock.getpeername()[:2]
        connection.sock.settimeout(None)

    def post(self, body: bytes) -> HttpAnswer:
        """Send a body and read the answer; `Late` if the time is up before."""
        sock, watchdog = self._socket(), self._watchdog
        if watchdog is not None:
            watchdog.begin(sock)
        try:
            answer, keep = _exchange(sock, b"%sContent-Length: %d\r\n\r\n%s" % (self._head, len(body), body))
        except (OSError, HTTPException, ValueError):
            self.close()
            if watchdog is not None and watchdog.end():
                raise Late from None
            raise
        late = watchdog is not None and watchdog.end()
        if late or not keep:
            self.close()
        if late:
            raise Late
        return answer

    def _socket(self) -> socket.socket:
        """The open connection; if there is something to read before we asked, it has been closed."""
        if self._connection is not None:
            poll = select.poll()
            poll.register(self._connection.sock, select.POLLIN)
            if poll.poll(0):
                self.close()
        if self._connection is None:
            self.open()
        if self._connection is None:
            raise HTTPException("no connection")
        return self._connection.sock

    def close(self) -> None:
        """Close the connection; the next question opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def end(self) -> None:
        """Close it for good."""
        self.close()
        if self._watchdog is not None:
            self._watchdog.close()


class _Secure(HTTPSConnection):
    """Its certificate is for the name of the service, though it is reached by its address."""

    name = ""

    def connect(self) -> None:
        HTTPConnection.connect(self)
        context: ssl.SSLContext = self._context  # type: ignore[attr-defined]
        self.sock = context.wrap_socket(self.sock, server_hostname=self.name)


class Watchdog:
    """Shuts a connection down when the time is up: a server that sends byte by byte never times out a read.

    Its thread looks at least once in every limit, so a question costs it nothing.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._deadline = inf
        self._socket: socket.socket | None = None
        self._late = False
        threading.Thread(target=self._watch, daemon=True).start()

    def begin(self, sock: socket.socket) -> None:
        """The time of a question begins."""
        with self._lock:
            self._socket, self._late, self._deadline = sock, False, perf_counter() + self._limit

    def end(self) -> bool:
        """The question has been answered, or has failed; whether the time was up before."""
        with self._lock:
            self._deadline, self._socket = inf, None
            return self._late

    def close(self) -> None:
        self._over.set()

    def _watch(self) -> None:
        left = self._limit
        while not self._over.wait(min(left, self._limit)):
            with self._lock:
                left = self._deadline - perf_counter()
                if left <= 0 and self._socket is not None:
                    self._late, self._deadline, left = True, inf, self._limit
                    with contextlib.suppress(OSError):
                        self._socket.shutdown(socket.SHUT_RDWR)


def _exchange(sock: socket.socket, request: bytes) -> tuple[HttpAnswer, bool]:
    """Send a request and read its response; whether the connection can be used again.

    Of the body no more is read than a little over the limit; an IncompleteRead if it breaks off.
    """
    sock.sendall(request)
    with contextlib.closing(HTTPResponse(sock, method="POST")) as response:
        response.begin()
        if response.length is not None and response.length <= MAX_ANSWER_BYTES:
            content = response.read()
        else:
            content = response.read(MAX_ANSWER_BYTES + 1)
            if response.length and len(content) <= MAX_ANSWER_BYTES:
                raise IncompleteRead(content)
        answer = HttpAnswer(response.status, response.reason, content)
        return answer, response.isclosed() and not response.will_close


def _is_secure(parts: SplitResult) -> bool:
    return parts.scheme == "https"


def _environment(url: str, parts: SplitResult) -> tuple[SplitResult | None, str | None]:
    """The proxy and the file of certificates that the environment asks for, as `requests` understands it."""
    if not _is_secure(parts) and not any(name.lower().endswith("_proxy") for name in os.environ):
        return None, None
    from requests import Session  # slow to import, and seldom needed
    from requests.utils import DEFAULT_CA_BUNDLE_PATH, select_proxy

    settings = Session().merge_environment_settings(url, {}, None, None, None)
    address = select_proxy(url, settings["proxies"])
    proxy = None if address is None else urlsplit(address if "://" in address else f"http://{address}")
    if proxy is not None and (proxy.scheme != "http" or not proxy.hostname):
        raise InterfaceError(f"{url}: the proxy of the environment is not http://...; set NO_PROXY={parts.hostname}")
    return proxy, settings["verify"] if isinstance(settings["verify"], str) else DEFAULT_CA_BUNDLE_PATH


def _proxy_authorization(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    words = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {b64encode(words).decode('ascii')}"}


def _head(parts: SplitResult, headers: Mapping[str, str], proxy: SplitResult | None) -> bytes:
    """The request up to the length of its body."""
    host = (parts.hostname or "").encode("idna").decode()
    host = f"[{host}]" if ":" in host else host
    authority = host if parts.port is None else f"{host}:{parts.port}"
    path = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_SAFE)
    sent = {"host": ("Host", authority), "user-agent": ("User-Agent", "hate"), "accept": ("Accept", "*/*")}
    # A compressed answer could be larger than it looks.
    sent["accept-encoding"] = ("Accept-Encoding", "identity")
    sent |= {name.lower(): (name, value) for name, value in headers.items()}
    sent["content-type"] = ("Content-Type", "application/json")
    sent.pop("content-length", None)
    if proxy is not None and not _is_secure(parts):
        path = f"http://{authority}{path}"
        sent |= {name.lower(): (name, value) for name, value in _proxy_authorization(proxy).items()}
    lines = [f"POST {path} HTTP/1.1"]
    for name, value in sent.values():
        is_valid = _HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)
        if not is_valid or any(ord(character) > 255 for character in value):
            raise InterfaceError(f"http.headers.{name}: not a header; a value is one line of Latin-1 text")
        lines.append(f"{name}: {value}")
    return "\r\n".join([*lines, ""]).encode("latin-1")
