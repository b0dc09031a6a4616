"""One ranking, by the design and the weights of the test: first page, page, tables as data, static pages and index."""

import csv
import hashlib
import io
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.bundled import bundled
from harness.model import Standing
from harness.server.front_page import _ORDERS
from harness.server.static_pages import write_pages
from harness.site import layout
from harness.site.layout import BestEntry, Ref, TranscriptEntry
from harness.site.publish import publish
from harness.site.publish_candidates import read_test_candidate, read_transcript_candidate
from harness.site.sites import open_folder
from tests.server.served import Served, publish_unjudged, serve_here
from tests.server.strict_page import Page
from tests.workshop import Workshop

# 20 cases of stratum m, with 0.9 of the weight, and 80 of f.
SIZES = {"m": 20, "f": 80}
WEIGHTS = {"m": 0.9, "f": 0.1}
# How many cases of each stratum a run has right: 43 and 85 of 100, but 0.885 and 0.4125 by the weights.
BEST = {"m": 19, "f": 24}
COMMON = {"m": 7, "f": 78}
COPIES = 42


def weighted_test(folder: Path, weights: Mapping[str, float] | str | None) -> Path:
    folder.mkdir(parents=True)
    rows = [f"{name}{n},{n},1,{name}" for name, size in SIZES.items() for n in range(size)]
    (folder / "cases.csv").write_text("\n".join(["id,input,expect,g", *rows, ""]))
    lines = ["format = 1", "[test]", 'name = "w"', 'version = "1.0"', 'synopsis = "w"', 'task = "label"', "[cases]"]
    lines += ['table = "cases.csv"', "[design]", 'stratum = "g"']
    if isinstance(weights, str):
        lines.append(f'weights = "{weights}"')
    elif weights is not None:
        lines.append(f"weights = {{{', '.join(f'{name} = {weight}' for name, weight in weights.items())}}}")
    (folder / "w.hate.toml").write_text("\n".join([*lines, ""]))
    return folder


def run(shop: Workshop, test: Path, name: str, right: Mapping[str, int]) -> Path:
    shop.interface(
        f"NAME = {name!r}\nRIGHT = {dict(right)!r}\n"
        "def answer(case, params):\n    return '1' if int(case.input) < RIGHT[case.id[0]] else '0'\n"
    )
    path = test.parent / f"{name}.jsonl"
    done = shop.call("run", str(test / "w.hate.toml"), "-o", str(path))
    assert done.status == 0, done.err
    return path


@pytest.fixture
def crowded(shop: Workshop, tmp_path: Path) -> Path:
    """The best by the weights among many that are better by the plain rate."""
    test = weighted_test(tmp_path / "w", WEIGHTS)
    best, common = run(shop, test, "best", BEST), run(shop, test, "common", COMMON)
    copies = [Path(shutil.copy(common, tmp_path / f"also{n}.jsonl")) for n in range(COPIES)]
    root = tmp_path / "site"
    publish(root, [read_test_candidate(test), *map(read_transcript_candidate, [best, common, *copies])])
    return root


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def front_page(text: str) -> str:
    (best,) = re.findall(r"best \d\.\d{4} by \S+", re.sub(r"<[^>]*>", "", text))
    return str(best)


def entries_of(root: Path) -> Iterator[TranscriptEntry]:
    site = open_folder(root)
    index = site.test("w")
    assert index is not None
    return site.transcripts(index)


@pytest.mark.slow
def test_weights_decide_who_leads_however_many_hand_in(crowded: Path) -> None:
    value = 0.9 * 19 / 20 + 0.1 * 24 / 80
    with serve_here(crowded) as server:
        assert front_page(server.get("/").text) == "best 0.8850 by best"
        shown = Page(server.get("/tests/w").text)
        table = rows_of(server.get("/data/w@1.0/ranking.csv").text)
        data = server.get("/data/w@1.0/ranking.json").json()
    assert shown.boxes[0] == "best"
    assert shown.row("best")[:4] == ["1", "best", "a", "0.8850"]
    assert len(table) == COPIES + 2
    assert [row["rank"] for row in table] == [str(number) for number in range(1, COPIES + 3)]
    first = table[0]
    assert (first["name"], first["measure"], first["rate"]) == ("best", "rate", "0.43")
    assert float(first["value"]) == pytest.approx(value, abs=1e-12)
    assert all(float(row["low"]) < float(row["value"]) < float(row["high"]) for row in table)
    assert {"rank", "name", "measure", "value", "low", "high", "letters", "tests", "ER", "isolation"} <= first.keys()
    # Only so many are compared pair by pair.
    assert [bool(row["letters"]) for row in table] == [True] * 40 + [False] * (COPIES - 38)
    assert "The best 40 that can be matched are compared with one another" in shown.text
    assert data["measure"] == "rate"
    assert [row["name"] for row in data["transcripts"]] == [row["name"] for row in table]


