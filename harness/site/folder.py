"""A site in a folder of this machine."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import DataError
from harness.files.digest import file_sha256
from harness.site.catalogue import Catalogue
from harness.site.layout import (
    LARGEST_INDEX,
    LARGEST_TOP,
    TOP,
    Ref,
    Top,
    decode_top,
    file_path,
    index_path,
    signature_path,
)


@dataclass(frozen=True)
class Folder:
    """Its files, checked as they are read."""

    root: Path

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return str(self.root)

    def top(self) -> bytes | None:
        """The bytes of the top index; None where nothing was published yet."""
        try:
            with (self.root / TOP).open("rb") as file:
                data = file.read(LARGEST_TOP + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataError(f"{self.root / TOP}: {error.strerror}") from None
        if len(data) > LARGEST_TOP:
            raise DataError(f"{self.root / TOP}: larger than {LARGEST_TOP:,} bytes; not the index of a site")
        return data

    def read_top(self) -> tuple[bytes, Top]:
        """The top index, as bytes and as what it says; a DataError where the folder is no site."""
        data = self.top()
        if data is None:
            raise DataError(f"{self.root}: no site, it has no {TOP}; `hate publish PATH --to {self.root}` makes one")
        return data, decode_top(data, str(self.root / TOP))

    def signature(self, sha256: str) -> bytes | None:
        """The signature of the top index with this SHA-256."""
        path = self.root / signature_path(sha256)
        try:
            return path.read_bytes() if path.stat().st_size <= LARGEST_TOP else None
        except OSError:
            return None

    def index(self, ref: Ref) -> bytes:
        """An index, checked."""
        path = self.root / index_path(ref.sha256)
        if ref.bytes > LARGEST_INDEX:
            raise DataError(f"{path}: an index of {ref.bytes:,} bytes; refused")
        try:
            with path.open("rb") as file:
                data = file.read(ref.bytes + 1)
        except OSError as error:
            raise DataError(f"{path}: {error.strerror}; the site is not whole") from None
        if len(data) != ref.bytes or hashlib.sha256(data).hexdigest() != ref.sha256:
            raise DataError(f"{path}: not what the index says; damaged")
        return data

    def ahead(self, refs: Sequence[Ref]) -> None:
        """They are here."""

    def file(self, ref: Ref, label: str = "") -> Path:
        """Content, checked."""
        path = self.root / file_path(ref.sha256)
        try:
            good = path.stat().st_size == ref.bytes and file_sha256(path) == ref.sha256
        except OSError as error:
            raise DataError(f"{path}: {error.strerror}; the site is not whole") from None
        if not good:
            raise DataError(f"{path}: not what the index says; damaged")
        return path


def open_folder(root: Path) -> Catalogue:
    """What a site in a folder has; a DataError where the folder is none. Ask again for what was published since."""
    folder = Folder(root)
    return Catalogue(folder, folder.read_top()[1])
