"""No program outlives its run: strays are found at the end, and a guardian ends everything if we are killed ourselves.

A program leads a process group, which is killed when its leader has ended. A child may leave the group, so programs
also carry a mark in their environment, and on Linux this process adopts what their ends leave behind. The guardian is
a small shell that sleeps until a pipe ends, because we were killed; then it reads from a file which programs were
running, and kills them. We may be killed before we could note a program that has emptied its environment: so programs
also inherit an open file that has the mark in its name, which is theirs from the moment they exist.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

MARK = "HATE_RUN"
# How often to look for strays; each look also finds what the last ones started in the meantime.
MAX_LOOKS = 20
# Lowest descriptor for the marker file that programs inherit: above those that scripts use.
_MIN_DESCRIPTOR = 100
# From <sys/prctl.h>.
_SET_SUBREAPER, _GET_SUBREAPER = 36, 37

# Standard output is the file with the programs that are running; `$1` is the mark.
_GUARDIAN = r"""
trap '' HUP INT TERM
while read -r line; do :; done
read -r live <&1
for pid in $live; do kill -KILL "-$pid" 2>/dev/null; done
for look in 1 2 3 4 5; do
  found=$(grep -lsF -- "$1" /proc/[0-9]*/environ; find /proc/[0-9]*/fd -lname "*$1*" 2>/dev/null)
  [ -n "$found" ] || exit
  for file in $found; do pid=${file#/proc/}; kill -KILL "${pid%%/*}" 2>/dev/null; done
done
"""


class Supervision:
    """The programs of a run, or of several at the same time."""

    def __init__(self) -> None:
        # Something that no other process has in its environment.
        self.mark = os.urandom(16).hex()
        self._guardian: subprocess.Popen[bytes] | None = None
        # The programs that are running, and the file that the guardian reads them from: writing to it wakes nobody.
        self._running: set[int] = set()
        self._notes = -1
        # The file that programs inherit; none where the system has no such files.
        self.inherited: tuple[int, ...] = ()
        self._environment: dict[bytes, bytes] = {}
        self._lock = threading.Lock()
        self._before: set[int] | None = None
        self._subreaper = False

    def environment(self) -> dict[bytes, bytes]:
        """The environment of a program; the guardian is started before the first of them.

        It is made once, and of bytes, because encoding it takes as long as anything else in starting a small program.
        """
        with self._lock:
            if self._guardian is None:
                self._before = _children()
                self._subreaper = _become_subreaper()
                if self._notes < 0:
                    with tempfile.TemporaryFile(prefix="hate-") as file:
                        self._notes = os.dup(file.fileno())
                self.inherited = self.inherited or _open_mark(self.mark)
                self._guardian = _start_guardian(self.mark, self._notes)
                self._environment = {**os.environb, MARK.encode(): self.mark.encode()}
        return self._environment

    def note(self, sign: str, pid: int) -> None:
        """Note for the guardian that a program has started (+) or ended (-)."""
        with self._lock:
            (self._running.add if sign == "+" else self._running.discard)(pid)
            if self._notes >= 0:
                # A shorter line is followed by the end of a longer one, which is never read.
                with contextlib.suppress(OSError):
                    os.pwrite(self._notes, f"{' '.join(map(str, self._running))}\n".encode(), 0)

    def end(self) -> None:
        """Kill what is left, and dismiss the guardian."""
        guardian = self._guardian
        with self._lock:
            opened, self._notes, self.inherited = {self._notes, *self.inherited}, -1, ()
        for number in opened - {-1}:
            os.close(number)
        if guardian is None:
            return
        self._kill_strays()
        if self._subreaper:
            _set_subreaper(on=False)
        if guardian.stdin is not None:
            guardian.stdin.close()
        guardian.kill()
        guardian.wait()
        self._guardian = None

    def _kill_strays(self) -> None:
        for _ in range(MAX_LOOKS):
            strays = _marked(self.mark) | self._adopted()
            for pid in strays:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            # The others are not ours to wait for.
            for pid in strays & _children():
                with contextlib.suppress(OSError):
                    os.waitpid(pid, 0)
            if not strays:
                return
            time.sleep(0.001)

    def _adopted(self) -> set[int]:
        """Children that we did not start: programs of this run left them to us. They are in sessions of their own."""
        if not self._subreaper or self._before is None:
            return set()
        guardian = {self._guardian.pid} if self._guardian is not None else set()
        return {pid for pid in _children() - self._before - guardian if _session(pid) not in (0, os.getsid(0))}


class _Shared:
    """Runs at the same time, in several threads, share their supervision: its end must not end another's programs."""

    def __init__(self) -> None:
        self.supervision: Supervision | None = None
        self._users = 0
        self._lock = threading.Lock()

    def join(self) -> None:
        with self._lock:
            self._users += 1
            self.supervision = self.supervision or Supervision()

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users or self.supervision is None:
                return
            ended, self.supervision = self.supervision, None
        ended.end()


_shared = _Shared()


def current() -> Supervision | None:
    """The supervision that programs are started under, if there is one."""
    return _shared.supervision


@contextlib.contextmanager
def supervised() -> Iterator[None]:
    """Within it, programs may be started; at its end, nothing is left of them. Costs nothing if none is started."""
    _shared.join()
    try:
        yield
    finally:
        _shared.leave()


def _open_mark(mark: str) -> tuple[int, ...]:
    """An empty file in memory, whose name the system shows of every process that has it."""
    try:
        number = os.memfd_create(f"hate-{mark}", os.MFD_CLOEXEC)
    except (AttributeError, OSError):  # not on every system
        return ()
    try:
        import fcntl

        return (fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _MIN_DESCRIPTOR),)
    except OSError:  # no such numbers here
        return ()
    finally:
        os.close(number)


def _start_guardian(mark: str, notes: int) -> subprocess.Popen[bytes] | None:
    try:
        return subprocess.Popen(
            ["/bin/sh", "-c", _GUARDIAN, "hate-guardian", mark],
            stdin=subprocess.PIPE,
            stdout=notes,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath)},
        )
    except OSError:  # no shell: the ends that we see are still cleaned up after
        return None


def _marked(mark: str) -> set[int]:
    """Processes with the mark in their environment, as far as the system shows it."""
    pids, needle = set(), f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if needle in (folder / "environ").read_bytes():
                pids.add(int(folder.name))
    return pids


def _children() -> set[int]:
    """Our own children; empty where the system does not list them."""
    pids: set[int] = set()
    for path in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError, ValueError):
            pids |= {int(word) for word in path.read_text().split()}
    return pids


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _become_subreaper() -> bool:
    """Adopt the orphans among our descendants; False if the system cannot, or somebody wants it already."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes  # only runs that start programs pay for it

    value = ctypes.c_int(1)
    with contextlib.suppress(OSError, AttributeError):
        if ctypes.CDLL(None).prctl(_GET_SUBREAPER, ctypes.byref(value), 0, 0, 0) == 0 and value.value == 0:
            return _set_subreaper(on=True)
    return False


def _set_subreaper(*, on: bool) -> bool:
    import ctypes

    return bool(ctypes.CDLL(None).prctl(_SET_SUBREAPER, int(on), 0, 0, 0) == 0)
