"""Files by a glob: one walk over the data, however many ** there are."""

import fnmatch
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import ScriptError

# As many as an archive may have.
MAX_VISITED = 5_000_000
ANY_FOLDERS = "**"


def glob_files(root: Path, glob: str) -> list[str]:
    """The plain files of a folder that match, relative to it, in order; `**` stands for any number of folders."""
    parts = _parts(glob)
    if root.is_file() or not parts:
        return []
    return sorted(_Walk(glob, [None if part == ANY_FOLDERS else _compiled(part) for part in parts]).files(root))


def _parts(glob: str) -> list[str]:
    """The parts of a glob; several `**` in a row are one."""
    parts: list[str] = []
    for part in glob.split("/"):
        if ANY_FOLDERS in part and part != ANY_FOLDERS:
            raise ScriptError("** stands for whole folders; write **/*.png, or a single *")
        if part not in ("", ".") and not (part == ANY_FOLDERS and parts[-1:] == [ANY_FOLDERS]):
            parts.append(part)
    return parts


def _compiled(part: str) -> re.Pattern[str]:
    # Python translates * so that matching takes no longer than the product of both lengths.
    return re.compile(fnmatch.translate(part))


@dataclass
class _Walk:
    """Goes through the folders that can hold a match, with the parts that the path so far has got to."""

    glob: str
    parts: list[re.Pattern[str] | None]
    visited: int = field(default=0)

    def files(self, root: Path) -> Iterator[str]:
        waiting = [("", self._with_skipped({0}))]
        while waiting:
            folder, places = waiting.pop()
            with os.scandir(root / folder) as entries:
                for entry in entries:
                    self._count()
                    path, after = f"{folder}{entry.name}", self._after(places, entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        if after - {len(self.parts)}:
                            waiting.append((f"{path}/", after))
                    elif self._ends(places, entry.name) and entry.is_file():
                        yield path

    def _count(self) -> None:
        self.visited += 1
        if self.visited > MAX_VISITED:
            raise ScriptError(f"'{self.glob}' has to go through more than {MAX_VISITED:,} files; name a folder in it")

    def _with_skipped(self, places: set[int]) -> frozenset[int]:
        """`**` may stand for no folder at all."""
        return frozenset(places | {p + 1 for p in places if p < len(self.parts) and self.parts[p] is None})

    def _after(self, places: frozenset[int], name: str) -> frozenset[int]:
        """Where the parts are after a folder of this name."""
        after = set()
        for place in places:
            part = self.parts[place] if place < len(self.parts) else None
            if place < len(self.parts) and part is None:
                after.add(place)
            elif part is not None and part.match(name):
                after.add(place + 1)
        return self._with_skipped(after)

    def _ends(self, places: frozenset[int], name: str) -> bool:
        """Whether a file of this name matches the last part; ** matches folders only."""
        last = self.parts[-1]
        return last is not None and len(self.parts) - 1 in places and last.match(name) is not None
