"""What the program that asks and the workers of a cluster tell one another: versions, a job, questions and replies.

A worker uses a folder where it is if it sees it with the same content: on this machine, or on a shared file system.
Otherwise it asks for the content, which it keeps in its own cache.
"""

import hashlib
import pickle
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import astuple

from harness import __version__
from harness.cluster import ClusterError
from harness.engine.plan import Plan
from harness.files.digest import digest, file_sha256, path_sha256
from harness.interface.contract import Interface, Setup
from harness.interface.process import ProgramInterface, named_files
from harness.model import Question, Reply
from harness.script.cases import CaseSet
from harness.site.cache import cache_folder

# What is sent of a folder, at most.
MAX_FILES = 5_000
MAX_BYTES = 256 << 20
# Not part of an interface, though often in the same folder.
LEFT_OUT = frozenset({"__pycache__", "transcripts"})


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
        for name, (content, mode) in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(mode)


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

    def pack(self) -> Parcel:
        """The content; a ClusterError if that is too much to send."""
        files: dict[str, tuple[bytes, int]] = {}
        total = 0
        for path in self._paths():
            total += path.stat().st_size
            if total > MAX_BYTES or len(files) >= MAX_FILES:
                raise ClusterError(
                    f"{self.folder}: {self.what} has more than {MAX_BYTES >> 20} MiB or {MAX_FILES:,} files, too "
                    "much to send to a worker that does not see this folder; put it on a file system that they share"
                )
            name = path.relative_to(self.folder).as_posix()
            files[name] = path.read_bytes(), path.stat().st_mode & 0o777
        return Parcel(files)

    def _paths(self) -> Iterator[Path]:
        for start in [self.folder] if self.whole else [self.folder / name for name in self.files]:
            for path in sorted(start.rglob("*")) if start.is_dir() else [start]:
                parts = path.relative_to(self.folder).parts
                left_out = self.whole and any(part in LEFT_OUT or part.startswith(".") for part in parts)
                if path.is_file() and not left_out:
                    yield path


def materials(cases: CaseSet, interface: Interface, setup: Setup) -> dict[str, Material]:
    """What a worker needs of a run: `interface`, `script`, `train`, `gallery`, as far as there are any."""
    needed = {}
    if isinstance(interface, ProgramInterface):  # not a service
        needed["interface"] = _interface_files(interface)
    if cases.data_paths:
        script = cases.script
        here = {name: sha256 for name, sha256 in script.file_digests.items() if (script.folder / name).exists()}
        needed["script"] = Material(f"the test {script.name}", script.folder.absolute(), here)
    for name, file in (("train", setup.train), ("gallery", setup.gallery)):
        if file is not None:
            needed[name] = Material(f"the {name} part", file.parent, {file.name: file_sha256(file)})
    return needed


def _interface_files(interface: ProgramInterface) -> Material:
    """The files that its digest covers, and the folder around them."""
    if interface.imports is not None:
        folder = interface.imports.path.absolute().parent
        names = [interface.imports.path.name, *interface.imports.neighbours]
    else:
        folder = interface.folder.absolute()
        names = [file.relative_to(folder).as_posix() for file in named_files(folder, interface.words)]
    digests = {name: file_sha256(folder / name) for name in names}
    return Material(f"the interface {interface.name}", folder, digests, whole=True)


class Translation:
    """Turns paths of the machine that a job comes from into paths of this one."""

    def __init__(self, moved: Mapping[Path, Path]) -> None:
        self._moved = [(str(there), str(here)) for there, here in moved.items() if there != here]
        # The innermost first: data may be in the cache, which is moved as a whole too.
        self._moved.sort(key=lambda pair: -len(pair[0]))

    def __bool__(self) -> bool:
        return bool(self._moved)

    def __call__(self, value: Any) -> Any:
        """A value with its paths, inside lists and objects too."""
        if isinstance(value, str):
            for there, here in self._moved:
                if value == there or value.startswith(f"{there}/"):
                    return here + value[len(there) :]
            return value
        if isinstance(value, list):
            return [self(item) for item in value]
        return {key: self(item) for key, item in value.items()} if isinstance(value, dict) else value


@dataclass(frozen=True)
class Versions:
    """What a worker must have in common with the program that asks it."""

    harness: str
    python: str
    numpy: str = ""
    dask: str = ""

    @staticmethod
    def here() -> "Versions":
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
class Job:
    """A run, as its workers see it. Plain data; paths are those of the machine that it comes from."""

    # A name that no other run on the cluster has.
    key: str
    interface: Interface
    setup: Setup
    # The script's file, to find data by; empty if the test has no data.
    script: str
    data_paths: Mapping[str, Path]
    # Those of the folders whose files are made when a case is asked: a worker is sent what it is asked about.
    made: tuple[str, ...]
    # What a worker needs, by name; it has all of it if it is on this machine.
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
        script=cases.script.path.name if cases.data_paths else "",
        data_paths={name: path.absolute() for name, path in cases.data_paths.items()},
        made=(cases.script.made,) if cases.script.made else (),
        materials={} if same_machine else materials(cases, interface, setup),
        same_machine=same_machine,
        answers_files=cases.script.task.expect_is_file,
    )


@dataclass(frozen=True)
class BatchResult:
    """What became of a batch: replies, or what is missing, or why it cannot be worked on."""

    worker: str
    replies: bytes = b""
    seconds: float = 0.0
    # Names of materials, or inputs as they are in the questions.
    missing: tuple[str, ...] = ()
    refusal: str = ""


def pack_questions(questions: list[Question]) -> bytes:
    """Questions as bytes, which Dask passes on without looking into them."""
    return pickle.dumps([astuple(question) for question in questions], protocol=5)


def unpack_questions(content: bytes) -> list[Question]:
    """The questions, on the worker."""
    return [Question(*fields) for fields in pickle.loads(content)]  # noqa: S301 (as all that Dask sends)


def pack_replies(replies: list[Reply]) -> bytes:
    """Replies as bytes, with the index of their question in place of the question."""
    fields = [(reply.question.index, *astuple(reply)[1:]) for reply in replies]
    return pickle.dumps(fields, protocol=5)


def unpack_replies(content: bytes, questions: Mapping[int, Question]) -> Iterator[Reply]:
    """The replies to these questions; any other is left out."""
    # From a worker of the user's own cluster, whose results Dask unpickles as well.
    for index, *fields in pickle.loads(content):  # noqa: S301
        if index in questions:
            yield Reply(questions[index], *fields)
