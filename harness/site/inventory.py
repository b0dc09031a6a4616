"""The entries of the cache: what each one is, whether it is intact, and how to remove it."""

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from harness.errors import DataError
from harness.site.cache import CONTENT, FILES, PARTIAL, UNFINISHED_PREFIX, cache_folder, is_whole, remove_at_once
from harness.site.layout import Release, decode_release
from harness.site.releases import FOLDER, MANIFEST, RELEASES

# Everything in the cache, in the words of users.
ENTRY_KINDS = {
    RELEASES: "tests of sites",
    FILES: "downloaded files and indexes",
    "unpacked": "unpacked archives",
    "scripts": "scripts from web servers",
    "folds": "folds for tuning",
    "runs": "runs of sweeps and of tuning",
    PARTIAL: "downloads that broke off",
    "urls": "notes on addresses",
}
DAY = 86_400.0
HOUR = 3_600.0


@dataclass(frozen=True)
class CacheEntry:
    """An entry of the cache."""

    kind: str
    path: Path

    @property
    def size(self) -> int:
        """The size of all its files, in bytes."""
        files = self.path.rglob("*") if self.path.is_dir() else [self.path]
        return sum(_size(file) for file in files)

    @property
    def label(self) -> str:
        """What it is; for a test, its name and version."""
        release = self.release()
        return self.path.name if release is None else f"{release.name} {release.version}"

    def release(self) -> Release | None:
        """The release of a test, if it is one."""
        if self.kind != RELEASES:
            return None
        with contextlib.suppress(OSError, DataError):
            return decode_release((self.path / MANIFEST).read_bytes(), str(self.path))
        return None

    def is_damaged(self) -> bool | None:
        """Whether it is not what it should be; None if that cannot be told."""
        if self.kind == FILES:
            return not is_whole(self.path / CONTENT, self.path.name, None)
        if self.kind != RELEASES:
            return None
        release = self.release()
        files = release.files if release is not None else []
        whole = (is_whole(self.path / FOLDER / file.path, file.sha256, file.bytes) for file in files)
        return release is None or not all(whole)

    def remove(self) -> bool:
        """Remove it, unless it is in use; whether that was done."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        try:
            with FileLock(lock, timeout=0):
                remove_at_once(self.path)
                lock.unlink(missing_ok=True)
        except (Timeout, FileNotFoundError):
            return False
        return True


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size if path.is_file() else 0
    except OSError:
        return 0


def cache_entries(kinds: frozenset[str] = frozenset(ENTRY_KINDS)) -> Iterator[CacheEntry]:
    """All entries, one kind after the other."""
    for kind in ENTRY_KINDS:
        if kind in kinds:
            with contextlib.suppress(FileNotFoundError):
                for path in sorted((cache_folder() / kind).iterdir()):
                    if not path.name.startswith(UNFINISHED_PREFIX) and path.suffix != ".lock":
                        yield CacheEntry(kind, path)


def remove_leftovers() -> None:
    """Remove what killed programs left unfinished; what is younger than an hour may still be in the making."""
    for left in cache_folder().glob(f"*/{UNFINISHED_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > HOUR:
                shutil.rmtree(left, ignore_errors=True)


def is_older(days: float) -> Callable[[CacheEntry], bool]:
    """Whether an entry was made more than so many days ago."""
    limit = time.time() - days * DAY
    return lambda entry: entry.path.lstat().st_mtime < limit
