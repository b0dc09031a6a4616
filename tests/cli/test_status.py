"""`hate status`: runs that are under way, killed, finished, and files that break off; the run is not disturbed."""

import gzip
import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.files.durable import is_locked
from harness.report.numbers import duration
from harness.transcript.status import Follower
from tests.site.run_files import write_run
from tests.workshop import Workshop, command, wait_until

# Answers at once until the sixth case, then waits for a file; the third case is an error.
WAITS = """\
import os, time
NAME = "waiter"
def answer(case, params):
    if case.id == "c2":
        raise ValueError("no")
    while case.id == "c5" and not os.path.exists("go"):
        time.sleep(0.01)
    return case.input
"""
DESIGN = '[design]\npsu = "unit"'
ROWS = "id,input,expect,positive,unit\n" + "".join(f"c{n},x{n},x{n},true,u{n // 2}\n" for n in range(8))


@pytest.fixture
def waiting(shop: Workshop) -> Workshop:
    shop.script(rows=ROWS, sections=DESIGN)
    shop.interface(WAITS)
    return shop


@pytest.fixture
def under_way(waiting: Workshop) -> "Iterator[subprocess.Popen[str]]":
    """A run with five records on disk, which waits."""
    process = waiting.start("run", "toy", "-o", "out.jsonl")
    path = waiting.folder / "out.jsonl"
    wait_until("five records", lambda: path.exists() and path.read_bytes().count(b"\n") == 6, process)
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


def status(shop: Workshop, *words: str) -> dict[str, Any]:
    done = shop.call("status", *words, "--every", "0.01", "--format", "json")
    assert done.status == 0, done.err
    found: dict[str, Any] = done.json
    return found


def test_a_run_that_is_under_way(waiting: Workshop, under_way: "subprocess.Popen[str]") -> None:
    before = (waiting.folder / "out.jsonl").read_bytes()
    found = status(waiting, "out.jsonl")
    assert (found["state"], found["done"], found["total"], found["errors"]) == ("running", 5, 8, {"crash": 1})
    assert found["cases_per_second"] == pytest.approx(5 / found["seconds"])
    assert found["recent_cases_per_second"] == 0
    assert found["seconds_left"] == pytest.approx(3 * found["seconds"] / 5)
    text = waiting.call("status", "--every", "0.01").out
    assert "running: 5 of 8 cases (62.5 %); about" in text
    assert "errors so far: 1 (crash 1)" in text
    assert "--stop-when" in text
    # Nothing was disturbed: the same bytes, and the run goes on to its end.
    assert (waiting.folder / "out.jsonl").read_bytes() == before
    (waiting.folder / "go").touch()
    assert under_way.wait(60) == 0
    found = status(waiting, "out.jsonl")
    assert (found["state"], found["done"], found["total"]) == ("complete", 8, 8)
    assert "a part of the test" not in waiting.call("status", "out.jsonl").out


