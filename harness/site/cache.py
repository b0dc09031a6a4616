"""The cache folder: content-addressed, safe for several processes at once."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from harness.errors import DataError, Unreachable
from harness.files.digest import file_sha256
from harness.site.request import DownloadRequest
from harness.site.urls import parse

# The prefix of entries that are still being made or already being removed.
UNFINISHED_PREFIX = ".making-"
FILES = "files"
CONTENT = "content"
# Downloads that broke off; the next one continues where they ended.
PARTIAL = "partial"
# Servers that did not answer; others with the same content are asked first.
_silent: set[tuple[str, str, int]] = set()


def cache_folder() -> Path:
    """The platform's usual cache folder."""
    return user_cache_path("hate", appauthor=False)


def cached(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """The entry `key`, made once: `make` fills a new folder, which is moved into place when it is complete."""
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
        raise _cache_error(entry, error) from None


def cached_by_content(kind: str, make: Callable[[Path], str]) -> Path:
    """A new entry that is named by its content: `make` fills a new folder and returns the name."""
    parent = cache_folder() / kind
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=UNFINISHED_PREFIX, dir=parent, ignore_cleanup_errors=True) as outer:
            scratch = Path(outer) / "entry"
            scratch.mkdir(0o755)
            entry = parent / make(scratch)
            with FileLock(parent / f"{entry.name}.lock"):
                _put(scratch, entry)
        return entry
    except OSError as error:
        raise _cache_error(parent, error) from None


def _cache_error(path: Path, error: OSError) -> DataError:
    return DataError(f"cache {path}: {error.strerror or error}; free some space or set XDG_CACHE_HOME")


def discard_entry(kind: str, key: str) -> None:
    """Remove an entry, for good or to make it again."""
    entry = cache_folder() / kind / key
    try:
        with FileLock(entry.parent / f"{key}.lock"):
            remove_at_once(entry)
    except OSError as error:
        raise DataError(f"cache {entry}: {error.strerror or error}") from None


def remove_at_once(path: Path) -> None:
    """Remove a file or folder: anyone who looks for it finds all of it or nothing."""
    if not path.is_dir():
        path.unlink(missing_ok=True)
        return
    with tempfile.TemporaryDirectory(prefix=UNFINISHED_PREFIX, dir=path.parent, ignore_cleanup_errors=True) as outer:
        path.rename(Path(outer) / "entry")


def _put(scratch: Path, entry: Path) -> None:
    """Move into place. Files that are there already may be damaged, and may be open, so each is replaced at once."""
    if not entry.exists():
        scratch.rename(entry)
        return
    for file in scratch.iterdir():
        file.replace(entry / file.name)


def _make(entry: Path, make: Callable[[Path], None]) -> None:
    scratch = Path(tempfile.mkdtemp(prefix=UNFINISHED_PREFIX, dir=entry.parent))
    try:
        make(scratch)
        scratch.chmod(0o755)
        _move_into_place(scratch, entry)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _move_into_place(scratch: Path, entry: Path) -> None:
    try:
        scratch.rename(entry)
    except OSError:
        # Its lock was removed when the cache was cleared, and another process has made it in the meantime.
        if not entry.exists():
            raise


def cached_content(request: DownloadRequest) -> Path:
    """The file with known content: downloaded once, from the first address that has it, however many ask at once."""
    return cached(FILES, request.sha256, lambda folder: _fill_content(request, folder)) / CONTENT


def checked_content(request: DownloadRequest) -> Path:
    """The same, hashed once more: a copy that has been damaged since is downloaded again."""
    path = cached_content(request)
    if is_whole(path, request.sha256, request.size):
        return path
    discard_entry(FILES, request.sha256)
    path = cached_content(request)
    if not is_whole(path, request.sha256, request.size):
        raise DataError(f"{path}: damaged as soon as it was written; check the disk")
    return path


def is_whole(path: Path, sha256: str, size: int | None) -> bool:
    """Whether a file is what it should be."""
    try:
        return (size is None or path.stat().st_size == size) and file_sha256(path) == sha256
    except OSError:
        return False


def _fill_content(request: DownloadRequest, folder: Path) -> None:
    """Called by one process at a time for each content, so nobody else touches the partial file."""
    partial = cache_folder() / PARTIAL / request.sha256
    partial.parent.mkdir(parents=True, exist_ok=True)
    if not is_whole(partial, request.sha256, request.size):
        _check_room(request, partial)
        _download_from_any(request, partial)
    partial.replace(folder / CONTENT)


def _check_room(request: DownloadRequest, partial: Path) -> None:
    """Complain before hours of downloading, not after."""
    begun = partial.stat().st_size if partial.exists() else 0
    if request.size is not None and begun > request.size:
        partial.unlink()
    free = shutil.disk_usage(partial.parent).free
    if (request.size or 0) - begun > free:
        text = f"{request.size:,} bytes are to be downloaded, but only {free:,} are free in {cache_folder()}"
        raise DataError(f"{text}; free some space or set XDG_CACHE_HOME")


def _download_from_any(request: DownloadRequest, partial: Path) -> None:
    # Imported here, because most commands never need it and it takes long to import.
    from harness.site.download import download

    errors: list[DataError] = []
    for url in sorted([request.url, *request.mirrors], key=lambda url: parse(url).origin in _silent):
        try:
            download(request.at(url), partial)
            return
        except DataError as error:
            errors.append(error)
            if isinstance(error, Unreachable):
                _silent.add(parse(url).origin)
    # Users know the first address; what its mirrors said matters less.
    more = f" (and {len(errors) - 1} mirrors did not have it either)" if len(errors) > 1 else ""
    raise type(errors[0])(f"{errors[0]}{more}")


def link_or_copy(source: Path, target: Path) -> None:
    """A file of the cache in another place of it, without taking up space if the disk can do that."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if not source.is_relative_to(cache_folder()):
            raise OSError("somebody else's file")
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
