"""A Python interface in a process of its own, `worker.py`, which also says what the interface is if it must.

Code in the process of the harness can read the claim of a case from a frame above its own, or change how answers are
judged. A worker gets what a program in another language gets, and can change only itself.
"""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from harness.errors import InterfaceError, quoting
from harness.interface.contract import algorithm_params
from harness.interface.process import describe_status, last_lines, run_to_end
from harness.interface.python import PythonInterface
from harness.interface.python_source import InterfaceFacts, imported_files
from harness.interface.stream import StreamInterface
from harness.interface.worker import DESCRIBE


@dataclass(frozen=True, kw_only=True)
class IsolatedPython(StreamInterface):
    """An interface file that a worker imports; the worker speaks the stream protocol."""

    kind = PythonInterface.kind
    to_learn = PythonInterface.to_learn
    times_itself = True

    path: Path

    @staticmethod
    def of(path: Path, batch: int, **described: Any) -> "IsolatedPython":
        """A worker for a file that is described by the fields of an `Interface`."""
        # What is in flight at first; more when it turns out to be quick.
        argv, folder = _argv(str(path.absolute())), Path.cwd()
        return IsolatedPython(path=path, argv=argv, folder=folder, in_flight=batch, batch=batch, **described)

    @property
    def files(self) -> Sequence[Path]:
        return [self.path]

    def moved(self, folder: Path) -> "IsolatedPython":
        """The file with this name in another folder; the worker is still started in the same one, if that is there."""
        path = folder / self.path.name
        start = self.folder if self.folder.is_dir() else folder
        return replace(self, path=path, argv=_argv(str(path.absolute())), folder=start)


def load_isolated(path: Path) -> IsolatedPython:
    """Check an interface file in a process of its own; an InterfaceError says what is wrong with it."""
    argv = _argv(DESCRIBE, str(path.absolute()), str(path))
    done = run_to_end(argv, Path.cwd(), timeout=None, stdin=subprocess.DEVNULL)
    try:
        facts = msgspec.json.decode(done.stdout, type=InterfaceFacts)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        hint = last_lines(done.stderr)
        text = f"{path}: {describe_status(done.status)} before it could be checked{f': {hint}' if hint else ''}"
        raise InterfaceError(quoting(text, hint)) from None
    if facts.error:
        raise InterfaceError(quoting(facts.error, facts.error))
    imports = imported_files(path)
    return IsolatedPython.of(
        path,
        max(1, facts.batch),
        name=facts.name,
        version=facts.version,
        sha256=imports.sha256,
        params=algorithm_params(facts.params, str(path)),
        links=facts.links,
        learns=facts.learns,
        enrols=facts.enrols,
        imports=imports,
    )


def _argv(*words: str) -> tuple[str, ...]:
    # -P: do not import a folder called harness in the working folder.
    return (sys.executable, "-P", "-m", "harness.interface.worker", *words)
