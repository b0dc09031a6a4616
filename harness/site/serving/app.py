"""The application: which address is what, the headers that all answers have, and how errors look."""

import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from harness.errors import HateError
from harness.report.text import safe
from harness.site.layout import TOP
from harness.site.serving.pages import Pages
from harness.site.serving.render import TEMPLATES, render_page
from harness.site.serving.site import Site
from harness.site.serving.static import StaticFiles
from harness.site.serving.submission import Door

_log = logging.getLogger("hate")
# No script at all, nothing from elsewhere, no frame around us.
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def make_app(root: Path, door: Door | None = None) -> ASGIApp:
    """A site's folder as an application; with a door, transcripts can be submitted."""
    files, pages = StaticFiles(root), Pages(Site(root))
    routes = [
        Route(f"/{TOP}", files.top),
        Route("/index/{shard}/{name}", files.named),
        Route("/files/{shard}/{name}", files.named),
        Route("/signatures/{name}", files.named),
        Route("/", pages.tests),
        Route("/tests/{test}", pages.test),
        Route("/transcripts/{test}/{name}", pages.transcript),
        Route("/compare/{test}", pages.comparison),
        Route("/-/style.css", _asset("style.css", "text/css")),
        Route("/-/icon.svg", _asset("icon.svg", "image/svg+xml")),
    ]
    if door is not None:
        routes.append(Route("/transcripts/{test}/{name}", door.submit, methods=["PUT"]))
    handlers = {HTTPException: _http_error, HateError: _damaged, Exception: _unforeseen}
    return _with_headers(Starlette(routes=routes, exception_handlers=handlers))


def _asset(name: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return FileResponse(TEMPLATES / name, media_type=media_type, headers={"cache-control": "max-age=3600"})

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
    """The files are not what the indexes say: for the owner's eyes."""
    _log.error("%s: %s", request.url.path, safe(str(error)))
    return _error(request, 500, "Internal Server Error", "The site is damaged. Its owner can see how in the log.", {})


async def _unforeseen(request: Request, error: Exception) -> Response:
    """What went wrong is in the log, and nobody else's business."""
    return _error(request, 500, "Internal Server Error", "Something went wrong here. It is in the log.", {})


def _error(request: Request, status: int, phrase: str, text: str, headers: dict[str, str]) -> Response:
    headers = {"cache-control": "no-store"} | headers
    if "text/html" in request.headers.get("accept", ""):
        page = render_page("error.html", title=phrase, text=text)
        return Response(page, status, headers, "text/html; charset=utf-8")
    return PlainTextResponse(f"{text or phrase}\n", status, headers)
