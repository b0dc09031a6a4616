"""Real web servers on the loopback interface, with pages defined by each test."""

import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Page = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Passes each request to the page of its path."""

    server: "Server"

    def do_GET(self) -> None:
        self.server.seen.append((self.path, dict(self.headers)))
        page = self.server.pages.get(self.path.partition("?")[0])
        if page is None:
            self.send_error(404)
        else:
            page(self)

    def answer(self, body: bytes = b"", status: int = 200, **headers: str) -> None:
        self.send_response(status)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in ({"Content-Length": str(len(body))} | named).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class
        """Print nothing."""


class Server(ThreadingHTTPServer):
    """Pages by path, and the requests so far."""

    daemon_threads = True

    def __init__(self, pages: dict[str, Page]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages = pages
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.scheme = "http"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: in some tests the client disconnects."""

    def url(self, path: str, user: str = "") -> str:
        return f"{self.scheme}://{user}127.0.0.1:{self.server_address[1]}{path}"

    def requests_for(self, path: str) -> list[dict[str, str]]:
        return [headers for seen, headers in self.seen if seen == path]


@contextmanager
def serving(pages: dict[str, Page], certificate: Path | None = None) -> Iterator[Server]:
    """A running server."""
    with Server(pages) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            server.scheme = "https"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def body(content: bytes, **headers: str) -> Page:
    """A page with constant content."""
    return lambda handler: handler.answer(content, 200, **headers)


def redirect(location: str, status: int = 302) -> Page:
    return lambda handler: handler.answer(status=status, Location=location)


def in_turn(*pages: Page) -> Page:
    """A different page for each request; the last is repeated."""
    remaining = list(pages)

    def page(handler: Handler) -> None:
        (remaining.pop(0) if len(remaining) > 1 else remaining[0])(handler)

    return page


def self_signed(folder: Path) -> Path:
    """Key and certificate for 127.0.0.1 in one file."""
    target = folder / "server.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    target.write_bytes((folder / "key.pem").read_bytes() + (folder / "cert.pem").read_bytes())
    return target
