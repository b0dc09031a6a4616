"""Progress bars of runs and downloads: on a terminal, in a notebook, or as lines of a log."""

import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from harness.report.numbers import duration, size_text
from harness.report.text import html, safe, say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

# Seconds before a bar appears: what is quicker needs none.
PATIENCE = 0.5
# Seconds between two pictures in a notebook, which is a message each, and between two lines of a log.
NOTEBOOK_INTERVAL = 0.25
LOG_INTERVAL = 10.0
# Speeds are of the last half minute.
SPEED_WINDOW = 30.0
SPEED_INTERVAL = 0.1
# The workers whose rates are shown one by one.
MAX_RATES = 3
MAX_LABEL = 20


@dataclass(frozen=True)
class BarRow:
    """One bar: how much is done, of how much where that is known, and what is said beside it."""

    label: str
    done: int
    total: int | None
    words: str

    @property
    def line(self) -> str:
        return f"{self.label}: {self.words}" if self.label else self.words


class BarDisplay(Protocol):
    """A place for bars."""

    def prepare(self) -> None:
        """Called before there is anything to show, by the thread that prints."""

    def show(self, rows: Mapping[str, BarRow]) -> None:
        """Show these bars, by a name that stays the same, in place of those before."""

    def close(self, line: str) -> None:
        """Remove the bars; `line` sums up what they showed, for a place that keeps what it has shown."""


class TerminalDisplay:
    """Bars on stderr that vanish at the end; what goes into a file or a pipe meanwhile stays there."""

    def __init__(self) -> None:
        self._bars: RichProgress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._streams: list[_AboveBars] = []

    def prepare(self) -> None:
        # Not later: a bar may appear while an interface has put another stream in the place of stdout.
        names = ("stdout", "stderr") if sys.stdout.isatty() else ("stderr",)
        self._streams = [_AboveBars(name) for name in names]

    def show(self, rows: Mapping[str, BarRow]) -> None:
        bars = self._bars or _rich_bars()
        for name in self._tasks.keys() - rows.keys():
            bars.remove_task(self._tasks.pop(name))
        for name, row in rows.items():
            if name not in self._tasks:
                self._tasks[name] = bars.add_task(safe(row.label), total=row.total, words="")
            bars.update(self._tasks[name], completed=row.done, total=row.total, words=row.words)
        if self._bars is None:
            self._bars = bars
            bars.start()
            for stream in self._streams:
                stream.print_with(bars.console)

    def close(self, line: str) -> None:
        for stream in self._streams:
            stream.restore()
        bars, self._bars, self._streams = self._bars, None, []
        self._tasks.clear()
        if bars is not None:
            bars.stop()


def _rich_bars() -> "RichProgress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[words]}", markup=False),
    )
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)


class _AboveBars:
    """Stands in for a standard stream: while bars are shown, what is printed appears above them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stream = self._target = getattr(sys, name)
        setattr(sys, name, self)

    def print_with(self, console: "Console") -> None:
        from rich.file_proxy import FileProxy

        self._target = FileProxy(console, self._stream)

    def restore(self) -> None:
        self._target.flush()
        self._target = self._stream
        # If the stream was replaced since, by somebody who had one before, that is none of ours.
        if getattr(sys, self._name) is self:
            setattr(sys, self._name, self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


class NotebookDisplay:
    """Bars in the output of the cell that runs; at the end, a line is left of them.

    The bars are HTML with the colours of the page. A thread belongs to no cell: it shows them in the context of
    whoever made the display.
    """

    def __init__(self) -> None:
        self._context = copy_context()
        self._handle: Any = None
        self._next = 0.0

    def prepare(self) -> None:
        """Nothing: what is printed has a place of its own."""

    def show(self, rows: Mapping[str, BarRow]) -> None:
        if monotonic() >= self._next:
            self._next = monotonic() + NOTEBOOK_INTERVAL
            lines = "\n".join(row.line for row in rows.values())
            self._context.run(self._publish, "".join(map(_html_bar, rows.values())), lines)

    def close(self, line: str) -> None:
        if self._handle is not None:
            self._context.run(self._publish, f'<span style="opacity: 0.7">{html(line)}</span>', line)
        self._handle, self._next = None, 0.0

    def _publish(self, page: str, text: str) -> None:
        data = {"text/html": page, "text/plain": safe(text)}
        if self._handle is None:
            # Only a running kernel gets here, which has imported it.
            self._handle = sys.modules["IPython.display"].display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


def _html_bar(row: BarRow) -> str:
    value = "" if row.total is None else f' value="{row.done}" max="{max(row.total, 1)}"'
    label = f"<span>{html(row.label)}</span>" if row.label else ""
    return (
        f'<div style="display: flex; gap: 0.8em; align-items: center">{label}'
        f'<progress{value} aria-label="{html(row.label) or "progress"}" style="width: 20em"></progress>'
        f"<span>{html(row.words)}</span></div>"
    )


class LogDisplay:
    """A line on stderr now and then, and one at the end."""

    def __init__(self) -> None:
        self._next = monotonic() + LOG_INTERVAL

    def prepare(self) -> None:
        """Nothing: lines stand among others."""

    def show(self, rows: Mapping[str, BarRow]) -> None:
        if monotonic() >= self._next:
            self._next = monotonic() + LOG_INTERVAL
            for row in rows.values():
                say(f"hate: {row.line}")

    def close(self, line: str) -> None:
        say(f"hate: {line}")
        self._next = monotonic() + LOG_INTERVAL


def in_notebook() -> bool:
    """Whether this program is a notebook's, whose kernel has imported IPython: a script need not have it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def on_terminal() -> bool:
    """Whether somebody may be looking at stderr."""
    return sys.stderr is not None and sys.stderr.isatty()


