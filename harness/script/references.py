"""Files that a script may name: in its folder, or in data that it declares, such as `{images}/test/3.pgm`."""

import re
import stat
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from harness.errors import ScriptError
from harness.params import nearest


def inside(folder: Path, name: str, resolved: dict[Path, Path] | None = None) -> Path:
    """The file `name` in `folder`; a ScriptError if it is outside or does not exist.

    `resolved` keeps where folders really are, for callers with thousands of files in a few of them.
    """
    if not name or "\0" in name or "\\" in name:
        raise ScriptError(f"{name!r} is not a file name; write it relative to the folder, with /")
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        raise ScriptError(f"'{name}' leaves the script's folder; put the file beside the script")
    path = folder / name
    resolved = {} if resolved is None else resolved
    try:
        real = _real_path(path, resolved)
    except (OSError, RuntimeError):
        raise ScriptError(f"'{name}' does not exist") from None
    if not real.is_relative_to(_real_folder(folder, resolved)):
        raise ScriptError(f"'{name}' is a link that leaves the script's folder; put the file itself there")
    return path


def _real_path(path: Path, resolved: dict[Path, Path]) -> Path:
    """Where a file really is, which is looked up part by part only if the file itself is a link."""
    if stat.S_ISLNK(path.lstat().st_mode):
        return path.resolve(strict=True)
    return _real_folder(path.parent, resolved) / path.name


def _real_folder(folder: Path, resolved: dict[Path, Path]) -> Path:
    if folder not in resolved:
        resolved[folder] = folder.resolve(strict=True)
    return resolved[folder]


# Why an input may not name a file outside its test.
DOWNLOADED = "which was downloaded; refused: a program could give it away"
FOR_OTHERS = "which others do not have, and a test that is downloaded is refused for it; put it into a [data.NAME]"


def names_other_files(text: str) -> bool:
    """Whether an input is a path that leaves the folder it is in; prose with a slash in it is not."""
    path = text.strip().removeprefix("file:")
    if not path.startswith(("/", "~")) and ".." not in path.split("/"):
        return False
    if not re.search(r"\s", path):
        return True
    try:
        return Path(path).expanduser().exists()
    except (OSError, ValueError, RuntimeError):
        return False


_REFERENCE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}(?:/(.*))?", re.DOTALL)


class References:
    """Resolves references; `data_paths` says where each data entry is, `declared` which the script has, if known."""

    def __init__(
        self, data_paths: Mapping[str, Path], declared: Collection[str] | None = None, *, confined: str = ""
    ) -> None:
        self._data_paths = {name: path.absolute() for name, path in data_paths.items()}
        self._declared = declared
        # Why no input may name a file outside the test; empty if it may, in a test that its author runs.
        self.confined = confined
        self._resolved: dict[Path, Path] = {}

    def resolve(self, value: Any) -> Any:
        """The value with each reference as an absolute path, inside lists and objects too."""
        if isinstance(value, str):
            if (reference := self._find(value)) is None:
                return value
            root, rest = reference
            return f"{root}/{rest}" if rest else str(root)
        if isinstance(value, list):
            return [self.resolve(item) for item in value]
        if isinstance(value, dict):
            return {key: self.resolve(item) for key, item in value.items()}
        return value

    def check(self, value: Any) -> None:
        """Raise a ScriptError if a reference names data or a file that does not exist, or is outside its data."""
        if isinstance(value, str):
            self._check_declared(value)
            if self.confined and names_other_files(value):
                raise ScriptError(f"'{value:.100}' names a file outside the test, {self.confined}")
            root, rest = self._find(value) or (Path(), "")
            if rest:
                self._check_inside(root, rest, value)
        elif isinstance(value, (list, dict)):
            for item in value.values() if isinstance(value, dict) else value:
                self.check(item)

    def _check_inside(self, root: Path, rest: str, text: str) -> None:
        try:
            inside(root, rest, self._resolved)
        except ScriptError:
            if root.is_file():
                remedy = f"write unpack = true, or leave out /{rest}"
                raise ScriptError(f"'{text}': the data is a single file; {remedy}") from None
            raise

    def _check_declared(self, text: str) -> None:
        """A text in braces can be a text; one with a path after it, or in a test that has data, is meant as data."""
        match = _REFERENCE.fullmatch(text) if self._declared is not None else None
        if match is None or self._declared is None or match[1] in self._declared:
            return
        if self._declared or match[2]:
            raise ScriptError(f"'{text}': no [data.{match[1]}] in the script; {nearest(match[1], self._declared)}")

    def _find(self, text: str) -> tuple[Path, str] | None:
        """The data that a text refers to, and the path within it; None if it is no reference."""
        match = _REFERENCE.fullmatch(text) if text.startswith("{") else None
        if match is None or match[1] not in self._data_paths:
            return None
        return self._data_paths[match[1]], match[2] or ""
