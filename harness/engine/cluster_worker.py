"""The workers of a cluster: what they are told of a run, the files that they are sent, and what runs on them.

A worker uses a folder where it is if it sees it with the same content: on this machine, or on a shared file system.
Otherwise it asks for the content, which it keeps in its own cache. Programs stay open between batches, each for one
batch at a time.
"""

import asyncio
import contextlib
import hashlib
import pickle
import platform
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

from msgspec.structs import astuple
from msgspec.structs import replace as with_fields

from harness import __version__
from harness.bundled import bundled
from harness.engine.plan import Plan
from harness.errors import ClusterError, HateError, InterfaceError, ScriptError
from harness.files.digest import digest, file_sha256, path_sha256
from harness.files.images import ImageError, read_regular
from harness.interface.contract import Interface, Session, Setup
from harness.interface.process import ProgramInterface, kill_programs, own_files
from harness.interface.supervision import supervised
from harness.interface.wire import BYTES, from_line, to_line
from harness.model import Question, Reply
from harness.script.cases import CaseSet
from harness.script.library import scripts_in
from harness.script.load import load_script
from harness.script.vary import MADE
from harness.site.cache import cache_folder, cached
from harness.site.fetch import fetch_data

# What is sent of a folder, at most.
MOST_FILES = 5_000
LARGEST = 256 << 20
# Not part of an interface, though often in the same folder.
LEFT_OUT = frozenset({"__pycache__", "transcripts"})
# A program that nobody has asked for so long belongs to a run that was killed.
IDLE_SECONDS = 600.0
CLOSING_SECONDS = 2.0
CLUSTER = "cluster"
# The name of a varied input among the files that a worker asks for.
MADE_FILE = "made/"


@dataclass(frozen=True)
class Versions:
    """What a worker must have in common with the program that asks it."""

    harness: str
    python: str
    numpy: str = ""
    dask: str = ""

    @staticmethod
    def here() -> "Versions":
        """Of this process."""
        from importlib.metadata import version

        return Versions(__version__, platform.python_version(), version("numpy"), version("distributed"))

    def mistake(self, ours: "Versions") -> str:
        """Why a worker with these versions cannot be used, in words; empty if it can."""
        if self.harness != ours.harness:
            return f"has hate-harness {self.harness}, and this is {ours.harness}; install the same version there"
        if self.python.split(".")[:2] != ours.python.split(".")[:2]:
            return f"has Python {self.python}, and this is {ours.python}; they must agree up to the second number"
        return ""

    def remark(self, ours: "Versions") -> str:
        """What differs, but does no harm as a rule; empty if nothing does."""
        pairs = {"numpy": (self.numpy, ours.numpy), "distributed": (self.dask, ours.dask)}
        return ", ".join(f"{name} {there}, not {here}" for name, (there, here) in pairs.items() if there != here)


@dataclass(frozen=True)
class Material:
    """Files in a folder that a worker needs, with their SHA-256."""

    what: str
    folder: Path
    files: Mapping[str, str]
    # Whether everything else in the folder goes with them.
    whole: bool = False

    def is_in(self, folder: Path) -> bool:
        """Whether a folder has these files."""
        try:
            return all(path_sha256(folder / name) == sha256 for name, sha256 in self.files.items())
        except OSError:
            return False

    def pack(self) -> "Parcel":
        """The content; a ClusterError if that is too much to send."""
        files: dict[str, tuple[bytes, int]] = {}
        total = 0
        for path in self._paths():
            total += path.stat().st_size
            if total > LARGEST or len(files) >= MOST_FILES:
                raise ClusterError(
                    f"{self.folder}: {self.what} has more than {LARGEST >> 20} MiB or {MOST_FILES:,} files, too "
                    "much to send to a worker that does not see this folder; put it on a file system that they share"
                )
            name = path.relative_to(self.folder).as_posix()
            files[name] = path.read_bytes(), path.stat().st_mode & 0o777
        return Parcel(files)

    def _paths(self) -> Iterator[Path]:
        named = [self.folder] if self.whole else [self.folder / name for name in self.files]
        for start in named:
            found = start.rglob("*") if start.is_dir() else [start]
            yield from (path for path in sorted(found) if path.is_file() and not self._is_left_out(path))

    def _is_left_out(self, path: Path) -> bool:
        parts = path.relative_to(self.folder).parts
        return self.whole and any(part in LEFT_OUT or part.startswith(".") for part in parts)


