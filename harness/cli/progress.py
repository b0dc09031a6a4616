"""A progress bar on a terminal, nothing where output is piped."""

import sys
from typing import TYPE_CHECKING

from harness.engine.run import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class Silence:
    """Shows nothing."""

    def begin(self, total: int, done: int) -> None:
        """Nothing."""

    def advance(self, done: int, errors: int) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


class TerminalBar:
    """Cases done, rate, time left, errors; gone when the run is over."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def begin(self, total: int, done: int) -> None:
        """Draw it."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[errors]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=total, completed=done, rate="", errors="")
        self._bar.start()

    def advance(self, done: int, errors: int) -> None:
        """Redraw it."""
        if self._bar is None or self._task is None:
            return
        speed = self._bar.tasks[0].speed
        text = "" if not speed else f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s"
        self._bar.update(self._task, completed=done, rate=text, errors=f"{errors:,} errors" if errors else "")

    def end(self) -> None:
        """Take it away."""
        if self._bar is not None:
            self._bar.stop()


def progress() -> Progress:
    """What fits where stderr goes."""
    return TerminalBar() if sys.stderr.isatty() else Silence()
