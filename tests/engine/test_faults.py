"""What goes wrong in the middle of a run: no finished case is lost, and the run can be resumed."""

import contextlib
import fcntl
import os
import resource
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workshop import ECHO, WAIT, Record, Workshop, command, errors, wait_until

LETHAL = {
    "exit": ("import os; os._exit(3)", "exit status 3"),
    "segmentation fault": ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
    "killed": ("import os; os.kill(os.getpid(), 9)", "SIGKILL"),
    "out of memory": ("import resource; resource.setrlimit(resource.RLIMIT_AS, (1, 1)); x = b'x' * 10**9", ""),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("how", "words"), [("exit", ("--timeout", "60")), *((how, ("-j", "2")) for how in LETHAL)], ids=str
)
def test_a_worker_that_dies_is_an_error_of_that_case_only(how: str, words: tuple[str, ...], toy: Workshop) -> None:
    act, word = LETHAL[how]
    toy.interface(f"def answer(case, params):\n    if case.id == 'c2':\n        {act}\n    return case.input\n")
    records = toy.run(*words)
    assert errors(records) == {"c2": "crash"}
    assert word in records[2]["message"]
    assert [r["outcome"] for r in records] == ["TP", "TN", "FN", "TN", "TP", "TN"]


HANGING = {
    "sleeps": "import time; time.sleep(1000)",
    "computes": "while True: pass",
    "swallows everything": (
        "import time\n        while True:\n            try: time.sleep(1000)\n            except BaseException: pass"
    ),
    "ignores signals": "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)",
    "in a child": "import subprocess; subprocess.run(['sleep', '1000'])",
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("how", "jobs"), [("sleeps", "2"), *((how, "1") for how in HANGING)])
def test_python_that_hangs_is_killed_and_replaced(how: str, jobs: str, toy: Workshop) -> None:
    toy.interface(
        f"def answer(case, params):\n    if case.id in ('c2', 'c3'):\n        {HANGING[how]}\n    return case.input\n"
    )
    records = toy.run("--timeout", "0.5", "-j", jobs)
    assert errors(records) == {"c2": "timeout", "c3": "timeout"}
    assert records[2]["message"].startswith("no answer in 0.5 s")
    assert [r["outcome"] for r in records] == ["TP", "TN", "FN", "FP", "TP", "TN"]


def test_if_a_batch_hangs_only_the_case_at_fault_is_an_error(toy: Workshop) -> None:
    toy.interface(
        "import time\nBATCH = 4\ndef answer_batch(cases, params):\n"
        "    if any(c.id == 'c2' for c in cases): time.sleep(1000)\n    return [c.input for c in cases]\n"
    )
    assert errors(toy.run("--timeout", "0.3")) == {"c2": "timeout"}


# Answers ten cases at once, then creates the file `waiting` and waits for the file `go`.
WAITING = """\
import pathlib, time
def answer(case, params):
    if int(case.id[1:]) >= 10 and not pathlib.Path("go").exists():
        pathlib.Path("waiting").touch()
        while not pathlib.Path("go").exists():
            time.sleep(0.01)
    return case.input
"""
STREAMING = """\
import pathlib
if int(id[1:]) >= 10 and not pathlib.Path("go").exists():
    pathlib.Path("waiting").touch()
    while not pathlib.Path("go").exists():
        time.sleep(0.01)
say(id=id, label=given)"""
CASES = 30


@pytest.fixture
def waiting(shop: Workshop) -> Workshop:
    """A run of thirty cases that waits in the middle."""
    shop.script(CASES)
    shop.interface(WAITING)
    return shop


def expected(shop: Workshop) -> list[Record]:
    """The records of a run without interruption. From now on, nothing waits."""
    (shop.folder / "go").touch()
    return shop.run(output="expected.jsonl")


