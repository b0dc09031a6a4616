"""What is stored in another form comes back as it was, and a test is the same wherever it is found."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import harness
from harness.transcript.storage import Form
from tests.products.conftest import AllRuns
from tests.products.subjects import SUBJECTS, Record, Runs, rewrite
from tests.site.published_site import served
from tests.workshop import Workshop

JSON = ("--format", "json")


def strange(record: Record) -> Record:
    """What records may have and seldom do: letters of all kinds, numbers at their limits, nothing, keys of others."""
    number = int(record["id"][1:])
    odd: list[Record] = [
        {"error": "crash", "message": 'said "no"\n\tand left', "outcome": "FN" if record["positive"] else "FP"},
        {"columns": record["columns"] | {"größe": "naïve ☃ \U0001f600", "empty": "", "=1+1": "'x"}},
        {"values": {"blur": 1e-300, "cost": -0.0, "third": 123456789012345.6}},
        {"seconds": None, "actual": None},
        {"unknown": {"deep": [1, None, {"é": True}]}, "asked": "three\u2028lines"},
        {"columns": {}, "values": {}},
        {},
    ]
    return record | odd[number % len(odd)]


def of_no_test_here(header: Record) -> Record:
    """Records that contradict their test would be refused, and every refusal is the same."""
    return header | {"test": header["test"] | {"name": "elsewhere"}}


@pytest.mark.sampled(13)
@pytest.mark.parametrize(
    "words", [(), pytest.param(("--repeat", "2"), marks=pytest.mark.slow)], ids=["once", "repeated"]
)
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_transcript_comes_back_from_every_form(
    shop: Workshop, all_runs: AllRuns, name: str, words: tuple[str, ...]
) -> None:
    """Byte by byte; and what it has between is told by `show`, which reads lines, and `rate`, which reads columns."""
    source = all_runs.of(name, *words).paths[0]
    last = rewrite(source, shop.folder / "0.jsonl", record=strange, header=of_no_test_here)
    plain = last.read_bytes()
    shown = shop.call("show", last, *JSON).json
    rated = shop.call("rate", last, "--by", "group", *JSON)
    assert rated.status == 0, rated.err
    assert len(shown["cases"]) == plain.count(b"\n") - 2
    for number, form in enumerate([*Form, *reversed(Form)], 1):
        path = shop.folder / f"{number}{form}"
        assert shop.call("convert", last, path).status == 0
        assert shop.call("show", path, *JSON).json == shown
        assert [trial.id for trial in harness.read(path)] == [case["id"] for case in shown["cases"]]
        found = shop.call("rate", path, "--by", "group", *JSON)
        assert (found.status, found.out) == (rated.status, rated.out)
        last = path
    assert last.suffix == Form.LINES
    assert last.read_bytes() == plain


class Library:
    """Ways to name one test."""

    def __init__(self, shop: Workshop, patch: pytest.MonkeyPatch, runs: Runs, url: Callable[[Path], str]) -> None:
        self.shop, self.patch, self.runs, self.url = shop, patch, runs, url

    def in_library(self) -> list[str]:
        return [self.runs.subject.name, "--library", str(self.runs.script.parent)]

    def in_environment(self) -> list[str]:
        self.patch.setenv("HATE_LIBRARY", str(self.runs.script.parent))
        return [f"{self.runs.subject.name}@1.0"]

    def at_site(self) -> list[str]:
        self._publish()
        return [self.runs.subject.name]

    def at_url(self) -> list[str]:
        return [f"{self._publish()}/tests/{self.runs.subject.name}@1.0"]

    def _publish(self) -> str:
        site = self.shop.folder / "site"
        done = self.shop.call("publish", self.runs.script.parent, "--to", site)
        assert done.status == 0, done.err
        self.patch.setenv("HATE_SITES", self.url(site))
        return self.url(site)


WAYS: dict[str, Callable[[Library], list[str]]] = {
    "folder": lambda library: [f"{library.runs.script.parent}{os.sep}"],
    "in the library": Library.in_library,
    "in HATE_LIBRARY": Library.in_environment,
    "at a site": Library.at_site,
    "at a URL": Library.at_url,
}


@pytest.fixture
def url(shop: Workshop) -> Iterator[Callable[[Path], str]]:
    with served(shop.folder) as server:
        yield lambda path: server.url(f"/{path.relative_to(shop.folder).as_posix()}")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("way", "name"),
    [
        pytest.param(way, name, marks=() if (i - j) % len(WAYS) == 0 else pytest.mark.slow)
        for i, way in enumerate(WAYS)
        for j, name in enumerate(SUBJECTS)
    ],
)
def test_a_test_is_the_same_wherever_it_is_found(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, all_runs: AllRuns, url: Callable[[Path], str], way: str, name: str
) -> None:
    """Its records, its cases and what is said about it; only its place is another."""
    runs = all_runs.of(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(shop.folder / "cache"))
    test = WAYS[way](Library(shop, monkeypatch, runs, url))
    done = shop.call("run", *test, "--interface", runs.interface(), "-o", "run.jsonl", *JSON)
    assert done.status == 0, done.err
    (header, *_, end), records = shop.lines("run.jsonl"), shop.records("run.jsonl")
    first, *_, last = shop.lines(str(runs.paths[0]))
    assert records == shop.records(str(runs.paths[0]))
    assert header["test"] == first["test"]
    assert [end[key] for key in ("tests", "TP", "TN", "FP", "FN", "ER")] == [
        last[key] for key in ("tests", "TP", "TN", "FP", "FN", "ER")
    ]
    cases = shop.call("cases", *test, "--truth")
    expected = shop.call("cases", runs.script, "--truth")
    assert [_without_folders(json.loads(line)) for line in cases.out.splitlines()] == [
        _without_folders(json.loads(line)) for line in expected.out.splitlines()
    ]
    told = [shop.call("describe", *words, *JSON).json for words in (test, [str(runs.script)])]
    assert _without_folders(told[0]) == _without_folders(told[1])


def _without_folders(value: object) -> object:
    """Files by their names; where they are, differs."""
    if isinstance(value, dict):
        return {key: _without_folders(one) for key, one in value.items()}
    if isinstance(value, list):
        return list(map(_without_folders, value))
    return Path(value).name if isinstance(value, str) and value.startswith(os.sep) else value
