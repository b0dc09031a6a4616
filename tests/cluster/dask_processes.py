"""A real Dask cluster for tests: a scheduler and workers, each with its nanny, as processes of their own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.workshop import WAIT, wait_until

Process = subprocess.Popen[bytes]


@dataclass
class DaskProcesses:
    """A scheduler and its workers."""

    folder: Path
    address: str
    scheduler: Process
    # What is set for all processes.
    settings: dict[str, str]
    nannies: list[Process] = field(default_factory=list)

    def add_worker(self, *, threads: int = 1, hidden: Path | None = None, cache: Path | None = None) -> Process:
        """Start a worker. It does not see the folder `hidden`, as if it was on another machine."""
        argv = [*dask("worker"), self.address, "--nworkers", "1", "--nthreads", str(threads), "--no-dashboard"]
        argv += ["--local-directory", str(self.folder / "scratch")]
        if hidden is not None:
            argv = [*HIDING, 'mount -t tmpfs none "$0" && exec "$@"', str(hidden), *argv]
        nanny = self._start(argv, {"XDG_CACHE_HOME": str(cache or self.folder / "cache")})
        self.nannies.append(nanny)
        return nanny

    def worker_of(self, nanny: Process) -> int | None:
        """The process of a nanny's worker; None while it is being started."""
        for child in _children(nanny.pid):
            with suppress(OSError):
                if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes():
                    return child
        return None

    def _start(self, argv: list[str], more: dict[str, str]) -> Process:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                argv, cwd=self.folder, env=environment() | self.settings | more, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def end(self) -> None:
        for one in (self.scheduler, *self.nannies):
            with suppress(OSError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait(WAIT)


# What runs a command without a folder: an empty one is mounted over it.
HIDING = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]


def can_hide() -> bool:
    try:
        return subprocess.run([*HIDING, "mount -t tmpfs none /mnt"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def dask(command: str) -> list[str]:
    return [sys.executable, "-m", "distributed.cli.dask_" + command]


def environment() -> dict[str, str]:
    """Without what belongs to the folder of one test, because workers live longer."""
    folder = os.environ.get("HATE_WORKSHOP", "\0")
    return {name: value for name, value in os.environ.items() if folder not in value}


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()]
    return []


@contextmanager
def dask_processes(workers: int = 2, settings: dict[str, str] | None = None) -> Iterator[DaskProcesses]:
    settings = settings or {}
    protocol = "tls" if settings else "tcp"
    with tempfile.TemporaryDirectory(prefix="hate-dask-", ignore_cleanup_errors=True) as folder:
        place = Path(folder) / "scheduler.json"
        argv = [*dask("scheduler"), "--host", f"{protocol}://127.0.0.1:0", "--no-dashboard"]
        argv += ["--scheduler-file", str(place)]
        with (Path(folder) / "log").open("ab") as log:
            scheduler = subprocess.Popen(
                argv, cwd=folder, env=environment() | settings, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        wait_until("the scheduler", lambda: place.exists() and place.read_text().strip().endswith("}"))
        cluster = DaskProcesses(Path(folder), json.loads(place.read_text())["address"], scheduler, settings)
        try:
            for _ in range(workers):
                cluster.add_worker()
            yield cluster
        finally:
            cluster.end()