def stopped_by(shop: Workshop, signum: int, *words: str, records: int = 0) -> tuple[int, str]:
    """Run until the algorithm waits and out.jsonl has so many records, then send a signal; exit status and stderr."""
    with shop.start("run", "toy", *words) as process:
        wait_until("the tenth case", (shop.folder / "waiting").exists, process)
        wait_until(f"{records} records on disk", lambda: not records or len(shop.lines()) > records, process)
        process.send_signal(signum)
        _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    return process.returncode, err


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("signum", "status", "words"),
    [
        (signal.SIGINT, 130, ()),
        (signal.SIGINT, 130, ("-j", "2")),
        (signal.SIGTERM, 143, ()),
        (signal.SIGTERM, 143, ("--timeout", "60")),
    ],
)
def test_an_interrupted_run_is_saved_and_can_be_resumed(
    signum: int, status: int, words: tuple[str, ...], waiting: Workshop
) -> None:
    """Design: status 130 if interrupted, 143 if terminated, with all finished cases saved."""
    # Two workers have two cases each under way.
    finished = 10 - (4 if "-j" in words else 0)
    code, err = stopped_by(waiting, signum, "-o", "out.jsonl", *words, records=finished)
    assert code == status
    assert "out.jsonl; carry on with --resume" in err
    assert err.count("\n") == 2
    lines = waiting.lines()
    assert "end" not in lines[-1]
    assert len(lines) >= 1 + finished
    assert waiting.call("check", "out.jsonl").out.startswith("out.jsonl: warning: an incomplete transcript")
    assert waiting.left_running() == []
    good = expected(waiting)
    assert waiting.run("--resume", *words) == good


@pytest.mark.sampled(2)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_stream_is_killed_and_can_be_resumed(jobs: str, waiting: Workshop) -> None:
    good = expected(waiting)
    (waiting.folder / "go").unlink()
    (waiting.folder / "interface.py").unlink()
    waiting.stream(STREAMING)
    code, err = stopped_by(waiting, signal.SIGINT, "-o", "out.jsonl", "-j", jobs)
    assert code == 130
    assert "--resume" in err
    assert waiting.left_running() == []
    (waiting.folder / "go").touch()
    assert waiting.run("--resume", "-j", jobs) == good


@pytest.mark.sampled(2)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_command_is_killed_with_its_children(jobs: str, shop: Workshop) -> None:
    shop.script(CASES)
    shop.program("prog", "#!/bin/sh\ntest $1 = x10 && touch waiting && sleep 1000\necho $1\n")
    shop.toml('[command]\nargv = ["./prog", "{input}"]\n')
    # With two, the other goes on while the first sleeps in case c10.
    code, err = stopped_by(shop, signal.SIGINT, "-o", "out.jsonl", "-j", jobs, records=10 if jobs == "1" else 15)
    assert code == 130
    assert "--resume" in err
    assert shop.left_running() == []
    assert {f"c{n}" for n in range(9)} <= {line.get("id") for line in shop.lines()}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("words", [(), ("-j", "2"), ("--timeout", "1000")], ids=["inline", "two", "limited"])
def test_a_silent_service_does_not_hold_up_an_interrupt(words: tuple[str, ...], shop: Workshop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(WAIT)
        shop.script()
        shop.toml(f'[http]\nurl = "http://127.0.0.1:{silent.getsockname()[1]}/"\n')
        with shop.start("run", "toy", "-o", "out.jsonl", *words) as process:
            held = silent.accept()[0]
            while not held.recv(1):  # the first connection only checks that the service is running
                held.close()
                held = silent.accept()[0]
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=WAIT)
            held.close()
    assert process.returncode == 130
    assert "0 of 6 trials are in out.jsonl" in err


@pytest.mark.slow
@pytest.mark.parametrize("words", [["test", "toy"], ["run", "toy", "--case", "c10"]])
def test_other_commands_are_interrupted_too(words: list[str], waiting: Workshop) -> None:
    with waiting.start(*words) as process:
        wait_until("the tenth case", (waiting.folder / "waiting").exists, process)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (143, "hate: terminated\n")


