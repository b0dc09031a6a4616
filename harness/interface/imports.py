"""What an interface file imports, read from its source: the modules beside it, and libraries by name.

Nothing is executed. Modules that are imported by name at run time (`importlib.import_module`) are not seen.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.files.digest import digest, file_sha256

# More files than anyone writes beside an interface; a walk must end.
MOST_FILES = 2000


@dataclass(frozen=True)
class ImportedFiles:
    """An interface file, and what it imports directly or through its neighbours."""

    path: Path
    # Python files in its folder, relative to it, sorted; without the interface itself.
    neighbours: tuple[str, ...]
    # Names of modules of neither the folder nor the standard library, sorted.
    libraries: tuple[str, ...]

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
    found: dict[Path, None] = {folder / path.name: None}
    libraries: set[str] = set()
    waiting = list(found)
    while waiting and len(found) < MOST_FILES:
        for module in _imports(waiting.pop(), folder):
            files = list(_files(folder, module))
            if not files and module.partition(".")[0] not in sys.stdlib_module_names:
                libraries.add(module.partition(".")[0])
            waiting += [file for file in files if file not in found]
            found.update(dict.fromkeys(files))
    names = sorted(file.relative_to(folder).as_posix() for file in found)
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
    place = folder
    for part in module.split("."):
        place = place / part
        for file in (place / "__init__.py", place.with_name(f"{part}.py")):
            if file.is_file():
                yield file
