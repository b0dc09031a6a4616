"""Programs: started, run to their end or spoken to through pipes, and killed; their last words are kept."""

import contextlib
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from harness.errors import InterfaceError
from harness.interface.contract import FILES, Interface, Setup
from harness.interface.interrupts import check_interrupt
from harness.interface.limits import NO_LIMITS
from harness.interface.supervision import current

MAX_OUTPUT_BYTES = 16 << 20
MAX_LINE_BYTES = 16 << 20
STDERR_KEPT = 8 << 10
# How long the children of a program that has ended may hold its pipes open.
GRACE_SECONDS = 0.2
SIGNAL_SECONDS = 0.5
# How often to ask for the end of killed children; what is left then is let go at the end of the run.
MAX_REAPING = 10_000

# The running programs, so that an interrupt can end them from another thread, and the scratch folder of their session.
_running: dict[subprocess.Popen[bytes], Path | None] = {}


@dataclass(frozen=True, kw_only=True)
class ProgramInterface(Interface):
    """A program that is started by a command."""

    argv: tuple[str, ...]
    # Where it is started.
    folder: Path

    @property
    def words(self) -> Sequence[str]:
        """The words of all its commands."""
        return self.argv

    @property
    def files(self) -> Sequence[Path]:
        """Those that an interface may be in, and whatever its commands name."""
        return [self.folder / name for name in (*FILES, *self.words)]

    def moved(self, folder: Path) -> "ProgramInterface":
        """The same program in another folder, which has the files of this one."""
        return replace(self, folder=folder, argv=self._moved(self.argv, folder))

    def _moved(self, argv: tuple[str, ...], folder: Path) -> tuple[str, ...]:
        """A command with the program of this machine: from the folder, or of the same name on its PATH."""
        program, old = Path(argv[0]), self.folder.absolute()
        if program.is_relative_to(old):
            first = f"./{program.relative_to(old)}"
        else:
            first = str(program) if program.is_file() else program.name
        return resolve_program([first, *argv[1:]], folder, "argv")


def resolve_program(argv: Sequence[str], folder: Path, location: str) -> tuple[str, ...]:
    """The command with its program as an absolute path; an InterfaceError if there is no such program."""
    if not argv or not argv[0]:
        raise InterfaceError(f'{location}: argv is empty; write argv = ["./program", "{{input}}"]')
    program = argv[0]
    if "/" in program:
        path = (folder / program).absolute()
        if not path.is_file():
            raise InterfaceError(f"{location}: no program {program} in {folder}; build it first, or correct argv")
        if not os.access(path, os.X_OK):
            raise InterfaceError(f"{location}: {program} is not executable; try chmod +x {path}")
        return str(path), *argv[1:]
    on_path = shutil.which(program)
    if on_path is None:
        raise InterfaceError(f"{location}: no program '{program}' on PATH; install it, or give its path")
    return on_path, *argv[1:]


def named_files(folder: Path, words: Iterable[str]) -> list[Path]:
    """The files of a folder that words of a command name."""

    def is_file(path: Path) -> bool:
        try:
            return ".." not in path.parts and path.is_file()
        except (OSError, ValueError):  # a word may be any text
            return False

    return sorted({path for word in words if (path := folder / word).is_relative_to(folder) and is_file(path)})


@dataclass(frozen=True)
class FinishedProcess:
    """How a program ended, and what it printed."""

    status: int | None
    stdout: bytes
    stderr: bytes
    seconds: float
    memory: int | None
    timed_out: bool
    too_much: bool


class Tail:
    """The last few KiB of a stream of bytes."""

    def __init__(self) -> None:
        self.content = b""

    def add(self, data: bytes) -> None:
        """Append, and drop the oldest bytes."""
        self.content = (self.content + data)[-STDERR_KEPT:]


