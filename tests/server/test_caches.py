"""The cache in memory: limited in size, and every value is made only once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.files.caches import MemoryCache, memory_of
from harness.site.publish import publish
from harness.site.publish_candidates import read_test_candidate, read_transcript_candidate
from tests.server.served import publish_unjudged, serve_here, toy_script, toy_transcript
from tests.server.strict_page import Page


def test_the_least_recently_used_is_dropped_first() -> None:
    stock = MemoryCache(10_000, memory_of)
    for name in "abcde":
        stock.put(name, b"x" * 1500)
    assert stock.get("a") is not None
    for name in "fg":
        stock.put(name, b"x" * 1500)
    assert [name for name in "abcdefg" if stock.get(name) is not None] == ["a", "d", "e", "f", "g"]


def test_no_single_value_fills_the_cache() -> None:
    stock = MemoryCache(1000, memory_of)
    stock.put("large", b"x" * 300)
    assert stock.get("large") is None


def test_empty_values_take_space_too() -> None:
    stock = MemoryCache(10_000, memory_of)
    for number in range(1000):
        stock.put(number, b"")
    assert sum(stock.get(number) is not None for number in range(1000)) == 20


def test_ten_threads_make_a_value_once() -> None:
    stock, made, gate = MemoryCache(10_000, memory_of), [], threading.Barrier(10)

    def make() -> bytes:
        made.append(1)
        return b"costly"

    def ask(_: int) -> bytes:
        gate.wait(60)
        return stock.get_or_make("key", make)

    with ThreadPoolExecutor(10) as pool:
        assert set(pool.map(ask, range(10))) == {b"costly"}
    assert len(made) == 1


def test_after_a_failure_the_next_thread_tries() -> None:
    stock = MemoryCache(10_000, memory_of)

    def fail() -> bytes:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stock.get_or_make("key", fail)
    assert stock.get_or_make("key", lambda: b"now") == b"now"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cases", [1, 2, 3])
def test_the_smallest_tests_have_pages_too(tmp_path: Path, cases: int) -> None:
    root = tmp_path / "site"
    publish(root, [read_test_candidate(toy_script(tmp_path / "toy", cases=cases))])
    for number in range(3):
        path = tmp_path / f"r{number}.jsonl"
        grouped = (
            {"design": {"stratum": "s", "psu": "u"}, "record": {"stratum": "s", "psu": "u"}} if number == 2 else {}
        )
        path.write_bytes(toy_transcript(root, wrong=range(number), **grouped))  # type: ignore[arg-type]
        publish_unjudged(root, [read_transcript_candidate(path)])
    with serve_here(root) as server:
        for page, codes in {
            "/tests/toy": {200},
            "/compare/toy?t=r0&t=r1": {200} if cases > 1 else {409},
            "/compare/toy?t=r0&t=r2": {200, 409},
            "/compare/toy?t=r1&t=r2": {200, 409},
            "/transcripts/toy/r0": {200},
            "/transcripts/toy/r2": {200},
        }.items():
            answer = server.get(page, headers={"Accept": "text/html"})
            assert answer.status_code in codes, (page, server.log)
            assert "Something went wrong" not in Page(answer.text).text
