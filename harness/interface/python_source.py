"""What an `interface.py` says, read from its source: name, parameters and functions, and the files that it imports.

Nothing is executed. Modules that are imported by name at run time (`importlib.import_module`) are not seen.
"""

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from harness.errors import InterfaceError
from harness.files.digest import digest, file_sha256
from harness.interface.contract import NO_LINKS, AlgorithmLinks

MAX_SOURCE_BYTES = 16 << 20
# More files than anyone writes beside an interface; a walk must end.
MAX_FILES = 2000
_CONSTANTS = ("NAME", "VERSION", "PARAMS")
_ANSWERS = frozenset({"answer", "answer_batch"})


class InterfaceFacts(msgspec.Struct, frozen=True):
    """What is known of an interface file that was not imported here: an error, or what it takes to start it."""

    name: str = ""
    version: str = ""
    params: dict[str, Any] = {}
    batch: int = 1
    learns: bool = False
    enrols: bool = False
    error: str = ""
    links: AlgorithmLinks = NO_LINKS


def read_python(path: Path) -> InterfaceFacts:
    """Name, version and parameters as far as they are written as plain constants; nothing is imported or run."""
    tree = _parse(path)
    shapes = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    answering = [body for body in shapes if _ANSWERS & set(_names(body))]
    if not answering:
        raise InterfaceError(f"{path}: no function answer(case, params); `hate new interface` writes an example")
    known = {**_constants(tree.body), **_constants(answering[0])}
    names = set(_names(answering[0]))
    declared = known.get("PARAMS", {})
    params = declared.items() if isinstance(declared, dict) else ()
    plain = {name: value for name, value in params if isinstance(name, str) and isinstance(value, (int, float, str))}
    return InterfaceFacts(
        name=str(known.get("NAME", "")) or folder_name(path),
        version=str(known.get("VERSION", "")),
        params=plain,
        learns="train" in names,
        enrols="enrol" in names,
    )


def _parse(path: Path) -> ast.Module:
    try:
        with path.open("rb") as file:
            source = file.read(MAX_SOURCE_BYTES)
        return ast.parse(source, str(path))
    except SyntaxError as error:
        raise InterfaceError(f"{path}:{error.lineno or 1}: {error.msg}") from None
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise InterfaceError(f"{path}: cannot be read as Python: {error}") from None


def _names(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The names that statements define: functions, assigned names, and imported ones."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name for alias in node.names)
        else:
            yield from _assigned(node)


def _assigned(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def _constants(body: Sequence[ast.stmt]) -> dict[str, Any]:
    constants: dict[str, Any] = {}
    for node in body:
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        for name in _assigned(node):
            if name in _CONSTANTS and value is not None:
                try:
                    constants[name] = ast.literal_eval(value)
                except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                    constants.pop(name, None)  # computed: known only to whoever runs it
    return constants


def folder_name(path: Path) -> str:
    """What an algorithm is called if its file does not say: its folder, or a file of another name."""
    return path.absolute().parent.name if path.name == "interface.py" else path.stem


@dataclass(frozen=True)
class ImportedFiles:
    """An interface file, and what it imports directly or through its neighbours."""

    path: Path
    # Python files in its folder, relative to it, sorted; without the interface itself.
    neighbours: tuple[str, ...]
    # Names of modules of neither the folder nor the standard library, sorted.
    libraries: tuple[str, ...]

    @property
    def modules(self) -> dict[str, Path]:
        """The file of each neighbour by the name that it is imported by; of a package `__init__.py` or the folder."""
        folder = self.path.absolute().parent
        files: dict[str, Path] = {}
        for name in self.neighbours:
            parts = Path(name).with_suffix("").parts
            for depth in range(1, len(parts)):
                files.setdefault(".".join(parts[:depth]), folder.joinpath(*parts[:depth]))
            files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = folder / name
        return files

    @property
    def sha256(self) -> str:
        """The digest of the interface file; with neighbours, that over `path`, NUL, `sha256` and newline of each."""
        if not self.neighbours:
            return file_sha256(self.path)
        folder = self.path.absolute().parent
        named = {name: file_sha256(folder / name) for name in (self.path.name, *self.neighbours)}
        return digest(named).partition(":")[2]


def imported_files(path: Path) -> ImportedFiles:
    """What an interface file imports; a file that is not valid Python imports nothing."""
    folder = path.absolute().parent
    known: dict[Path, None] = {folder / path.name: None}
    libraries: set[str] = set()
    waiting = list(known)
    while waiting and len(known) < MAX_FILES:
        for module in _imports(waiting.pop(), folder):
            files = list(_files(folder, module))
            if not files and module.partition(".")[0] not in sys.stdlib_module_names:
                libraries.add(module.partition(".")[0])
            waiting += [file for file in files if file not in known]
            known.update(dict.fromkeys(files))
    names = sorted(file.relative_to(folder).as_posix() for file in known)
    return ImportedFiles(path, tuple(name for name in names if name != path.name), tuple(sorted(libraries)))


def _imports(file: Path, folder: Path) -> Iterator[str]:
    """The dotted names that a file imports; what is taken from a package may be a module of it."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    package = file.relative_to(folder).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # One dot is the package that the file is in, each further one the package around it.
            above = package[: max(0, len(package) - node.level + 1)] if node.level else ()
            base = [*above, *([node.module] if node.module else [])]
            if base:
                yield ".".join(base)
            yield from (".".join([*base, alias.name]) for alias in node.names)


def _files(folder: Path, module: str) -> Iterator[Path]:
    """The files of the folder that importing a module runs: of every package on the way, and its own."""
    path = folder
    for part in module.split("."):
        path = path / part
        for file in (path / "__init__.py", path.with_name(f"{part}.py")):
            if file.is_file():
                yield file
