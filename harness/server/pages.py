"""The pages of a site: rendered without JavaScript, and cached in memory until the site changes."""

import gzip
import hashlib
from collections.abc import Callable

from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from harness import __version__
from harness.files.caches import MemoryCache, memory_of
from harness.server.files import accepts_gzip, is_unchanged
from harness.server.front_page import TestQuery, render_test_list
from harness.server.links import Links
from harness.server.ranking_page import PAGE_DATA, ranking_data, render_test_page
from harness.server.render import PageError, PageSite, template_hash
from harness.server.state import ServedSite, SiteState
from harness.server.transcript_pages import render_comparison_page, render_transcript_page

PAGE_CACHE_SIZE = 64 << 20
# Each comparison takes up a core; if too many are waiting, a client is asked to try again later.
WORKERS = 2
MAX_WAITING = 50
MAX_QUERY_LENGTH = 4096
PageMaker = Callable[[PageSite], str]
HTML = "text/html; charset=utf-8"


class Pages:
    """All pages of a site, and the data behind them."""

    def __init__(self, site: ServedSite, links: Links) -> None:
        self._site = site
        self._links = links
        self._page_cache = MemoryCache(PAGE_CACHE_SIZE, memory_of)
        self._part_cache = MemoryCache(PAGE_CACHE_SIZE, memory_of)
        self._workers = CapacityLimiter(WORKERS)
        # Another version of this program may make another page.
        self._salt = f"{__version__}\0{template_hash()}"

    async def tests(self, request: Request) -> Response:
        """All tests, or those that are asked for."""
        query = TestQuery.parse(request.query_params)
        return await self._page(request, lambda site: render_test_list(self._site, site.state, site.links, query))

    async def test(self, request: Request) -> Response:
        test, order = request.path_params["test"], request.query_params.get("sort", "")
        return await self._page(request, lambda site: render_test_page(site, test, order))

    async def transcript(self, request: Request) -> Response:
        test, name = request.path_params["test"], request.path_params["name"]
        return await self._page(request, lambda site: render_transcript_page(site, test, name))

    async def comparison(self, request: Request) -> Response:
        test, names = request.path_params["test"], request.query_params.getlist("t")
        return await self._page(request, lambda site: render_comparison_page(site, test, names))

    async def data(self, request: Request) -> Response:
        test, kind = request.path_params["test"], PAGE_DATA.get(request.path_params["file"])
        if kind is None:
            raise HTTPException(404)
        media_type, style = kind
        return await self._page(request, lambda site: ranking_data(site, test, style), media_type)

    async def _page(self, request: Request, make: PageMaker, media_type: str = HTML) -> Response:
        # Not request.url, which is made of whatever host the client names: it could put a page in another's place.
        path, query = request.scope["path"], request.scope["query_string"].decode("latin-1")
        if len(query) > MAX_QUERY_LENGTH:
            raise HTTPException(414)
        state = self._site.state()
        key = f"{self._salt}\0{state.sha256}\0{path}\0{query}"
        etag = f'W/"{hashlib.sha256(key.encode()).hexdigest()[:32]}"'
        headers = {"etag": etag, "cache-control": "no-cache", "vary": "Accept-Encoding"}
        # `*` asks whether there is such a page at all, which is known only when it has been made.
        any_version = request.headers.get("if-none-match", "").strip() == "*"
        if not any_version and is_unchanged(request.headers, etag, float("inf")):
            return Response(status_code=304, headers=headers)
        if packed := accepts_gzip(request.headers):
            headers["content-encoding"] = "gzip"
        cached = self._page_cache.get((etag, packed))
        body = await self._rendered(etag, packed, state, make) if cached is None else cached
        if any_version:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=media_type)

    async def _rendered(self, etag: str, packed: bool, state: SiteState, make: PageMaker) -> bytes:
        if self._workers.statistics().tasks_waiting >= MAX_WAITING:
            raise HTTPException(503, "Busy; try again in a moment.", {"retry-after": "5"})

        def render() -> bytes:
            try:
                return make(PageSite(state, self._links.of_site(state.catalogue.top), self._part_cache)).encode()
            except PageError as error:
                raise HTTPException(error.status, error.text) from None

        def work() -> bytes:
            pages = self._page_cache
            plain = pages.get_or_make((etag, False), render)
            return pages.get_or_make((etag, True), lambda: gzip.compress(plain, 6, mtime=0)) if packed else plain

        return await to_thread.run_sync(work, limiter=self._workers)
