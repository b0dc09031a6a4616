"""Where the files of a site are: in a folder of this machine, or at an address with its mirrors."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.errors import DataError
from harness.files.digest import file_sha256
from harness.site.cache import checked_content
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
from harness.site.request import content_request
from harness.site.tree import IndexStore

DOWNLOADS_AT_ONCE = 8


class SiteStore(IndexStore, Protocol):
    """The files of a site, checked as they are read."""

    def file(self, ref: Ref, label: str = "") -> Path:
        """A file with this content on this machine, checked; `label` is what people call it."""


@dataclass(frozen=True)
class FolderStore:
    """A site in a folder."""

    root: Path

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return str(self.root)

    def top(self) -> bytes | None:
        """The bytes of the top index; None if nothing has been published yet."""
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
        """The top index, as bytes and decoded; a DataError if the folder is not a site."""
        data = self.top()
        if data is None:
            raise DataError(f"{self.root}: not a site, it has no {TOP}; `hate publish PATH --to {self.root}` makes one")
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
            raise DataError(f"{path}: {error.strerror}; the site is incomplete") from None
        if len(data) != ref.bytes or hashlib.sha256(data).hexdigest() != ref.sha256:
            raise DataError(f"{path}: not what the index says; damaged")
        return data

    def prefetch(self, refs: Sequence[Ref]) -> None:
        """Nothing to do: the indexes are here."""

    def file(self, ref: Ref, label: str = "") -> Path:
        """A file, checked."""
        path = self.root / file_path(ref.sha256)
        try:
            good = path.stat().st_size == ref.bytes and file_sha256(path) == ref.sha256
        except OSError as error:
            raise DataError(f"{path}: {error.strerror}; the site is incomplete") from None
        if not good:
            raise DataError(f"{path}: not what the index says; damaged")
        return path


@dataclass(frozen=True)
class WebStore:
    """A site at an address: its files come through the cache, from the site or from a mirror."""

    name: str
    # Where to ask, in this order.
    bases: tuple[str, ...]

    def index(self, ref: Ref) -> bytes:
        """An index, checked."""
        return self._index(ref).read_bytes()

    def prefetch(self, refs: Sequence[Ref]) -> None:
        """Download several indexes at once that will be asked for one after the other."""
        with ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as pool:
            list(pool.map(self._index, refs))

    def _index(self, ref: Ref) -> Path:
        if ref.bytes > LARGEST_INDEX:
            raise DataError(f"{self.name}: an index of {ref.bytes:,} bytes; refused")
        return self._get(ref, index_path(ref.sha256), small=True)

    def file(self, ref: Ref, label: str = "") -> Path:
        """A file, checked."""
        return self._get(ref, file_path(ref.sha256), label=label)

    def _get(self, ref: Ref, path: str, *, small: bool = False, label: str = "") -> Path:
        urls = [f"{base}/{path}" for base in self.bases]
        stated_by = "the site's index"
        return checked_content(
            content_request(urls, ref.sha256, ref.bytes, stated_by=stated_by, small=small, label=label)
        )
