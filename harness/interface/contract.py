"""The contract: an `Interface` has been loaded and checked; `open` makes a `Session` that answers questions."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import msgspec

from harness.errors import InterfaceError
from harness.interface.limits import NO_LIMITS, ResourceLimits
from harness.model import Case, Question, Reply
from harness.params import Param, ParamType, Value

if TYPE_CHECKING:
    from harness.interface.python_source import ImportedFiles
    from harness.tasks.rank import Gallery


# File names of an interface.
FILES = ("interface.py", "interface.toml")


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
    # Whether scores are similarities rather than distances.
    larger_is_better: bool = True
    # How many programs share the cases.
    jobs: int = 1
    # What the program may use.
    limits: ResourceLimits = NO_LIMITS


class Session(Protocol):
    """A program that is ready to answer."""

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """A reply for every question, in any order; questions are taken only as fast as they are worked on."""

    def close(self) -> None:
        """End the program; called once, even after an error."""


@runtime_checkable
class SpreadSession(Session, Protocol):
    """A program on several machines."""

    def throughput(self) -> Mapping[str, float]:
        """Cases a second by the name of the worker."""


class AlgorithmLinks(msgspec.Struct, frozen=True):
    """Where the code of an algorithm is, and a paper about it; for the pages of a site."""

    code: str = ""
    paper: str = ""

    def check(self, location: str) -> "AlgorithmLinks":
        """An InterfaceError if one of them is no address of the web."""
        for name, text in (("code", self.code), ("paper", self.paper)):
            if text and not re.fullmatch(r"https?://[^\s/]\S*", text):
                raise InterfaceError(f"{location}: {name} is '{text:.100}'; make it an address, https://...")
        return self


NO_LINKS = AlgorithmLinks()


@dataclass(frozen=True, kw_only=True)
class Interface(ABC):
    """A way to reach an algorithm, checked when it was loaded; a subclass for each kind."""

    # How the algorithm is reached: python, command, stream, http, scores or matrix.
    kind: ClassVar[str]
    # A service runs already: nothing is started here that could be limited.
    is_service: ClassVar[bool] = False
    # Answers are read from a file: no program runs, here or elsewhere.
    is_file: ClassVar[bool] = False
    # Whether its session has as many programs as there are jobs; otherwise each of them has a session and a thread.
    shares_jobs: ClassVar[bool] = False
    # What a user can do to have it learn; empty where nothing can be done.
    to_learn: ClassVar[str] = ""

    name: str
    version: str = ""
    # The digest of the interface, and of its program if that is in the same folder.
    sha256: str = ""
    # The algorithm's own parameters.
    params: Mapping[str, Param] = field(default_factory=dict)
    links: AlgorithmLinks = NO_LINKS
    # Whether it is given the training part; if not, no training can change its answers.
    learns: bool = False
    # Whether it is given the gallery of a rank test.
    enrols: bool = False
    # Whether its code is in the process of the harness, and what its Python file imports.
    imported: bool = False
    imports: "ImportedFiles | None" = None

    @abstractmethod
    def open(self, setup: Setup) -> Session:
        """Start the program; raise an InterfaceError if it does not start."""

    def isolated(self) -> "Interface":
        """The same algorithm outside of this process; itself, if it is outside already or has to stay inside."""
        return self

    def answering(self, cases: Iterable[Case], gallery: "Gallery | None") -> "Interface":
        """The same algorithm, for these cases; only answers that are known already depend on them."""
        return self

    def remarks(self) -> Iterator[str]:
        """What `hate check` says of it, beside that it is valid; an InterfaceError if its files are not."""
        yield from ()

    @property
    def files(self) -> Sequence[Path]:
        """Its own files, the one that it is loaded from first; none for a service, or for code without a file."""
        return ()


def algorithm_params(declared: Mapping[str, Any], location: str) -> dict[str, Param]:
    """An algorithm's parameters from a mapping of names to default values."""
    params = {}
    for name, default in declared.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise InterfaceError(f"{location}: parameter {name!r} is not a name; use letters, digits and _")
        if not isinstance(default, (bool, int, float, str)) or (
            isinstance(default, float) and not math.isfinite(default)
        ):
            raise InterfaceError(
                f"{location}: parameter {name}: default {default!r} is not a finite number, text or truth value"
            )
        params[name] = Param(name, ParamType.of(default), default)
    return params
