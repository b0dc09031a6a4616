"""A long-lived program behind pipes: lines go in and come out, and neither side can block the other."""

import contextlib
import fcntl
import os
import select
import subprocess
import sys
import termios
from collections.abc import Collection

from harness.interface.process import Tail, forget, kill_group

LONGEST_LINE = 16 << 20


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
        return self._take_stdout()

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

    def _take_stdout(self) -> list[bytes]:
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
        if len(self._rest) > LONGEST_LINE:
            self.ended = True
            self.fault = f"wrote a line of more than {LONGEST_LINE >> 20} MiB"
        return [line for line in lines if line.strip()]

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