@pytest.mark.slow
def test_a_killed_run_is_stopped_and_can_be_carried_on_elsewhere(
    waiting: Workshop, under_way: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    under_way.send_signal(signal.SIGKILL)
    under_way.wait()
    path = waiting.folder / "out.jsonl"
    with path.open("ab") as file:
        file.write(b'{"id":"c5","outco')
    found = status(waiting, "out.jsonl")
    assert (found["state"], found["done"], found["seconds_left"]) == ("stopped", 5, None)
    assert "--resume" in waiting.call("status", "out.jsonl").out
    # The same numbers as `hate rate` has for the records so far.
    rate = waiting.call("rate", "out.jsonl", "--partial", "--format", "json").json["transcripts"][0]
    so_far = found["so_far"]
    assert [so_far[key] for key in ("tests", "TP", "TN", "FP", "FN", "ER", "rate", "interval", "replication")] == [
        rate[key] for key in ("tests", "TP", "TN", "FP", "FN", "ER", "rate", "interval", "replication")
    ]
    # Test, interface and transcript moved to another folder, as to another machine.
    elsewhere = tmp_path / "elsewhere" / "deeper"
    shutil.copytree(waiting.folder, elsewhere)
    shutil.rmtree(waiting.folder / "toy")
    (elsewhere / "go").touch()
    moved = Workshop(elsewhere, waiting.capsys, waiting.env)
    done = moved.hate("run", "./toy", "--resume", "-o", "out.jsonl")
    assert done.status == 0, done.err
    assert [record["id"] for record in moved.records()] == [f"c{n}" for n in range(8)]
    assert {record["id"] for record in moved.records() if "error" in record} == {"c2"}


@pytest.mark.slow
def test_each_look_reads_only_what_is_new(waiting: Workshop, under_way: "subprocess.Popen[str]") -> None:
    follower = Follower(waiting.folder / "out.jsonl")
    assert [record.id for block in follower.read_on() for record in block] == ["c0", "c1", "c2", "c3", "c4"]
    assert [record for block in follower.read_on() for record in block] == []
    assert follower.is_written()
    (waiting.folder / "go").touch()
    assert under_way.wait(60) == 0
    assert [record.id for block in follower.read_on() for record in block] == ["c5", "c6", "c7"]
    assert follower.end is not None
    assert not follower.is_written()
    follower.close()


def test_a_line_that_is_written_in_parts_is_read_once(shop: Workshop, waiting: Workshop) -> None:
    (shop.folder / "go").touch()
    shop.run()
    whole = (shop.folder / "out.jsonl").read_bytes()
    growing = shop.write("growing.jsonl", whole[: whole.index(b"\n") + 1])
    follower, seen = Follower(growing), list[str]()
    for place in range(growing.stat().st_size, len(whole), 37):
        with growing.open("ab") as file:
            file.write(whole[place : place + 37])
        seen += [record.id for block in follower.read_on() for record in block]
    assert seen == [f"c{n}" for n in range(8)]
    assert follower.end is not None
    follower.close()


@pytest.mark.slow
def test_compressed_runs(waiting: Workshop) -> None:
    process = waiting.start("run", "toy", "-o", "out.jsonl.gz")
    part = waiting.folder / "out.jsonl.gz.part"
    wait_until("five records", lambda: part.exists() and part.read_bytes().count(b"\n") == 6, process)
    assert status(waiting, "out.jsonl.gz")["done"] == 5
    assert status(waiting)["file"].endswith("out.jsonl.gz.part")
    (waiting.folder / "go").touch()
    assert process.wait(60) == 0
    process.communicate()
    assert status(waiting, "out.jsonl.gz")["state"] == "complete"
    # A copy that breaks off: what is there is counted.
    whole = (waiting.folder / "out.jsonl.gz").read_bytes()
    waiting.write("cut.jsonl.gz", whole[: len(whole) * 3 // 4])
    cut = status(waiting, "cut.jsonl.gz")
    assert cut["state"] == "stopped"
    assert cut["done"] < 8


@pytest.mark.slow
def test_watching_ends_with_the_run(waiting: Workshop, under_way: "subprocess.Popen[str]") -> None:
    watch = waiting.start("status", "out.jsonl", "--watch", "--every", "0.05", "--format", "csv")
    assert watch.stdout is not None
    assert watch.stdout.readline().startswith("state,done,total")
    assert watch.stdout.readline().startswith("running,5,8")
    (waiting.folder / "go").touch()
    out, _ = watch.communicate(timeout=60)
    assert watch.returncode == 0
    assert out.splitlines()[-1].startswith("complete,8,8")
    assert under_way.wait(60) == 0


def test_names_and_unknown_totals(waiting: Workshop) -> None:
    (waiting.folder / "go").touch()
    assert waiting.call("run", "toy").status == 0
    assert status(waiting)["file"] == status(waiting, "waiter")["file"] == "transcripts/toy/waiter.jsonl"
    assert harness.status("waiter").run.done == 8
    header, *records, _ = waiting.lines("transcripts/toy/waiter.jsonl")
    del header["test"]["cases"]
    waiting.write("foreign.jsonl", "".join(json.dumps(line) + "\n" for line in [header, *records]))
    assert status(waiting, "foreign.jsonl")["total"] is None
    assert "does not say of how many" in waiting.call("status", "foreign.jsonl").out
    assert status(waiting)["file"] == "foreign.jsonl", "the one that was written last"


def test_weights_of_cases_and_limits(shop: Workshop) -> None:
    rows = "id,input,expect,weight\n" + "".join(f"c{n},x{n},{'xy'[n % 2]}{n},{n + 1}\n" for n in range(8))
    shop.script(rows=rows, sections='[design]\nweights = "weight"')
    shop.interface()
    shop.run("--limit", "6")
    found = status(shop, "out.jsonl")
    assert found["total"] == 6
    assert found["so_far"]["replication"]["estimate"] == pytest.approx((1 + 3 + 5) / 21)
    cut = shop.write("cut.jsonl", b"".join((shop.folder / "out.jsonl").read_bytes().splitlines(keepends=True)[:5]))
    found = status(shop, str(cut))
    assert (found["state"], found["done"], found["total"]) == ("stopped", 4, 6)
    assert found["so_far"]["replication"]["estimate"] == pytest.approx((1 + 3) / 10)


@pytest.mark.parametrize(
    "content", [b"", b'{"hate":"trans', b"\0" * 50, b"not\n", b"\x1f\x8b\x08", gzip.compress(b"x", mtime=0)]
)
def test_other_files_are_refused(content: bytes, shop: Workshop) -> None:
    shop.write("other.jsonl", content)
    done = shop.call("status", "other.jsonl")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "other.jsonl" in done.err


def test_nothing_there(shop: Workshop) -> None:
    assert "no runs here" in shop.call("status").err
    assert "absent: no such transcript" in shop.call("status", "absent").err


@pytest.mark.slow
def test_a_look_at_the_lock_does_not_keep_a_run_out(waiting: Workshop) -> None:
    """The lock is tried for a moment; whoever wants to write tries more than once."""
    (waiting.folder / "go").touch()
    waiting.run()
    path = waiting.folder / "out.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))
    process = waiting.start("run", "toy", "-o", "out.jsonl", "--resume")
    with path.open("rb") as file:
        while process.poll() is None:
            is_locked(file.fileno())
            time.sleep(0.0005)
    out, err = process.communicate()
    assert process.returncode == 0, out + err


@pytest.mark.parametrize(("seconds", "text"), [
    (0, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3599, "59 min 59 s"), (7500, "2 h 5 min"), (180_000, "2 d 2 h"),
])  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_shell_completes_what_is_taken(shop: Workshop) -> None:
    """Runs under the working folder, finished or not, and those that -o put here; no published transcript."""
    write_run(shop, "toy/first.jsonl", "mine", complete=False)
    (shop.folder / write_run(shop, "toy/second.jsonl", "yours")).rename(shop.folder / "second.jsonl")
    place = {"_HATE_COMPLETE": "bash_complete", "COMP_WORDS": "hate status ", "COMP_CWORD": "2"}
    done = subprocess.run(command([]), cwd=shop.folder, env=shop.env | place, capture_output=True, text=True)
    offered = {line.partition(",")[2] for line in done.stdout.splitlines()}
    assert offered == {"mine", "first", "yours", "second"}
    for name in offered:
        assert status(shop, name)["algorithm"]["name"] in ("mine", "yours")
