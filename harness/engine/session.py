"""The program of a run, ready to answer, and the files that it learns from."""

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from harness.engine.pool import Pool
from harness.engine.stdout import kept_clean
from harness.interface.contract import Session, Setting
from harness.interface.wire import to_line
from harness.model import Question
from harness.script.cases import CaseSet, training
from harness.script.gallery import enrolment

if TYPE_CHECKING:
    from harness.engine.run import Plan


@contextlib.contextmanager
def open_session(plan: "Plan") -> Iterator[Session]:
    """The program, ready to answer: in this process, in one of its own where time is limited, or in several."""
    options = plan.options
    script = plan.cases.script
    with tempfile.TemporaryDirectory(prefix="hate-", ignore_cleanup_errors=True) as work:
        setting = Setting(
            test=script.name,
            version=script.version,
            task=script.task.name,
            params=plan.params,
            train=_training_file(plan, Path(work)),
            gallery=_gallery_file(plan.cases, Path(work)),
            work=Path(work),
            timeout=options.timeout,
        )
        inside = options.jobs == 1 and options.timeout is None
        interface = plan.interface if inside else plan.interface.isolated()
        with kept_clean() if interface.kind == "python" and inside else contextlib.nullcontext():
            session = interface.open(setting) if options.jobs == 1 else Pool(interface, setting, options.jobs)
            try:
                if isinstance(session, Pool):
                    session.start()
                yield session
            finally:
                session.close()


class LinesFile:
    """Cases as JSON lines with absolute paths, written when they are first asked for; None where there are none."""

    def __init__(self, path: Path, lines: Callable[[], Iterable[Question]] | None) -> None:
        self._path = path
        self._lines = lines
        self._lock = threading.Lock()

    def __call__(self) -> Path | None:
        """The file."""
        if self._lines is None:
            return None
        with self._lock:
            if not self._path.exists():
                with self._path.open("wb") as file:
                    file.writelines(map(to_line, self._lines()))
        return self._path


def _training_file(plan: "Plan", work: Path) -> LinesFile:
    lines = None if plan.cases.script.file.train is None else lambda: _taught(plan)
    return LinesFile(work / "train.jsonl", lines)


def _taught(plan: "Plan") -> Iterator[Question]:
    withheld = plan.held_back.places if plan.held_back is not None else frozenset()
    return (one for one in training(plan.cases.script, plan.cases.places) if one.index not in withheld)


def _gallery_file(cases: CaseSet, work: Path) -> LinesFile:
    gallery = cases.gallery
    lines = None if gallery is None else lambda: enrolment(gallery, cases.references)
    return LinesFile(work / "gallery.jsonl", lines)
