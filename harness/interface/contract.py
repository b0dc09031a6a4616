"""The contract: an `Interface` is loaded and checked; opened, it is a `Session` that answers questions."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.model import Question, Reply
from harness.params import Param, Value


def _no_file() -> None:
    return None


@dataclass(frozen=True)
class Setting:
    """What a program is started with."""

    test: str
    version: str
    task: str
    params: Mapping[str, Value]
    # A file of JSON lines to learn from, written when it is first asked for; None where the test has none.
    train: Callable[[], Path | None]
    # A scratch folder that lasts as long as the run.
    work: Path
    timeout: float | None = None
    # The gallery of a rank test, as a file of the same kind.
    gallery: Callable[[], Path | None] = _no_file


class Session(Protocol):
    """A program that is ready to answer."""

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """A reply for every question, in any order; takes questions only as fast as it can work on them."""

    def close(self) -> None:
        """End the program; called once, also after an error."""


class Interface(Protocol):
    """A way to reach an algorithm, checked when it was loaded."""

    @property
    def name(self) -> str:
        """The algorithm's name."""

    @property
    def version(self) -> str:
        """The algorithm's version."""

    @property
    def kind(self) -> str:
        """How it is reached: python, command, stream, http or scores."""

    @property
    def sha256(self) -> str:
        """The digest of the interface, and of its program where that lies beside it."""

    @property
    def params(self) -> Mapping[str, Param]:
        """The algorithm's own parameters."""

    @property
    def learns(self) -> bool:
        """Whether it is handed the training part; if not, no training can change its answers."""

    def open(self, setting: Setting) -> Session:
        """Start the program; an InterfaceError where it does not start."""

    def isolated(self) -> "Interface":
        """The same algorithm in a process of its own: itself, unless it would run inside the harness."""
