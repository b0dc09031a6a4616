"""Content that is known by its SHA-256: downloaded once, from the first place that has it, however many ask at once."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import DataError, Unreachable
from harness.files.digest import file_sha256
from harness.site.cache import cache_folder, cached, discard
from harness.site.urls import parse

FILES = "files"
CONTENT = "content"
# Downloads that broke off; the next one goes on where they ended.
PARTIAL = "partial"
# Servers that did not answer; where others have the same content, they are asked first.
_silent: set[tuple[str, str, int]] = set()


@dataclass(frozen=True)
class Wanted:
    """What is wanted, where it may be, and who said so, for the messages."""

    sha256: str
    size: int | None
    urls: Sequence[str]
    said_by: str = "the script"
    small: bool = False
    # What people call it.
    label: str = ""


def content(wanted: Wanted) -> Path:
    """The file in the cache."""
    return cached(FILES, wanted.sha256, lambda folder: _fill(wanted, folder)) / CONTENT


def checked_content(wanted: Wanted) -> Path:
    """The same, read once more: a copy that was damaged since is fetched again."""
    path = content(wanted)
    if is_whole(path, wanted.sha256, wanted.size):
        return path
    discard(FILES, wanted.sha256)
    path = content(wanted)
    if not is_whole(path, wanted.sha256, wanted.size):
        raise DataError(f"{path}: damaged as soon as it is written; is the disk well?")
    return path


def is_whole(path: Path, sha256: str, size: int | None) -> bool:
    """Whether a file is what it should be."""
    try:
        return (size is None or path.stat().st_size == size) and file_sha256(path) == sha256
    except OSError:
        return False


def _fill(wanted: Wanted, folder: Path) -> None:
    """Called by one at a time for each content, so the partial file is nobody else's."""
    partial = cache_folder() / PARTIAL / wanted.sha256
    partial.parent.mkdir(parents=True, exist_ok=True)
    if not is_whole(partial, wanted.sha256, wanted.size):
        _check_room(wanted, partial)
        _from_anywhere(wanted, partial)
    partial.replace(folder / CONTENT)


def _check_room(wanted: Wanted, partial: Path) -> None:
    """Say so before hours of downloading."""
    begun = partial.stat().st_size if partial.exists() else 0
    if wanted.size is not None and begun > wanted.size:
        partial.unlink()
    free = shutil.disk_usage(partial.parent).free
    if (wanted.size or 0) - begun > free:
        text = f"{wanted.size:,} bytes are to be downloaded, and {free:,} are free in {cache_folder()}"
        raise DataError(f"{text}; make room, or set XDG_CACHE_HOME")


def _from_anywhere(wanted: Wanted, partial: Path) -> None:
    # Here, because most commands never need it and it takes long to import.
    from harness.site.download import Known, download

    known = Known(wanted.sha256, wanted.size, wanted.said_by, wanted.small, wanted.label)
    errors: list[DataError] = []
    for url in sorted(wanted.urls, key=lambda url: parse(url).origin in _silent):
        try:
            return download(url, partial, known)
        except DataError as error:
            errors.append(error)
            if isinstance(error, Unreachable):
                _silent.add(parse(url).origin)
    # The first place is the one that users know; what its mirrors said matters less.
    if not errors:
        raise DataError(f"content {wanted.sha256}: nowhere to be had")
    more = f" (and {len(errors) - 1} mirrors did not have it either)" if len(errors) > 1 else ""
    raise type(errors[0])(f"{errors[0]}{more}")


def put(source: Path, target: Path) -> None:
    """A file of the cache at another place of it, without taking up room where the disk can do that."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if not source.is_relative_to(cache_folder()):
            raise OSError("of somebody else")
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
