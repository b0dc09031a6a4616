"""Nothing is lost: --resume, --retry-errors and locks, where a run was stopped at a bad moment."""

import os
import signal
from pathlib import Path

import pytest

from harness.errors import OutputError
from harness.files import durable
from harness.files.durable import lock_file
from harness.model import Outcome, Trial
from harness.transcript import write as writing
from harness.transcript.format import AlgorithmInfo, Header
from harness.transcript.format import TestInfo as Info
from harness.transcript.write import TranscriptWriter
from tests.workshop import Workshop, errors, wait_until

HEADER = Header("transcript", 1, Info("toy", "1", "1:a"), AlgorithmInfo("a"))
FAILING = "import pathlib\ndef answer(case, params):\n    if not pathlib.Path('mended').exists(): raise ValueError\n"


def test_a_complete_part_becomes_the_compressed_file_that_was_claimed(toy: Workshop) -> None:
    """Killed between its last line and its compression; --resume said 'nothing was left to run' and left no file."""
    expected = toy.run(output="plain.jsonl")
    (toy.folder / "plain.jsonl").rename(toy.folder / "out.jsonl.gz.part")
    done = toy.call("run", "toy", "-o", "out.jsonl.gz", "--resume")
    assert done.status == 0
    assert toy.records("out.jsonl.gz") == expected
    assert not (toy.folder / "out.jsonl.gz.part").exists()


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_retry_touches_no_other_file(name: str, toy: Workshop) -> None:
    toy.interface(FAILING + "    return case.input\n")
    toy.run(output=name)
    others = ["a.retry.jsonl", "a.retry.jsonl.gz", "a.retry", "a.import.jsonl"]
    for other in others:
        toy.write(other, "mine\n")
    (toy.folder / "mended").touch()
    assert errors(toy.run("--retry-errors", output=name)) == {}
    assert {(toy.folder / other).read_text() for other in others} == {"mine\n"}


def test_a_file_in_the_way_of_a_retry_is_left_alone(toy: Workshop) -> None:
    toy.interface(FAILING + "    return case.input\n")
    toy.run(output="a.jsonl")
    before = (toy.folder / "a.jsonl").read_bytes()
    toy.write("a.jsonl.retry", "mine\n")
    done = toy.call("run", "toy", "-o", "a.jsonl", "--retry-errors")
    assert done.status == 2
    assert done.err == "hate: a.jsonl.retry: in the way, and not an unfinished transcript; move it elsewhere\n"
    assert (toy.folder / "a.jsonl.retry").read_text() == "mine\n"
    assert (toy.folder / "a.jsonl").read_bytes() == before


# Fails until `mended` is there; then c0 and c1 note that they were asked, and c2 waits for `go`.
SLOW = (
    FAILING + "    with open('asked', 'a') as file: file.write(case.id + ' ')\n"
    "    while case.id == 'c2' and not pathlib.Path('go').exists():\n        pathlib.Path('waiting').touch()\n"
    "    return case.input\n"
)


@pytest.mark.slow
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_a_retry_that_was_stopped_is_carried_on_by_the_same_command(signum: int, toy: Workshop) -> None:
    toy.interface(SLOW)
    toy.run(output="a.jsonl")
    (toy.folder / "mended").touch()
    with toy.start("run", "toy", "-o", "a.jsonl", "--retry-errors") as process:
        wait_until("case c2", (toy.folder / "waiting").exists, process)
        process.send_signal(signum)
        _, err = process.communicate()
    if signum == signal.SIGTERM:
        assert "a.jsonl is unchanged; carry on with --retry-errors -o a.jsonl\n" in err
    assert len(errors(toy.records("a.jsonl"))) == 6
    (toy.folder / "go").touch()
    assert errors(toy.run("--retry-errors", output="a.jsonl")) == {}
    asked = (toy.folder / "asked").read_text().split()
    assert (asked.count("c0"), asked.count("c1"), asked.count("c5")) == (1, 1, 1)
    assert sorted(path.name for path in toy.folder.glob("a.*")) == ["a.jsonl"]


def test_what_an_older_retry_left_is_not_mixed_with_a_newer_run(toy: Workshop) -> None:
    """The same run, but made anew with --force since: the old retry's records are not those of this run."""
    toy.interface(FAILING + "    return case.input\n")
    toy.run(output="a.jsonl")
    stale = (toy.folder / "a.jsonl").read_text().splitlines()[:2]
    stale[0] = stale[0].replace('"started":"2', '"started":"1')
    stale[1] = stale[1].replace('"error":"crash",', "")
    toy.write("a.jsonl.retry", "\n".join([*stale, ""]))
    (toy.folder / "mended").touch()
    assert [record["outcome"] for record in toy.run("--retry-errors", output="a.jsonl")] == ["TP", "TN"] * 3


def test_the_lock_is_held_until_a_sorted_file_is_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second writer that came while the records were put in order wrote a second end line."""
    path, refused = tmp_path / "t.jsonl", []
    writer = TranscriptWriter.create(path, HEADER)
    writer.append(1, Trial("b", Outcome.TP))
    writer.append(0, Trial("a", Outcome.TP))

    def intrude() -> None:
        with pytest.raises(OutputError, match="another run is writing this transcript"):
            TranscriptWriter.claim(path)
        refused.append(path.read_bytes())

    def move(source: Path, target: Path) -> None:
        intrude()
        durable.move_into_place(source, target)
        intrude()

    def sync(fd: int) -> None:
        intrude()
        durable.sync_file(fd)

    monkeypatch.setattr(writing, "move_into_place", move)
    monkeypatch.setattr(writing, "sync_file", sync)
    writer.finish()
    assert len(refused) == 4
    assert refused[0] != refused[2]
    assert path.read_bytes().count(b'"end":true') == 1


def test_a_lock_on_a_file_that_was_replaced_does_not_count(tmp_path: Path) -> None:
    path, other = tmp_path / "t.jsonl", tmp_path / "other"
    path.touch()
    other.touch()
    fd = os.open(path, os.O_RDWR)
    assert lock_file(fd, path)
    other.replace(path)
    assert not lock_file(fd, path)
    os.close(fd)
