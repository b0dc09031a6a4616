"""What the workers of a cluster are told about a run, and the files that are sent to those that do not have them.

A worker uses a folder where it is if it sees it with the same content: on this machine, or on a shared file system.
Otherwise it asks for the content, which it keeps in its own cache.
"""

import hashlib
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness import __version__
from harness.engine.plan import Plan
from harness.errors import ClusterError
from harness.files.digest import digest, file_sha256, path_sha256
from harness.interface.command import CommandInterface
from harness.interface.contract import Interface, Setup
from harness.interface.outside import worker_interface
from harness.interface.process import resolve_program
from harness.interface.stream import StreamInterface
from harness.script.cases import CaseSet
from harness.script.load import Script
from harness.site.cache import cache_folder

# What is sent of a folder, at most.
MOST_FILES = 5_000
LARGEST = 256 << 20
# Not part of an interface, though often in the same folder.
LEFT_OUT = frozenset({"__pycache__", "transcripts"})


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
    folder: Path = field(default_factory=Path.cwd)
    cache: Path = field(default_factory=cache_folder)


def make_job(plan: Plan, interface: Interface, setup: Setup, *, key: str, same_machine: bool) -> Job:
    """The job of a plan; `interface` is isolated, and `setup` has its files in this machine's scratch folder."""
    cases = plan.data_of or plan.cases
    materials: dict[str, Material] = {}
    if not same_machine:
        materials = {name: one for name, one in _materials(cases, interface, setup) if one is not None}
    return Job(
        key=key,
        interface=interface,
        setup=setup,
        script=cases.script.path.name if cases.places else "",
        places={name: path.absolute() for name, path in cases.places.items()},
        materials=materials,
        same_machine=same_machine,
        answers_files=cases.script.task.expect_is_file,
    )


def _materials(cases: CaseSet, interface: Interface, setup: Setup) -> Iterator[tuple[str, Material | None]]:
    yield "interface", _interface_files(interface)
    if cases.places:
        yield "script", _script_files(cases.script)
    for name, file in (("train", setup.train), ("gallery", setup.gallery)):
        if file is not None:
            yield name, Material(f"the {name} part", file.parent, {file.name: file_sha256(file)})


def _interface_files(interface: Interface) -> Material | None:
    """The files that its digest covers, and the folder around them; None for a service."""
    what = f"the interface {interface.name}"
    if isinstance(interface, StreamInterface) and interface.imports is not None:
        path = interface.imports.path.absolute()
        names = (path.name, *interface.imports.neighbours)
        return Material(what, path.parent, {name: file_sha256(path.parent / name) for name in names}, whole=True)
    if isinstance(interface, (StreamInterface, CommandInterface)):
        folder = interface.folder.absolute()
        words = [*interface.argv, *(getattr(interface, "train", None) or ())]
        own = {file for word in words if (file := _own_file(folder, word)) is not None}
        return Material(what, folder, {f.relative_to(folder).as_posix(): file_sha256(f) for f in own}, whole=True)
    return None


def _own_file(folder: Path, word: str) -> Path | None:
    """The file of the folder that a word of a command names."""
    try:
        path = folder / word
        return path if path.is_relative_to(folder) and ".." not in path.parts and path.is_file() else None
    except (OSError, ValueError):  # any text
        return None


def _script_files(script: Script) -> Material:
    local = {name: sha256 for name, sha256 in script.file_digests.items() if (script.folder / name).exists()}
    return Material(f"the test {script.name}", script.folder.absolute(), local)


def relocated(job: Job, folder: Path | None) -> Interface:
    """The interface as it is started on this machine, from this folder."""
    interface = job.interface
    if folder is None:
        return interface
    if isinstance(interface, StreamInterface) and interface.imports is not None:
        found = worker_interface(
            folder / interface.imports.path.name, name=interface.name, version=interface.version,
            sha256=interface.sha256, params=interface.params, batch=interface.batch, learns=interface.learns,
            enrols=interface.enrols, imports=interface.imports, imported=interface.imported,
        )  # fmt: skip
        return replace(found, folder=job.folder if job.folder.is_dir() else folder)
    if isinstance(interface, StreamInterface):
        return replace(interface, folder=folder, argv=_relocated_argv(interface.argv, interface.folder, folder))
    if isinstance(interface, CommandInterface):
        train = interface.train and _relocated_argv(interface.train, interface.folder, folder)
        argv = _relocated_argv(interface.argv, interface.folder, folder)
        return replace(interface, folder=folder, argv=argv, train=train)
    return interface


def _relocated_argv(argv: tuple[str, ...], old: Path, new: Path) -> tuple[str, ...]:
    """A command with the program of this machine: from the folder, or of the same name on its PATH."""
    program = Path(argv[0])
    if program.is_relative_to(old.absolute()):
        first = f"./{program.relative_to(old.absolute())}"
    else:
        first = str(program) if program.is_file() else program.name
    return tuple(resolve_program([first, *argv[1:]], new, "argv"))


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
