"""Limits on what a program may use: its memory, and the network. They are set by a wrapper that becomes the program."""

import functools
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import InterfaceError

# How a program says that it ran out of memory.
_OUT_OF_MEMORY = re.compile(r"MemoryError|bad_alloc|out of memory|cannot allocate", re.IGNORECASE)
# Ways to start a program without the network; the first that works is taken.
_WRAPPERS = (
    ("bwrap", "--dev-bind", "/", "/", "--unshare-net", "--die-with-parent", "--"),
    ("unshare", "--user", "--map-current-user", "--net", "--"),
    ("unshare", "--user", "--map-root-user", "--net", "--"),
)
_SECONDS = 10


@dataclass(frozen=True)
class ResourceLimits:
    """What a program may use."""

    # Bytes of address space, of each of its processes.
    memory: int | None = None
    network: bool = True

    def __bool__(self) -> bool:
        return self.memory is not None or not self.network

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command that starts a program within these limits."""
        wrapped = list(argv)
        if self.memory is not None:
            # The shell sets the limit of its own process and then becomes the program: no process is in between.
            blocks = max(1, self.memory >> 10)
            wrapped = ["/bin/sh", "-c", f'ulimit -v {blocks} && exec "$@"', "sh", *wrapped]
        return wrapped if self.network else [*without_network(), *wrapped]

    def hint(self, message: str) -> str:
        """A program's last words, with the limit that they may be about."""
        if self.memory is None or not _OUT_OF_MEMORY.search(message):
            return message
        return f"{message} (the limit is --memory {self.memory})"

    @property
    def record(self) -> dict[str, Any]:
        """What the header of a transcript says; empty without limits."""
        memory = {} if self.memory is None else {"memory": self.memory}
        return memory if self.network else {**memory, "network": False}


NO_LIMITS = ResourceLimits()


@functools.cache
def without_network() -> tuple[str, ...]:
    """What to put before a command so that its program has no network; an InterfaceError where nothing works."""
    for wrapper in _WRAPPERS:
        if shutil.which(wrapper[0]) is not None and _works(wrapper):
            return wrapper
    raise InterfaceError(
        "--no-network: this system cannot start a program without the network; install bubblewrap (bwrap), or allow "
        "user namespaces"
    )


def _works(wrapper: Sequence[str]) -> bool:
    program = shutil.which("true") or "/bin/true"
    try:
        done = subprocess.run([*wrapper, program], capture_output=True, timeout=_SECONDS, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
