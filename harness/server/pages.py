"""The pages of a site: rendered without JavaScript, and cached in memory until the site changes."""

import gzip
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
from anyio import CapacityLimiter, to_thread
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from harness import __version__
from harness.errors import DataError, HateError
from harness.model import Counts
from harness.report.blocks import Block, Heading
from harness.report.comparison import comparison_blocks
from harness.report.counts import count_table
from harness.server.files import accepts_gzip, is_unchanged
from harness.server.ranking import (
    MOST_CHOSEN,
    Ranking,
    chosen_comparison,
    confusion_of,
    header_of,
    interval_plots,
    measures_of,
    rank,
)
from harness.server.render import TEMPLATES, as_html, markdown_html, render_page, script_summary, shortened
from harness.server.state import (
    MemoryCache,
    ServedSite,
    SiteState,
    find_test,
    rate_of,
    transcripts_of,
)
from harness.site.layout import TestEntry, TranscriptEntry, file_path
from harness.site.published import SiteTest

PAGE_CACHE_SIZE = 64 << 20
# Each comparison takes up a core; if too many are waiting, a client is asked to try again later.
WORKERS = 2
MOST_WAITING = 50
LONGEST_QUERY = 4096
TESTS_PER_PAGE = 50
MOST_LISTED = 500
MOST_PARAMS = 50
MOST_FILES = 200
MOST_INTERFACES = 20
PageMaker = Callable[[SiteState], str]


class Pages:
    """All pages of a site."""

    def __init__(self, site: ServedSite) -> None:
        self._site = site
        self._page_cache = MemoryCache(PAGE_CACHE_SIZE)
        self._part_cache = MemoryCache(PAGE_CACHE_SIZE)
        self._workers = CapacityLimiter(WORKERS)
        # Another version of this program may make another page.
        self._salt = f"{__version__}\0{_template_hash()}"

    async def tests(self, request: Request) -> Response:
        """All tests, or those that contain all words of the query."""
        page = TestListPage(request.query_params.get("q", "")[:100], _number(request.query_params.get("page", "1")))
        return await self._page(request, lambda state: page.render(self._site, state))

    async def test(self, request: Request) -> Response:
        """One test and its ranking."""
        test = request.path_params["test"]
        return await self._page(request, lambda state: render_test_page(state, test, self._part_cache))

    async def transcript(self, request: Request) -> Response:
        """One transcript."""
        test, name = request.path_params["test"], request.path_params["name"]
        return await self._page(request, lambda state: render_transcript_page(state, test, name, self._part_cache))

    async def comparison(self, request: Request) -> Response:
        """A comparison of the chosen transcripts."""
        test, names = request.path_params["test"], request.query_params.getlist("t")
        return await self._page(request, lambda state: render_comparison_page(state, test, names, self._part_cache))

    async def _page(self, request: Request, make: PageMaker) -> Response:
        # Not request.url, which is made of whatever host the client names: it could put a page in another's place.
        path, query = request.scope["path"], request.scope["query_string"].decode("latin-1")
        if len(query) > LONGEST_QUERY:
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
        body = await self._rendered(etag, packed, lambda: make(state)) if cached is None else cached
        if any_version:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type="text/html; charset=utf-8")

    async def _rendered(self, etag: str, packed: bool, make: Callable[[], str]) -> bytes:
        if self._workers.statistics().tasks_waiting >= MOST_WAITING:
            raise HTTPException(503, "Busy; try again in a moment.", {"retry-after": "5"})

        def work() -> bytes:
            pages = self._page_cache
            plain = pages.get_or_make((etag, False), lambda: make().encode())
            return pages.get_or_make((etag, True), lambda: gzip.compress(plain, 6, mtime=0)) if packed else plain

        return await to_thread.run_sync(work, limiter=self._workers)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1


