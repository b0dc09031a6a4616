"""One kept-alive HTTP connection, with a limit on the time and on the size of an answer."""

import contextlib
import os
import re
import select
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from math import inf
from time import perf_counter
from typing import NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit

from harness.errors import InterfaceError

CONNECT_SECONDS = 10.0
LARGEST_ANSWER = 16 << 20
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[^\0\r\n]*")
# What `requests` leaves as it is in an address.
_SAFE = "!#$%&'()*+,/:;=?@[]~"


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
        if self._connection is not None and _is_readable(self._connection.sock):
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
        """End the thread."""
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


def _is_readable(sock: socket.socket) -> bool:
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def _exchange(sock: socket.socket, request: bytes) -> tuple[HttpAnswer, bool]:
    """Send a request and read its response; whether the connection can be used again."""
    sock.sendall(request)
    with contextlib.closing(HTTPResponse(sock, method="POST")) as response:
        response.begin()
        answer = HttpAnswer(response.status, response.reason, _content(response))
        return answer, response.isclosed() and not response.will_close


def _content(response: HTTPResponse) -> bytes:
    """The body, up to a little more than the limit; an IncompleteRead if it breaks off."""
    if response.length is not None and response.length <= LARGEST_ANSWER:
        return response.read()
    content = response.read(LARGEST_ANSWER + 1)
    if response.length and len(content) <= LARGEST_ANSWER:
        raise IncompleteRead(content)
    return content


def _is_secure(parts: SplitResult) -> bool:
    return parts.scheme == "https"


def _environment(url: str, parts: SplitResult) -> tuple[SplitResult | None, str | None]:
    """The proxy and the file of certificates that the environment asks for, as `requests` understands it."""
    if not _is_secure(parts) and not any(name.lower().endswith("_proxy") for name in os.environ):
        return None, None
    from requests import Session  # slow to import, and seldom needed
    from requests.utils import DEFAULT_CA_BUNDLE_PATH, select_proxy

    found = Session().merge_environment_settings(url, {}, None, None, None)
    address = select_proxy(url, found["proxies"])
    proxy = None if address is None else urlsplit(address if "://" in address else f"http://{address}")
    if proxy is not None and (proxy.scheme != "http" or not proxy.hostname):
        raise InterfaceError(f"{url}: the proxy of the environment is not http://...; set NO_PROXY={parts.hostname}")
    return proxy, found["verify"] if isinstance(found["verify"], str) else DEFAULT_CA_BUNDLE_PATH


def _proxy_authorization(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    words = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {b64encode(words).decode('ascii')}"}


def _head(parts: SplitResult, headers: Mapping[str, str], proxy: SplitResult | None) -> bytes:
    """The request up to the length of its body."""
    host = (parts.hostname or "").encode("idna").decode()
    host = f"[{host}]" if ":" in host else host
    place = host if parts.port is None else f"{host}:{parts.port}"
    path = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_SAFE)
    sent = {"host": ("Host", place), "user-agent": ("User-Agent", "hate"), "accept": ("Accept", "*/*")}
    # A compressed answer could be larger than it looks.
    sent["accept-encoding"] = ("Accept-Encoding", "identity")
    sent |= {name.lower(): (name, value) for name, value in headers.items()}
    sent["content-type"] = ("Content-Type", "application/json")
    sent.pop("content-length", None)
    if proxy is not None and not _is_secure(parts):
        path = f"http://{place}{path}"
        sent |= {name.lower(): (name, value) for name, value in _proxy_authorization(proxy).items()}
    lines = [f"POST {path} HTTP/1.1", *(_header(name, value) for name, value in sent.values()), ""]
    return "\r\n".join(lines).encode("latin-1")


def _header(name: str, value: str) -> str:
    valid = _HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)
    if not valid or any(ord(character) > 255 for character in value):
        raise InterfaceError(f"http.headers.{name}: not a header; a value is one line of Latin-1 text")
    return f"{name}: {value}"
