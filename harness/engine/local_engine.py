"""The engine that runs cases on this machine: its files, its standard output, its programs."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from harness.engine.engines import Engine
from harness.engine.plan import Plan
from harness.engine.pool import Pool
from harness.interface.contract import Interface, Session, Setup
from harness.interface.python import PythonInterface
from harness.interface.supervision import supervised
from harness.interface.wire import to_line
from harness.model import Question
from harness.script.cases import training
from harness.script.gallery import enrolment


@contextlib.contextmanager
def clean_stdout() -> Iterator[None]:
    """Within it, what C code or a child of the interface prints goes to stderr; the harness still prints to stdout."""
    before = sys.stdout
    if not _is_real_stdout(before):
        yield
        return
    before.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(saved, "w", 1 if before.line_buffering else -1, before.encoding, before.errors)
    try:
        yield
        sys.stdout.flush()
    finally:
        os.dup2(saved, 1)
        with contextlib.suppress(OSError):  # the reader is gone, which was reported above
            sys.stdout.close()
        sys.stdout = before


def _is_real_stdout(out: TextIO | None) -> bool:
    """Whether standard output and standard error are open, and standard output has not been replaced."""
    try:
        os.fstat(2)
        return out is not None and out.fileno() == 1
    except (OSError, ValueError):
        return False


class LocalEngine(Engine):
    """Runs cases in this process, or in workers (with `jobs`, `timeout` or limits)."""

    @contextlib.contextmanager
    def open(self, plan: Plan) -> Iterator[Session]:
        """The program, with a scratch folder; nothing that it started is left at the end."""
        options = plan.options
        inside = options.jobs == 1 and options.timeout is None and not options.limits
        interface = plan.interface if inside else plan.interface.isolated()
        scratch = tempfile.TemporaryDirectory(prefix="hate-", ignore_cleanup_errors=True)
        # An interface file that runs in this process must not print among the results.
        is_loaded = isinstance(interface, PythonInterface) and not interface.in_memory
        with scratch as work, clean_stdout() if is_loaded else contextlib.nullcontext(), supervised():
            setup = make_setup(plan, interface, Path(work))
            if setup.jobs == 1 or interface.shares_jobs:
                session = interface.open(setup)
            else:
                session = Pool.started(interface, setup)
            try:
                yield session
            finally:
                session.close()


def make_setup(plan: Plan, interface: Interface, work: Path) -> Setup:
    """What the program of a plan gets, with its training part and its gallery in files of this folder."""
    cases, script = plan.cases, plan.cases.script
    train = gallery = None
    if interface.learns and script.file.train is not None:
        held_out = plan.held_out.rows if plan.held_out is not None else frozenset()
        questions = training(script, cases.data_paths)
        train = _write_lines(work / "train.jsonl", (item for item in questions if item.index not in held_out))
    if interface.enrols and cases.gallery is not None:
        gallery = _write_lines(work / "gallery.jsonl", enrolment(cases.gallery, cases.references))
    return Setup(
        test=script.name,
        version=script.version,
        task=script.task.name,
        params=plan.params,
        work=work,
        train=train,
        gallery=gallery,
        timeout=plan.options.timeout,
        larger_is_better=script.rules.larger_is_better,
        jobs=plan.options.jobs,
        limits=plan.options.limits,
    )


def _write_lines(path: Path, questions: Iterable[Question]) -> Path:
    """Cases as JSON lines with absolute paths."""
    with path.open("wb") as file:
        file.writelines(map(to_line, questions))
    return path