def _template_hash() -> str:
    """The hash of templates and style sheet, which may change without a new version."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(TEMPLATES.iterdir()))).hexdigest()


@dataclass(frozen=True)
class TestListPage:
    """One page of the list of tests."""

    words: str
    number: int

    def render(self, site: ServedSite, state: SiteState) -> str:
        """The page as HTML."""
        tests = site.tests(state)
        found = [entry for entry in tests if self._matches(entry)] if self.words.strip() else tests
        pages = max(1, -(-len(found) // TESTS_PER_PAGE))
        number = min(max(1, self.number), pages)
        return render_page(
            "tests.html",
            title=state.title,
            entries=found[(number - 1) * TESTS_PER_PAGE : number * TESTS_PER_PAGE],
            found=len(found),
            total=len(tests),
            words=self.words,
            number=number,
            pages=pages,
            published=state.catalogue.top.published,
        )

    def _matches(self, entry: TestEntry) -> bool:
        text = f"{entry.name} {entry.synopsis}".casefold()
        return all(word in text for word in self.words.casefold().split())


def _test(state: SiteState, text: str) -> SiteTest:
    found = find_test(state, text)
    if found is None:
        raise HTTPException(404, "No such test here.")
    return found


def render_test_page(state: SiteState, text: str, cache: MemoryCache) -> str:
    """The page of a test: its ranking, description, facts and files."""
    test = _test(state, text)
    entries = transcripts_of(state, test)
    release = test.release
    summary = script_summary(state, release)
    return render_page(
        "test.html",
        title=f"{test.name} {test.version.version}",
        site=state.title,
        test=test,
        about=summary,
        description=markdown_html(summary.description),
        ranking=_ranking(state, test, entries, cache),
        transcripts=len(entries),
        files=[(file.path, file.bytes, file_path(file.sha256)) for file in release.files[:MOST_FILES]],
        more_files=max(0, len(release.files) - MOST_FILES),
        interfaces=[
            (one.name, [(file.path, file.bytes, file_path(file.sha256)) for file in one.files])
            for one in test.index.interfaces[:MOST_INTERFACES]
        ],
    )


def _key(kind: str, test: SiteTest, entries: Sequence[TranscriptEntry]) -> tuple[str, ...]:
    """What the result of a comparison depends on: the test and the content of the transcripts."""
    parts = [f"{entry.name}\0{entry.file.sha256}\0{entry.by}\0{entry.published}" for entry in entries]
    return kind, test.full_name, hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _ranking(state: SiteState, test: SiteTest, entries: Sequence[TranscriptEntry], cache: MemoryCache) -> Markup:
    def make() -> str:
        ranking = rank(state, entries)
        ranked = set() if ranking is None else {row.entry.name for row in ranking.rows}
        rest = [(entry, rate_of(entry)) for entry in entries if entry.name not in ranked]
        return render_page(
            "ranking.html",
            test=test,
            ranking=ranking,
            plots=[] if ranking is None else interval_plots(ranking.rows),
            rest=rest[:MOST_LISTED],
            more=max(0, len(rest) - MOST_LISTED),
            most=MOST_CHOSEN,
            reported=any(entry.self_reported for entry in entries),
            inside=any(entry.isolation != "process" for entry in entries),
        )

    return _cached_html(cache, _key("ranking", test, entries), make) if entries else Markup()


def _cached_html(cache: MemoryCache, key: tuple[str, ...], make: Callable[[], str]) -> Markup:
    """A part of a page that takes long to compute. Templates and reports escape all text themselves."""
    return Markup(cache.get_or_make(key, lambda: make().encode()).decode())  # noqa: S704


def render_transcript_page(state: SiteState, text: str, name: str, cache: MemoryCache) -> str:
    """The page of a transcript: where it came from, its counts, and which classes are confused."""
    test = _test(state, text)
    entry = state.catalogue.transcript(test.index, name, test.version.version)
    if entry is None:
        raise HTTPException(404, "No such transcript here.")
    header = header_of(state, entry)
    counts = Counts(entry.TP, entry.TN, entry.FP, entry.FN, entry.ER)

    interval = cache.get_or_make(
        _key("interval", test, [entry]), lambda: _interval_by_design(rank(state, [entry])).encode()
    ).decode()
    return render_page(
        "transcript.html",
        title=f"{name}: {test.name} {test.version.version}",
        site=state.title,
        test=test,
        entry=entry,
        header=header,
        params=[(shortened(key), _value(value)) for key, value in list(header.params.items())[:MOST_PARAMS]],
        versions=list((header.versions or {}).items())[:MOST_PARAMS],
        file=file_path(entry.file.sha256),
        # The interval for independent cases would contradict the one by design, which is shown below.
        counts=as_html([count_table([({}, counts)], interval=not interval)]),
        interval=interval,
        confusion=_cached_html(
            cache, _key("confusion", test, [entry]), lambda: as_html(confusion_of(state, entry, test.version.task))
        )
        # The classes of single cases could be told from it; so all that there is, is here.
        if not test.version.blind
        else _cached_html(cache, _key("measures", test, [entry]), lambda: as_html(measures_of(state, entry))),
    )


def _interval_by_design(ranking: Ranking | None) -> str:
    if ranking is None or ranking.method == "Wilson":
        return ""
    (row,) = ranking.rows
    level = f"{ranking.confidence * 100:g} %"
    return f"{level} interval {row.low:.4f} to {row.high:.4f}, by {ranking.method}, {ranking.target}."


def _value(value: object) -> str:
    return shortened(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def _verdicts_first(blocks: Sequence[Block]) -> list[Block]:
    """The verdicts, then the rest; without the first block, the title, which the page has already."""
    place = next((i for i, block in enumerate(blocks) if block == Heading("Verdicts")), len(blocks))
    return [*blocks[place:], *([Heading("Case by case")] if place > 1 else []), *blocks[1:place]]


def render_comparison_page(state: SiteState, text: str, names: Sequence[str], cache: MemoryCache) -> str:
    """The page of a comparison, sorted by name, so that the same transcripts are compared only once."""
    test = _test(state, text)
    if test.version.blind:
        raise HTTPException(400, "Runs of a blind test are compared by the letters of its ranking, never case by case.")
    chosen = sorted(set(names))
    if not 2 <= len(chosen) <= MOST_CHOSEN:
        raise HTTPException(400, f"Choose two to {MOST_CHOSEN} transcripts.")
    entries = [state.catalogue.transcript(test.index, name, test.version.version) for name in chosen]
    known = [entry for entry in entries if entry is not None]
    if len(known) < len(entries):
        raise HTTPException(404, "No such transcript here.")

    def make() -> str:
        comparison = chosen_comparison(state, known)
        return as_html(_verdicts_first(comparison_blocks(comparison)))

    try:
        report = _cached_html(cache, _key("comparison", test, known), make)
    except DataError:
        raise
    except HateError as error:
        raise HTTPException(409, f"They cannot be compared: {str(error).splitlines()[0]}") from None
    return render_page(
        "comparison.html",
        title=f"{' and '.join(chosen) if len(chosen) == 2 else f'{len(chosen)} transcripts'} on {test.name}",
        site=state.title,
        test=test,
        entries=known,
        report=report,
    )
