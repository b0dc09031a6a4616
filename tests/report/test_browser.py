"""Reports in a real browser: wide and on a phone, light and dark, on paper, without a network and without scripts."""

import base64
import re
from pathlib import Path

import pytest

import harness
from tests.browser import Browser
from tests.report.runs import hostile_run, scored_run

WIDTHS = {"desk": (1280, 900, False), "phone": (390, 844, True), "small phone": (320, 568, True)}
OVERFLOW = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
# WCAG 2.1, 1.4.3: the contrast of every text with the nearest background, the least of them.
MIN_CONTRAST = """(() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = element => {
    let colour = [0, 0, 0, 0];
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
      const rest = 1 - colour[3];
      colour = [colour[0] + rest * a * r, colour[1] + rest * a * g, colour[2] + rest * a * b, colour[3] + rest * a];
    }
    return colour;
  };
  let least = 21;
  for (const element of document.querySelectorAll("main *, header *, footer *")) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.checkVisibility() || element.closest("title, desc")) continue;
    const style = getComputedStyle(element);
    const text = parse(element instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(text), light(behind(element))].sort((x, y) => y - x);
    least = Math.min(least, (a + .05) / (b + .05));
  }
  return least;
})()"""


class Pages:
    """Reports of one run, of several, of hostile ones, and of one with a scale, each made when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._addresses: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._addresses:
            path = self._folder / f"{name}.html"
            harness.make_report(self._runs(name)).write(path)
            self._addresses[name] = path.as_uri()
        return self._addresses[name]

    def _runs(self, name: str) -> list[str] | list[Path]:
        if name == "one":
            return ["hdigits/wisard"]
        if name == "several":
            return ["hdigits/wisard", "hdigits/warlock", "hdigits/witch"]
        if name == "hostile":
            return [hostile_run(self._folder / f"h{number}.jsonl", number) for number in (1, 2, 3)]
        return [scored_run(self._folder / f"{name}.jsonl", 400) for name in ("a", "bb")]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("reports"))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["one", "several", "hostile", "scores"])
def test_a_report_fits_its_screen(browser: Browser, pages: Pages, name: str, width: str) -> None:
    columns, rows, phone = WIDTHS[width]
    browser.size(columns, rows, phone=phone)
    browser.open(pages[name])
    assert browser.find("innerWidth") == columns
    assert browser.find(OVERFLOW) <= 0
    assert browser.find("getComputedStyle(document.body).maxWidth") != "none"
    assert browser.complaints == []
    assert all(url.startswith(("file:", "data:image/png")) for url in browser.requests)
    assert len([url for url in browser.requests if url.startswith("file:")]) == 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["one", "several"])
def test_text_stands_out_in_light_and_dark(browser: Browser, pages: Pages, name: str, scheme: str) -> None:
    browser.size(1280, 900, phone=False)
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    try:
        browser.open(pages[name])
        browser.find("document.querySelectorAll('details').forEach(one => one.open = true)")
        paper = browser.find("getComputedStyle(document.body).backgroundColor")
        assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 28)"}[scheme]
        assert browser.find(MIN_CONTRAST) >= 4.5
    finally:
        browser.ask("Emulation.setEmulatedMedia", features=[])


def test_a_heading_sorts_its_table(browser: Browser, pages: Pages) -> None:
    browser.size(1280, 900, phone=False)
    browser.open(pages["several"])
    names = "[...document.querySelectorAll('#ranking > .table tbody th')].map(one => one.textContent).join(' ')"
    assert browser.find(names) == "warlock witch wisard"
    for wanted in ("witch wisard warlock", "warlock wisard witch"):
        # The tenth column: false negatives.
        browser.click("#ranking thead th:nth-child(10) button")
        assert browser.find(names) == wanted


def test_all_is_there_without_scripts(browser: Browser, pages: Pages) -> None:
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(pages["several"])
        text = browser.find("document.body.innerText")
        assert "warlock is better than wisard by 3.9 to 7.9 points" in text
        browser.click("summary")
        assert browser.find("document.querySelector('details').open") is True
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)


def test_the_data_of_a_figure_is_downloaded(browser: Browser, pages: Pages, tmp_path: Path) -> None:
    browser.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path), eventsEnabled=True)
    browser.open(pages["one"])
    browser.click("#curve figure a[download]")
    browser.wait_for("Browser.downloadProgress", lambda params: params["state"] == "completed")
    [path] = tmp_path.iterdir()
    assert path.read_text(encoding="utf-8").startswith("curve,threshold,tpr,fpr,")
    assert browser.complaints == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one", "several"])
def test_a_report_prints_on_a4(browser: Browser, pages: Pages, name: str) -> None:
    browser.open(pages[name])
    data = base64.b64decode(browser.ask("Page.printToPDF", preferCSSPageSize=True)["data"])
    boxes = {tuple(map(float, box.split())) for box in re.findall(rb"/MediaBox\s*\[([^\]]+)\]", data)}
    assert boxes
    assert all(abs(box[2] - 595.28) < 1 and abs(box[3] - 841.89) < 1 for box in boxes)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    try:
        # The width of A4 between its margins, 182 mm at 96 dots an inch: no table is cut off.
        browser.size(688, 900, phone=False)
        assert browser.find(OVERFLOW) <= 0
    finally:
        browser.ask("Emulation.setEmulatedMedia", media="")


@pytest.mark.slow
def test_a_hundred_thousand_cases(browser: Browser, tmp_path: Path) -> None:
    runs = [scored_run(tmp_path / f"{'x' * number}.jsonl", 100_000, shift=number / 10) for number in (1, 2)]
    for given in (runs[:1], runs):
        path = tmp_path / f"report-{len(given)}.html"
        harness.make_report(given).write(path)
        assert path.stat().st_size < 5_000_000
        browser.open(path.as_uri())
        assert browser.find("document.querySelectorAll('*').length") < 20_000
