"""Files that survive a power cut: write all of it, sync it, then move it into place."""

import contextlib
import errno
import os
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows, where no other process can write to an open file anyway
    fcntl = None  # type: ignore[assignment]

# What file systems and devices say that cannot sync; the kernel has the data anyway.
_CANNOT = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EROFS, errno.EBADF})

# `is_locked` holds a lock for a moment: whoever wants to write tries so often, so many seconds apart.
_MAX_LOCK_TRIES, _TRY_SECONDS = 3, 0.01


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write all of it; the system may take it in parts."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def sync_file(fd: int) -> None:
    """Have the content of an open file on disk; an OSError says that the disk failed."""
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk: new files, and files that were moved or removed. Windows cannot."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def move_into_place(source: Path, target: Path) -> None:
    """Replace `target` by `source`, whose content was synced before: after a power cut it is one or the other."""
    source.replace(target)
    sync_folder(target.parent)


def lock_file(fd: int, path: Path) -> bool:
    """Lock an open file until it is closed; False if another process has it, or has put another file in its place."""
    if fcntl is None:
        return True
    for _ in range(_MAX_LOCK_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The file may have been replaced after we opened it: a lock on the old one protects nothing.
            return os.path.samestat(os.fstat(fd), path.stat())
        except BlockingIOError:
            time.sleep(_TRY_SECONDS)
        except OSError:
            return False
    return False


def is_locked(fd: int) -> bool | None:
    """Whether another process has locked an open file; None on systems that cannot tell."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(fd, fcntl.LOCK_UN)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False
