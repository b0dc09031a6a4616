"""How benchmarks measure: several ways of doing the same work take turns, and the best time of each counts.

Turns, because a busy machine then slows all of them alike; the best, because noise only ever adds. Processor time by
default, for the same reason; wall time (`clock=perf_counter`) where other processes do the work.
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


def seconds(act: Callable[[], object], *, clock: Clock = process_time) -> float:
    """What one call takes."""
    start = clock()
    act()
    return clock() - start


def best(*acts: Callable[[], object], turns: int = 3, clock: Clock = process_time) -> list[float]:
    """The shortest time of each, taking turns."""
    rounds = [[seconds(act, clock=clock) for act in acts] for _ in range(turns)]
    return [min(times) for times in zip(*rounds, strict=True)]


@dataclass(frozen=True)
class Usage:
    """What a program used."""

    seconds: float  # of processor time
    memory: int  # bytes, at its peak


def program_usage(words: Sequence[str]) -> Usage:
    """Run Python with these words in a process of its own, so that its peak of memory is its own."""
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{words} ended with {process.returncode}")
    return Usage(used.ru_utime + used.ru_stime, used.ru_maxrss << 10)


@dataclass(frozen=True)
class Timing:
    """One line of a table: what took how long, as a ratio of what it is compared with."""

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
    """A table as text, each line as soon as it is known if called with one line."""
    if title:
        print(f"# {title}")
    for timing in timings:
        print(timing.line(unit), flush=True)
