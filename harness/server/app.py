"""The web application of a site, and the server that runs it."""

import contextlib
import logging
import math
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Self

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from harness.errors import HateError, UsageError
from harness.report.text import safe
from harness.server.connections import ConnectionLimits, guarded_protocol, parse_proxies
from harness.server.database import Database
from harness.server.files import StaticFiles
from harness.server.links import UNKNOWN_ADDRESS, Links
from harness.server.pages import Pages
from harness.server.render import ASSET_TYPES, ASSETS, render_page
from harness.server.state import ServedSite
from harness.server.submissions import SubmissionLimits, Submissions
from harness.site.blind import private_folder
from harness.site.layout import TOP
from harness.site.publish import root_chain
from harness.site.signing import read_key
from harness.site.sites import open_folder

_log = logging.getLogger("hate")
# No scripts, nothing from other servers, no embedding in frames.
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
# How long downloads may continue after the server has been told to stop.
GRACE_SECONDS = 10
MAX_FILES = 8192
_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def make_app(
    root: Path, submissions: Submissions | None = None, private: Path | None = None, address: str = UNKNOWN_ADDRESS
) -> ASGIApp:
    """The application that serves a site's folder, and accepts submissions if they are enabled."""
    links = Links(address=address, submissions=submissions is not None)
    files, pages = StaticFiles(root), Pages(ServedSite(root, private), links)
    routes = [
        Route(f"/{TOP}", files.top),
        Route("/index/{shard}/{name}", files.named),
        Route("/files/{shard}/{name}", files.named),
        Route("/signatures/{name}", files.named),
        Route("/", pages.tests),
        Route("/tests/{test}", pages.test),
        Route("/transcripts/{test}/{name}", pages.transcript),
        Route("/compare/{test}", pages.comparison),
        Route("/data/{test}/{file}", pages.data),
        *(Route(f"/-/{name}", _asset(path, ASSET_TYPES[path.suffix])) for name, path in ASSETS.items()),
    ]
    if submissions is not None:
        routes.append(Route("/transcripts/{test}/{name}", submissions.submit, methods=["PUT"]))
    handlers = {HTTPException: _http_error, HateError: _damaged, Exception: _unexpected}
    app = Starlette(routes=routes, exception_handlers=handlers)
    # A redirect would lead to whatever host the client named.
    app.router.redirect_slashes = False
    return _with_headers(app)


def _asset(path: Path, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return FileResponse(path, media_type=media_type, headers={"cache-control": "max-age=3600"})

    return serve


def _with_headers(app: ASGIApp) -> ASGIApp:
    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_RAW_HEADERS]
            await send(message)

        await app(scope, receive, send_with if scope["type"] == "http" else send)

    return wrapped


async def _http_error(request: Request, error: Exception) -> Response:
    """A page for a browser, a line for a program."""
    if not isinstance(error, HTTPException):
        raise error
    phrase = HTTPStatus(error.status_code).phrase
    text = "" if error.detail == phrase else error.detail
    return _error(request, error.status_code, phrase, text, dict(error.headers or {}))


async def _damaged(request: Request, error: Exception) -> Response:
    """Files do not match the indexes; the details are for the owner only."""
    _log.error("%s: %s", safe(request.scope["path"]), safe(str(error)))
    return _error(
        request, 500, "Internal Server Error", "The site is damaged. Its owner can find the details in the log.", {}
    )


async def _unexpected(request: Request, error: Exception) -> Response:
    """An error in the program; the details are in the log."""
    return _error(request, 500, "Internal Server Error", "Something went wrong. The details are in the log.", {})


def _error(request: Request, status: int, phrase: str, text: str, headers: dict[str, str]) -> Response:
    headers = {"cache-control": "no-store"} | headers
    if "text/html" in request.headers.get("accept", ""):
        page = render_page("error.html", links=Links(), title=phrase, text=text)
        return Response(page, status, headers, "text/html; charset=utf-8")
    return PlainTextResponse(f"{text or phrase}\n", status, headers)


