"""What holds for all processes that run tests."""

import os
import sys
from pathlib import Path

# Threads of several processes that run tests would wait for each other; set before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Where nothing compiled may be kept, every process would compile all tests, each time anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def has_room(folder: Path, *, gigabytes: int) -> bool:
    """Whether a folder is there, has that much room, and programs in it may run."""
    try:
        system = os.statvfs(folder)
    except OSError:
        return False
    return system.f_bavail * system.f_frsize >= gigabytes << 30 and not system.f_flag & os.ST_NOEXEC


# A third of the time would go into making files and waiting for a disk. `--basetemp` names another folder.
MEMORY = Path("/dev/shm")
if has_room(MEMORY, gigabytes=4):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
