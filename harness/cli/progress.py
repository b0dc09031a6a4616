"""Progress bars for runs and for downloads, on a terminal; nothing where output is piped."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn, TaskID

    from harness.engine.progress import Progress


# The workers whose rates are shown one by one.
MAX_RATES = 3


class TerminalBar:
    """Cases done, rate, time left, errors; gone when the run is over."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def begin(self, total: int, done: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

        self._bar = _bar(
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[workers]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[errors]}"),
        )
        self._task = self._bar.add_task("", total=total, completed=done, rate="", workers="", errors="")
        self._bar.start()

    def advance(self, done: int, errors: int) -> None:
        if self._bar is None or self._task is None:
            return
        speed = self._bar.tasks[0].speed
        text = "" if not speed else f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s"
        self._bar.update(self._task, completed=done, rate=text, errors=f"{errors:,} errors" if errors else "")

    def show_workers(self, throughput: Mapping[str, float]) -> None:
        """Beside the rate of all workers, that of each; of many, the slowest and the quickest."""
        if self._bar is not None and self._task is not None:
            rates = sorted(throughput.values())
            each = rates if len(rates) <= MAX_RATES else (rates[0], rates[-1])
            between = " + " if len(rates) <= MAX_RATES else " to "
            text = f"({len(rates):,} workers: {between.join(f'{rate:,.0f}' for rate in each)})"
            self._bar.update(self._task, workers=text if rates else "(no worker)")

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def progress() -> "Progress":
    """The display that fits where stderr goes."""
    from harness.engine.progress import NoProgress  # not for every command

    return TerminalBar() if sys.stderr.isatty() else NoProgress()


PATIENCE = 1.0


class DownloadBar:
    """Bytes done, speed, time left, for each download; gone when none is under way."""

    def __init__(self) -> None:
        self._begun: dict[str, float] = {}
        self._sizes: dict[str, tuple[int | None, int]] = {}
        self._tasks: dict[str, TaskID] = {}
        self._bar: Bar | None = None
        self._closed = False

    def begin(self, name: str, total: int | None, done: int) -> None:
        """Nothing is shown yet."""
        self._begun[name] = time.monotonic()
        self._sizes[name] = (total, done)

    def advance(self, name: str, count: int) -> None:
        total, done = self._sizes.get(name, (None, 0))
        self._sizes[name] = (total, done + count)
        if name in self._tasks and self._bar is not None:
            self._bar.update(self._tasks[name], completed=done + count)
        elif not self._closed and time.monotonic() - self._begun[name] > PATIENCE:
            self._show(name)

    def end(self, name: str) -> None:
        self._sizes.pop(name, None)
        task = self._tasks.pop(name, None)
        if self._bar is not None and task is not None:
            self._bar.remove_task(task)
            if not self._tasks:
                self._bar.stop()
                self._bar = None

    def close(self) -> None:
        """Remove the display, even if a download is still running."""
        self._closed = True
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _show(self, name: str) -> None:
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn

        from harness.report.text import safe

        if self._bar is None:
            columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=None), DownloadColumn())
            self._bar = _bar(*columns, TransferSpeedColumn(), TimeRemainingColumn())
            self._bar.start()
        total, done = self._sizes[name]
        end = name.rpartition("/")[2] or name
        label = safe(end if len(end) <= 20 else f"{end[:17]}...")
        self._tasks[name] = self._bar.add_task(label, total=total, completed=done)


def _bar(*columns: "ProgressColumn") -> "Bar":
    """A bar on stderr that vanishes at the end; what goes into a file or a pipe meanwhile stays there."""
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty())


@contextmanager
def show_downloads() -> Iterator[None]:
    """Where stderr is a terminal, downloads are shown meanwhile."""
    if not sys.stderr.isatty():
        yield
        return
    from harness.site.download_request import clear_progress_listener, set_progress_listener

    bar = DownloadBar()
    set_progress_listener(bar)
    try:
        yield
    finally:
        clear_progress_listener()
        bar.close()
