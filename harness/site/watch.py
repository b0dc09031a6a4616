"""Who wants to see how far downloads are."""

from typing import Protocol


class Watcher(Protocol):
    """Told from the thread that downloads; several downloads may be under way."""

    def begin(self, name: str, total: int | None, done: int) -> None:
        """A download begins, or goes on from `done` bytes."""

    def advance(self, name: str, count: int) -> None:
        """So many bytes more."""

    def end(self, name: str) -> None:
        """It is over, well or not."""


_watchers: list[Watcher] = []


def watch(watcher: Watcher) -> None:
    """Tell this one from now on, and nobody else."""
    _watchers[:] = [watcher]


def unwatch() -> None:
    """Tell nobody."""
    _watchers.clear()


def watcher() -> Watcher | None:
    """Who is told."""
    return _watchers[0] if _watchers else None