def last_lines(stderr: bytes, most: int = 3) -> str:
    """The last lines of a program's stderr, as one line."""
    lines = [line.strip() for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    return " | ".join(lines[-most:])


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and everything that it started; it leads its own process group.

    `Popen.kill` will not do: it would take the exit status from the thread that waits for it.
    """
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(process.pid, signal.SIGKILL)


def kill_programs(work: Path) -> None:
    """Kill the running programs of a session, which has this scratch folder; other runs keep theirs."""
    for process, folder in list(_running.items()):
        if folder == work:
            kill_group(process)


def forget(process: subprocess.Popen[bytes]) -> None:
    """Close the pipes of a program that has ended."""
    _running.pop(process, None)
    if (supervision := current()) is not None:
        supervision.note("-", process.pid)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def describe_status(status: int | None) -> str:
    """How a program ended, in words."""
    if status is None:
        return "ended"
    if status < 0:
        try:
            return f"killed by {signal.Signals(-status).name}"
        except ValueError:
            return f"killed by signal {-status}"
    return f"exit status {status}"


def start(argv: Sequence[str], folder: Path, stdin: int, setup: Setup | None = None) -> subprocess.Popen[bytes]:
    """Start a program with its output in pipes, in its own session, so that Ctrl-C reaches only the harness.

    `setup` says what it may use, and which session it belongs to.
    """
    supervision, limits = current(), NO_LIMITS if setup is None else setup.limits
    environment = None if supervision is None else supervision.environment()
    inherited = () if supervision is None else supervision.inherited
    try:
        process = subprocess.Popen(
            limits.command(argv) if limits else argv,
            cwd=folder,
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=inherited,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InterfaceError(f"{argv[0]}: cannot be started: {reason}") from None
    _running[process] = None if setup is None else setup.work
    if supervision is not None:
        supervision.note("+", process.pid)
    return process


def run_to_end(
    argv: Sequence[str], folder: Path, *, timeout: float | None, stdin: int, setup: Setup | None = None
) -> FinishedProcess:
    """Run a program and collect its output; at its end, or at the time limit, all that it started is killed."""
    begin = perf_counter()
    process = start(argv, folder, stdin, setup)
    try:
        reader = _PipeReader(process)
        timed_out = not reader.until_end(None if timeout is None else begin + timeout)
        # Before its status is taken: until then, no other process can get its number.
        kill_group(process)
        status, memory = _wait(process)
        _reap_group(process.pid)
    except BaseException:
        kill_group(process)
        process.wait()
        raise
    finally:
        forget(process)
    seconds = perf_counter() - begin
    return FinishedProcess(status, bytes(reader.out), reader.err.content, seconds, memory, timed_out, reader.too_much)


def _reap_group(group: int) -> None:
    """Let go of killed children that the program left to us; usually there is none."""
    for _ in range(MAX_REAPING):
        try:
            if os.waitpid(-group, os.WNOHANG)[0] == 0:
                select.select([], [], [], 0.0002)
        except ChildProcessError:
            return


def exit_status(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """How a program ended, negative for a signal; None if it has not after so long.

    The status is not taken: its process group can still be killed without a risk to others.
    """
    deadline, pause = perf_counter() + seconds, 0.0005
    while process.returncode is None:
        ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if ended is not None:
            return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
        if perf_counter() >= deadline:
            return None
        select.select([], [], [], pause)
        pause = min(pause * 2, 0.02)
    return process.returncode


class _PipeReader:
    """Reads both pipes of a program until it ends."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.out = bytearray()
        self.err = Tail()
        self.too_much = False
        self._process = process
        self._poll = select.poll()
        self._open = {process.stdout.fileno(), process.stderr.fileno()}  # type: ignore[union-attr]
        self._stdout = process.stdout.fileno()  # type: ignore[union-attr]
        for fd in self._open:
            self._poll.register(fd, select.POLLIN)

    def until_end(self, deadline: float | None) -> bool:
        """Read; return whether the program ended in time."""
        # A program may close its pipes and go on, or end while a child holds them open: check it now and then.
        pause = 0.05
        while True:
            wait = pause if deadline is None else max(0.0, min(pause, deadline - perf_counter()))
            if self._open:
                ready = self._poll.poll(wait * 1000)
                for fd, _ in ready:
                    self._take(fd)
                if ready:
                    continue
            check_interrupt()
            options = os.WEXITED | os.WNOWAIT | os.WNOHANG
            if not self._open or os.waitid(os.P_PID, self._process.pid, options) is not None:
                return self._ended(deadline)
            if deadline is not None and perf_counter() >= deadline:
                return False

    def _ended(self, deadline: float | None) -> bool:
        """The pipes are closed or the program has ended: wait for the program, or read what is left."""
        if not self._open:
            if deadline is not None:
                return exit_status(self._process, deadline - perf_counter()) is not None
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
            return True
        until = perf_counter() + GRACE_SECONDS
        while self._open and (left := until - perf_counter()) > 0:
            for fd, _ in self._poll.poll(left * 1000):
                self._take(fd)
        return True

    def _take(self, fd: int) -> None:
        data = os.read(fd, 1 << 16)
        if not data:
            self._poll.unregister(fd)
            self._open.discard(fd)
        elif fd != self._stdout:
            self.err.add(data)
        elif len(self.out) + len(data) > MAX_OUTPUT_BYTES:
            self.too_much = True  # the rest is read and dropped, so that the program can end
        else:
            self.out += data


class PipedProgram:
    """A running program, with what is being sent to it and received from it; `poll` says when there is more."""

    def __init__(self, process: subprocess.Popen[bytes], poll: "select.poll") -> None:
        self.process = process
        self.stderr = Tail()
        self.ended = False
        # Why it was stopped, if it did not end by itself.
        self.fault = ""
        # Whether it has answered any case yet.
        self.has_answered = False
        self._out = bytearray()
        self._rest = bytearray()
        pipes = (process.stdin, process.stdout, process.stderr)
        self._stdin, self._stdout, self._stderr = (pipe.fileno() for pipe in pipes if pipe is not None)
        for fd in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(fd, False)
        self._poll = poll
        # What the poll watches for us.
        self.watched: set[int] = set()
        self._watch(self._stdout, select.POLLIN)
        self._watch(self._stderr, select.POLLIN)
        # Bytes that could not be written any more.
        self._refused = 0

    def _watch(self, fd: int, events: int) -> None:
        self._poll.register(fd, events)
        self.watched.add(fd)

    def _ignore(self, fd: int) -> None:
        if fd in self.watched:
            self.watched.discard(fd)
            self._poll.unregister(fd)

    def write(self, data: bytes) -> None:
        """Write as much as the pipe takes, and the rest later."""
        self._out += data
        self._flush()

    def read(self, ready: Collection[int]) -> list[bytes]:
        """Write and read what is possible, without a wait; returns the whole lines that have come."""
        if self._stdin in ready:
            self._flush()
        if self._stderr in ready:
            self.take_stderr()
        try:
            data = os.read(self._stdout, 1 << 18)
        except BlockingIOError:
            return []
        lines: list[bytes] = []
        self._rest += data
        if not data:
            self.ended = True
            lines, self._rest = [bytes(self._rest)], bytearray()
        elif b"\n" in data:
            *lines, rest = bytes(self._rest).split(b"\n")
            self._rest = bytearray(rest)
        if len(self._rest) > MAX_LINE_BYTES:
            self.ended = True
            self.fault = f"wrote a line of more than {MAX_LINE_BYTES >> 20} MiB"
        return [line for line in lines if line.strip()]

    def _flush(self) -> None:
        """Write as much as the pipe takes; that it is closed is noticed when the output ends."""
        while self._out:
            try:
                done = os.write(self._stdin, self._out)
            except BlockingIOError:
                if self._stdin not in self.watched:
                    self._watch(self._stdin, select.POLLOUT)
                return
            except OSError:
                self._refused += len(self._out)
                self._out.clear()
            else:
                del self._out[:done]
        self._ignore(self._stdin)

    def unread(self) -> int:
        """How many of the bytes that were written to it the program has not read; 0 if the system does not say."""
        left = self._refused + len(self._out)
        with contextlib.suppress(OSError):
            left += int.from_bytes(fcntl.ioctl(self._stdin, termios.FIONREAD, bytes(4)), sys.byteorder)
        return left

    def take_stderr(self) -> bool:
        """Keep what the program writes to stderr; False when there is no more."""
        if self._stderr not in self.watched:
            return False
        try:
            data = os.read(self._stderr, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self._ignore(self._stderr)
        self.stderr.add(data)
        return bool(data)

    def end_input(self) -> None:
        """Tell it that nothing more will come."""
        self._ignore(self._stdin)
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()

    def close(self) -> None:
        """Kill it if necessary, and close its pipes."""
        for fd in list(self.watched):
            self._ignore(fd)
        kill_group(self.process)
        self.process.wait()
        forget(self.process)


def _wait(process: subprocess.Popen[bytes]) -> tuple[int, int | None]:
    """Exit status and peak memory.

    The kernel's figure starts from that of the parent process, so one that is not above our own says nothing about
    the program and is left out.
    """
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    memory = usage.ru_maxrss * 1024
    return process.returncode, memory if memory > harness_peak_memory() else None


def harness_peak_memory() -> int:
    """The peak memory of this process, in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def peak_memory(pid: int) -> int | None:
    """The peak memory of a running program, if the system says."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123 (read in the middle of a run)
            for line in file:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None