@pytest.mark.slow
def test_an_interrupt_while_a_program_gets_ready_leaves_nothing_behind(shop: Workshop) -> None:
    shop.script()
    shop.stream("", whole="import pathlib, time\npathlib.Path('waiting').touch()\ntime.sleep(1000)\n")
    code, err = stopped_by(shop, signal.SIGTERM)
    assert code == 143
    assert err == "hate: terminated\n"


@pytest.mark.slow
def test_an_interface_cannot_swallow_an_interrupt(shop: Workshop) -> None:
    shop.script()
    shop.interface(
        "import pathlib, time\ndef answer(case, params):\n    try:\n        pathlib.Path('waiting').touch()\n"
        "        time.sleep(1000)\n    except BaseException:\n        pass\n    return case.input\n"
    )
    code, _ = stopped_by(shop, signal.SIGINT, "-o", "out.jsonl")
    assert code == 130
    assert len(shop.lines()) == 2


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("name", "words", "torn"),
    [
        ("out.jsonl", (), b""),
        ("out.jsonl", ("-j", "2"), b'{"id":"c5","outcome":"TP","posi'),
        ("out.jsonl", (), b"\0\0\0\0"),
        ("out.jsonl.gz", (), b'{"id":"c5","outcome":"TP","posi'),
        ("out.jsonl.gz", ("-j", "2"), b""),
    ],
)
def test_a_killed_run_is_resumed(name: str, words: tuple[str, ...], torn: bytes, waiting: Workshop) -> None:
    """Design: a killed run loses at most what was in flight; also with a torn last line."""
    code, _ = stopped_by(waiting, signal.SIGKILL, "-o", name, *words)
    assert code == -signal.SIGKILL
    path = waiting.folder / (name + ".part" if name.endswith(".gz") else name)
    with path.open("ab") as file:
        file.write(torn)
    (waiting.folder / "go").touch()
    good = expected(waiting)
    assert waiting.left_running() == []
    assert waiting.run("--resume", *words, output=name) == good
    assert not (waiting.folder / "out.jsonl.gz.part").exists()
    again = (waiting.folder / name).read_bytes()
    done = waiting.call("run", "toy", "-o", name, "--resume")
    assert done.status == 0
    assert "nothing was left to run" in done.err
    assert (waiting.folder / name).read_bytes() == again


def test_a_resumed_run_asks_only_what_is_missing(waiting: Workshop) -> None:
    stopped_by(waiting, signal.SIGTERM, "-o", "out.jsonl")
    (waiting.folder / "go").touch()
    before = (waiting.folder / "out.jsonl").read_bytes()
    waiting.run("--resume")
    assert (waiting.folder / "out.jsonl").read_bytes().startswith(before)


def test_resume_finds_the_newest_default_transcript(waiting: Workshop) -> None:
    stopped_by(waiting, signal.SIGTERM)
    good = expected(waiting)
    done = waiting.call("run", "toy", "--resume")
    assert done.status == 0
    (path,) = (waiting.folder / "transcripts/toy").iterdir()
    assert waiting.records(str(path)) == good