@dataclass(frozen=True)
class Parcel:
    """The content of a folder: the bytes and the permissions of each file."""

    files: Mapping[str, tuple[bytes, int]]

    @property
    def key(self) -> str:
        """A name for the content."""
        named = {name: hashlib.sha256(content).hexdigest() for name, (content, _) in self.files.items()}
        return digest(named).partition(":")[2]

    def unpack(self, folder: Path) -> None:
        """Write the files."""
        for name, (content, mode) in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(mode)


@dataclass(frozen=True)
class Job:
    """A run, as its workers see it. Plain data; paths are those of the machine that it comes from."""

    key: str
    interface: Interface
    setup: Setup
    # The script's file, to find data by; empty if the test has no data.
    script: str
    places: Mapping[str, Path]
    # What a worker needs, by `interface`, `script`, `train`, `gallery`; it has all of it if it is on this machine.
    materials: Mapping[str, Material]
    same_machine: bool
    # Whether an answer may be the path of a file, which the worker then reads.
    answers_files: bool = False
    cache: Path = field(default_factory=cache_folder)


def make_job(plan: Plan, interface: Interface, setup: Setup, *, key: str, same_machine: bool) -> Job:
    """The job of a plan; `interface` is isolated, and `setup` has its files in this machine's scratch folder."""
    cases = plan.data_of or plan.cases
    return Job(
        key=key,
        interface=interface,
        setup=setup,
        script=cases.script.path.name if cases.places else "",
        places={name: path.absolute() for name, path in cases.places.items()},
        materials={} if same_machine else dict(_materials(cases, interface, setup)),
        same_machine=same_machine,
        answers_files=cases.script.task.expect_is_file,
    )


def _materials(cases: CaseSet, interface: Interface, setup: Setup) -> Iterator[tuple[str, Material]]:
    if isinstance(interface, ProgramInterface):  # not a service
        yield "interface", _interface_files(interface)
    if cases.places:
        script = cases.script
        local = {name: sha256 for name, sha256 in script.file_digests.items() if (script.folder / name).exists()}
        yield "script", Material(f"the test {script.name}", script.folder.absolute(), local)
    for name, file in (("train", setup.train), ("gallery", setup.gallery)):
        if file is not None:
            yield name, Material(f"the {name} part", file.parent, {file.name: file_sha256(file)})


def _interface_files(interface: ProgramInterface) -> Material:
    """The files that its digest covers, and the folder around them."""
    if interface.imports is not None:
        folder = interface.imports.path.absolute().parent
        names = [interface.imports.path.name, *interface.imports.neighbours]
    else:
        folder = interface.folder.absolute()
        names = [file.relative_to(folder).as_posix() for file in own_files(folder, interface.words)]
    digests = {name: file_sha256(folder / name) for name in names}
    return Material(f"the interface {interface.name}", folder, digests, whole=True)


