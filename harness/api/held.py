"""The file of a transcript that a program holds in a variable, and whether it is that transcript still."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from harness.errors import TranscriptError
from harness.files.digest import NOT_A_FILE, Stamp, file_stamp

# Enough of the last line that no other transcript has the same there.
_TAIL = 256


@dataclass(frozen=True)
class HeldFile:
    """Where a transcript was when it was read or written, and what its file was then."""

    # From the root: a program may change its working folder.
    path: Path
    stamp: Stamp
    tail: bytes

    @staticmethod
    def of(path: Path) -> "HeldFile":
        stamp = file_stamp(path)
        return HeldFile(path.absolute(), stamp, _before(path, stamp.size))

    def check(self) -> Path:
        """The file; a TranscriptError if another was written in its place. A run that goes on only adds to it."""
        now = file_stamp(self.path)
        if now != NOT_A_FILE and now.is_replaced(self.stamp):
            grew = now.inode == self.stamp.inode and now.size > self.stamp.size
            if not grew or _before(self.path, self.stamp.size) != self.tail:
                raise TranscriptError(f"{self.path}: written again since; read it again, or write runs to other files")
        return self.path


def _before(path: Path, end: int) -> bytes:
    """The last bytes before a place in a file; none if it cannot be read."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(max(0, end - _TAIL))
        return file.read(min(end, _TAIL)) if end > 0 else b""
    return b""
