"""What is in the cache: what it is, whether it is whole, and how to be rid of it."""

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from harness.errors import DataError
from harness.site.cache import MAKING, away, cache_folder
from harness.site.content import CONTENT, FILES, PARTIAL, is_whole
from harness.site.layout import Release, decode_release
from harness.site.releases import FOLDER, MANIFEST, RELEASES

# Everything in the cache, and what users call it.
KINDS = {
    RELEASES: "tests of sites",
    FILES: "downloaded files and indexes",
    "unpacked": "unpacked archives",
    "scripts": "scripts of web servers",
    "folds": "folds for tuning",
    "runs": "runs of sweeps and of tuning",
    PARTIAL: "downloads that broke off",
    "urls": "notes on addresses",
}
DAY = 86_400.0
HOUR = 3_600.0


@dataclass(frozen=True)
class Item:
    """An entry of the cache."""

    kind: str
    path: Path

    @property
    def size(self) -> int:
        """Bytes, of all its files."""
        files = self.path.rglob("*") if self.path.is_dir() else [self.path]
        return sum(_size(file) for file in files)

    @property
    def label(self) -> str:
        """What it is: for a test its name and version."""
        release = self.release()
        return self.path.name if release is None else f"{release.name} {release.version}"

    def release(self) -> Release | None:
        """The test that it is, if it is one."""
        if self.kind != RELEASES:
            return None
        with contextlib.suppress(OSError, DataError):
            return decode_release((self.path / MANIFEST).read_bytes(), str(self.path))
        return None

    def is_damaged(self) -> bool | None:
        """Whether it is not what it should be; None where that cannot be told."""
        if self.kind == FILES:
            return not is_whole(self.path / CONTENT, self.path.name, None)
        if self.kind != RELEASES:
            return None
        release = self.release()
        files = release.files if release is not None else []
        whole = (is_whole(self.path / FOLDER / file.path, file.sha256, file.bytes) for file in files)
        return release is None or not all(whole)

    def remove(self) -> bool:
        """Be rid of it; not while somebody makes it."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        try:
            with FileLock(lock, timeout=0):
                away(self.path)
                lock.unlink(missing_ok=True)
        except (Timeout, FileNotFoundError):
            return False
        return True


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size if path.is_file() else 0
    except OSError:
        return 0


def items(kinds: frozenset[str] = frozenset(KINDS)) -> Iterator[Item]:
    """Every entry, kind after kind."""
    for kind in KINDS:
        if kind in kinds:
            with contextlib.suppress(FileNotFoundError):
                for path in sorted((cache_folder() / kind).iterdir()):
                    if not path.name.startswith(MAKING) and path.suffix != ".lock":
                        yield Item(kind, path)


def sweep() -> None:
    """Remove what killed programs left half made; what is younger than an hour may be somebody's work."""
    for left in cache_folder().glob(f"*/{MAKING}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > HOUR:
                shutil.rmtree(left, ignore_errors=True)


def is_older(days: float) -> Callable[[Item], bool]:
    """Whether an entry was made more than so many days ago."""
    limit = time.time() - days * DAY
    return lambda item: item.path.lstat().st_mtime < limit
