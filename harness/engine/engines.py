"""Engines: where the cases of a plan are run: on this machine, or where an option says, which an entry brings in."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from harness.errors import MissingExtra, UsageError
from harness.interface.contract import Interface, Session
from harness.options.entries import EngineEntry, all_added

if TYPE_CHECKING:
    from harness.engine.plan import Plan, RunOptions

T = TypeVar("T")
R = TypeVar("R")


class Engine(ABC):
    """A way to run cases."""

    def check(self, interface: Interface, options: "RunOptions") -> None:
        """Raise a UsageError if it cannot run this; called before anything is started, and before `open`."""
        return

    @abstractmethod
    def open(self, plan: "Plan") -> AbstractContextManager[Session]:
        """A context with the program, ready to answer; nothing of it is left at the end."""

    def kept(self) -> AbstractContextManager[None]:
        """A context for runs that belong together: what takes long to open stays open from one to the next."""
        return nullcontext()

    def run_all(self, act: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """What an act that runs a plan comes to for each item: one after the other, or side by side."""
        return [act(item) for item in items]


def engine_of(options: "RunOptions") -> Engine:
    """The engine that the options choose."""
    chosen = _chosen(options)
    return _here() if chosen is None else _load(chosen)


def open_session(plan: "Plan") -> AbstractContextManager[Session]:
    """A context with the program, ready to answer, where the options say."""
    chosen = _chosen(plan.options)
    # Answers from a file are looked up here: no program runs.
    if chosen is None or plan.interface.is_file:
        return _here().open(plan)
    _check_library(chosen)
    return _load(chosen).open(plan)


def _chosen(options: "RunOptions") -> EngineEntry | None:
    """The engine that an option chooses; None for this machine."""
    chosen = [entry for entry in all_added(EngineEntry) if getattr(options, entry.name, None) is not None]
    if len(chosen) > 1:
        raise UsageError(
            f"--{chosen[0].name} and --{chosen[1].name} exclude one another: each says where cases are run"
        )
    return chosen[0] if chosen else None


def _here() -> Engine:
    from harness.engine.local_engine import LocalEngine

    return LocalEngine()


@functools.cache
def _load(entry: EngineEntry) -> Engine:
    try:
        return entry.load(Engine)()  # type: ignore[type-abstract]
    except UsageError:
        _check_library(entry)
        raise


def _check_library(entry: EngineEntry) -> None:
    if entry.library and find_spec(entry.library) is None:
        raise MissingExtra(f"--{entry.name} needs {entry.extra or entry.library}")
