"""The first page of a site: its tests, by words, task, number of cases, date and best result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from math import inf
from typing import Any
from urllib.parse import urlencode

from harness.server.links import Links
from harness.server.ranking import leader
from harness.server.render import render_page
from harness.server.state import ServedSite, SiteState
from harness.site.layout import TestEntry

TESTS_PER_PAGE = 50
# A page in a file cannot be asked for the next one.
MAX_IN_A_FILE = 2000
MAX_WORDS_LENGTH = 100
_ORDERS: dict[str, tuple[str, Callable[[TestEntry], Any]]] = {
    "name": ("name", lambda entry: entry.name),
    "date": ("newest first", lambda entry: (_reversed_date(entry.published), entry.name)),
    "cases": ("most cases first", lambda entry: (-(entry.cases or 0), entry.name)),
    "transcripts": ("most transcripts first", lambda entry: (-entry.transcripts, entry.name)),
    "best": ("best result first", lambda entry: (-(entry.best.ranked_by.merit if entry.best else -inf), entry.name)),
}
_MIN_CASES = (100, 1_000, 10_000, 100_000)


def _reversed_date(text: str) -> int:
    """A key that puts the newest first and what has no date last."""
    return -int("".join(filter(str.isdigit, text[:19])) or 0)


@dataclass(frozen=True)
class TestQuery:
    """Which tests, and in which order; what makes no sense is ignored."""

    words: str = ""
    task: str = ""
    least: int = 0
    since: str = ""
    order: str = "name"
    page: int = 1

    @staticmethod
    def parse(query: Mapping[str, str]) -> "TestQuery":
        """As the form of the page sends it."""
        order = query.get("sort", "name")
        return TestQuery(
            words=query.get("q", "")[:MAX_WORDS_LENGTH],
            task=query.get("task", "")[:MAX_WORDS_LENGTH],
            least=_number(query.get("cases", ""), 0),
            since=_date(query.get("since", "")),
            order=order if order in _ORDERS else "name",
            page=_number(query.get("page", "1"), 1),
        )

    @property
    def is_filtered(self) -> bool:
        """Whether some tests may be left out."""
        return bool(self.words.strip() or self.task or self.least or self.since)

    def matches(self, entry: TestEntry) -> bool:
        text = f"{entry.name} {entry.synopsis}".casefold()
        return (
            all(word in text for word in self.words.casefold().split())
            and self.task in ("", entry.task)
            and (entry.cases or 0) >= self.least
            and entry.published >= self.since
        )

    def address(self, page: int) -> str:
        """The fields of the form for another page."""
        fields = {"q": self.words, "task": self.task, "cases": self.least or "", "since": self.since}
        order = "" if self.order == "name" else self.order
        kept = {name: value for name, value in (fields | {"sort": order}).items() if value}
        return urlencode({"q": self.words} | kept | {"page": page})


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else otherwise


def _date(text: str) -> str:
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        return ""


def render_test_list(site: ServedSite, state: SiteState, links: Links, query: TestQuery) -> str:
    """One page of the list as HTML."""
    tests = site.tests(state)
    matches = sorted(filter(query.matches, tests), key=_ORDERS[query.order][1])
    size = TESTS_PER_PAGE if links.served else MAX_IN_A_FILE
    pages = max(1, -(-len(matches) // size))
    number = min(max(1, query.page), pages)
    return render_page(
        "tests.html",
        links=links,
        title=state.title,
        entries=[(entry, leader(state, entry)) for entry in matches[(number - 1) * size : number * size]],
        found=len(matches),
        total=len(tests),
        query=query,
        tasks=[("", "any"), *((task, task) for task in sorted({entry.task for entry in tests}))],
        sizes=[("", "any number"), *((least, f"{least:,} or more") for least in _MIN_CASES)],
        orders=[(name, words) for name, (words, _) in _ORDERS.items()],
        number=number,
        pages=pages,
    )
