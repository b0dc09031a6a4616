"""The pages as files, shown by nginx under a path of its own: links, sorting, filtering, what is made again."""

import csv
import io
import json
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest

from harness.server.static_pages import write_pages
from harness.site.publish import SiteSettings, publish
from harness.site.publish_candidates import read_test_candidate, read_transcript_candidate
from tests.browser import Browser
from tests.server.served import DIGITS, Served, nginx, published_site, toy_script, toy_transcript
from tests.workshop import Workshop

ADDRESS = "https://tests.example.org/digits"


class _Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.targets += [value or "" for name, value in attrs if name in ("href", "src")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a web server; the site is below it, not at its top."""
    top = tmp_path_factory.mktemp("web")
    published_site(top / "below")
    publish(top / "below", [], settings=SiteSettings(url=ADDRESS))
    write_pages(top / "below")
    return top


@pytest.fixture(scope="module")
def shown(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with nginx(folder, tmp_path_factory.mktemp("nginx")) as running:
        yield running


@pytest.mark.slow
def test_every_link_leads_to_a_file(folder: Path) -> None:
    waiting, seen = ["below/index.html"], set[str]()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        file = folder / path.replace("%40", "@")
        assert file.is_file(), path
        if path.endswith(".html"):
            links = _Links(file.read_text(encoding="utf-8")).targets
            assert not [link for link in links if link.startswith("/")]
            inside = [link for link in links if not link.startswith(("http://", "https://", "mailto:", "data:", "#"))]
            waiting += [urljoin(path, urldefrag(link)[0]) for link in inside]
    assert {
        "below/tests/hdigits.html",
        "below/transcripts/hdigits@1.0.0/witch.html",
        "below/compare/hdigits@1.0.0.html",
        "below/data/hdigits@1.0.0/ranking.csv",
    } <= seen


def test_commands_name_the_address_of_the_site(folder: Path) -> None:
    page = (folder / "below/tests/hdigits.html").read_text(encoding="utf-8")
    assert f"hate run {ADDRESS}/tests/hdigits<" in page
    compared = (folder / "below/compare/hdigits@1.0.0.html").read_text(encoding="utf-8")
    assert f"{ADDRESS}/transcripts/hdigits@1.0.0/warlock" in compared
    assert "warlock is better than witch by" in compared


def test_the_data_behind_a_ranking_agree(folder: Path, shop: Workshop) -> None:
    data = folder / "below/data/hdigits@1.0.0"
    rows = list(csv.DictReader(io.StringIO((data / "ranking.csv").read_text(encoding="utf-8"))))
    ranking = json.loads((data / "ranking.json").read_text(encoding="utf-8"))
    compared = shop.call("compare", *(f"hdigits/{name}" for name in DIGITS), "--format", "json").json
    by_name = {run["name"]: run for run in compared["transcripts"]}
    assert [row["name"] for row in rows] == ["warlock", "witch", "wisard"]
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert ranking["target"] == "for these strata (truth) and new images"
    for row, same in zip(rows, ranking["transcripts"], strict=True):
        run = by_name[row["name"]]
        low, high = run["replication"]["interval"]
        assert (float(row["rate"]), float(row["low"]), float(row["high"])) == (run["rate"], low, high)
        assert (same["rate"], same["low"], same["high"]) == (run["rate"], low, high)
        assert [int(row[name]) for name in ("TP", "TN", "FP", "FN", "ER")] == [
            run[name] for name in ("TP", "TN", "FP", "FN", "ER")
        ]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "page", ["index", "tests/hdigits", "transcripts/hdigits@1.0.0/wisard", "compare/hdigits@1.0.0"]
)
@pytest.mark.parametrize(("width", "phone"), [(1200, False), (390, True)])
def test_a_page_fits_its_screen(browser: Browser, shown: Served, page: str, width: int, phone: bool) -> None:
    browser.size(width, 900, phone=phone)
    browser.open(f"{shown.url}/below/{page}.html")
    assert browser.find("document.scrollingElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert browser.find("getComputedStyle(document.body).maxWidth") != "none"
    addresses = browser.find("performance.getEntriesByType('resource').map(e => e.name)")
    assert all(address.startswith(f"{shown.url}/below/") for address in addresses)
    assert browser.complaints == []


def test_lists_are_filtered_and_tables_sorted(browser: Browser, shown: Served) -> None:
    browser.size(1200, 900, phone=False)
    browser.open(f"{shown.url}/below/index.html")
    browser.click("input[type=search]")
    browser.ask("Input.insertText", text="UNIFORM images")
    assert browser.find("[...document.querySelectorAll('#tests > li:not([hidden]) a')].map(e => e.textContent)") == [
        "blank"
    ]
    browser.open(f"{shown.url}/below/tests/hdigits.html")
    names = "[...document.querySelectorAll('.ranking tbody td:nth-child(2) a:first-child')].map(e => e.textContent)"
    assert browser.find(names) == ["warlock", "witch", "wisard"]
    browser.click(".ranking thead th:nth-child(2) button")
    assert browser.find(names) == ["warlock", "wisard", "witch"]
    browser.click(".ranking thead th:nth-child(2) button")
    assert browser.find(names) == ["witch", "wisard", "warlock"]


@pytest.mark.slow
def test_only_what_has_changed_is_made_again(tmp_path: Path) -> None:
    root = tmp_path / "site"
    publish(root, [read_test_candidate(toy_script(tmp_path / name, name=name)) for name in ("one", "two")])

    def add(name: str, test: str) -> None:
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(toy_transcript(root, name=test, wrong=[1], algorithm={"name": name}))
        publish(root, [read_transcript_candidate(path)])

    add("first", "one")
    # The list; two pages of each test; the transcript and two tables of one.
    assert write_pages(root).written == 1 + 2 * 2 + 1 + 2
    assert write_pages(root).written == 0
    untouched = (root / "tests/two.html").stat().st_mtime_ns
    add("second", "one")
    # The list; two pages of the test; its two tables; the new transcript; the comparison.
    assert write_pages(root).written == 1 + 2 + 2 + 1 + 1
    assert (root / "tests/two.html").stat().st_mtime_ns == untouched
    (root / "tests/two.html").unlink()
    (root / "-/pages.json").write_bytes(b'{"torn')
    count = write_pages(root)
    assert count.written == count.pages
    assert (root / "tests/two.html").is_file()


@pytest.mark.slow
def test_the_command_writes_pages_and_keeps_them_fresh(shop: Workshop) -> None:
    toy_script(shop.folder / "toy")
    first = shop.call("publish", "toy", "--to", "site", "--pages", "--url", "https://tests.example.org/")
    assert "site/index.html: 3 of 3 pages written" in first.err
    (shop.folder / "mine.jsonl").write_bytes(toy_transcript(shop.folder / "site", wrong=[1]))
    again = shop.call("publish", "mine.jsonl", "--to", "site")
    assert "pages written" in again.err
    page = (shop.folder / "site/tests/toy.html").read_text(encoding="utf-8")
    assert "hate run https://tests.example.org/tests/toy<" in page
    assert "0.9500" in page
    shutil.rmtree(shop.folder / "site/-")
    assert "pages written" not in shop.call("publish", "mine.jsonl", "--to", "site").err
    wrong = shop.call("publish", "--to", "site", "--url", "javascript:alert(1)")
    assert wrong.status == 2
    assert "only http:// and https:// addresses" in wrong.err