@pytest.mark.slow
def test_static_pages_have_the_same_ranking(crowded: Path) -> None:
    write_pages(crowded)
    with serve_here(crowded) as server:
        served = server.get("/data/w@1.0/ranking.csv").text
    assert (crowded / "data/w@1.0/ranking.csv").read_text() == served
    assert front_page((crowded / "index.html").read_text()) == "best 0.8850 by best"
    (first, *_) = re.findall(r'<a href="[^"]*transcripts/w@1.0/(\w+)', (crowded / "tests/w.html").read_text())
    assert first == "best"
    assert "best is better than" in (crowded / "compare/w@1.0.html").read_text()


def test_the_index_says_what_a_transcript_is_ranked_by(crowded: Path, shop: Workshop) -> None:
    """The value is what `hate rate` gives by the design of the test."""
    for entry in entries_of(crowded):
        file = crowded.parent / f"{entry.name}.jsonl"
        (run,) = shop.call("rate", str(file), "--format", "json").json["transcripts"]
        assert entry.standing is not None
        assert entry.standing.measure == "rate"
        assert entry.standing.value == pytest.approx(run["value"], abs=1e-12)
        if entry.name in ("best", "common"):
            assert run["value"] != pytest.approx(run["rate"], abs=0.1)


def test_a_site_of_an_older_version_names_the_right_leader(crowded: Path, shop: Workshop, tmp_path: Path) -> None:
    """Its index does not say what transcripts are ranked by, and names the one with the highest plain rate."""
    root = tmp_path / "old"
    publish(root, [read_test_candidate(tmp_path / "w")])
    publish_unjudged(root, [read_transcript_candidate(tmp_path / f"{name}.jsonl") for name in ("best", "common")])
    (test,) = open_folder(root).tests()
    assert test.best is not None
    assert (test.best.name, test.best.standing) == ("common", None)
    with serve_here(root) as server:
        assert front_page(server.get("/").text) == "best 0.8850 by best"
        assert Page(server.get("/tests/w").text).boxes == ["best", "common"]
    # A transcript that is added later does not make the others say it.
    better = run(shop, tmp_path / "w", "better", {"m": 20, "f": 0})
    publish(root, [read_transcript_candidate(better)])
    with serve_here(root) as server:
        assert front_page(server.get("/").text) == "best 0.9000 by better"


def test_a_run_cannot_bring_its_own_weights(crowded: Path, tmp_path: Path) -> None:
    lines = (tmp_path / "common.jsonl").read_bytes().splitlines(keepends=True)
    header = json.loads(lines[0])
    header["design"]["weights"] = {"m": 0.0, "f": 1.0}
    body = b"".join([json.dumps(header).encode() + b"\n", *lines[1:-1]])
    end = json.loads(lines[-1]) | {"sha256": hashlib.sha256(body).hexdigest()}
    sly = tmp_path / "sly.jsonl"
    sly.write_bytes(body + json.dumps(end).encode() + b"\n")
    publish_unjudged(crowded, [read_transcript_candidate(sly, by="eve")])
    with serve_here(crowded) as server:
        rows = {row["name"]: row for row in rows_of(server.get("/data/w@1.0/ranking.csv").text)}
        assert (rows["best"]["rank"], rows["sly"]["rank"]) == ("1", "")
        assert "cannot be matched or read: sly." in Page(server.get("/tests/w").text).text
        assert front_page(server.get("/").text) == "best 0.8850 by best"


RUNS = {"a": {"m": 19, "f": 24}, "b": {"m": 7, "f": 78}, "c": {"m": 12, "f": 40}, "d": {"m": 2, "f": 79}}


def ranked(shop: Workshop, folder: Path, weights: Any, names: str) -> list[dict[str, str]]:
    """The ranking of runs that are published one after the other."""
    test = weighted_test(folder / "w", weights)
    publish(folder / "site", [read_test_candidate(test)])
    for name in names:
        publish(folder / "site", [read_transcript_candidate(run(shop, test, name, RUNS[name]))])
    with serve_here(folder / "site") as server:
        rows = rows_of(server.get("/data/w@1.0/ranking.csv").text)
        assert front_page(server.get("/").text).endswith(f" by {rows[0]['name']}")
    (test_entry,) = open_folder(folder / "site").tests()
    assert test_entry.best is not None
    assert test_entry.best.name == rows[0]["name"]
    return rows


def numbers(rows: list[dict[str, str]]) -> list[Any]:
    keys = ("value", "low", "high")
    return [(row["rank"], row["name"], row["letters"], *(round(float(row[key]), 9) for key in keys)) for row in rows]


def test_the_order_of_publishing_does_not_matter(shop: Workshop, tmp_path: Path) -> None:
    first = ranked(shop, tmp_path / "first", WEIGHTS, "abcd")
    assert [row["name"] for row in first] == ["a", "c", "b", "d"]
    assert numbers(ranked(shop, tmp_path / "second", WEIGHTS, "dcba")) == numbers(first)


