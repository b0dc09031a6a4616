"""Engines: where the cases of a plan are run. One is this machine; an option of its name chooses another."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from harness.errors import MissingExtra, UsageError
from harness.interface.contract import Interface, Session

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


class EngineEntry(NamedTuple):
    """Where the class of an engine is; the library that it needs, if any, and what to install for it."""

    where: str
    library: str = ""
    extra: str = ""


# By the name of the option that chooses it.
ENGINES: Mapping[str, EngineEntry] = {
    "cluster": EngineEntry(
        "harness.cluster.engine:ClusterEngine", "distributed", "Dask: pip install 'hate-harness[cluster]'"
    ),
}
HERE = EngineEntry("harness.engine.session:LocalEngine")


def engine_of(options: "RunOptions") -> Engine:
    """The engine that the options choose."""
    chosen = _chosen(options)
    return _load(HERE if chosen is None else ENGINES[chosen])


def open_session(plan: "Plan") -> AbstractContextManager[Session]:
    """A context with the program, ready to answer, where the options say."""
    chosen = _chosen(plan.options)
    # Answers from a file are looked up here: no program runs.
    if chosen is None or plan.interface.is_file:
        return _load(HERE).open(plan)
    entry = ENGINES[chosen]
    if entry.library and find_spec(entry.library) is None:
        raise MissingExtra(f"--{chosen} needs {entry.extra}")
    return _load(entry).open(plan)


def _chosen(options: "RunOptions") -> str | None:
    """The option that chooses an engine; None for this machine."""
    chosen = [name for name in ENGINES if getattr(options, name) is not None]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} and --{chosen[1]} exclude one another: each says where cases are run")
    return chosen[0] if chosen else None


@functools.cache
def _load(entry: EngineEntry) -> Engine:
    engine: Engine = resolve_name(entry.where)()
    return engine
