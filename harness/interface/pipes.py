"""A long-lived program behind pipes: lines go in and come out, and neither side can block the other."""

import fcntl
import os
import select
import subprocess
import sys
import termios
from time import perf_counter

from harness.interface.interrupts import check_interrupt
from harness.interface.process import SIGNAL_SECONDS, Tail, forget, kill_group

LONGEST_LINE = 16 << 20


class PipedProgram:
    """A running program, with what is being sent to it and received from it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.out = bytearray()
        self.rest = bytearray()
        self.stderr = Tail()
        self.ended = False
        # Why it was stopped, if it did not end by itself.
        self.fault = ""
        # Whether it has answered any case yet.
        self.has_answered = False
        pipes = (process.stdin, process.stdout, process.stderr)
        self._stdin, self._stdout, self._stderr = (pipe.fileno() for pipe in pipes if pipe is not None)
        for fd in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(fd, False)
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        self._writing = False
        self._refused = False
        self._stderr_open = True

    def exchange(self, deadline: float | None) -> list[bytes]:
        """Write and read what is possible; return whole lines, or none at the deadline or at the end of the output."""
        while True:
            self._flush()
            check_interrupt()
            left = SIGNAL_SECONDS if deadline is None else deadline - perf_counter()
            ready = {fd for fd, _ in self._poll.poll(max(0.0, min(left, SIGNAL_SECONDS)) * 1000)}
            if self._stderr in ready:
                self.take_stderr()
            if self._stdout in ready and ((lines := self._take_stdout()) or self.ended):
                return lines
            if deadline is not None and perf_counter() >= deadline:
                return []

    def _flush(self) -> None:
        """Write as much as the pipe takes; that it is closed is noticed when the output ends."""
        while self.out:
            try:
                done = os.write(self._stdin, self.out)
            except BlockingIOError:
                break
            except OSError:
                self._refused = True
                self.out.clear()
            else:
                del self.out[:done]
        if self._writing != bool(self.out):
            self._writing = bool(self.out)
            if self._writing:
                self._poll.register(self._stdin, select.POLLOUT)
            else:
                self._poll.unregister(self._stdin)

    def has_read_all(self) -> bool:
        """Whether the program has read everything that was written to it; True if the system does not say."""
        if self.out or self._refused:
            return False
        try:
            return int.from_bytes(fcntl.ioctl(self._stdin, termios.FIONREAD, bytes(4)), sys.byteorder) == 0
        except OSError:
            return True

    def take_stderr(self) -> bool:
        """Keep what the program writes to stderr; False when there will be no more."""
        data = os.read(self._stderr, 1 << 16) if self._stderr_open else b""
        if self._stderr_open and not data:
            self._stderr_open = False
            self._poll.unregister(self._stderr)
        self.stderr.add(data)
        return bool(data)

    def _take_stdout(self) -> list[bytes]:
        data = os.read(self._stdout, 1 << 18)
        lines: list[bytes] = []
        if not data:
            self.ended = True
            lines, self.rest = [bytes(self.rest)], bytearray()
        elif b"\n" in data:
            self.rest += data
            *lines, rest = bytes(self.rest).split(b"\n")
            self.rest = bytearray(rest)
        else:
            self.rest += data
        if len(self.rest) > LONGEST_LINE:
            self.ended = True
            self.fault = f"wrote a line of more than {LONGEST_LINE >> 20} MiB"
        return [line for line in lines if line.strip()]

    def close(self) -> None:
        """Kill it if necessary, and close its pipes."""
        kill_group(self.process)
        self.process.wait()
        forget(self.process)
