"""`progress=`: a bar on a real terminal and in a real notebook, lines of a log where asked for, and else nothing."""

import os
import pty
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import harness
from harness.errors import UsageError
from harness.report import progress as bars
from harness.report.progress import BarRow, RecentSpeed, RunBar
from tests.workshop import WAIT, Workshop

SLOW = """
import time, harness
def slow(case, params):
    time.sleep(0.3)
    return case.input
"""
QUICK = "import harness\ndef quick(case, params):\n    return case.input\n"


class Heard:
    """Is told how far a run is."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def begin(self, total: int, done: int) -> None:
        self.calls.append(("begin", total, done))

    def advance(self, done: int, errors: int) -> None:
        self.calls.append(("advance", done, errors))

    def end(self) -> None:
        self.calls.append(("end",))


class Shown:
    """A display that keeps what it has shown."""

    def __init__(self) -> None:
        self.rows: list[BarRow] = []
        self.closed: list[str] = []

    def prepare(self) -> None:
        pass

    def show(self, rows: Any) -> None:
        self.rows += rows.values()

    def close(self, line: str) -> None:
        self.closed.append(line)


def program(text: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(text)]


def on_terminal(shop: Workshop, text: str, status: int = 0, *, interrupt_at: bytes = b"") -> str:
    """What a terminal shows of a program; it can be interrupted when this is seen."""
    ours, theirs = pty.openpty()
    env = {**shop.env, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(program(text), cwd=shop.folder, env=env, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 4096):
                shown += block
                if interrupt_at and interrupt_at in shown:
                    process.send_signal(signal.SIGINT)
                    interrupt_at = b""
        except OSError:  # how Linux says that the other side is closed
            pass
        assert process.wait(WAIT) == status, shown
    os.close(ours)
    return shown.decode()


def piped(shop: Workshop, text: str) -> str:
    """What a program writes to stderr, which is a pipe."""
    done = subprocess.run(
        program(text), cwd=shop.folder, env=shop.env, capture_output=True, text=True, timeout=WAIT, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture
def toy(shop: Workshop) -> Workshop:
    shop.script()
    return shop


@pytest.mark.slow
def test_a_terminal_has_a_bar_of_what_takes_longer_than_a_moment(toy: Workshop) -> None:
    shown = on_terminal(toy, f"{SLOW}\nharness.run('toy', slow)")
    assert "/6" in shown
    assert "/s" in shown
    # It is gone at the end: the line was cleared last.
    assert shown.rindex("\x1b[2K") > shown.rindex("/6")
    assert on_terminal(toy, f"{QUICK}\nharness.run('toy', quick)") == ""
    assert on_terminal(toy, f"{SLOW}\nharness.run('toy', slow, progress=False)") == ""
    assert "6/6" in on_terminal(toy, f"{QUICK}\nharness.run('toy', quick, progress=True)")


def test_a_slow_first_case_does_not_keep_the_bar_away(toy: Workshop) -> None:
    slow = "import time, harness\ndef slow(case, params):\n    time.sleep(1.2)\n    return case.input\n"
    assert "0/1" in on_terminal(toy, f"{slow}\nharness.run('toy', slow, limit=1)")


@pytest.mark.slow
def test_a_sweep_in_threads_has_one_bar_of_all_its_runs(toy: Workshop) -> None:
    text = f"{SLOW}\nslow.PARAMS = {{'a': 1}}\nharness.sweep('toy', slow, params={{'a': [1, 2]}}, jobs=2)"
    shown = on_terminal(toy, text.replace("harness.sweep", "slow.NAME = 'slow'\nharness.sweep"))
    assert "/12" in shown
    assert "/6 " not in shown


@pytest.mark.slow
def test_nothing_is_shown_in_a_pipe_unless_asked_for(toy: Workshop) -> None:
    assert piped(toy, f"{SLOW}\nharness.run('toy', slow)") == ""
    assert piped(toy, f"{QUICK}\nharness.run('toy', quick, progress=True)") == "hate: 6 of 6 in 0 s\n"


@pytest.mark.slow
def test_a_program_that_shows_nothing_imports_neither_rich_nor_ipython(toy: Workshop) -> None:
    loaded = "import sys\nprint([name for name in ('rich', 'IPython') if name in sys.modules], file=sys.stderr)"
    assert piped(toy, f"{SLOW}\nharness.run('toy', slow)\n{loaded}") == "[]\n"


@pytest.mark.slow
def test_ctrl_c_removes_the_bar_and_the_run_can_be_carried_on(toy: Workshop) -> None:
    text = f"""{SLOW}