@pytest.mark.slow
def test_weights_as_the_cases_have_them_change_nothing(shop: Workshop, tmp_path: Path) -> None:
    plain = ranked(shop, tmp_path / "plain", None, "abcd")
    assert [row["name"] for row in plain] == ["b", "d", "c", "a"]
    sizes = {name: size / 100 for name, size in SIZES.items()}
    for number, weights in enumerate((sizes, "cases")):
        assert numbers(ranked(shop, tmp_path / str(number), weights, "abcd")) == numbers(plain)
    equal = ranked(shop, tmp_path / "equal", "equal", "abcd")
    assert [row["name"] for row in equal] == [
        name for name, _ in sorted(RUNS.items(), key=lambda run: -(run[1]["m"] / 20 + run[1]["f"] / 80))
    ]


def test_a_blind_board_ranks_by_the_weights(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blind_weights: "BlindWeights"
) -> None:
    with serve_here(blind_weights.root, tokens=blind_weights.tokens) as server:
        monkeypatch.setenv("HATE_SITES", server.url)
        common = blind_weights.submit(server, "common", COMMON)
        assert "85 of 100 right, 0.8500, and ranks it by its weighted rate, 0.4125" in common
        assert "43 of 100 right, 0.4300, and ranks it by its weighted rate, 0.8850" in blind_weights.submit(
            server, "best", BEST
        )
        assert front_page(server.get("/").text) == "best 0.8850 by best"
        rows = rows_of(server.get("/data/w@1.0/ranking.csv").text)
    assert [(row["rank"], row["name"]) for row in rows] == [("1", "best"), ("2", "common")]
    # The runs with their outcomes are not where the site is copied to; the order stays.
    shutil.move(blind_weights.private, tmp_path / "kept")
    write_pages(blind_weights.root)
    assert front_page((blind_weights.root / "index.html").read_text()) == "best 0.8850 by best"
    rows = rows_of((blind_weights.root / "data/w@1.0/ranking.csv").read_text())
    assert [(row["name"], round(float(row["value"]), 6)) for row in rows] == [("best", 0.885), ("common", 0.4125)]


class BlindWeights:
    """A blind test with weights, its site, and people who each hand in one run."""

    def __init__(self, shop: Workshop, folder: Path) -> None:
        self.shop, self.root, self.tokens = shop, folder / "board", folder / "tokens.db"
        self.private = folder / "board.private"
        self.test = weighted_test(folder / "blind" / "w", WEIGHTS)
        # Some wrong claims, so that there is something to hide.
        table = self.test / "cases.csv"
        table.write_text(table.read_text().replace(",1,m", ",2,m", 1))
        done = shop.call("publish", str(self.test), "--blind", "--to", str(self.root))
        assert done.status == 0, done.err

    def submit(self, server: Served, name: str, right: Mapping[str, int]) -> str:
        token = self.shop.call("token", "add", name, "--tokens", str(self.tokens)).out.strip()
        self.shop.interface(
            f"NAME = {name!r}\nRIGHT = {dict(right)!r}\n"
            "def answer(case, params):\n"
            "    wanted = '2' if case.id == 'm0' else '1'\n"
            "    return wanted if int(case.input) < RIGHT[case.id[0]] else '0'\n"
        )
        path = self.shop.folder / f"{name}.jsonl"
        assert self.shop.call("run", "w", "-o", str(path)).status == 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HATE_TOKEN", token)
            done = self.shop.call("submit", str(path), "--to", server.url, "--format", "json")
        assert done.status == 0, done.err
        assert json.loads(done.out)["submitted"][0]["result"] == "published"
        return done.err


@pytest.fixture
def blind_weights(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BlindWeights:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return BlindWeights(shop, tmp_path)


def test_boards_rank_by_what_counts_in_the_test(shop: Workshop, tmp_path: Path) -> None:
    """Boxes by `ap`, as `hate compare` does."""
    runs = [bundled("transcripts") / "shapes" / f"{name}.jsonl" for name in ("blobs", "relief")]
    root = tmp_path / "site"
    publish(root, [read_test_candidate(bundled("test_scripts") / "shapes"), *map(read_transcript_candidate, runs)])
    compared = shop.call("compare", *map(str, runs), "--format", "json").json["transcripts"]
    values = {run["name"]: run["value"] for run in compared}
    with serve_here(root) as server:
        rows = rows_of(server.get("/data/shapes@1.0.0/ranking.csv").text)
        assert front_page(server.get("/").text) == f"best {values['relief']:.4f} by relief"
    assert [(row["name"], row["measure"]) for row in rows] == [("relief", "ap"), ("blobs", "ap")]
    assert {row["name"]: float(row["value"]) for row in rows} == pytest.approx(values)


def test_the_best_results_come_first_where_less_is_better_too() -> None:
    """As of a plug-in's task that counts errors; tests without a result come last."""
    errors = {"near": 0.5, "far": 7.0}
    entries = [
        layout.TestEntry(name, "1.0", "", "", 1, f"1:{'0' * 64}", 1, 1, Ref("0" * 64, 1), best=best)
        for name, best in {
            "none": None,
            **{name: BestEntry(name, 0.0, Standing("mae", value, -value)) for name, value in errors.items()},
        }.items()
    ]
    words, key = _ORDERS["best"]
    assert words == "best result first"
    assert [entry.name for entry in sorted(entries, key=key)] == ["near", "far", "none"]