class Translation:
    """Turns paths of the machine that a job comes from into paths of this one."""

    def __init__(self, moved: Mapping[Path, Path]) -> None:
        self._moved = [(str(old), str(new)) for old, new in moved.items() if old != new]
        # The innermost first: data may be in the cache, which is moved as a whole too.
        self._moved.sort(key=lambda pair: -len(pair[0]))

    def __bool__(self) -> bool:
        return bool(self._moved)

    def __call__(self, value: Any) -> Any:
        """A value with its paths, inside lists and objects too."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self(item) for item in value]
        return {key: self(item) for key, item in value.items()} if isinstance(value, dict) else value

    def _text(self, text: str) -> str:
        for old, new in self._moved:
            if text == old or text.startswith(f"{old}/"):
                return new + text[len(old) :]
        return text


@dataclass(frozen=True)
class BatchResult:
    """What became of a batch: replies, or what is missing, or why it cannot be worked on."""

    worker: str
    replies: bytes = b""
    seconds: float = 0.0
    missing: tuple[str, ...] = ()
    refusal: str = ""


def pack_questions(questions: list[Question]) -> bytes:
    """Questions as bytes, which Dask passes on without looking into them."""
    return pickle.dumps([astuple(one) for one in questions], protocol=5)


def pack_replies(replies: list[Reply]) -> bytes:
    """Replies as bytes, with the index of their question in place of the question."""
    fields = [(one.question.index, one.raw, one.error, one.message, one.seconds, one.memory) for one in replies]
    return pickle.dumps(fields, protocol=5)


def unpack_replies(content: bytes, questions: Mapping[int, Question]) -> Iterator[Reply]:
    """The replies to these questions; any other is left out."""
    # From a worker of the user's own cluster, whose results Dask unpickles as well.
    for index, *fields in pickle.loads(content):  # noqa: S301
        if index in questions:
            yield Reply(questions[index], *fields)


def answer(key: str, ours: Versions, job: bytes, questions: bytes) -> BatchResult:
    """Answer a batch; without questions, only make a program ready."""
    worker = _address()
    if mistake := Versions.here().mistake(ours):
        return BatchResult(worker, refusal=f"{worker} {mistake}")
    try:
        with _programs.job(key, job) as preparation:
            return _answer(preparation, worker, [Question(*fields) for fields in pickle.loads(questions)])  # noqa: S301
    except _Missing as error:
        return BatchResult(worker, missing=error.names)
    except HateError as error:
        return BatchResult(worker, refusal=str(error))


def _answer(preparation: "_Preparation", worker: str, questions: list[Question]) -> BatchResult:
    questions = preparation.translated(questions)
    with preparation.program() as session:
        begin = perf_counter()
        replies: list[Reply] = []
        for reply in session.replies(iter(questions)) if questions else ():
            replies.append(preparation.with_files(reply))
            if preparation.closed:  # otherwise it would restart its program for each case in flight
                break
        return BatchResult(worker, pack_replies(replies), perf_counter() - begin)


async def receive(key: str, parcels: Mapping[str, Parcel]) -> None:
    """Keep files that were missing."""
    await asyncio.to_thread(_programs.receive, key, parcels)


async def close(key: str) -> None:
    """End the programs of a job."""
    await asyncio.to_thread(_programs.close, key)


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)


class _Missing(Exception):
    """Files that this worker needs and does not have."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self.names = names


