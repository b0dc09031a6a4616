"""Timing for benchmarks: several ways of doing the same work take turns, and the best time of each counts.

They take turns so that a busy machine slows all of them alike, and the best counts because noise only adds time. It is
processor time by default, for the same reason, and wall time (`clock=perf_counter`) if other processes do the work.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter, process_time

__all__ = ["Timing", "Usage", "best", "perf_counter", "print_timings", "process_time", "program_usage", "seconds"]

UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6}
Clock = Callable[[], float]


def seconds(function: Callable[[], object], *, clock: Clock = process_time) -> float:
    """The time of one call."""
    start = clock()
    function()
    return clock() - start


def best(*functions: Callable[[], object], turns: int = 3, clock: Clock = process_time) -> list[float]:
    """The shortest time of each function; they take turns."""
    rounds = [[seconds(function, clock=clock) for function in functions] for _ in range(turns)]
    return [min(times) for times in zip(*rounds, strict=True)]


@dataclass(frozen=True)
class Usage:
    """What a program used."""

    seconds: float  # of processor time
    memory: int  # bytes, at its peak
    elapsed: float  # seconds by the clock


def program_usage(arguments: Sequence[str]) -> Usage:
    """Run Python with these arguments in a new process, to measure its own peak memory."""
    start = perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{arguments} ended with {process.returncode}")
    return Usage(used.ru_utime + used.ru_stime, used.ru_maxrss << 10, perf_counter() - start)


@dataclass(frozen=True)
class Timing:
    """One line of a table: a time, and its ratio to that of a baseline."""

    what: str
    seconds: float
    baseline: float | None = None
    against: str = ""
    goal: str = ""
    note: str = ""

    def line(self, unit: str) -> str:
        """The line, in columns."""
        ratio = f"{self.seconds / self.baseline:8.3g}" if self.baseline else " " * 8
        goal = f"(goal: {self.goal})" if self.goal else ""
        more = "  ".join(part for part in (self.against, goal, self.note) if part)
        return f"{self.what:<68}{self.seconds * UNITS[unit]:>10.2f} {unit:<2} {ratio}  {more}".rstrip()


def print_timings(timings: Sequence[Timing], *, title: str = "", unit: str = "s") -> None:
    """Print a table."""
    if title:
        print(f"# {title}")
    for timing in timings:
        print(timing.line(unit), flush=True)
