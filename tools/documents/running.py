"""Do the steps of a page in a folder of its own, with a real shell and the real `hate`, which stands by."""

import ast
import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from tools.documents.matching import fold
from tools.documents.pages import ROOT, Kind, Step
from tools.documents.standby import standby_folder

LONGEST = 120.0  # seconds that one command may take
PORT = "8000"
CHECKOUT = ("examples", "interfaces", "test_scripts")
DONE = "-=-done-=-"
READERS: Mapping[str, Callable[[str], Any]] = {".py": ast.parse, ".toml": tomllib.loads, ".json": json.loads}
NOT_PASSED_ON = ("HATE_", "XDG_", "PYTHON", "PYTEST", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")


@dataclass(frozen=True)
class Printed:
    """What a step left on the screen; `wrong` if it could not be done."""

    lines: list[str]
    status: int = 0
    wrong: str = ""


class PageFolder:
    """Where the steps of a page are done: an empty folder, a shell, an interpreter."""

    def __init__(self, root: Path, fonts: Path, *, checkout: bool = False) -> None:
        self.root = root.resolve()
        self.fonts = fonts
        self.work = self.root / "home/you/work"
        self.work.mkdir(parents=True)
        for name in CHECKOUT if checkout else ():
            (self.work / name).symlink_to(ROOT / name)
        self.port = _free_port()
        self.scope: dict[str, Any] = {"__name__": "__main__"}
        self.status = 0
        self._shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            cwd=self.work,
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def __enter__(self) -> "PageFolder":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGTERM)
        for pipe in (self._shell.stdin, self._shell.stdout):
            _open(pipe).close()
        self._shell.wait()

    def do(self, step: Step) -> Printed:
        """Do one step, and see what it prints."""
        if step.kind is Kind.SHELL:
            text = self._type(step)
            return Printed(fold(self._shown(text)), self.status)
        if step.kind is Kind.PYTHON:
            return self._python(step)
        return self._file(step) if step.kind is Kind.FILE else self._part(step)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_PASSED_ON)}
        own = {"HOME": self.work.parent, "XDG_CACHE_HOME": self.work.parent / ".cache", "MPLCONFIGDIR": self.fonts}
        fixed = {"PYTHONUNBUFFERED": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC", "PAGER": "cat", "TERM": "dumb"}
        path = f"{standby_folder(self.fonts)}:{Path(sys.executable).parent}:{kept['PATH']}"
        return {**kept, **{name: str(value) for name, value in own.items()}, **fixed, "PATH": path}

    def _shown(self, text: str) -> str:
        """An output with the names that pages have for what differs from machine to machine."""
        text = text.replace(str(self.root), "").replace(str(ROOT), "/home/you/hate")
        return text.replace(f":{self.port}", f":{PORT}")

    def _type(self, step: Step) -> str:
        """Give the shell a command, and wait until it is over."""
        script = self.root / "step.sh"
        script.write_text(step.source.replace(PORT, str(self.port)), encoding="utf-8")
        line = f"(exit {self.status}); source '{script}' </dev/null; printf '\\n%s %s\\n' '{DONE}' $?\n"
        pipe = _open(self._shell.stdin)
        pipe.write(line.encode())
        pipe.flush()
        text = ""
        for part in self._read():
            text += part
            before, _, after = text.partition(f"\n{DONE} ")
            if "\n" in after:
                code, _, late = after.partition("\n")
                self.status = int(code)
                if not step.waits or len(fold(before + late)) >= len(step.expected):
                    return before + late
        raise TimeoutError(f"{step.source.strip()}: not over after {LONGEST:.0f} seconds")

    def _read(self) -> Iterator[str]:
        pipe = _open(self._shell.stdout)
        os.set_blocking(pipe.fileno(), False)
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            part = pipe.read()
            if part:
                yield part.decode(errors="replace")
            elif self._shell.poll() is not None:
                raise RuntimeError("a command ended the shell of the page")
            else:
                time.sleep(0.01)

    def _python(self, step: Step) -> Printed:
        """Statements in this process; they share names with the others of the page."""
        printed = io.StringIO()
        mode = "single" if step.title == "typed" else "exec"
        with contextlib.chdir(self.work), _environ(self._environment()), contextlib.redirect_stdout(printed):
            try:
                exec(compile(step.source, "<page>", mode), self.scope)  # noqa: S102
            except Exception:
                return Printed(fold(traceback.format_exc()), wrong="raised an exception")
        return Printed(fold(self._shown(printed.getvalue())))

    def _file(self, step: Step) -> Printed:
        """A whole file: written, and read by those who can read it."""
        path = self.work / step.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step.source.replace(PORT, str(self.port)), encoding="utf-8")
        reader = READERS.get(path.suffix, str)
        try:
            reader(step.source)
        except (SyntaxError, ValueError) as error:
            return Printed([], wrong=f"is not valid: {error}")
        return Printed([])

    def _part(self, step: Step) -> Printed:
        """A part of a file, or of what a command prints."""
        try:
            part = READERS[f".{step.kind.value}"](step.source)
        except ValueError as error:
            return Printed([], wrong=f"is not valid: {error}")
        if not step.title:
            return Printed([])
        printed = self._type(Step(Kind.SHELL, f"{step.title} 2>/dev/null\n", 0, 0))
        missing = ", ".join(_missing(part, json.loads(printed)))
        return Printed([], wrong=f"{step.title} has no {missing}" if missing else "")


def _missing(part: Any, whole: Any, place: str = "") -> Iterator[str]:
    """The keys of a part that the whole does not have."""
    if isinstance(part, dict):
        for key, value in part.items():
            if not isinstance(whole, dict) or key not in whole:
                yield f"{place}.{key}".lstrip(".")
            else:
                yield from _missing(value, whole[key], f"{place}.{key}")
    elif isinstance(part, list):
        if not isinstance(whole, list) or (part and not whole):
            yield f"item in {place}"
        else:
            for one in part:
                yield from _missing(one, whole[0], f"{place}[]") if isinstance(one, dict) else ()


def _open(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("the shell was started without a pipe")
    return pipe


@contextlib.contextmanager
def _environ(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
