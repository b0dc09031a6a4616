"""Pages for people: rendered here, kept while nothing changes, the same without JavaScript."""

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from harness import __version__
from harness.site.serving.conditions import takes_gzip, unchanged
from harness.site.serving.shown import ShownTests, shown_comparison, shown_test, shown_transcript
from harness.site.serving.site import Site, State
from harness.site.serving.stock import Stock

ROOM = 64 << 20
# Comparing takes a core each; whoever comes when so many wait already is asked to come again.
MOST_AT_ONCE = 2
MOST_WAITING = 50
LONGEST_QUERY = 4096
Make = Callable[[State], str]


class Pages:
    """All pages of a site."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._pages = Stock(ROOM)
        self._parts = Stock(ROOM)
        self._workers = CapacityLimiter(MOST_AT_ONCE)
        # A page made by another version of this program is another page.
        self._salt = f"{__version__}\0{_looks()}"

    async def tests(self, request: Request) -> Response:
        """All tests, or those that have the words asked for."""
        wish = ShownTests(request.query_params.get("q", "")[:100], _number(request.query_params.get("page", "1")))
        return await self._page(request, lambda state: wish.page(self._site, state))

    async def test(self, request: Request) -> Response:
        """One test and its ranking."""
        return await self._page(request, lambda state: shown_test(state, request.path_params["test"], self._parts))

    async def transcript(self, request: Request) -> Response:
        """One transcript."""
        test, name = request.path_params["test"], request.path_params["name"]
        return await self._page(request, lambda state: shown_transcript(state, test, name, self._parts))

    async def comparison(self, request: Request) -> Response:
        """The transcripts that were chosen."""
        test, names = request.path_params["test"], request.query_params.getlist("t")
        return await self._page(request, lambda state: shown_comparison(state, test, names, self._parts))

    async def _page(self, request: Request, make: Make) -> Response:
        if len(request.url.query) > LONGEST_QUERY:
            raise HTTPException(414)
        state = self._site.state()
        asked = f"{self._salt}\0{state.sha256}\0{request.url.path}\0{request.url.query}"
        etag = f'W/"{hashlib.sha256(asked.encode()).hexdigest()[:32]}"'
        headers = {"etag": etag, "cache-control": "no-cache", "vary": "Accept-Encoding"}
        if unchanged(request.headers, etag, float("inf")):
            return Response(status_code=304, headers=headers)
        if packed := takes_gzip(request.headers):
            headers["content-encoding"] = "gzip"
        kept = self._pages.get((etag, packed))
        body = await self._made(etag, packed, lambda: make(state)) if kept is None else kept
        return Response(body, headers=headers, media_type="text/html; charset=utf-8")

    async def _made(self, etag: str, packed: bool, make: Callable[[], str]) -> bytes:
        if self._workers.statistics().tasks_waiting >= MOST_WAITING:
            raise HTTPException(503, "Busy; try again in a moment.", {"retry-after": "5"})

        def work() -> bytes:
            plain = self._pages.made((etag, False), lambda: make().encode())
            return self._pages.made((etag, True), lambda: gzip.compress(plain, 6, mtime=0)) if packed else plain

        return await to_thread.run_sync(work, limiter=self._workers)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1


def _looks() -> str:
    """Of templates and style, which may change without the version."""
    folder = Path(__file__).parent / "templates"
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.iterdir()))).hexdigest()
