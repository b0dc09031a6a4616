"""What runs on the workers of a cluster: programs that stay open between batches, each for one batch at a time."""

import asyncio
import contextlib
import pickle
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

from msgspec.structs import replace as with_fields

from harness.bundled import bundled
from harness.cluster import ClusterError
from harness.cluster.job import BatchResult, Job, Parcel, Translation, Versions, pack_replies, unpack_questions
from harness.errors import HateError, InterfaceError, ScriptError
from harness.files.caches import UNFINISHED_PREFIX
from harness.files.images import ImageError, read_regular
from harness.interface.contract import Interface, Session, Setup
from harness.interface.process import ProgramInterface, kill_programs
from harness.interface.supervision import supervised
from harness.interface.wire import BYTES, from_line, to_line
from harness.model import Question, Reply
from harness.script.library import scripts_in
from harness.script.load import load_script
from harness.site.cache import RECEIVED, cache_folder, cached
from harness.site.fetch import fetch_data

# A program that nobody has asked for so long belongs to a run that was killed.
IDLE_SECONDS = 600.0
CLOSING_SECONDS = 2.0
READ_ONLY = 0o444


def answer(key: str, ours: Versions, job: bytes, questions: bytes) -> BatchResult:
    """Answer a batch; without questions, only make a program ready."""
    worker = _address()
    if mistake := Versions.here().mistake(ours):
        return BatchResult(worker, refusal=f"{worker} {mistake}")
    try:
        prepared = _jobs.prepared(key, job)
        translated = prepared.translated(unpack_questions(questions))
        with prepared.program() as session:
            begin = perf_counter()
            replies: list[Reply] = []
            for reply in session.replies(iter(translated)) if translated else ():
                replies.append(prepared.with_files(reply))
                if prepared.closed:  # otherwise it would restart its program for each case in flight
                    break
            return BatchResult(worker, pack_replies(replies), perf_counter() - begin)
    except _Missing as error:
        return BatchResult(worker, missing=error.names)
    except HateError as error:
        return BatchResult(worker, refusal=str(error))


async def receive(key: str, parcels: Mapping[str, Parcel], inputs: Mapping[str, bytes]) -> None:
    """Keep files that were missing: materials by their names, inputs by their paths in the questions."""
    await asyncio.to_thread(_jobs.receive, key, parcels, inputs)


async def close(key: str) -> None:
    """End the programs of a job."""
    await asyncio.to_thread(_jobs.close, key)


