"""References to data in an input: `{images}/test/3.pgm` is a file of [data.images]; other text is left as it is."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.errors import ScriptError
from harness.script.paths import inside

_REFERENCE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}(?:/(.*))?", re.DOTALL)


class References:
    """Resolves references, given where each data entry is."""

    def __init__(self, places: Mapping[str, Path]) -> None:
        self._places = {name: path.absolute() for name, path in places.items()}

    def resolve(self, value: Any) -> Any:
        """The value with each reference, also inside lists and objects, as an absolute path."""
        if isinstance(value, str):
            return self._resolve_text(value) if value.startswith("{") else value
        if isinstance(value, list):
            return [self.resolve(item) for item in value]
        if isinstance(value, dict):
            return {key: self.resolve(item) for key, item in value.items()}
        return value

    def check(self, value: Any) -> None:
        """A ScriptError where a reference leads nowhere or out of its data."""
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
            raise ScriptError(f"'{text}': the data is a single file; say unpack = true, or leave out /{rest}")
        inside(root, rest)

    def _find(self, text: str) -> tuple[Path, str] | None:
        found = _REFERENCE.fullmatch(text) if text.startswith("{") else None
        if found is None or found[1] not in self._places:
            return None
        return self._places[found[1]], found[2] or ""

    def _resolve_text(self, text: str) -> str:
        found = self._find(text)
        if found is None:
            return text
        root, rest = found
        return f"{root}/{rest}" if rest else str(root)
