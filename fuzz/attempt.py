"""One attempt: a damaged file through one command, in this process, and what is wrong with how it ended."""

import base64
import contextlib
import io
import json
import os
import re
import resource
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

from fuzz.sample import Sample
from harness.cli.main import call

SECONDS = 20
MEMORY = 1 << 29  # bytes that one attempt may add
STATUSES = {0, 1, 2, 130}
# What must never reach a terminal: escape sequences, and marks that turn text around.
UNSAFE = re.compile("[\x00\x07\x08\x1b\u202a-\u202e\u2066-\u2069]")


class TookTooLongError(BaseException):
    """The alarm; not an Exception, which the harness would handle."""


@dataclass(frozen=True)
class Attempt:
    """What was tried; with the files of its sample it can be repeated."""

    sample: str
    words: list[str]
    target: str
    data: bytes
    wrong: str = ""

    def save(self, path: Path) -> None:
        """Write it as a file."""
        content = asdict(self) | {"data": base64.b85encode(self.data).decode()}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: Path) -> "Attempt":
        """Read one that was saved."""
        content = json.loads(path.read_text(encoding="utf-8"))
        return Attempt(**(content | {"data": base64.b85decode(content["data"])}))


@dataclass(frozen=True)
class Ending:
    """How a command ended."""

    status: int | None
    out: str
    err: str
    seconds: float
    added: int
    problem: str = ""


def try_out(attempt: Attempt, sample: Sample, folder: Path) -> str:
    """What is wrong with how it ended; empty if nothing is."""
    _fill(folder, sample, attempt)
    before = _contents(folder)
    ending = _run(attempt.words, folder, sample.sites)
    wrong = judge(ending)
    changed = sorted(name for name, data in before.items() if _content(folder / name) != data)
    if not wrong and changed and sample.keeps:
        wrong = f"changed its input {changed[0]}"
    return wrong


def judge(ending: Ending) -> str:
    """The promise: a known exit status, one line for an error, nothing unsafe, in time and in memory."""
    text = ending.out + ending.err
    if ending.problem:
        return ending.problem
    if ending.status not in STATUSES:
        return f"exit status {ending.status}"
    for word in ("Traceback", "internal error", "not enough memory", "Warning:"):
        if word in text:
            line = next(line for line in text.splitlines() if word in line)
            return line[:300]
    if ending.status == 2 and not _is_one_error(ending.err):
        return f"not one line: {ending.err[:300]!r}"
    if found := UNSAFE.search(text):
        return f"prints {found[0]!r}: {text[max(0, found.start() - 40) : found.end() + 20]!r}"
    if ending.seconds > SECONDS:
        return f"took {ending.seconds:.0f} s"
    return f"took {ending.added >> 20} MiB" if ending.added > MEMORY else ""


def _is_one_error(err: str) -> bool:
    """The error is the last thing said: one line, or a heading and an indented line for each mistake."""
    lines = err.splitlines()
    said = [number for number, line in enumerate(lines) if line.startswith("hate: ")]
    return bool(said) and all(line.startswith("  ") for line in lines[said[-1] + 1 :])


def _fill(folder: Path, sample: Sample, attempt: Attempt) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in {**sample.files, attempt.target: attempt.data}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _contents(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): _content(path) for path in folder.rglob("*") if path.is_file()}


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _run(words: list[str], folder: Path, sites: str) -> Ending:
    out, err, here = _Stream(1), _Stream(2), Path.cwd()
    before, start, status, problem = _peak(), time.monotonic(), None, ""
    with _settings(folder, sites), _alarm(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = call(words)
        except TookTooLongError:
            problem = f"took more than {SECONDS} s"
        except BaseException as error:  # whatever gets out is a finding
            problem = f"{type(error).__name__} got out: {error}"[:300]
        finally:
            os.chdir(here)
    shown = [one for one in warned if not issubclass(one.category, (ResourceWarning, DeprecationWarning))]
    if shown and not problem:
        problem = f"warning: {shown[0].category.__name__}: {shown[0].message} ({shown[0].filename}:{shown[0].lineno})"
    return Ending(status, out.text, err.text, time.monotonic() - start, _peak() - before, problem)


class _Stream(io.TextIOWrapper):
    """A text stream as a program on a terminal has it: strict about what UTF-8 can hold, and with a file number."""

    def __init__(self, number: int) -> None:
        self.taken = io.BytesIO()
        errors = "strict" if number == 1 else "backslashreplace"
        super().__init__(self.taken, encoding="utf-8", errors=errors, write_through=True)
        self._number = number

    def fileno(self) -> int:
        return self._number

    @property
    def text(self) -> str:
        """What was written."""
        return self.taken.getvalue().decode("utf-8", "replace")


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def forget_settings(home: Path) -> None:
    """For the rest of this process: no settings but the defaults, and a home of its own."""
    for name in [name for name in os.environ if name.startswith(("HATE_", "XDG_"))]:
        del os.environ[name]
    os.environ["HOME"] = str(home)


@contextlib.contextmanager
def _settings(folder: Path, sites: str) -> Iterator[None]:
    """No settings but our own, and no network."""
    own = {
        "HOME": str(folder / "home"),
        "XDG_CACHE_HOME": str(folder / "home/.cache"),
        "HATE_OFFLINE": "1",
        "HATE_SITES": sites,
        "COLUMNS": "100",
    }
    gone = [name for name in os.environ if name.startswith(("HATE_", "XDG_"))]
    before = dict(os.environ)
    for name in gone:
        del os.environ[name]
    os.environ.update(own)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    def ring(_signum: int, _frame: FrameType | None) -> None:
        raise TookTooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS + 1)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        sys.stdout.flush()