class RecentSpeed:
    """How quickly a count has grown lately."""

    def __init__(self, count: int) -> None:
        self._seen = deque([(monotonic(), count)])

    def see(self, count: int) -> None:
        """Note what the count is now."""
        now = monotonic()
        while len(self._seen) > 1 and now - self._seen[0][0] > SPEED_WINDOW:
            self._seen.popleft()
        if now - self._seen[-1][0] >= SPEED_INTERVAL:
            self._seen.append((now, count))

    def per_second(self) -> float:
        """0 where nothing can be said."""
        (begin, before), (now, count) = self._seen[0], self._seen[-1]
        return (count - before) / (now - begin) if now > begin else 0.0

    def time_left(self, rest: int) -> str:
        """How long the rest takes at this speed, in words; empty where nothing can be said."""
        speed = self.per_second()
        return f"{duration(rest / speed)} left" if speed > 0 else ""


class RunBar:
    """How far a run has got: cases done, rate, time left, errors."""

    def __init__(self, display: BarDisplay, patience: float = PATIENCE) -> None:
        self._display = display
        self._patience = patience
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._running = self._visible = False

    def begin(self, total: int, done: int) -> None:
        self._running = True
        self._total, self._done, self._errors, self._workers = total, done, 0, ""
        self._speed, self._begun = RecentSpeed(done), monotonic()
        self._display.prepare()
        if self._patience:
            # Not when the first case is done, which may take long.
            self._timer = threading.Timer(self._patience, self._appear)
            self._timer.daemon = True
            self._timer.start()
        else:
            self._appear()

    def _appear(self) -> None:
        with self._lock:
            self._visible = self._running
            self._show()

    def advance(self, done: int, errors: int) -> None:
        with self._lock:
            self._done, self._errors = done, errors
            self._speed.see(done)
            self._show()

    def show_workers(self, throughput: Mapping[str, float]) -> None:
        """Beside the rate of all workers, that of each; of many, the slowest and the quickest."""
        rates = sorted(throughput.values())
        each = rates if len(rates) <= MAX_RATES else (rates[0], rates[-1])
        between = " + " if len(rates) <= MAX_RATES else " to "
        text = f"({len(rates):,} workers: {between.join(f'{rate:,.0f}' for rate in each)})"
        with self._lock:
            self._workers = text if rates else "(no worker)"
            self._show()

    def _show(self) -> None:
        if self._visible:
            speed = self._speed.per_second()
            rate = "" if not speed else f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s"
            left = self._speed.time_left(self._total - self._done)
            words = (f"{self._done:,}/{self._total:,}", rate, self._workers, left, self._error_words())
            row = BarRow("", self._done, self._total, _joined(words))
            self._display.show({"": row})

    def _error_words(self) -> str:
        return f"{self._errors:,} errors" if self._errors else ""

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            if self._running:
                words = f"{self._done:,} of {self._total:,} in {duration(monotonic() - self._begun)}"
                self._display.close(", ".join(filter(None, (words, self._error_words()))))
            self._running = self._visible = False


class DownloadBars:
    """Bytes done, speed, time left of each download that takes long; gone when none is under way."""

    def __init__(self, display: BarDisplay, patience: float = PATIENCE) -> None:
        self._display = display
        self._patience = patience
        self._lock = threading.Lock()
        self._downloads: dict[str, _Download] = {}
        self._shown: dict[str, BarRow] = {}
        self._closed = False

    def begin(self, name: str, total: int | None, done: int) -> None:
        """Nothing is shown yet."""
        with self._lock:
            self._downloads[name] = _Download(monotonic(), total, done, RecentSpeed(done))

    def advance(self, name: str, count: int) -> None:
        with self._lock:
            download = self._downloads[name]
            download.done += count
            download.speed.see(download.done)
            if not self._closed and monotonic() - download.begun >= self._patience:
                self._shown[name] = download.row(name)
                self._display.show(self._shown)

    def end(self, name: str) -> None:
        with self._lock:
            self._downloads.pop(name, None)
            row = self._shown.pop(name, None)
            if row is not None and self._shown:
                self._display.show(self._shown)
            elif row is not None:
                self._display.close(row.line)

    def close(self) -> None:
        """Remove the display, even if a download is still running."""
        with self._lock:
            self._closed = True
            if self._shown:
                self._display.close(", ".join(row.line for row in self._shown.values()))
            self._shown.clear()


@dataclass
class _Download:
    begun: float
    total: int | None
    done: int
    speed: RecentSpeed

    def row(self, name: str) -> BarRow:
        end = name.rpartition("/")[2] or name
        label = end if len(end) <= MAX_LABEL else f"{end[: MAX_LABEL - 3]}..."
        speed = self.speed.per_second()
        rate = f"{size_text(round(speed))}/s" if speed else ""
        whole = "" if self.total is None else f"of {size_text(self.total)}"
        left = "" if self.total is None else self.speed.time_left(self.total - self.done)
        return BarRow(label, self.done, self.total, _joined((size_text(self.done), whole, rate, left)))


def _joined(words: Sequence[str]) -> str:
    return " ".join(filter(None, words))