class _Missing(Exception):
    """Files that this worker needs and does not have."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self.names = names


@dataclass
class _PreparedJob:
    """A job on this worker: its files have been found, and programs can be started."""

    job: Job
    interface: Interface
    setup: Setup
    translate: Translation
    # The folders of inputs that are made when a case is asked, each with a slash at its end.
    made: tuple[str, ...]
    idle: list[tuple[Session, Path]] = field(default_factory=list)
    # The scratch folders of the programs that work on a batch.
    busy: set[Path] = field(default_factory=set)
    closed: bool = False
    used: float = field(default_factory=monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def translated(self, questions: list[Question]) -> list[Question]:
        """The questions with this machine's paths; `_Missing` if inputs that were made are not here."""
        if self.job.same_machine:
            return questions
        here = [with_fields(question, input=self.translate(question.input)) for question in questions]
        missing = {
            question.input
            for question, moved in zip(questions, here, strict=True)
            if isinstance(moved.input, str) and moved.input.startswith(self.made) and not Path(moved.input).exists()
        }
        if missing:
            raise _Missing(tuple(sorted(missing)))
        # A file that this worker does not have would be an error of every case.
        path = here[0].input if here else None
        if isinstance(path, str) and path.startswith("/") and not Path(path).exists():
            raise ClusterError(f"{_address()} does not see {path}; put it on a file system that the workers share")
        return here

    @contextlib.contextmanager
    def program(self) -> Iterator[Session]:
        """A program that is ready; it is kept for the next batch unless something goes wrong."""
        with self.lock:
            session, work = self.idle.pop() if self.idle else (None, _make_scratch())
            self.busy.add(work)
        kept = False
        try:
            if session is None:
                session = self.interface.open(replace(self.setup, work=work))
            yield session
            kept = not self.closed
        finally:
            with self.lock:
                self.busy.discard(work)
                self.used = monotonic()
                if kept and session is not None:
                    self.idle.append((session, work))
            if not kept:
                _end(session, work)

    def with_files(self, reply: Reply) -> Reply:
        """The reply with the content of a file in place of its path, which may mean nothing on another machine."""
        if not self.job.answers_files or self.job.same_machine:
            return reply
        folder = self.interface.folder if isinstance(self.interface, ProgramInterface) else Path()
        return with_fields(reply, raw=_content(reply.raw, folder))

    def keep_input(self, path: str, content: bytes) -> None:
        """Put an input where this machine would make it; what is there has the same name for its content."""
        target = Path(self.translate(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=UNFINISHED_PREFIX) as scratch:
            unfinished = Path(scratch) / target.name
            unfinished.write_bytes(content)
            unfinished.chmod(READ_ONLY)
            unfinished.replace(target)

    def end_idle(self) -> None:
        """End the programs that do nothing."""
        with self.lock:
            ended, self.idle = self.idle, []
        for session, work in ended:
            _end(session, work)


class _Jobs:
    """The jobs of this worker."""

    def __init__(self) -> None:
        self._prepared: dict[str, _PreparedJob] = {}
        # Folders that were received, by the key of their job and their name.
        self._received: dict[tuple[str, str], Path] = {}
        self._lock = threading.Lock()
        self._supervision = contextlib.ExitStack()
        self._watching = False

    def prepared(self, key: str, content: bytes) -> _PreparedJob:
        """The job with this key, prepared when it is first asked for."""
        with self._lock:
            if not self._watching:
                self._watching = True
                # Programs are ended with this worker, however it ends.
                self._supervision.enter_context(supervised())
                threading.Thread(target=self._end_forgotten, daemon=True).start()
            if key not in self._prepared:
                self._prepared[key] = self._prepare(pickle.loads(content))  # noqa: S301 (as all that Dask sends)
            return self._prepared[key]

    def _end_forgotten(self) -> None:
        while True:
            threading.Event().wait(IDLE_SECONDS / 10)
            for prepared in list(self._prepared.values()):
                if not prepared.busy and monotonic() - prepared.used > IDLE_SECONDS:
                    prepared.end_idle()

    def receive(self, key: str, parcels: Mapping[str, Parcel], inputs: Mapping[str, bytes]) -> None:
        for name, parcel in parcels.items():
            self._received[key, name] = cached(RECEIVED, parcel.key, parcel.unpack)
        # It is there, for it has asked; unless this worker was started again, or the job was closed.
        if (prepared := self._prepared.get(key)) is not None:
            for path, content in inputs.items():
                prepared.keep_input(path, content)

    def close(self, key: str) -> None:
        prepared = self._prepared.pop(key, None)
        if prepared is None:
            return
        prepared.closed = True
        deadline = monotonic() + CLOSING_SECONDS
        while prepared.busy and monotonic() < deadline:
            for work in list(prepared.busy):
                kill_programs(work)
            threading.Event().wait(0.05)
        prepared.end_idle()

    def _prepare(self, job: Job) -> _PreparedJob:
        folders = {name: self._folder(job, name) for name in job.materials}
        if missing := tuple(name for name, folder in folders.items() if folder is None):
            raise _Missing(missing)
        data = job.data_paths
        if job.script and not job.same_machine:
            if (beside := folders["script"]) is None:
                raise ScriptError(f"no script {job.script}")
            data = {name: path.absolute() for name, path in fetch_data(load_script(beside / job.script)).items()}
        moved = {job.data_paths[name]: data[name] for name in job.data_paths} | {job.cache: cache_folder()}
        translate = Translation({} if job.same_machine else moved)
        train = _learning_part(job.setup.train, folders.get("train"), translate)
        gallery = _learning_part(job.setup.gallery, folders.get("gallery"), translate)
        interface, folder = job.interface, folders.get("interface")
        if folder is not None and isinstance(interface, ProgramInterface):
            interface = interface.moved(folder)
        setup = replace(job.setup, train=train, gallery=gallery)
        return _PreparedJob(job, interface, setup, translate, tuple(f"{data[name]}/" for name in job.made))

    def _folder(self, job: Job, name: str) -> Path | None:
        """Where a material is on this machine; None if it has to be sent."""
        material = job.materials[name]
        if material.is_in(material.folder):
            return material.folder
        if name == "script" and (job.key, name) not in self._received:
            scripts = (path for path in scripts_in(bundled("test_scripts")) if path.name == job.script)
            return next((path.parent for path in scripts if material.is_in(path.parent)), None)
        return self._received.get((job.key, name))


_jobs = _Jobs()


def _learning_part(path: Path | None, folder: Path | None, translate: Translation) -> Path | None:
    """The training file or the gallery, with this machine's paths."""
    if path is None or folder is None:
        return path
    here = folder / path.name
    if not translate:
        return here
    target = _make_scratch() / path.name
    with here.open("rb") as lines, target.open("wb") as out:
        for line in lines:
            question = from_line(line)
            out.write(to_line(with_fields(question, input=translate(question.input))))
    return target


def _content(raw: Any, folder: Path) -> Any:
    """An answer with the contents of the files that it names."""
    if isinstance(raw, dict):
        return raw if BYTES in raw else {key: _content(value, folder) for key, value in raw.items()}
    if not isinstance(raw, str) or not raw:
        return raw
    try:
        return {BYTES: read_regular(folder / raw)}
    except (ImageError, OSError, ValueError):  # an answer in error, as it is said where it is judged
        return raw


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _make_scratch() -> Path:
    """A new folder in the one that the worker removes at its end."""
    from distributed import get_worker

    return Path(tempfile.mkdtemp(prefix="hate-", dir=str(get_worker().local_directory) or None))


def _end(session: Session | None, work: Path) -> None:
    if session is not None:
        with contextlib.suppress(InterfaceError):  # all its answers have been given
            session.close()
    shutil.rmtree(work, ignore_errors=True)
