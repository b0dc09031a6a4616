"""A site as it will be: what it has, and beside it what is to be written, all in memory until it is decided."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.site.folder import Folder
from harness.site.layout import Ref, ref_of


@dataclass
class Shelf:
    """A folder's indexes and the new ones."""

    folder: Folder
    indexes: dict[Ref, bytes] = field(default_factory=dict)
    files: dict[Ref, Path] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return self.folder.name

    def index(self, ref: Ref) -> bytes:
        """An index, new or old."""
        return self.indexes[ref] if ref in self.indexes else self.folder.index(ref)

    def ahead(self, refs: Sequence[Ref]) -> None:
        """They are here."""

    def file(self, ref: Ref, label: str = "") -> Path:
        """Content, new or old."""
        return self.files[ref] if ref in self.files else self.folder.file(ref)

    def write(self, data: bytes) -> Ref:
        """A new index."""
        ref = ref_of(data)
        self.indexes[ref] = data
        return ref
