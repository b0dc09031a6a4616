"""Interfaces that are published with a test, such as its strawman: files to read and to try; nothing runs them."""

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InterfaceError, OutputError, UsageError
from harness.files.digest import file_sha256
from harness.script.load import SUFFIX
from harness.site.catalogue import SiteStore
from harness.site.layout import InterfaceEntry, Ref, ReleaseFile, check_inside

FILES = ("interface.py", "interface.toml")
MAX_FILES = 100
LARGEST = 20 << 20


@dataclass(frozen=True)
class InterfaceCandidate:
    """The files of an interface, and the test that it is for."""

    name: str
    path: Path
    files: tuple[ReleaseFile, ...]
    sources: dict[Ref, Path]
    test_name: str = ""

    @property
    def label(self) -> str:
        """What it is, for messages."""
        return f"interface {self.name} for {self.test_name}"


def is_interface(path: Path) -> bool:
    """Whether a path is an interface, not a test or a transcript."""
    if path.is_dir():
        return any((path / name).is_file() for name in FILES) and not any(path.glob(f"*{SUFFIX}"))
    return path.suffix == ".py" or path.name == FILES[1]


def read_interface_candidate(path: Path, *, name: str = "") -> InterfaceCandidate:
    """An interface, parsed but not run: the folder with all its files, or one file."""
    folder = path if path.is_dir() else path.parent
    paths = list(_inside(path)) if path.is_dir() else [path]
    main = next((folder / one for one in FILES if (folder / one) in paths), path)
    _check_text(main)
    total = sum(one.stat().st_size for one in paths)
    if len(paths) > MAX_FILES or total > LARGEST:
        raise InterfaceError(f"{path}: {len(paths):,} files of {total:,} bytes; publish the interface, not its data")
    files, sources = [], {}
    for one in paths:
        inside = one.relative_to(folder).as_posix()
        check_inside(inside, str(path))
        ref = Ref(file_sha256(one), one.stat().st_size)
        files.append(ReleaseFile(inside, ref.sha256, ref.bytes))
        sources[ref] = one
    stem = path.resolve().name if path.is_dir() else path.stem if path.name not in FILES else folder.resolve().name
    return InterfaceCandidate(name or stem, path, tuple(files), sources)


def _inside(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith((".", "__pycache__")) for part in path.relative_to(folder).parts)
        if path.is_symlink():
            raise InterfaceError(f"{path}: a link; put the file itself there")
        if path.is_file() and not hidden:
            yield path


def _check_text(path: Path) -> None:
    """That it can be read as what it claims to be; its code is not run."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            ast.parse(text)
        else:
            tomllib.loads(text)
    except (SyntaxError, ValueError, RecursionError, OSError) as error:
        raise InterfaceError(f"{path}: not an interface: {str(error).splitlines()[0]}") from None


def copy_interface(store: SiteStore, entry: InterfaceEntry, folder: Path) -> Path:
    """Write the files of a published interface into FOLDER/NAME, which must not exist; the path of its main file."""
    target = folder / entry.name
    if target.exists():
        raise UsageError(f"{target}: exists; choose another folder, nothing is overwritten")
    for file in entry.files:
        check_inside(file.path, entry.name)
        source = store.file(file.ref, file.path)
        try:
            (target / file.path).parent.mkdir(parents=True, exist_ok=True)
            (target / file.path).write_bytes(source.read_bytes())
        except OSError as error:
            raise OutputError(f"{target / file.path}: {error.strerror}") from None
    return target
