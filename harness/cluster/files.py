"""The files that a worker of a cluster needs, and their paths on its machine.

A worker uses a folder where it is if it sees it with the same content: on this machine, or on a shared file system.
Otherwise it asks for the content, which it keeps in its own cache.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cluster import ClusterError
from harness.files.digest import digest, file_sha256, path_sha256
from harness.interface.contract import Interface, Setup
from harness.interface.process import ProgramInterface, own_files
from harness.script.cases import CaseSet

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
        """Write the files."""
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
        names = [file.relative_to(folder).as_posix() for file in own_files(folder, interface.words)]
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
