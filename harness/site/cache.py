"""The cache folder: content-addressed, safe for several runs at once."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from harness.errors import DataError

# What is not whole yet, or not any more.
MAKING = ".making-"


def cache_folder() -> Path:
    """The usual cache folder of the platform."""
    return user_cache_path("hate", appauthor=False)


def cached(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """The entry `key`, made once: `make` fills a new folder, which is moved into place when it is whole."""
    entry = cache_folder() / kind / key
    try:
        if entry.exists():
            return entry
        entry.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(entry.parent / f"{key}.lock"):
            if not entry.exists():
                _make(entry, make)
        return entry
    except OSError as error:
        raise DataError(f"cache {entry}: {error.strerror or error}; free some space or set XDG_CACHE_HOME") from None


def kept(kind: str, make: Callable[[Path], str]) -> Path:
    """A new entry that is named by its content: `make` fills a new folder and returns the name."""
    parent = cache_folder() / kind
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=MAKING, dir=parent, ignore_cleanup_errors=True) as outer:
            scratch = Path(outer) / "entry"
            scratch.mkdir(0o755)
            entry = parent / make(scratch)
            with FileLock(parent / f"{entry.name}.lock"):
                _put(scratch, entry)
        return entry
    except OSError as error:
        raise DataError(f"cache {parent}: {error.strerror or error}; free some space or set XDG_CACHE_HOME") from None


def discard(kind: str, key: str) -> None:
    """Forget an entry, for good or to make it anew."""
    entry = cache_folder() / kind / key
    try:
        with FileLock(entry.parent / f"{key}.lock"):
            away(entry)
    except OSError as error:
        raise DataError(f"cache {entry}: {error.strerror or error}") from None


def away(path: Path) -> None:
    """Remove a file or folder at once: whoever looks for it finds all of it or nothing."""
    if not path.is_dir():
        path.unlink(missing_ok=True)
        return
    with tempfile.TemporaryDirectory(prefix=MAKING, dir=path.parent, ignore_cleanup_errors=True) as outer:
        path.rename(Path(outer) / "entry")


def _put(scratch: Path, entry: Path) -> None:
    """Into place; files that are there already may be damaged, and may be open, so each is replaced at once."""
    if not entry.exists():
        scratch.rename(entry)
        return
    for file in scratch.iterdir():
        file.replace(entry / file.name)


def _into_place(scratch: Path, entry: Path) -> None:
    try:
        scratch.rename(entry)
    except OSError:
        # Its lock was cleared away with the cache, and another has made it in the meantime.
        if not entry.exists():
            raise


def _make(entry: Path, make: Callable[[Path], None]) -> None:
    scratch = Path(tempfile.mkdtemp(prefix=MAKING, dir=entry.parent))
    try:
        make(scratch)
        scratch.chmod(0o755)
        _into_place(scratch, entry)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