@dataclass
class _Preparation:
    """A job on this worker: its files have been found, and programs can be started."""

    job: Job
    interface: Interface
    setup: Setup
    translate: Translation
    made: Path | None
    idle: list[tuple[Session, Path]] = field(default_factory=list)
    # The scratch folders of the programs that work on a batch.
    busy: set[Path] = field(default_factory=set)
    closed: bool = False
    used: float = field(default_factory=monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def translated(self, questions: list[Question]) -> list[Question]:
        """The questions with this machine's paths; `_Missing` if varied inputs are not here."""
        if self.job.same_machine:
            return questions
        found = [with_fields(one, input=self.translate(one.input)) for one in questions]
        if self.made is not None:
            made = {str(one.input) for one in found if str(one.input).startswith(f"{self.made}/")}
            if missing := sorted(path for path in made if not Path(path).exists()):
                raise _Missing(tuple(f"{MADE_FILE}{Path(path).name}" for path in missing))
        _check_visible(found[:1])
        return found

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

    def end_idle(self) -> None:
        """End the programs that do nothing."""
        with self.lock:
            ended, self.idle = self.idle, []
        for session, work in ended:
            _end(session, work)


def _check_visible(questions: list[Question]) -> None:
    """A file that this worker does not have would be an error of every case."""
    for path in (one.input for one in questions if isinstance(one.input, str) and one.input.startswith("/")):
        if not Path(path).exists():
            raise ClusterError(f"{_address()} does not see {path}; put it on a file system that the workers share")


def _content(raw: Any, folder: Path) -> Any:
    if isinstance(raw, dict):
        return raw if BYTES in raw else {key: _content(value, folder) for key, value in raw.items()}
    if not isinstance(raw, str) or not raw:
        return raw
    try:
        return {BYTES: read_regular(folder / raw)}
    except (ImageError, OSError, ValueError):  # an answer in error, as it is said where it is judged
        return raw


def _scratch() -> str | None:
    """The folder that the worker removes at its end."""
    from distributed import get_worker

    return str(get_worker().local_directory) or None


def _make_scratch() -> Path:
    return Path(tempfile.mkdtemp(prefix="hate-", dir=_scratch()))


def _end(session: Session | None, work: Path) -> None:
    if session is not None:
        with contextlib.suppress(InterfaceError):  # all its answers have been given
            session.close()
    shutil.rmtree(work, ignore_errors=True)


class _Programs:
    """The jobs of this worker."""

    def __init__(self) -> None:
        self._jobs: dict[str, _Preparation] = {}
        self._received: dict[tuple[str, str], Path] = {}
        self._lock = threading.Lock()
        self._supervision = contextlib.ExitStack()
        self._watching = False

    @contextlib.contextmanager
    def job(self, key: str, content: bytes) -> Iterator[_Preparation]:
        """The job with this key, prepared when it is first asked for."""
        with self._lock:
            self._watch()
            found = self._jobs.get(key)
            if found is None:
                found = self._jobs[key] = self._prepare(pickle.loads(content))  # noqa: S301 (as all that Dask sends)
        yield found

    def _watch(self) -> None:
        if not self._watching:
            self._watching = True
            # Programs are ended with this worker, however it ends.
            self._supervision.enter_context(supervised())
            threading.Thread(target=self._end_forgotten, daemon=True).start()

    def _end_forgotten(self) -> None:
        while True:
            threading.Event().wait(IDLE_SECONDS / 10)
            for one in list(self._jobs.values()):
                if not one.busy and monotonic() - one.used > IDLE_SECONDS:
                    one.end_idle()

    def receive(self, key: str, parcels: Mapping[str, Parcel]) -> None:
        for name, parcel in parcels.items():
            if name == MADE:
                _store_made(parcel)
            else:
                self._received[key, name] = cached(CLUSTER, parcel.key, parcel.unpack)

    def close(self, key: str) -> None:
        found = self._jobs.pop(key, None)
        if found is None:
            return
        found.closed = True
        deadline = monotonic() + CLOSING_SECONDS
        while found.busy and monotonic() < deadline:
            for work in list(found.busy):
                kill_programs(work)
            threading.Event().wait(0.05)
        found.end_idle()

    def _prepare(self, job: Job) -> _Preparation:
        places = {name: self._place(job, name, one) for name, one in job.materials.items()}
        if missing := tuple(name for name, place in places.items() if place is None):
            raise _Missing(missing)
        data = job.places if job.same_machine or not job.script else _data(job, places["script"])
        moved = {job.places[name]: data[name] for name in job.places} | {job.cache: cache_folder()}
        translate = Translation({} if job.same_machine else moved)
        train, gallery = (_learning(job, name, places.get(name), translate) for name in ("train", "gallery"))
        setup = replace(job.setup, train=train, gallery=gallery)
        interface, folder = job.interface, places.get("interface")
        if folder is not None and isinstance(interface, ProgramInterface):
            interface = interface.moved(folder)
        return _Preparation(job, interface, setup, translate, data.get(MADE))

    def _place(self, job: Job, name: str, material: Material) -> Path | None:
        if material.is_in(material.folder):
            return material.folder
        if (job.key, name) in self._received:
            return self._received[job.key, name]
        if name == "script":
            return next((path.parent for path in scripts_in(bundled("test_scripts")) if _is_same(path, job)), None)
        return None


def _is_same(path: Path, job: Job) -> bool:
    return path.name == job.script and job.materials["script"].is_in(path.parent)


def _data(job: Job, folder: Path | None) -> Mapping[str, Path]:
    """Where the data of the test is on this machine: beside the script, or in the cache."""
    if folder is None:
        raise ScriptError(f"no script {job.script}")
    found = fetch_data(load_script(folder / job.script))
    return {name: path.absolute() for name, path in found.items()}


def _learning(job: Job, name: str, folder: Path | None, translate: Translation) -> Path | None:
    """The training file or the gallery, with this machine's paths."""
    path: Path | None = getattr(job.setup, name)
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


def _store_made(parcel: Parcel) -> None:
    """Put varied images where this machine keeps its own; whatever is there has the same name for its content."""
    folder = cache_folder() / MADE
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".making-") as scratch:
        parcel.unpack(Path(scratch))
        for name in parcel.files:
            (Path(scratch) / name).replace(folder / name)


_programs = _Programs()
