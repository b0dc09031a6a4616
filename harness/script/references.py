"""Files that a script may name: in its folder, or in data that it declares, such as `{images}/test/3.pgm`."""

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from harness.errors import ScriptError


def inside(folder: Path, name: str) -> Path:
    """The file `name` in `folder`; a ScriptError if it is outside or does not exist."""
    if not name or "\0" in name or "\\" in name:
        raise ScriptError(f"{name!r} is not a file name; write it relative to the folder, with /")
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        raise ScriptError(f"'{name}' leaves the script's folder; put the file beside the script")
    path = folder / name
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise ScriptError(f"'{name}' does not exist") from None
    if not real.is_relative_to(folder.resolve()):
        raise ScriptError(f"'{name}' is a link that leaves the script's folder; put the file itself there")
    return path


_REFERENCE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}(?:/(.*))?", re.DOTALL)


class References:
    """Resolves references; `places` says where each data entry is."""

    def __init__(self, places: Mapping[str, Path]) -> None:
        self._places = {name: path.absolute() for name, path in places.items()}

    def resolve(self, value: Any) -> Any:
        """The value with each reference as an absolute path, inside lists and objects too."""
        if isinstance(value, str):
            return self._resolve_text(value) if value.startswith("{") else value
        if isinstance(value, list):
            return [self.resolve(item) for item in value]
        if isinstance(value, dict):
            return {key: self.resolve(item) for key, item in value.items()}
        return value

    def check(self, value: Any) -> None:
        """Raise a ScriptError if a reference names a file that does not exist, or is outside its data."""
        if isinstance(value, str):
            self._check_text(value)
        elif isinstance(value, (list, dict)):
            for item in value.values() if isinstance(value, dict) else value:
                self.check(item)

    def _check_text(self, text: str) -> None:
        found = self._find(text)
        if found is None or not found[1]:
            return
        root, rest = found
        if root.is_file():
            raise ScriptError(f"'{text}': the data is a single file; write unpack = true, or leave out /{rest}")
        inside(root, rest)

    def _find(self, text: str) -> tuple[Path, str] | None:
        match = _REFERENCE.fullmatch(text) if text.startswith("{") else None
        if match is None or match[1] not in self._places:
            return None
        return self._places[match[1]], match[2] or ""

    def _resolve_text(self, text: str) -> str:
        found = self._find(text)
        if found is None:
            return text
        root, rest = found
        return f"{root}/{rest}" if rest else str(root)
