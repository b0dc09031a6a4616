"""Columns kept in the cache: the same as those read from the transcript, or not believed."""

import gzip
import hashlib
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model import Trial
from harness.transcript import kept_columns, read
from harness.transcript.columns import Coded, Columns, read_columns
from tests.simulation import examples
from tests.transcript.transcript_files import trials, write
from tests.workshop import Workshop

COMMANDS = (
    ("compare", "a.jsonl", "b.jsonl"),
    ("compare", "a.jsonl", "b.jsonl", "--by", "writer", "--stratum", "truth", "--psu", "none"),
    ("compare", "a.jsonl", "b.jsonl", "--statistic", "auc"),
    ("compare", "a.jsonl", "b.jsonl", "--at", "eer"),
    ("rate", "a.jsonl", "--statistic", "f1", "--by", "writer"),
    ("roc", "a.jsonl", "b.jsonl"),
    ("confusion", "a.jsonl"),
    ("rate", "a.jsonl", "--statistic", "speed"),
)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of kept columns, of a cache of this test; transcripts of any size have theirs kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_columns, "MIN_CASES", 1)
    return tmp_path / "cache/hate/columns"


def big(path: Path, name: str, count: int = 300) -> Path:
    """A transcript with every kind of key that analyses read."""
    rng = random.Random(name)
    header = (
        '{"hate":"transcript","format":1,"test":{"name":"big","version":"1","digest":"1:0","task":"label"},'
        f'"algorithm":{{"name":"{name}"}},"design":{{"stratum":"s","psu":"u"}}}}\n'
    )
    lines, tally = [header], Counter[str]()
    for number in range(count):
        positive = number % 3 > 0
        outcome = rng.choice(("TP", "FN") if positive else ("TN", "FP"))
        tally[outcome] += 1
        lines.append(
            f'{{"id":"ü{number}","outcome":"{outcome}","expect":"{number % 10}","truth":"{number % 7}",'
            f'"actual":"{rng.randrange(10)}","score":{rng.gauss(positive, 1)!r},"seconds":{rng.random()!r},'
            f'"stratum":"{number // 50}","psu":"{number // 5}","columns":{{"writer":"w{number % 4}"}},'
            f'"values":{{"speed":{rng.random()!r}}}}}\n'
        )
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    counts = ",".join(f'"{outcome}":{number}' for outcome, number in tally.items())
    end = f'{{"end":true,"tests":{count},{counts},"sha256":"{digest}"}}\n'
    path.write_text("".join([*lines, end]), encoding="utf-8")
    return path


def assert_same(one: Columns, other: Columns) -> None:
    for field in fields(Columns):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        assert _same(mine, theirs) if not isinstance(mine, dict) else list(mine) == list(theirs), field.name
        if isinstance(mine, dict):
            assert all(_same(mine[key], theirs[key]) for key in mine), field.name


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, Coded):
        return np.array_equal(mine.codes, theirs.codes) and list(mine.labels) == list(theirs.labels)
    if isinstance(mine, np.ndarray):
        return mine.dtype == theirs.dtype and np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
    return bool(mine == theirs)


@examples(60)
@given(st.lists(trials, min_size=1, max_size=12), st.booleans())
def test_what_is_kept_is_what_was_read(
    tmp_path_factory: pytest.TempPathFactory, given_trials: Sequence[Trial], lean: bool
) -> None:
    folder = tmp_path_factory.mktemp("t")
    path = write(folder / "t.jsonl", given_trials)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setattr(kept_columns, "MIN_CASES", 1)
        first = read_columns(path, lean=lean)
        [entry] = (folder / "cache/hate/columns").iterdir()
        assert kept_columns.is_sound(entry)
        found = kept_columns.find_columns(path, lean=lean)
        assert found is not None
        assert_same(first, found)


@examples(60)
@given(st.lists(trials, max_size=12), st.booleans(), st.integers(1, 300))
def test_guesses_of_blocks_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, given_trials: Sequence[Trial], lean: bool, size: int
) -> None:
    path = write(tmp_path_factory.mktemp("t") / "t.jsonl", [*given_trials, *given_trials])
    whole = read_columns(path, lean=lean)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "BLOCK", size)
        assert_same(read_columns(path, lean=lean), whole)


