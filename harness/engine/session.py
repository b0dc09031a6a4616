"""Open a session for a run: its files and its standard output."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from harness.engine.cluster import cluster_kept, connected
from harness.engine.plan import Plan
from harness.engine.pool import Pool
from harness.interface.contract import Interface, Session, Setup
from harness.interface.python import PythonInterface
from harness.interface.stream import StreamInterface
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


@contextlib.contextmanager
def open_session(plan: Plan) -> Iterator[Session]:
    """The program, ready to answer: in this process, in workers (with `jobs` or `timeout`), or on a cluster."""
    options = plan.options
    # Answers from a file are looked up here: no program runs.
    if options.cluster is not None and plan.interface.kind not in ("scores", "matrix"):
        with _cluster_session(plan, options.cluster) as on_cluster:
            yield on_cluster
        return
    inside = options.jobs == 1 and options.timeout is None and not options.limits
    interface = plan.interface if inside else plan.interface.isolated()
    scratch = tempfile.TemporaryDirectory(prefix="hate-", ignore_cleanup_errors=True)
    with scratch as work, _quiet(interface), supervised():
        setup = _setup(plan, interface, Path(work))
        session = _open(interface, setup)
        try:
            yield session
        finally:
            session.close()


def _open(interface: Interface, setup: Setup) -> Session:
    """One program, or as many as there are jobs."""
    if setup.jobs == 1:
        return interface.open(setup)
    if isinstance(interface, StreamInterface):
        return interface.open_several(setup, setup.jobs)
    pool = Pool(interface, setup, setup.jobs)
    try:
        pool.start()
    except BaseException:
        pool.close()
        raise
    return pool


@contextlib.contextmanager
def _cluster_session(plan: Plan, address: str) -> Iterator[Session]:
    from harness.engine.cluster_job import make_job
    from harness.engine.cluster_session import ClusterSession, job_key

    interface = plan.interface.isolated()
    with tempfile.TemporaryDirectory(prefix="hate-", ignore_cleanup_errors=True) as work, cluster_kept():
        setup = _setup(plan, interface, Path(work))
        cluster = connected(address)
        job = make_job(plan, interface, setup, key=job_key(), same_machine=cluster.same_machine)
        session = ClusterSession(cluster, job, plan.total)
        try:
            session.start()
            yield session
        finally:
            session.close()


def _quiet(interface: Interface) -> contextlib.AbstractContextManager[None]:
    """Keep an interface file that runs in this process from printing among the results."""
    loaded = isinstance(interface, PythonInterface) and not interface.in_memory
    return clean_stdout() if loaded else contextlib.nullcontext()


def _setup(plan: Plan, interface: Interface, work: Path) -> Setup:
    cases, script = plan.cases, plan.cases.script
    train = gallery = None
    if interface.learns and script.file.train is not None:
        train = _write_lines(work / "train.jsonl", _training_part(plan))
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
        jobs=plan.options.jobs,
        limits=plan.options.limits,
    )


def _training_part(plan: Plan) -> Iterator[Question]:
    held_out = plan.held_out.places if plan.held_out is not None else frozenset()
    return (one for one in training(plan.cases.script, plan.cases.places) if one.index not in held_out)


def _write_lines(path: Path, questions: Iterable[Question]) -> Path:
    """Cases as JSON lines with absolute paths."""
    with path.open("wb") as file:
        file.writelines(map(to_line, questions))
    return path
