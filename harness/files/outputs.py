"""Files that a command writes: whole or not at all, never over what it reads, and over nothing else unless forced."""

import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.errors import OutputError, UsageError
from harness.files.durable import move_into_place, sync_file, sync_folder

# An option as it is spelled, and the file that it writes.
NamedOutput = tuple[str, Path]


def check_free(outputs: Sequence[NamedOutput], *, force: bool) -> None:
    """Raise an error before anything is computed if a file is there already, or would be written twice."""
    writers: dict[Path, str] = {}
    for option, path in outputs:
        first = writers.setdefault(path.resolve(), option)
        if first != option and not is_stream(path):
            raise UsageError(f"{option} {path}: {first} writes this file too; choose another name")
        if not force and path.exists() and not is_stream(path):
            raise exists_error(path)


def exists_error(path: Path) -> OutputError:
    return OutputError(f"{path}: exists; --force overwrites it")


def refuse_inputs(outputs: Iterable[NamedOutput], inputs: Iterable[Path]) -> None:
    """Raise an error if an output is a file that the command reads, or in a folder of data that it reads."""
    there = [(option, path) for option, path in outputs if path.exists() and not is_stream(path)]
    for source in inputs if there else ():
        for option, path in there:
            if _is_part_of(path, source):
                raise OutputError(f"{option} {path}: this command reads that file; choose another name")


def _is_part_of(path: Path, source: Path) -> bool:
    """Whether it is the same file, whatever its name, or one in the same folder."""
    try:
        if not source.is_dir():
            return path.samefile(source)
        if any(folder.samefile(source) for folder in path.resolve().parents):
            return True
        # A file with several names may have one of them in there.
        return path.stat().st_nlink > 1 and any(path.samefile(other) for other in source.rglob("*"))
    except OSError:  # nothing is there
        return False


def write_output(path: Path, content: bytes | str, *, force: bool, what: str) -> None:
    """Write a file; `what` it is, the report or the picture, is for the message if that fails."""
    with replacing(path, force=force, what=what) as part:
        part.write_bytes(content if isinstance(content, bytes) else content.encode())


@contextmanager
def replacing(path: Path, *, force: bool, what: str) -> Iterator[Path]:
    """The name of a new file to write into, which is moved into place when all of it is on disk.

    Until then the old file stays; if anything goes wrong, it stays for good. A link stays a link. What is neither a
    file nor free, such as a pipe, is written directly.
    """
    try:
        if is_stream(path):
            yield path
            return
        target = path.resolve()
        if target.exists() and not force:
            raise exists_error(path)
        # Not the name with an end: it may be as long as a name can be.
        part = target.with_name(f".hate-{os.getpid()}-{secrets.token_hex(4)}.part")
        try:
            mode = 0o666
            if target.exists():  # a new file has the permissions of the old one, which must be one that may be written
                os.close(os.open(target, os.O_WRONLY))
                mode = stat.S_IMODE(target.stat().st_mode)
            os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
            yield part
            _put_in_place(part, target, force=force)
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError:
        raise exists_error(path) from None
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}; {what} was not written") from None


def _put_in_place(part: Path, target: Path, *, force: bool) -> None:
    fd = os.open(part, os.O_RDONLY)
    try:
        sync_file(fd)
    finally:
        os.close(fd)
    if force:
        move_into_place(part, target)
        return
    try:
        os.link(part, target)  # fails if somebody else was quicker
    except FileExistsError:
        raise
    except OSError:  # not every file system has links
        if target.exists():
            raise FileExistsError(target) from None
        part.replace(target)
    sync_folder(target.parent)


def is_stream(path: Path) -> bool:
    """Whether it is a pipe, a terminal or the like, in which nothing can be lost."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
