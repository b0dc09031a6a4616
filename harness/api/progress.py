"""`progress=`: who is told how far a run or a download has got."""

from collections.abc import Iterator
from contextlib import contextmanager

from harness.engine.progress import NoProgress, Progress
from harness.errors import UsageError
from harness.report.progress import (
    PATIENCE,
    BarDisplay,
    DownloadBars,
    LogDisplay,
    NotebookDisplay,
    RunBar,
    TerminalDisplay,
    in_notebook,
    on_terminal,
)
from harness.site.download_request import progress_listener, reporting_to

# None: a bar where somebody is looking, on a terminal or in a notebook, of what takes longer than a moment. True: a bar
# at once, or lines on stderr where there is no place for a bar. False: nothing. An object is told, and shows what it
# likes.
ProgressChoice = bool | Progress | None


def run_progress(choice: ProgressChoice = None) -> Progress:
    """What is told of a run."""
    if (told := _told(choice)) is not None:
        return told
    display = _display(choice)
    return NoProgress() if display is None else RunBar(display, _patience(choice))


def _told(choice: ProgressChoice) -> Progress | None:
    """The caller's own object; None where a bar is asked for, or none."""
    if choice is None or isinstance(choice, bool):
        return None
    if isinstance(choice, Progress) and not isinstance(choice, type):
        return choice
    raise UsageError(
        f"progress={choice!r:.100}: give True, False, or an object with begin(total, done), advance(done, errors) "
        "and end()"
    )


@contextmanager
def show_downloads(choice: ProgressChoice = None) -> Iterator[None]:
    """Within it, downloads are shown; an object that is told of the cases of a run is not told of them."""
    if choice is None and progress_listener() is not None:  # somebody shows them already
        yield
        return
    display = _display(choice) if _told(choice) is None else None
    bars = None if display is None else DownloadBars(display, _patience(choice))
    with reporting_to(bars):
        try:
            yield
        finally:
            if bars is not None:
                bars.close()


def _display(choice: ProgressChoice) -> BarDisplay | None:
    """Where bars are shown; None for nowhere."""
    if choice is False:
        return None
    if in_notebook():
        return NotebookDisplay()
    if on_terminal():
        return TerminalDisplay()
    return LogDisplay() if choice else None


def _patience(choice: ProgressChoice) -> float:
    return 0.0 if choice is True else PATIENCE