DIFFERENT = {
    "test": "cases.csv",
    "algorithm": "NAME",
    "interface": "sha256",
    "params": "threshold",
    "repeat": "repeat",
    "limit": "limit",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("what", DIFFERENT)
@pytest.mark.parametrize("mode", ["--resume", "--retry-errors"])
def test_another_run_is_not_resumed(what: str, mode: str, complete: bool, toy: Workshop) -> None:
    """Design: --resume refuses a transcript whose test, algorithm, interface or parameters differ."""
    toy.run()
    path = toy.folder / "out.jsonl"
    if not complete:
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    before = path.read_bytes()
    words = {"params": ["--param", "threshold=1"], "repeat": ["--repeat", "2"], "limit": ["--limit", "2"]}.get(what, [])
    if what == "test":
        toy.script(7)
    if what in ("algorithm", "interface"):
        toy.interface(("NAME = 'other'\n" if what == "algorithm" else "# changed\n") + ECHO)
    done = toy.call("run", "toy", "-o", "out.jsonl", mode, *words)
    assert done.status == 2
    assert f"out.jsonl: from a different run: {what}" in done.err
    assert "-o" in done.err
    assert done.err.count("\n") == 1
    assert path.read_bytes() == before


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
@pytest.mark.parametrize("words", [(), ("-j", "2")], ids=["inline", "two"])
def test_retry_errors_runs_only_the_cases_in_error(name: str, words: tuple[str, ...], toy: Workshop) -> None:
    good = toy.run(output="expected.jsonl")
    toy.interface(
        "import pathlib\ndef answer(case, params):\n    if not pathlib.Path('mended').exists():\n"
        "        if case.id in ('c1', 'c4'): raise ValueError\n        return case.input\n"
        "    if case.id not in ('c1', 'c4'): return 'asked again'\n    return case.input\n"
    )
    assert set(errors(toy.run(*words, output=name))) == {"c1", "c4"}
    (toy.folder / "mended").touch()
    assert toy.run("--retry-errors", *words, output=name) == good
    assert not list(toy.folder.glob("*retry*"))
    done = toy.call("run", "toy", "--retry-errors", "-o", name)
    assert done.status == 0
    assert "nothing was left to run" in done.err


def test_retry_errors_without_a_transcript(toy: Workshop) -> None:
    done = toy.call("run", "toy", "--retry-errors", "-o", "gone.jsonl")
    assert done.status == 2
    assert "gone.jsonl" in done.err
    assert done.err.count("\n") == 1


def test_retry_errors_of_an_incomplete_transcript(toy: Workshop) -> None:
    toy.run()
    path = toy.folder / "out.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    done = toy.call("run", "toy", "--retry-errors", "-o", "out.jsonl")
    assert done.status == 2
    assert "finish it with --resume first" in done.err


@pytest.mark.slow
def test_an_interrupted_retry_leaves_the_old_transcript_and_can_be_resumed(toy: Workshop) -> None:
    toy.interface(
        "import pathlib, time\ndef answer(case, params):\n    if not pathlib.Path('again').exists(): raise ValueError\n"
        "    if case.id == 'c2' and not pathlib.Path('go').exists():\n        pathlib.Path('waiting').touch()\n"
        "        time.sleep(1000)\n    return case.input\n"
    )
    assert len(errors(toy.run())) == 6
    before = (toy.folder / "out.jsonl").read_bytes()
    (toy.folder / "again").touch()
    code, err = stopped_by(toy, signal.SIGINT, "-o", "out.jsonl", "--retry-errors")
    assert code == 130
    assert (toy.folder / "out.jsonl").read_bytes() == before
    advice = err.strip().rpartition("carry on with ")[2].split()
    (toy.folder / "go").touch()
    done = toy.call("run", "toy", *advice)
    assert done.status == 0
    assert errors(toy.records(advice[-1])) == {}


@pytest.mark.slow
def test_two_runs_at_once_take_different_names(waiting: Workshop) -> None:
    with waiting.start("run", "toy") as first:
        wait_until("the first run", (waiting.folder / "waiting").exists, first)
        with waiting.start("run", "toy", "-j", "2") as second:
            wait_until("the second run", lambda: len(list(waiting.folder.rglob("transcripts/toy/*.jsonl"))) == 2)
            (waiting.folder / "go").touch()
            assert first.communicate(timeout=60)[1].count("transcript: ") == 1
            assert second.communicate(timeout=60)[1].count("transcript: ") == 1
    found = sorted((waiting.folder / "transcripts/toy").iterdir())
    assert [path.name for path in found] == ["work-2.jsonl", "work.jsonl"]
    assert waiting.records(str(found[0])) == waiting.records(str(found[1])) == expected(waiting)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("out.jsonl", []),
        ("out.jsonl", ["--force"]),
        ("out.jsonl", ["--resume"]),
        ("out.jsonl", ["--retry-errors"]),
        ("out.jsonl.gz", []),
        ("out.jsonl.gz", ["--force"]),
    ],
)
def test_two_runs_at_once_cannot_write_one_file(mode: list[str], name: str, waiting: Workshop) -> None:
    with waiting.start("run", "toy", "-o", name) as first:
        wait_until("the first run", (waiting.folder / "waiting").exists, first)
        done = waiting.call("run", "toy", "-o", name, *mode)
        assert done.status == 2
        assert name in done.err
        assert done.err.count("\n") == 1
        (waiting.folder / "go").touch()
        first.communicate(timeout=60)
    assert first.returncode == 0
    assert waiting.records(name) == expected(waiting)


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("words", [(), ("-j", "2")], ids=["inline", "two"])
def test_a_file_size_limit(words: tuple[str, ...], shop: Workshop) -> None:
    """Design: status 2 and one line with the remedy; nothing is lost, and --resume completes the run."""
    shop.script(200)
    shop.interface()
    done = shop.hate("run", "toy", "-o", "out.jsonl", *words, preexec_fn=limit_files)
    assert done.status == 2
    assert "out.jsonl: File too large; free some space" in done.err
    assert "--resume" in done.err
    data = (shop.folder / "out.jsonl").read_bytes()
    assert data.endswith(b"\n")
    assert 4000 < len(data) <= 6000
    good = shop.run(output="expected.jsonl")
    assert shop.run("--resume", *words) == good


