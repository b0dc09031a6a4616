"""A working folder for tests: a small test script, interfaces, programs, and `hate` to run them."""

import gzip
import json
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import call

WAIT = 60  # seconds before a test gives up; never reached if all is well
TIMING = {"seconds", "memory"}
Record = dict[str, Any]

# The algorithm of most tests: it answers with the input, so cases 0, 2, 4 are TP and 1, 3, 5 are TN.
ECHO = "def answer(case, params):\n    return case.input\n"

SCRIPT = """\
format = 1
[test]
name = "toy"
version = "1.0"
synopsis = "a toy"
task = "{task}"
{keys}
[cases]
table = "cases.csv"
{sections}
"""

# A stream program; its body can use `case`, its `id`, its input `given`, and the number `n` of the case.
STREAM = """\
import json, os, sys, time
def say(**message):
    os.write(1, (json.dumps(message) + "\\n").encode())
hello = json.loads(sys.stdin.readline())
say(ready=True)
n = -1
for line in sys.stdin:
    n += 1
    case = json.loads(line)
    id, given = case["id"], case["input"]
{body}
"""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def row(self) -> Record:
        row: Record = self.json["rows"][0]
        return row


@dataclass
class Workshop:
    """The working folder of one test."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    env: dict[str, str] = field(default_factory=dict)
    # What ran before the test began is not of it, and need not be looked at when it ends.
    running_before: frozenset[str] = field(default_factory=lambda: frozenset(running_processes()))

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text, encoding="utf-8")
        return path

    def script(
        self, count: int = 6, *, task: str = "label", keys: str = "", sections: str = "", rows: str = ""
    ) -> Path:
        """A test of `count` cases with inputs x0, x1, ...; every second one is negative, with a false claim."""
        cases = [f"c{n},x{n},{'y' if n % 2 else 'x'}{n},{'false' if n % 2 else 'true'}" for n in range(count)]
        self.write("toy/cases.csv", rows or "\n".join(["id,input,expect,positive", *cases, ""]))
        return self.write("toy/toy.hate.toml", SCRIPT.format(task=task, keys=keys, sections=sections))

    def interface(self, text: str = ECHO) -> Path:
        return self.write("interface.py", text)

    def toml(self, text: str) -> Path:
        return self.write("interface.toml", text)

    def program(self, name: str, text: str) -> Path:
        path = self.write(name, text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def stream(self, body: str, *, in_flight: int = 16, whole: str = "") -> Path:
        """An interface for a stream program with this body, or with all of its text in `whole`."""
        indented = "\n".join(f"    {line}" for line in body.splitlines())
        self.write("program.py", whole or STREAM.format(body=indented))
        argv = json.dumps([sys.executable, "-S", "program.py"])
        return self.toml(f'[algorithm]\nname = "streamer"\n[stream]\nargv = {argv}\nin_flight = {in_flight}\n')

    def call(self, *words: str | Path) -> Done:
        """`hate` in this process, which is quick."""
        self.capsys.readouterr()
        status = call([str(word) for word in words])
        captured = self.capsys.readouterr()
        return without_traceback(Done(status, captured.out, captured.err))

    def hate(self, *words: str | Path, **more: Any) -> Done:
        """`hate` in a new process."""
        done = subprocess.run(
            command(words), cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=WAIT, **more
        )
        return without_traceback(Done(done.returncode, done.stdout, done.stderr))

    def start(self, *words: str | Path) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            command(words), cwd=self.folder, env=self.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run(self, *words: str | Path, output: str = "out.jsonl") -> list[Record]:
        """Run the toy test, which must end well, or with bad news if there is no answer at all; its records."""
        done = self.call("run", "toy", "-o", output, *words)
        assert done.status in (0, 1), done.err
        records = self.records(output)
        assert done.status == all("error" in record for record in records), done.err
        return records

    def lines(self, name: str = "out.jsonl") -> list[Record]:
        path = self.folder / name
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return [json.loads(line) for line in data.splitlines()]

    def records(self, name: str = "out.jsonl") -> list[Record]:
        """The records without times and memory; the transcript must be complete."""
        _, *records, end = self.lines(name)
        assert end["end"] is True
        assert end["tests"] == len(records)
        return [{key: value for key, value in record.items() if key not in TIMING} for record in records]

    def left_running(self) -> list[str]:
        """Programs that this test started and that are still running after a while."""
        for _ in range(WAIT * 10):
            if not (found := self._processes()):
                return []
            time.sleep(0.1)
        return found

    def _processes(self) -> list[str]:
        mark = self.env["HATE_WORKSHOP"].encode()
        found = []
        for number in running_processes() - self.running_before:
            folder = Path("/proc", number)
            try:
                if mark in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
        return found


def running_processes() -> set[str]:
    """The numbers of all processes, where the system tells them."""
    return {path.name for path in Path("/proc").glob("[0-9]*")}


def command(words: Sequence[str | Path]) -> list[str]:
    return [sys.executable, "-P", "-m", "harness.cli.main", *map(str, words)]


def wait_until(what: str, is_true: Callable[[], bool], process: "subprocess.Popen[str] | None" = None) -> None:
    for _ in range(WAIT * 50):
        if is_true():
            return
        if process is not None and process.poll() is not None:
            pytest.fail(f"waited in vain for {what}; {process.communicate()}")
        time.sleep(0.02)
    pytest.fail(f"waited in vain for {what}")


def errors(records: Sequence[Record]) -> dict[str, str]:
    """The kind of error of each case that has one."""
    return {record["id"]: record["error"] for record in records if "error" in record}


def without_traceback(done: Done) -> Done:
    """Check that the user sees no traceback and no internal error."""
    assert "Traceback" not in done.err, done.err
    assert "internal error" not in done.err, done.err
    return done
