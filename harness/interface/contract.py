"""The contract: an `Interface` has been loaded and checked; `open` makes a `Session` that answers questions."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec

from harness.errors import InterfaceError
from harness.interface.limits import NO_LIMITS, Limits
from harness.model import Question, Reply
from harness.params import Param, Value


@dataclass(frozen=True)
class Setup:
    """What a program gets at its start; plain data, so that it can be sent to another process."""

    test: str
    version: str
    task: str
    params: Mapping[str, Value]
    # A scratch folder that lasts as long as the run.
    work: Path
    # A file of JSON lines to learn from; None if the test has none, or the program does not learn.
    train: Path | None = None
    # The gallery of a rank test, as a file of the same kind; None if the program does not enrol one.
    gallery: Path | None = None
    timeout: float | None = None
    # How many programs share the cases.
    jobs: int = 1
    # What the program may use.
    limits: Limits = NO_LIMITS


class Session(Protocol):
    """A program that is ready to answer."""

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """A reply for every question, in any order; questions are taken only as fast as they are worked on."""

    def close(self) -> None:
        """End the program; called once, even after an error."""


class AlgorithmLinks(msgspec.Struct, frozen=True):
    """Where the code of an algorithm is, and a paper about it; for the pages of a site."""

    code: str = ""
    paper: str = ""

    def check(self, place: str) -> "AlgorithmLinks":
        """An InterfaceError if one of them is no address of the web."""
        for name, text in (("code", self.code), ("paper", self.paper)):
            if text and not re.fullmatch(r"https?://[^\s/]\S*", text):
                raise InterfaceError(f"{place}: {name} is '{text:.100}'; make it an address, https://...")
        return self


NO_LINKS = AlgorithmLinks()


@runtime_checkable
class SpreadSession(Session, Protocol):
    """A program on several machines."""

    def throughput(self) -> Mapping[str, float]:
        """Cases a second by the name of the worker."""


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
        """How it is reached: python, command, stream, http, scores or matrix."""

    @property
    def sha256(self) -> str:
        """The digest of the interface, and of its program if that is in the same folder."""

    @property
    def params(self) -> Mapping[str, Param]:
        """The algorithm's own parameters."""

    @property
    def links(self) -> AlgorithmLinks:
        """Where to read about the algorithm."""

    @property
    def learns(self) -> bool:
        """Whether it is given the training part; if not, no training can change its answers."""

    @property
    def enrols(self) -> bool:
        """Whether it is given the gallery of a rank test."""

    def open(self, setup: Setup) -> Session:
        """Start the program; raise an InterfaceError if it does not start."""

    def isolated(self) -> "Interface":
        """The same algorithm outside of this process; itself, if it is outside already or has to stay inside."""


# The option of a worker that only says what its interface is.
DESCRIBE = "--describe"


class InterfaceFacts(msgspec.Struct, frozen=True):
    """What a worker says about an interface file: an error, or what it takes to start it."""

    name: str = ""
    version: str = ""
    params: dict[str, Any] = {}
    batch: int = 1
    learns: bool = False
    enrols: bool = False
    error: str = ""
    links: AlgorithmLinks = NO_LINKS