@pytest.mark.slow
def test_commands_print_the_same_with_and_without(shop: Workshop, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        big(shop.folder / f"{name}.jsonl", name)
    for words in COMMANDS:
        monkeypatch.setenv("HATE_COLUMNS", "off")
        without = [shop.call(*words, "--format", style) for style in ("json", "plain")]
        assert without[0].status == 0, without[0].err
        monkeypatch.delenv("HATE_COLUMNS")
        for _ in range(2):
            assert [shop.call(*words, "--format", style) for style in ("json", "plain")] == without
    assert [path.name.rsplit("-", 1)[1] for path in kept.iterdir()] == ["full", "full"]


def test_off_means_that_nothing_is_kept(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATE_COLUMNS", "off")
    read_columns(big(tmp_path / "a.jsonl", "a"))
    assert not kept.exists()


def test_small_and_incomplete_transcripts_are_not_kept(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = big(tmp_path / "a.jsonl", "a")
    incomplete = tmp_path / "b.jsonl"
    incomplete.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    assert not read_columns(incomplete).complete
    monkeypatch.setattr(kept_columns, "MIN_CASES", 301)
    read_columns(path)
    assert not kept.exists()


def test_only_the_owner_can_read_and_write_it(kept: Path, tmp_path: Path) -> None:
    read_columns(big(tmp_path / "a.jsonl", "a"))
    [entry] = kept.iterdir()
    assert (kept.stat().st_mode & 0o777, entry.stat().st_mode & 0o777) == (0o700, 0o600)


def truncate(entry: Path) -> None:
    os.truncate(entry, entry.stat().st_size - 7)


def cut_in_half(entry: Path) -> None:
    os.truncate(entry, entry.stat().st_size // 2)


def empty(entry: Path) -> None:
    entry.write_bytes(b"")


def flip(offset: int) -> Callable[[Path], None]:
    def change(entry: Path) -> None:
        data = bytearray(entry.read_bytes())
        data[offset] ^= 1
        entry.write_bytes(data)

    return change


def rewritten(key: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """A change by somebody who knows the layout; `key` may be of a mapping within a mapping."""

    def rewrite(entry: Path) -> None:
        content = msgspec.msgpack.decode(entry.read_bytes().split(b"\n", 1)[1])
        *outer, last = key.split(".")
        inner = content
        for name in outer:
            inner = inner[name]
        before = inner[last]
        inner[last] = change(before)
        assert inner[last] != before
        encoded = msgspec.msgpack.encode(content)
        entry.write_bytes(f"hate columns 2 {hashlib.sha256(encoded).hexdigest()}\n".encode() + encoded)

    return rewrite


def other_content(entry: Path) -> None:
    encoded = msgspec.msgpack.encode([1, 2])
    entry.write_bytes(f"hate columns 2 {hashlib.sha256(encoded).hexdigest()}\n".encode() + encoded)


def writable_by_others(entry: Path) -> None:
    entry.chmod(0o666)


def a_link(entry: Path) -> None:
    elsewhere = entry.parent.parent / "elsewhere"
    entry.rename(elsewhere)
    entry.symlink_to(elsewhere)


@pytest.mark.parametrize(
    "change",
    [
        truncate,
        cut_in_half,
        empty,
        flip(3),
        flip(40),
        flip(200),
        flip(-1),
        flip(-2000),
        other_content,
        rewritten("ids.lengths", lambda data: data + bytes(4)),
        rewritten("ids.lengths", lambda data: data[:-4]),
        rewritten("ids.lengths", lambda data: data[:-1]),
        rewritten("ids.lengths", lambda data: b"\xff" * len(data)),
        rewritten("ids.lengths", lambda data: b"\1\0\0\0\5\0\0\0" + data[8:]),
        rewritten("ids.data", lambda data: b"\xff" + data[1:]),
        rewritten("outcome", lambda data: data + b"\0"),
        rewritten("outcome", lambda data: b"\4" + data[1:]),
        rewritten("outcome", lambda data: b"\xff" + data[1:]),
        rewritten("repeat", lambda _: bytes(4 * 300)),
        rewritten("repeat", lambda _: b"\1\0\0\0"),
        rewritten("numbers.score", lambda data: data[::2]),
        rewritten("numbers.score", lambda _: ["O"] * 300),
        rewritten("texts.truth.codes", lambda data: b"\7\0\0\0" + data[4:]),
        rewritten("texts.truth.codes", lambda data: b"\xfe\xff\xff\xff" + data[4:]),
        rewritten("columns.writer.codes", lambda data: data[4:]),
        rewritten("values.speed", lambda data: data + bytes(8)),
        rewritten("details", lambda _: {"boxes": b"[null]"}),
        rewritten("details", lambda _: {"boxes": b"[1]"}),
        rewritten("header", lambda data: data[1:]),
        rewritten("transcript", lambda data: "00" + data),
        writable_by_others,
        a_link,
    ],
)
def test_what_is_torn_or_changed_is_made_again(kept: Path, tmp_path: Path, change: Callable[[Path], None]) -> None:
    path = big(tmp_path / "a.jsonl", "a")
    first = read_columns(path)
    [entry] = kept.iterdir()
    sound = entry.read_bytes()
    change(entry)
    assert kept_columns.find_columns(path, lean=False) is None
    assert not kept_columns.is_sound(entry)
    assert_same(read_columns(path), first)
    assert entry.read_bytes() == sound
    assert kept_columns.find_columns(path, lean=False) is not None


def test_columns_of_a_changed_transcript_are_not_taken(kept: Path, tmp_path: Path) -> None:
    """The size and the time of the file are as before; its bytes are not."""
    path = big(tmp_path / "a.jsonl", "a")
    before = read_columns(path)
    times = path.stat()
    data = path.read_bytes().replace(b'"sha256":"', b'"sha25x":"', 1)
    path.write_bytes(data.replace(b'"outcome":"TP"', b'"outcome":"FN"', 1))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    after = read_columns(path)
    assert (after.outcome != before.outcome).sum() == 1


def test_a_compressed_transcript_has_its_own(kept: Path, tmp_path: Path) -> None:
    path = big(tmp_path / "a.jsonl", "a")
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    first = read_columns(packed)
    found = kept_columns.find_columns(packed, lean=True)
    assert found is not None
    assert_same(read_columns(path, lean=True), found)
    assert first.ids == found.ids


def test_the_cache_shows_verifies_and_clears_them(shop: Workshop, kept: Path) -> None:
    path = big(shop.folder / "a.jsonl", "a")
    read_columns(path)
    [row] = shop.call("cache", "list", "--format", "json").json["entries"]
    assert (row["kind"], row["entries"], row["bytes"]) == ("columns", 1, next(kept.iterdir()).stat().st_size)
    assert shop.call("cache", "verify").status == 0
    truncate(next(kept.iterdir()))
    assert shop.call("cache", "verify").status == 1
    assert shop.call("cache", "clear", "columns").status == 0
    assert list(kept.glob("*-*")) == []


def test_the_oldest_go_when_there_are_too_many(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [big(tmp_path / f"{name}.jsonl", name) for name in ("a", "b", "c")]
    for path in paths[:2]:
        read_columns(path)
    size = max(entry.stat().st_size for entry in kept.iterdir())
    monkeypatch.setattr(kept_columns, "MAX_BYTES", 2 * size + size // 2)
    for entry in kept.iterdir():
        os.utime(entry, (1, 1))
    assert kept_columns.find_columns(paths[0], lean=False) is not None  # used just now
    read_columns(paths[2])
    left = [kept_columns.find_columns(path, lean=False) is not None for path in paths]
    assert left == [True, False, True]


def test_a_cache_that_cannot_be_written_is_no_hindrance(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert len(read_columns(big(tmp_path / "a.jsonl", "a")).ids) == 300


READER = """
import sys
from pathlib import Path
from harness.transcript import kept_columns
from harness.transcript.columns import read_columns
kept_columns.MIN_CASES = 1
for _ in range(20):
    for entry in (kept_columns._folder()).glob("*-full"):
        entry.unlink(missing_ok=True)
    columns = read_columns(Path(sys.argv[1]))
    assert len(columns.ids) == 300 and columns.columns["writer"].labels[3] == "w3"
"""


@pytest.mark.slow
def test_several_processes_at_once(kept: Path, tmp_path: Path) -> None:
    path = big(tmp_path / "a.jsonl", "a")
    processes = [
        subprocess.Popen([sys.executable, "-c", READER, str(path)], stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]
    assert [(process.communicate(timeout=60)[1], process.returncode) for process in processes] == [("", 0)] * 3
    [entry] = kept.iterdir()
    assert kept_columns.is_sound(entry)
