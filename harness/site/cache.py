"""The cache folder: content-addressed, safe for several runs at once."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from harness.errors import DataError


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


def _make(entry: Path, make: Callable[[Path], None]) -> None:
    scratch = Path(tempfile.mkdtemp(prefix=".making-", dir=entry.parent))
    try:
        make(scratch)
        scratch.chmod(0o755)
        scratch.rename(entry)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
