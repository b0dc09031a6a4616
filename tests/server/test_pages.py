"""The pages of a site."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
import requests
from msgspec.structs import replace

from harness.analysis.rate_errors import rate_of_transcript
from harness.bundled import bundled
from harness.server.ranking_page import interval_axis
from harness.site.changes import SiteDraft
from harness.site.layout import BestEntry, encode, file_path
from harness.site.publish import SiteSettings, current_top, lock_site, publish
from harness.site.publish_candidates import read_test_candidate, read_transcript_candidate
from harness.site.sites import FolderStore, open_folder
from harness.site.tree import build_tree
from tests.server.served import DIGITS, Served, publish_unjudged, repeated, serve_here, toy_script, toy_transcript
from tests.server.strict_page import Page
from tests.workshop import Workshop

SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' autofocus onfocus=alert(1) '",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "</textarea></title><script>alert(1)</script>",
    "\u202egnp.exe",
    "<!-- --!> -->",
    "&lt;b&gt;",
]
MARKDOWN = """
# Title <script>alert(1)</script>

<img src=x onerror=alert(1)> **bold** [click](javascript:alert(1)) [data](data:text/html,<script>alert(1)</script>)
[fine](https://example.org/?a=1&b=2 "a \\" title") ![picture](https://example.org/track.png)

<details open ontoggle=alert(1)>

| a <b> | b |
| --- | ---: |
| `<i>` | 2 |

[ref]: javascript:alert(1)
[ref]

    <iframe src="https://example.org">
"""


@pytest.fixture
def toy_site(tmp_path: Path) -> Path:
    """A site that a test may change: one toy test with two runs."""
    root = tmp_path / "own"
    publish(root, [read_test_candidate(toy_script(tmp_path / "toy"))])
    add(root, tmp_path, "good", wrong=[1])
    add(root, tmp_path, "bad", wrong=range(0, 20, 2))
    return root


def add(root: Path, folder: Path, name: str, by: str = "", **more: Any) -> None:
    path = folder / f"{name}.jsonl"
    path.write_bytes(toy_transcript(root, **more))
    publish_unjudged(root, [read_transcript_candidate(path, by=by)])


def page(server: Served, path: str, status: int = 200) -> Page:
    answer = server.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    return Page(answer.text)


def test_the_first_page_lists_the_tests(served: Served) -> None:
    shown = page(served, "/")
    assert shown.title == "Some tests"
    assert {"/tests/hdigits", "/tests/blank"} <= set(shown.links)
    assert "accept the true claim" in shown.text
    assert "3 transcripts" in shown.text


def test_tests_are_found_by_words(served: Served) -> None:
    assert "/tests/hdigits" not in page(served, "/?q=uniform+IMAGES").links
    assert "/tests/blank" in page(served, "/?q=uniform+IMAGES").links
    assert "No test contains all of these words" in page(served, "/?q=nonsense%22%3E%3Cb%3E").text


def test_tests_are_filtered_and_ordered(tmp_path: Path) -> None:
    root = tmp_path / "site"
    for name, cases in (("small", 20), ("large", 200), ("middle", 120)):
        publish(root, [read_test_candidate(toy_script(tmp_path / name, name=name, cases=cases))])
    for name, wrong in (("small", 4), ("large", 10)):
        path = tmp_path / f"of-{name}.jsonl"
        path.write_bytes(toy_transcript(root, name=name, wrong=range(wrong)))
        publish(root, [read_transcript_candidate(path)])

    def listed(server: Served, query: str) -> list[str]:
        return [link.removeprefix("/tests/") for link in page(server, f"/?{query}").links if "/tests/" in link]

    with serve_here(root) as server:
        assert listed(server, "") == ["large", "middle", "small"]
        assert listed(server, "cases=100") == ["large", "middle"]
        assert listed(server, "sort=cases") == ["large", "middle", "small"]
        # 190 of 200 and 16 of 20 are right; nothing is known about the third.
        assert listed(server, "sort=best") == ["large", "small", "middle"]
        assert listed(server, "task=score") == []
        assert listed(server, "task=label&q=toy&cases=100&sort=cases") == ["large", "middle"]
        assert listed(server, "since=2026-01-01") == ["large", "middle", "small"]
        assert listed(server, "since=2999-01-01") == []
        assert listed(server, "since=soon&cases=-1&sort=nonsense&page=x") == ["large", "middle", "small"]
        assert "best 0.9500 by of-large" in page(server, "/").text


def test_the_best_of_an_older_site_is_found_when_it_changes(tmp_path: Path) -> None:
    """Sites of older versions do not say which transcript is the best."""
    root = tmp_path / "site"
    publish(root, [read_test_candidate(toy_script(tmp_path / "toy"))])
    add(root, tmp_path, "good", wrong=[1])
    top = current_top(root)
    (entry,) = open_folder(root).tests()
    with lock_site(root) as writer:
        draft = SiteDraft(FolderStore(root))
        tree = build_tree([replace(entry, best=None, published="")], type(entry), draft.write)
        writer.put(draft)
        writer.put_top(encode(replace(top, serial=top.serial + 1, tests=tree.root)), None)
    add(root, tmp_path, "bad", wrong=range(10))
    (after,) = open_folder(root).tests()
    assert after.best == BestEntry("good", 0.95)
    assert after.published == entry.published


def test_a_ranking_is_sorted_by_name_and_date(toy_site: Path, tmp_path: Path) -> None:
    add(toy_site, tmp_path, "Awful", wrong=range(20))
    with serve_here(toy_site) as server:
        assert page(server, "/tests/toy").boxes == ["good", "bad", "Awful"]
        assert page(server, "/tests/toy?sort=name").boxes == ["Awful", "bad", "good"]
        assert page(server, "/tests/toy?sort=nonsense").boxes == ["good", "bad", "Awful"]
        # The rank stays that of the rate.
        assert page(server, "/tests/toy?sort=name").row("good")[0] == "1"


def test_links_to_code_and_paper_are_only_links_to_the_web(toy_site: Path, tmp_path: Path) -> None:
    links = {"code": "https://code.example.org/a?b=1&c=2", "paper": "javascript:alert(1)"}
    add(toy_site, tmp_path, "linked", algorithm={"name": "linked"} | links)
    with serve_here(toy_site) as server:
        shown = page(server, "/tests/toy")
        assert links["code"] in shown.links
        assert shown.row("linked")[1] == "linked code"
        rows = server.get("/data/toy/ranking.csv").text
    assert links["code"] in rows
    assert "javascript" not in rows


def test_parameters_that_are_not_the_defaults_are_shown(toy_site: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "params": {"threshold": 0.0, "tuples": 64},
        "defaults": {"threshold": 0.0, "tuples": 128},
    }
    add(toy_site, tmp_path, "tuned", **settings)
    with serve_here(toy_site) as server:
        assert "tuples=64" in page(server, "/tests/toy").row("tuned")


def test_one_bad_entry_does_not_squeeze_the_others() -> None:
    """Nine good runs and a hopeless one: the good ones have most of the axis, and the bad one an arrow."""
    good = [(0.90 + n / 200, 0.92 + n / 200) for n in range(9)]
    axis = interval_axis([*good, (0.05, 0.09)])
    assert axis.low > 0.7
    first, last = axis.plot(0.90, 0.91, 0.92), axis.plot(0.94, 0.95, 0.96)
    assert float(last.high or 0) - float(first.low) > 40
    bad = axis.plot(0.05, 0.07, 0.09)
    assert (bad.cut, bad.value, bad.high) == (True, None, None)
    assert 3 <= len(axis.ticks) <= 6
    assert [float(tick.text) for tick in axis.ticks] == sorted({float(tick.text) for tick in axis.ticks})
    # Without an outlier nothing is cut, and runs that are all the same have an axis too.
    assert not any(interval_axis(good).plot(low, low, high).cut for low, high in good)
    assert interval_axis([(1.0, 1.0)]).plot(1.0, 1.0, 1.0).cut is False
    assert [tick.text for tick in interval_axis([(1.0, 1.0)]).ticks] == ["1"]


def test_many_tests_are_split_into_pages(tmp_path: Path) -> None:
    candidates = [read_test_candidate(toy_script(tmp_path / f"t{n}", name=f"t{n:03d}", cases=2)) for n in range(120)]
    publish(tmp_path / "site", candidates)
    with serve_here(tmp_path / "site") as server:
        seen: list[str] = []
        path, number = "/", 0
        while path:
            shown = page(server, path)
            seen += [link for link in shown.links if link.startswith("/tests/")]
            following = f"/?q=&page={number + 2}"
            path = following if following in shown.links else ""
            number += 1
        assert (number, seen) == (3, [f"/tests/t{n:03d}" for n in range(120)])
        assert page(server, "/?page=99999999999999999999").links == page(server, "/").links


def test_a_ranking_has_letters_and_the_intervals_of_the_design(served: Served, shop: Workshop) -> None:
    comparison = shop.call("compare", *(f"hdigits/{name}" for name in DIGITS), "--format", "json").json
    shown = page(served, "/tests/hdigits")
    assert shown.boxes == ["warlock", "witch", "wisard"]
    letters = {name: shown.row(name)[2] for name in DIGITS}
    assert letters == {"warlock": "a", "witch": "b", "wisard": "b"}
    assert comparison["groups"] == [["warlock"], ["witch", "wisard"]]
    for run in comparison["transcripts"]:
        low, high = run["replication"]["interval"]
        assert shown.row(run["name"])[3:5] == [f"{run['rate']:.4f}", f"{low:.4f} to {high:.4f}"]
    assert "for these strata (truth) and new images" in shown.text
    assert "share a letter do not differ significantly" in shown.text


def test_runs_with_repeats_are_ranked_beside_runs_without(tmp_path: Path) -> None:
    """The value of a case is the mean of its answers; such runs do not remove any interval from the page.

    7 x 11 x 13 answers would have to be matched, so the last run is ranked by itself, and has no letters.
    """
    root = tmp_path / "site"
    publish(root, [read_test_candidate(toy_script(tmp_path / "toy", cases=40))])

    def put(name: str, data: bytes) -> None:
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(data)
        publish(root, [read_transcript_candidate(path)])

    for name, wrong in (("good", (1,)), ("bad", (1, 2, 3, 5, 8))):
        put(name, toy_transcript(root, wrong=wrong, algorithm={"name": name}))
    dice = toy_transcript(root, wrong=(1, 2), algorithm={"name": "dice"})
    put("dice", repeated(dice, 7, [(4, 1), (4, 2), (6, 1)]))
    for name, answers in (("eleven", 11), ("thirteen", 13)):
        put(name, repeated(toy_transcript(root, algorithm={"name": name}), answers))
    with serve_here(root) as server:
        shown = page(server, "/tests/toy")
    # 36 cases are always right, two in 5 and in 6 of 7 answers.
    assert shown.row("dice")[3] == f"{(36 + 5 / 7 + 6 / 7) / 40:.4f}"
    for name, rate in (("good", 39 / 40), ("bad", 35 / 40), ("eleven", 1.0), ("thirteen", 1.0)):
        assert shown.row(name)[3] == f"{rate:.4f}"
        low, high = map(float, shown.row(name)[4].split(" to "))
        assert low < rate <= high
    assert shown.row("thirteen")[2] == ""
    assert shown.row("eleven")[2] != ""
    assert "or cannot be matched or read: thirteen." in shown.text


def test_a_test_has_its_description_and_its_files(served: Served, site: Path) -> None:
    shown = page(served, "/tests/hdigits@1.0.0")
    assert "Optical Recognition of Handwritten Digits" in shown.text
    files = [link for link in shown.links if link.startswith("/files/")]
    assert len(files) == 5
    assert all((site / link[1:]).is_file() for link in files)


def test_a_transcript_has_counts_and_confusions(served: Served) -> None:
    shown = page(served, "/transcripts/hdigits@1.0.0/wisard")
    figures = "".join(shown.text.split())
    assert "tests1,434TP647TN660FP57FN70ER0" in figures
    assert shown.row("truth") == ["truth", *"0123456789", "refused"]
    by_design = rate_of_transcript(bundled("transcripts") / "hdigits" / "wisard.jsonl").estimate
    assert by_design is not None
    assert by_design.interval is not None
    low, high = by_design.interval.low, by_design.interval.high
    assert f"95 % interval {low:.4f} to {high:.4f} by BRR, for these strata" in shown.text
    # The interval for independent cases is not shown.
    assert "0.8956" not in shown.text
    assert "tuples=128" in shown.text


@pytest.mark.slow
def test_a_comparison_shows_the_verdicts_first(served: Served) -> None:
    shown = page(served, "/compare/hdigits@1.0.0?t=witch&t=wisard&t=warlock")
    assert shown.row("warlock better") == ["warlock better", "x", "100", "94"]
    assert "warlock is better than witch by" in shown.text
    assert shown.text.index("Verdicts") < shown.text.index("Z score")
    run = "SITE/transcripts/hdigits@1.0.0"
    assert f"hate compare \\\n  {run}/warlock \\\n  {run}/wisard \\\n  {run}/witch" in shown.text


def test_every_link_leads_somewhere(served: Served) -> None:
    waiting, seen = ["/"], set()
    while waiting:
        path = waiting.pop()
        if path in seen or not path.startswith("/"):
            continue
        seen.add(path)
        answer = served.get(path, headers={"Accept": "text/html"})
        assert answer.status_code == 200, path
        if answer.headers["Content-Type"].startswith("text/html"):
            waiting += [urljoin(path, link) for link in Page(answer.text).links]
    assert {"/tests/blank", "/transcripts/hdigits@1.0.0/witch"} <= seen


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/compare/hdigits", 400, "Choose two to 12 transcripts"),
        ("/compare/hdigits?t=wisard&t=wisard", 400, "Choose two to 12 transcripts"),
        ("/compare/hdigits?" + "&".join(f"t=x{n}" for n in range(13)), 400, "Choose two to 12 transcripts"),
        ("/compare/hdigits?t=wisard&t=nobody", 404, "No such transcript"),
        ("/compare/nothing?t=a&t=b", 404, "No such test"),
        ("/tests/nothing", 404, "No such test"),
        ("/tests/hdigits@9.9", 404, "No such test"),
        ("/tests/HDIGITS", 404, "No such test"),
        ("/tests/..%2f..%2fetc", 404, ""),
        ("/transcripts/hdigits/nobody", 404, "No such transcript"),
        ("/transcripts/hdigits@1.0.0/%3Cb%3E", 404, "No such transcript"),
        ("/nowhere", 404, "Not Found"),
        ("/data/hdigits/nothing.csv", 404, "Not Found"),
        ("/data/nothing/ranking.csv", 404, "No such test"),
        ("/?q=" + "x" * 5000, 414, ""),
    ],
)
def test_errors_have_pages(served: Served, path: str, status: int, text: str) -> None:
    assert text in page(served, path, status).text
    for_programs = served.get(path)
    assert for_programs.status_code == status
    assert for_programs.headers["Content-Type"].startswith("text/plain")
    assert for_programs.text.count("\n") == 1


@pytest.mark.parametrize("path", ["/", "/tests/hdigits", "/nowhere", "/hate-site.json", "/-/style.css", "/files/aa/b"])
def test_every_answer_has_the_usual_headers(served: Served, path: str) -> None:
    first = served.get(path)
    answers = [first, served.head(path), requests.post(served.url + path, timeout=60)]
    answers += [served.get(path, headers={"If-None-Match": first.headers.get("ETag", "*")})]
    for answer in answers:
        assert SECURITY.items() <= answer.headers.items()
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "script-src" not in policy
        assert "Server" not in answer.headers


def test_a_page_is_sent_again_only_when_something_was_published(toy_site: Path, tmp_path: Path) -> None:
    with serve_here(toy_site) as server:
        first = server.get("/tests/toy")
        known = {"If-None-Match": first.headers["ETag"]}
        assert server.get("/tests/toy", headers=known).status_code == 304
        assert server.get("/tests/toy", headers={"Accept-Encoding": "identity"}).text == first.text
        add(toy_site, tmp_path, "third", wrong=[1, 2])
        after = server.get("/tests/toy", headers=known)
        assert after.status_code == 200
        assert Page(after.text).boxes == ["good", "third", "bad"]


@pytest.mark.slow
def test_foreign_text_is_escaped(tmp_path: Path) -> None:
    root = tmp_path / "site"
    all_of_it = " ".join(HOSTILE)
    script = toy_script(tmp_path / "toy", synopsis=all_of_it, description=MARKDOWN, license=all_of_it)
    publish(root, [read_test_candidate(script)], settings=SiteSettings(title=HOSTILE[0]))
    for number, text in enumerate(HOSTILE):
        add(root, tmp_path, f"run{number}", by=text, wrong=range(number), algorithm={"name": text, "version": text},
            params={text: text}, platform=text, started=text, record={"actual": text, "truth": text, "stratum": text},
            design={"stratum": text})  # fmt: skip
    with serve_here(root) as server:
        runs = [f"/transcripts/toy/run{n}" for n in range(len(HOSTILE))]
        chosen = "/compare/toy?t=run0&t=run1&t=run2"
        for path in ("/", "/tests/toy", chosen, *runs, "/?q=%3Cscript%3E", "/tests/%3Cscript%3E"):
            answer = server.get(path, headers={"Accept": "text/html"})
            shown = Page(answer.text)
            assert "\u202e" not in shown.text
            assert "49" not in shown.title
        described = server.get("/tests/toy").text
        assert (
            '<a href="https://example.org/?a=1&amp;b=2" title="a &quot; title" rel="nofollow ugc noopener">'
            in described
        )
        assert "<strong>bold</strong>" in described
        assert '<td class="number">2</td>' in described
        assert "<h3>Title &lt;script&gt;" in described
        assert "[click](javascript:alert(1))" in Page(described).text


def test_a_run_on_other_cases_does_not_spoil_the_ranking(toy_site: Path, tmp_path: Path) -> None:
    add(toy_site, tmp_path, "strange", by="eve", ids="other")
    with serve_here(toy_site) as server:
        shown = page(server, "/tests/toy")
        assert {"a", "b"} == {shown.row("good")[2], shown.row("bad")[2]}
        assert shown.row("strange")[2] == ""
        assert "Not compared, because their cases differ, or cannot be matched or read: strange." in shown.text
        assert "cannot be compared" in page(server, "/compare/toy?t=good&t=strange", 409).text


def test_a_header_cannot_name_files_of_the_server(toy_site: Path, tmp_path: Path) -> None:
    weights = tmp_path / "weights.csv"
    weights.write_text("stratum,weight\ns,5\n")
    for number in range(2):
        more: dict[str, Any] = {"design": {"stratum": "s", "weights": str(weights)}, "record": {"stratum": "s"}}
        add(toy_site, tmp_path, f"sly{number}", wrong=range(number), **more)
    with serve_here(toy_site) as server:
        shown = page(server, "/compare/toy?t=sly0&t=sly1")
        assert "weights: cases" in shown.text


def test_no_matrix_for_too_many_classes(toy_site: Path, tmp_path: Path) -> None:
    lines = toy_transcript(toy_site).splitlines()
    records = [
        json.loads(line) | {"actual": f"label{n}", "truth": f"truth{n}", "expect": f"claim{n}"}
        for n, line in enumerate(lines[1:-1])
    ]
    body = b"\n".join([lines[0], *(json.dumps(record).encode() for record in records), b""])
    end = json.loads(lines[-1])
    del end["sha256"]
    path = tmp_path / "classes.jsonl"
    path.write_bytes(body + json.dumps(end).encode() + b"\n")
    publish_unjudged(toy_site, [read_transcript_candidate(path)])
    with serve_here(toy_site) as server:
        assert "rows the truth" not in page(server, "/transcripts/toy/classes").text
        assert "rows the truth" in page(server, "/transcripts/toy/good").text


def test_a_damaged_site_is_reported_without_details(toy_site: Path) -> None:
    with serve_here(toy_site) as server:
        assert page(server, "/tests/toy").title == "toy 1.0"
        shutil.rmtree(toy_site / "index")
        shown = page(server, "/transcripts/toy/good", 500)
        assert "The site is damaged" in shown.text
        assert str(toy_site) not in shown.text
        (toy_site / "hate-site.json").unlink()
        assert str(toy_site) not in page(server, "/", 500).text
    assert any("the site is incomplete" in line for line in server.log)


def test_old_versions_stay_and_link_to_the_new(toy_site: Path, tmp_path: Path) -> None:
    publish(toy_site, [read_test_candidate(toy_script(tmp_path / "newer", version="1.10", cases=4))])
    with serve_here(toy_site) as server:
        assert "No transcripts have been published yet" in page(server, "/tests/toy").text
        old = page(server, "/tests/toy@1.0")
        assert old.boxes == ["good", "bad"]
        assert "There is a later version: 1.10" in old.text
        assert "hate run SITE/tests/toy@1.0" in old.text


def test_the_page_links_to_the_transcript_file(served: Served, site: Path) -> None:
    shown = page(served, "/transcripts/hdigits/witch")
    (address,) = [link for link in shown.links if link.startswith("/files/")]
    data = served.get(address).content
    assert address == "/" + file_path(hashlib.sha256(data).hexdigest())
    assert json.loads(data.splitlines()[0])["algorithm"]["name"] == "witch"
