"""The pages in a real browser: wide and on a phone, without JavaScript, with hostile text."""

from pathlib import Path
from typing import Any

import pytest

from harness.site.publish import SiteSettings, publish
from harness.site.publish_candidates import read_test_candidate, read_transcript_candidate
from tests.browser import Browser
from tests.server.served import Served, publish_unjudged, serve_here, toy_script, toy_transcript

PAGES = [
    "/",
    "/?q=nothing+of+the+kind",
    "/tests/hdigits",
    "/tests/blank",
    "/transcripts/hdigits@1.0.0/wisard",
    "/compare/hdigits@1.0.0?t=wisard&t=witch&t=warlock",
]
WIDTHS = {"desk": (1200, 900, False), "phone": (390, 844, True), "small phone": (320, 568, True)}
# Elements wider than the screen, except those in a box that scrolls.
OVERFLOW = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
SMALL_TARGETS = (
    "[...document.querySelectorAll('button, input')].filter(e => e.getBoundingClientRect().height < 18).length"
)


@pytest.mark.sampled(37)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_its_screen(browser: Browser, served: Served, page: str, width: str) -> None:
    columns, rows, phone = WIDTHS[width]
    browser.size(columns, rows, phone=phone)
    browser.open(served.url + page)
    assert browser.find("innerWidth") == columns
    assert browser.find(OVERFLOW) <= 0
    assert browser.find("getComputedStyle(document.body).maxWidth") != "none"
    assert browser.find("document.querySelectorAll('h1').length") == 1
    assert browser.find(SMALL_TARGETS) == 0
    assert browser.complaints == []


def test_a_comparison_is_chosen_without_javascript(browser: Browser, served: Served) -> None:
    browser.size(390, 844, phone=True)
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(served.url + "/")
        browser.click("a[href='/tests/hdigits']")
        browser.arrive()
        for name in ("wisard", "witch"):
            browser.click(f"input[value={name}]")
        browser.click("form[action^='/compare'] button")
        browser.arrive()
        assert browser.find("location.pathname + location.search") == "/compare/hdigits@1.0.0?t=witch&t=wisard"
        assert "cannot be told apart" in browser.find("document.body.innerText")
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.slow
def test_no_foreign_requests_and_no_scripts(browser: Browser, tmp_path: Path) -> None:
    text = "<script>document.title = 'owned'; alert(1)</script><img src=x onerror=\"document.title='owned'\">"
    description = f"# {text}\n\n{text}\n\n![x](http://127.0.0.1:9/track.png)\n\n[go](javascript:document.title='owned')"
    root = tmp_path / "site"
    test = read_test_candidate(toy_script(tmp_path / "toy", synopsis=text, description=description))
    publish(root, [test], settings=SiteSettings(title=text))
    for number in range(2):
        path = tmp_path / f"run{number}.jsonl"
        said: dict[str, Any] = {
            "algorithm": {"name": text},
            "params": {text: text},
            "record": {"actual": text, "truth": text},
        }
        path.write_bytes(toy_transcript(root, wrong=range(number), **said))
        publish_unjudged(root, [read_transcript_candidate(path, by=text)])
    browser.size(1200, 900, phone=False)
    with serve_here(root) as server:
        for page in ("/", "/tests/toy", "/transcripts/toy/run0", "/compare/toy?t=run0&t=run1"):
            browser.open(server.url + page)
            assert browser.find("document.title") != "owned"
            assert browser.find("document.scripts.length + document.images.length") == 0
            addresses = browser.find("performance.getEntriesByType('resource').map(e => e.name)")
            assert all(address.startswith(server.url + "/-/") for address in addresses)
    assert browser.complaints == []
