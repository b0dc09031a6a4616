"""The top index, read again only when it was replaced."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from harness.errors import DataError
from harness.site.folder import Folder
from harness.site.layout import TOP


@dataclass(frozen=True)
class TopBytes:
    """Its bytes, what they are called, and since when."""

    data: bytes
    sha256: str
    modified: float


class TopFile:
    """The one file of a site that changes. A publisher puts a new file in its place, which shows in its number."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._path = root / TOP
        self._known: tuple[tuple[int, int, int], TopBytes] | None = None

    def read(self) -> TopBytes:
        """As it is now; a DataError where it is gone."""
        try:
            found = self._path.stat()
        except OSError as error:
            raise DataError(f"{self._path}: {error.strerror}; the site is not whole") from None
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        if self._known is None or self._known[0] != stamp:
            data = Folder(self._root).top()
            if data is None:
                raise DataError(f"{self._path}: gone; the site is not whole")
            self._known = stamp, TopBytes(data, hashlib.sha256(data).hexdigest(), found.st_mtime)
        return self._known[1]