@dataclass(frozen=True)
class ServeOptions:
    """What to serve, and who may submit."""

    root: Path
    tokens: Path | None = None
    key: Path | None = None
    limits: SubmissionLimits = field(default_factory=SubmissionLimits)
    access_log: bool = False
    # Addresses and networks of proxies whose X-Forwarded-For is believed.
    proxies: Sequence[str] = ()
    # Where the truth of blind tests is, if not beside the site's folder.
    private: Path | None = None
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    # Where people find the site, unless it says so itself.
    address: str = UNKNOWN_ADDRESS

    def submissions(self) -> Submissions | None:
        """The handler of submissions, if there are tokens; a HateError if the site or the options are wrong."""
        top = open_folder(self.root).top
        if self.tokens is None:
            return None
        database = Database(self.tokens)
        database.check()
        signer = None if self.key is None else read_key(self.key)
        chain = root_chain(self.root, top)
        allowed = [top.key] if chain is None else chain.latest.keys
        if ("" if signer is None else signer.key) not in allowed:
            signed = f"is signed by {' or '.join(allowed)}" if top.key else "is not signed"
            raise UsageError(f"{self.root}: the site {signed}; to accept transcripts, give the same key with --key")
        return Submissions(self.root, database, self.limits, signer, self.private_folder)

    @property
    def private_folder(self) -> Path:
        """Where the truth of blind tests is; a UsageError if it would be served."""
        folder = self.private or private_folder(self.root)
        if folder.resolve().is_relative_to(self.root.resolve()):
            raise UsageError(f"--private {folder}: inside the site's folder, which is published; choose another folder")
        return folder


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; a UsageError if that is impossible."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise UsageError(
            f"--host {host} --port {port}: {error.strerror or error}; choose another host or port"
        ) from None


def make_server(options: ServeOptions) -> uvicorn.Server:
    """A server that can be run on a listening socket; a HateError if the site or the options are wrong."""
    limits, proxies = options.connections, parse_proxies(options.proxies)
    config = uvicorn.Config(
        make_app(options.root, options.submissions(), options.private_folder, options.address),
        log_config=None,
        log_level="info" if options.access_log else "warning",
        access_log=options.access_log,
        server_header=False,
        lifespan="off",
        http=guarded_protocol(limits, proxies),
        ws="none",
        # Otherwise everyone on this machine could say who they are.
        proxy_headers=bool(proxies),
        forwarded_allow_ips=[str(proxy) for proxy in proxies],
        timeout_keep_alive=math.ceil(limits.request_seconds),
        timeout_graceful_shutdown=GRACE_SECONDS,
        # One more than can be open: those that make no request are closed first.
        limit_concurrency=limits.total + 1,
    )
    return uvicorn.Server(config)


def _raise_file_limit() -> None:
    """Let every connection have its files: the usual limit of 1,024 is for programs that have few."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))


class SiteServer:
    """A site that is served by a thread of this process until `stop`, or the end of a `with` block."""

    def __init__(self, folder: Path, url: str, server: uvicorn.Server, listening: socket.socket) -> None:
        self.folder = folder
        # Without a slash at the end.
        self.url = url
        self._server, self._listening = server, listening
        # Requests that come before it runs wait; a program that forgets the server can end.
        self._thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)

    def run(self) -> None:
        """Serve in this thread instead, the main one of a program that does nothing else, until a signal stops it."""
        _raise_file_limit()
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
        with self._listening:
            self._server.run(sockets=[self._listening])

    def start(self) -> Self:
        self._thread.start()
        return self

    def wait(self) -> None:
        """Wait until the server is stopped by another thread, or by Ctrl-C."""
        try:
            self._thread.join()
        finally:
            self.stop()

    def stop(self) -> None:
        """Stop serving; downloads that are under way get a few seconds to end."""
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "" if self._thread.is_alive() else ", stopped"
        return f"<SiteServer of {self.folder} at {self.url}/{state}>"
