"""The pages of a site as files in its folder, so that any web server shows them."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from harness import __version__
from harness.engine.progress import NoProgress, Progress
from harness.files.caches import MemoryCache, memory_of
from harness.server.front_page import TestQuery, render_test_list
from harness.server.links import Links
from harness.server.ranking import MAX_CHOSEN, rank
from harness.server.ranking_page import PAGE_DATA, ranking_data, render_test_page
from harness.server.render import ASSETS, PageError, PageSite, render_page, template_hash
from harness.server.state import ServedSite, SiteState, transcripts_of
from harness.server.transcript_pages import render_comparison_page, render_transcript_page
from harness.site.catalogue import SiteTest
from harness.site.layout import PAGES, TranscriptEntry, encode
from harness.site.publish import lock_site
from harness.site.sites import PAGE_SUFFIX

PART_CACHE_SIZE = 64 << 20


@dataclass(frozen=True)
class PageFile:
    """A page: where it is, what it depends on, and how it is made."""

    path: str
    content: object
    make: Callable[[PageSite], str]

    def key(self, links: Links) -> str:
        """Changes when the page would."""
        parts = (__version__, template_hash(), links, self.content)
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


@dataclass(frozen=True)
class PageCount:
    """How many pages there are, and how many of them were made now."""

    pages: int
    written: int


def write_pages(root: Path, private: Path | None = None, progress: Progress | None = None) -> PageCount:
    """Write the pages of a site that are new or have changed; `progress` is told how many are done."""
    progress = progress or NoProgress()
    served, cache = ServedSite(root, private), MemoryCache(PART_CACHE_SIZE, memory_of)
    state = served.state()
    files = list(_page_files(served, state))
    with lock_site(root) as writer:
        for name, path in ASSETS.items():
            writer.put_data(f"-/{name}", path.read_bytes())
        known, made = _manifest(root), 0
        keys: dict[str, str] = {}
        progress.begin(len(files), 0)
        try:
            for number, page in enumerate(files):
                links = Links(root="../" * page.path.count("/"), suffix=PAGE_SUFFIX, front_page="index.html")
                links = links.of_site(state.catalogue.top)
                keys[page.path] = page.key(links)
                if known.get(page.path) != keys[page.path] or not (root / page.path).is_file():
                    writer.put_data(page.path, _render(page, PageSite(state, links, cache)).encode())
                    made += 1
                progress.advance(number + 1, 0)
        finally:
            progress.end()
        writer.put_data(PAGES, encode(keys))
    return PageCount(len(files), made)


def _render(page: PageFile, site: PageSite) -> str:
    try:
        return page.make(site)
    except PageError as error:
        return render_page("error.html", links=site.links, title="No such page", text=error.text)


def _manifest(root: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode((root / PAGES).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return {}


def _page_files(served: ServedSite, state: SiteState) -> Iterator[PageFile]:
    top = state.catalogue.top
    yield PageFile(
        "index.html", [top.title, top.tests], lambda site: render_test_list(served, state, site.links, TestQuery())
    )
    for index in map(state.catalogue.index_of, served.tests(state)):
        for version in index.versions:
            test = SiteTest(state.catalogue, index, version)
            for name in [test.full_name, *([index.name] if version == index.latest else [])]:
                yield PageFile(f"tests/{name}{PAGE_SUFFIX}", [top.title, index], partial(render_test_page, text=name))
            entries = transcripts_of(state, test)
            for name, (_, style) in PAGE_DATA.items() if entries else ():
                make = partial(ranking_data, text=test.full_name, style=style)
                yield PageFile(f"data/{test.full_name}/{name}", [version, entries], make)
            for entry in entries:
                path = f"transcripts/{test.full_name}/{entry.name}{PAGE_SUFFIX}"
                make = partial(render_transcript_page, text=test.full_name, name=entry.name)
                yield PageFile(path, [top.title, version, entry], make)
            if len(entries) > 1 and not version.blind:
                path = f"compare/{test.full_name}{PAGE_SUFFIX}"
                yield PageFile(path, [top.title, version, entries], _comparison(test, entries))


def _comparison(test: SiteTest, entries: list[TranscriptEntry]) -> Callable[[PageSite], str]:
    """The best that can be compared: a page in a file cannot be asked for others."""

    def make(site: PageSite) -> str:
        ranking = rank(site.state, entries)
        names = [] if ranking is None else [row.entry.name for row in ranking.rows if row.letters]
        return render_comparison_page(site, test.full_name, names[:MAX_CHOSEN])

    return make