from harness.errors import Interrupted
try:
    harness.run('toy', slow, output='out.jsonl')
except Interrupted as error:
    print(error.note)
"""
    shown = on_terminal(toy, text, interrupt_at=b"2/6")
    assert shown.rindex("\x1b[2K") > shown.rindex("2/6")
    assert "carry on with resume=True" in shown
    assert 2 <= len(toy.lines()) - 1 < 6
    carried_on = (
        f"{SLOW}\nimport sys\nprint(harness.run('toy', slow, output='out.jsonl', resume=True), file=sys.stderr)"
    )
    assert piped(toy, carried_on).splitlines()[1].split() == ["6", "3", "3", "0", "0", "0"]


@pytest.mark.slow
def test_what_is_printed_meanwhile_stands_above_the_bar(toy: Workshop) -> None:
    """Also where it appears while an interface runs, whose standard output is another."""
    talking = """
import time
def answer(case, params):
    time.sleep(0.3)
    print("asked", case.id)
    return case.input
"""
    toy.interface(talking)
    text = """
import sys, harness
harness.run('toy', 'interface.py')
print('out is', sys.stdout is sys.__stdout__, 'err is', sys.stderr is sys.__stderr__)
"""
    shown = on_terminal(toy, text)
    assert "out is True err is True" in shown
    for number in range(6):
        assert f"asked c{number}\r\n" in shown


def test_an_object_is_told(toy: Workshop) -> None:
    heard = Heard()
    harness.run("toy", lambda case, params: case.input, progress=heard)
    assert heard.calls == [("begin", 6, 0), ("advance", 6, 0), ("end",)]


@pytest.mark.parametrize("error", [RuntimeError, KeyError, KeyboardInterrupt])
def test_what_is_told_may_fail_without_harm_to_the_run(error: type[BaseException], toy: Workshop) -> None:
    """The records are kept, the end is told, and the transcript can be written again in the same program."""

    class Failing(Heard):
        def advance(self, done: int, errors: int) -> None:
            raise error("not now")

    heard = Failing()
    with pytest.raises(error, match="not now"):
        harness.run("toy", lambda case, params: case.input, output="a.jsonl", progress=heard)
    assert heard.calls == [("begin", 6, 0), ("end",)]
    done = harness.run("toy", lambda case, params: case.input, output="a.jsonl", force=True)
    assert done.counts.tests == 6


@pytest.mark.parametrize("wrong", ["yes", 1, Heard])
def test_what_cannot_be_told_is_refused(wrong: Any, toy: Workshop) -> None:
    with pytest.raises(UsageError, match="give True, False, or an object with begin"):
        harness.run("toy", lambda case, params: case.input, progress=wrong)
    with pytest.raises(UsageError, match="give True, False, or an object with begin"):
        harness.load_test("toy", progress=wrong)


def test_a_bar_of_many_workers() -> None:
    shown = Shown()
    bar = RunBar(shown, patience=0)
    bar.begin(20, 5)
    bar.show_workers({"a": 10, "b": 20})
    bar.show_workers({str(n): n for n in range(5)})
    bar.show_workers({})
    bar.advance(8, 2)
    assert [row.words for row in shown.rows] == [
        "5/20",
        "5/20 (2 workers: 10 + 20)",
        "5/20 (5 workers: 0 to 4)",
        "5/20 (no worker)",
        "8/20 (no worker) 2 errors",
    ]
    bar.end()
    assert shown.closed == ["8 of 20 in 0 s, 2 errors"]


def test_a_bar_does_not_appear_after_its_end() -> None:
    shown = Shown()
    bar = RunBar(shown, patience=100)
    bar.begin(20, 0)
    bar.end()
    bar._appear()  # a timer that had fired just before
    bar.advance(1, 0)
    assert not shown.rows
    assert shown.closed == ["0 of 20 in 0 s"]


def test_speed_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(bars, "monotonic", lambda: now)
    speed = RecentSpeed(0)
    assert (speed.per_second(), speed.time_left(100)) == (0, "")
    now += 10
    speed.see(20)
    assert (speed.per_second(), speed.time_left(100)) == (2, "50 s left")
    # The first ten seconds are forgotten after half a minute.
    now += 25
    speed.see(20 + 25 * 4)
    assert speed.per_second() == 4


def test_a_log_has_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = 1000.0
    monkeypatch.setattr(bars, "monotonic", lambda: now)
    bar = RunBar(bars.LogDisplay(), patience=0)
    bar.begin(100, 0)
    for done in range(1, 26):
        now += 1
        bar.advance(done, 0)
    bar.end()
    lines = ["10/100 1.0/s 1 min 30 s left", "20/100 1.0/s 1 min 20 s left", "25 of 100 in 25 s"]
    assert capsys.readouterr().err.splitlines() == [f"hate: {line}" for line in lines]


def executed(shop: Workshop, *sources: str) -> list[Any]:
    """The outputs of cells that a kernel has executed, each a list."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])  # type: ignore[no-untyped-call]
    NotebookClient(book, timeout=WAIT, resources={"metadata": {"path": str(shop.folder)}}).execute()
    return [cell.outputs for cell in book.cells]


