"""The file of a transcript that a program holds in a variable, and whether it is that transcript still."""

from dataclasses import dataclass
from pathlib import Path

from harness.errors import TranscriptError
from harness.files.digest import NOT_A_FILE, Stamp, file_stamp


@dataclass(frozen=True)
class HeldFile:
    """Where a transcript was when it was read or written, and what the system said of its file."""

    # From the root: a program may change its working folder.
    path: Path
    stamp: Stamp

    @staticmethod
    def of(path: Path) -> "HeldFile":
        return HeldFile(path.absolute(), file_stamp(path))

    def check(self) -> Path:
        """The file; a TranscriptError if it is another one now, or has more in it."""
        now = file_stamp(self.path)
        if now != NOT_A_FILE and now.is_replaced(self.stamp):
            raise TranscriptError(f"{self.path}: written again since; read it again, or write runs to different files")
        return self.path