@contextlib.contextmanager
def tiny_disk(folder: Path, size: str) -> Iterator[None]:
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("cannot mount a tmpfs here: needs root and the right to mount")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("name", ["disk/out.jsonl", "disk/out.jsonl.gz"])
def test_a_full_disk(name: str, shop: Workshop) -> None:
    shop.script(1000)
    shop.interface()
    good = shop.run(output="expected.jsonl")
    with tiny_disk(shop.folder / "disk", "64k"):
        filler = shop.write("disk/filler", b"x" * 40_000)
        done = shop.call("run", "toy", "-o", name)
        assert done.status == 2
        assert "No space left on device" in done.err
        assert "--resume" in done.err
        filler.unlink()
        subprocess.run(["mount", "-o", "remount,size=10m", shop.folder / "disk"], check=True)
        assert shop.run("--resume", output=name) == good


@pytest.mark.slow
def test_a_disk_without_room_for_the_first_line(toy: Workshop) -> None:
    good = toy.run(output="expected.jsonl")
    with tiny_disk(toy.folder / "disk", "16k"):
        filler = toy.folder / "disk/filler"
        with contextlib.suppress(OSError), filler.open("wb") as file:
            file.write(b"x" * 100_000)
        assert toy.hate("run", "toy", "-o", "disk/out.jsonl").status == 2
        filler.unlink()
        assert toy.run("--resume", output="disk/out.jsonl") == good


def test_a_locked_transcript_is_not_overwritten(toy: Workshop) -> None:
    toy.run()
    path = toy.folder / "out.jsonl"
    before = path.read_bytes()
    fd = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        done = toy.call("run", "toy", "-o", "out.jsonl", "--force")
    finally:
        os.close(fd)
    assert done.status == 2
    assert "another run is writing this transcript" in done.err
    assert path.read_bytes() == before


@pytest.mark.slow
def test_output_that_nobody_reads(toy: Workshop) -> None:
    """`hate ... | head`: the run is finished and saved, and nothing is err about the pipe."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        command(["run", "toy", "-o", "out.jsonl"]), env=toy.env, stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr
    assert len(toy.records()) == 6


@pytest.mark.sampled(3)
@pytest.mark.parametrize("words", [["run", "toy", "-o", "out.jsonl"], ["list"], ["test", "toy"]])
def test_output_on_a_full_disk(words: list[str], toy: Workshop) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command(words), env=toy.env, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Exception" not in done.stderr