# Keeps all that is shown: of pictures that replace one another, a notebook has the last.
LISTEN = """
from IPython import get_ipython
publisher, kept = get_ipython().display_pub, []
publish = publisher.publish
def keep(data, *args, **more):
    kept.append(data["text/html"])
    return publish(data, *args, **more)
publisher.publish = keep
"""


@pytest.mark.slow
def test_a_notebook_has_a_bar_and_in_the_end_a_line(
    toy: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    interrupted = """
import os, signal, threading
from harness.errors import Interrupted
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    harness.run('toy', slow, output='out.jsonl')
except Interrupted as error:
    print(error.note)
"""
    sweep = "slow.PARAMS = {'a': 1}\nharness.sweep('toy', slow, params={'a': [1, 2]});"
    listening, run, said, quick, asked, silent, swept, stopped, resumed = executed(
        toy,
        SLOW + LISTEN,
        "harness.run('toy', slow);",
        "print(*kept, sep='\\n')",
        "harness.run('toy', lambda case, params: case.input);",
        "harness.run('toy', lambda case, params: case.input, progress=True);",
        "harness.run('toy', slow, progress=False);",
        sweep,
        interrupted,
        "harness.run('toy', slow, output='out.jsonl', resume=True).counts",
    )
    assert listening == quick == silent == []
    [line] = run
    assert line.output_type == "display_data"
    assert line.data["text/plain"] == "6 of 6 in 2 s"
    assert line.data["text/html"] == '<span style="opacity: 0.7">6 of 6 in 2 s</span>'
    pictures = said[0].text.splitlines()
    assert 3 <= len(pictures) <= 2 / bars.NOTEBOOK_INTERVAL + 2
    assert '<progress value="1" max="6"' in pictures[0]
    assert "1/6" in pictures[0]
    assert "color" not in "".join(pictures)  # those of the page, dark or light
    assert [output.data["text/plain"] for output in asked] == ["6 of 6 in 0 s"]
    assert [output.data["text/plain"] for output in swept] == ["12 of 12 in 4 s"]
    bar, note = sorted(stopped, key=lambda output: output.output_type)
    assert bar.data["text/plain"] in ("3 of 6 in 1 s", "4 of 6 in 1 s")
    assert "carry on with resume=True" in note.text
    assert resumed[-1].data["text/plain"] == "Counts(TP=3, TN=3, FP=0, FN=0, ER=0)"


@pytest.mark.slow
def test_a_download_in_a_thread_is_shown_in_the_cell_that_waits_for_it(
    toy: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    [shown] = executed(
        toy,
        """
import threading
from harness.report.progress import DownloadBars, NotebookDisplay
downloads = DownloadBars(NotebookDisplay(), patience=0)
def load():
    downloads.begin("<b>.zip", None, 0)
    downloads.advance("<b>.zip", 3000)
thread = threading.Thread(target=load)
thread.start()
thread.join()
""",
    )
    assert [output.data["text/plain"] for output in shown] == ["<b>.zip: 3.0 kB"]
    assert "<span>&lt;b&gt;.zip</span><progress aria-label" in shown[0].data["text/html"]
