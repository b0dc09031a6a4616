"""A Python interface that is never imported here: a process of its own says what it is, and answers.

Code in the process of the harness can read the claim of a case from a frame above its own, or change how answers are
judged. A worker gets what a program in another language gets, and can change only itself.
"""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from harness.errors import InterfaceError
from harness.interface.contract import DESCRIBE, NO_LINKS, AlgorithmLinks, InterfaceFacts
from harness.interface.imports import ImportedFiles, imported_files
from harness.interface.process import describe_status, last_lines, run_to_end
from harness.interface.python_load import own_params
from harness.interface.stream import StreamInterface
from harness.params import Param


def load_outside(path: Path) -> StreamInterface:
    """Check an interface file in a process of its own; an InterfaceError says what is wrong with it."""
    facts, imports = _describe(path), imported_files(path)
    return worker_interface(
        path,
        name=facts.name,
        version=facts.version,
        sha256=imports.sha256,
        params=own_params(facts.params, str(path)),
        batch=max(1, facts.batch),
        learns=facts.learns,
        enrols=facts.enrols,
        imports=imports,
        links=facts.links,
    )


def worker_interface(
    path: Path,
    *,
    name: str,
    version: str,
    sha256: str,
    params: Mapping[str, Param],
    batch: int,
    learns: bool,
    enrols: bool,
    imports: ImportedFiles | None,
    imported: bool = False,
    links: AlgorithmLinks = NO_LINKS,
) -> StreamInterface:
    """An interface file in a worker, which speaks the stream protocol; `imported` if it was loaded here as well."""
    return StreamInterface(
        name=name,
        version=version,
        sha256=sha256,
        params=params,
        argv=_argv(str(path.absolute())),
        folder=Path.cwd(),
        # At first; more when it turns out to be quick.
        in_flight=batch,
        batch=batch,
        kind="python",
        learns=learns,
        enrols=enrols,
        own_clock=True,
        imports=imports,
        imported=imported,
        links=links,
    )


def _argv(*words: str) -> tuple[str, ...]:
    # -P: do not import a folder called harness in the working folder.
    return (sys.executable, "-P", "-m", "harness.interface.worker", *words)


def _describe(path: Path) -> InterfaceFacts:
    argv = _argv(DESCRIBE, str(path.absolute()), str(path))
    done = run_to_end(argv, Path.cwd(), timeout=None, stdin=subprocess.DEVNULL)
    try:
        facts = msgspec.json.decode(done.stdout, type=InterfaceFacts)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        hint = last_lines(done.stderr)
        raise InterfaceError(
            f"{path}: {describe_status(done.status)} before it could be checked{f': {hint}' if hint else ''}"
        ) from None
    if facts.error:
        raise InterfaceError(facts.error)
    return facts
